package deliveries

import (
	"html/template"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"ledgerhook/dashboard/shell"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
)

func TestTheBarsOfATimeEndWithTheOneThatIsUnderWay(t *testing.T) {
	hanoi := time.FixedZone("+07", 7*3600)
	now := time.Date(2026, 3, 4, 12, 34, 56, 0, hanoi)
	for name, want := range map[string][3]string{ // the first bar, the last one and where it ends
		"1h":  {"2026-03-04 11:35", "2026-03-04 12:34", "2026-03-04 12:35"},
		"6h":  {"2026-03-04 06:35", "2026-03-04 12:30", "2026-03-04 12:35"},
		"24h": {"2026-03-03 13:00", "2026-03-04 12:00", "2026-03-04 13:00"},
		"7d":  {"2026-02-25 18:00", "2026-03-04 12:00", "2026-03-04 18:00"},
		"30d": {"2026-02-03 00:00", "2026-03-04 00:00", "2026-03-05 00:00"},
	} {
		page, err := url.Parse("/ops?outcomes=" + name + "&span=7d&done=pause")
		if err != nil {
			t.Fatal(err)
		}
		all, chosen := trendAt(page)
		edges := chosen.edges(now)
		spell := func(i int) string { return edges[i].Format("2006-01-02 15:04") }
		if got := [3]string{spell(0), spell(len(edges) - 2), spell(len(edges) - 1)}; got != want || !chosen.Chosen || chosen.Name != name {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		for i := range edges[1:] {
			if d := edges[i+1].Sub(edges[i]); d != time.Duration(chosen.minutes)*time.Minute {
				t.Errorf("%s: bar %d is of %s", name, i, d)
			}
		}
		if all[0].Href != "?outcomes=1h&span=7d#outcomes" {
			t.Errorf("another time is at %q", all[0].Href)
		}
	}
	if _, chosen := trendAt(&url.URL{}); chosen.Name != "24h" {
		t.Errorf("unless another is asked for it is %q", chosen.Name)
	}
}

func TestEachBarLeadsToTheDeliveriesOfItsTime(t *testing.T) {
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	edges := []time.Time{noon, noon.Add(time.Minute), noon.Add(2 * time.Minute)}
	d := drawing{q: &shell.Request{Surface: &shell.Surface{Name: shell.Ops, Base: "/ops"}}, edges: edges, partner: "acme"}
	c := d.byOutcome([]reports.PeriodCount{{Since: edges[0], AttemptFailed: 3}, {Since: edges[1]}})
	const href = "/ops/deliveries?q=state%3Aany+partner%3Aacme+since%3A2026-03-04T12%3A00%3A00Z+until%3A2026-03-04T12%3A01%3A00Z"
	if c.Href(1) != href || c.Href(2) != "" || !strings.Contains(string(c.SVG), `<a href="`+href+`" tabindex="-1">`) {
		t.Errorf("%q, %s", c.Hrefs, c.SVG)
	}
	if n := strings.Count(string(c.SVG), "<a "); n != 2 {
		t.Errorf("%d bars are links, want the one that is not empty in both drawings", n)
	}
}

func TestWhatChangedIsMarkedAtTheBarOfItsTime(t *testing.T) {
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	edges := []time.Time{noon, noon.Add(time.Minute), noon.Add(2 * time.Minute), noon.Add(3 * time.Minute)}
	change := func(at time.Duration, actor, action, target, detail string) partners.AuditEntry {
		return partners.AuditEntry{At: noon.Add(at), Actor: actor, Action: action, Target: target, Detail: detail, PartnerCode: "acme"}
	}
	v := Trend{
		Outcomes: shell.Reading[[]reports.PeriodCount]{Value: []reports.PeriodCount{{Since: edges[0]}, {Since: edges[1], BreakersOpened: 3, BreakersClosed: 2}, {Since: edges[2], BreakersOpened: 1}}},
		Changes: shell.Reading[[]partners.AuditEntry]{Value: []partners.AuditEntry{ // newest first
			change(3*time.Minute, "ann", "partner.change", "acme", "after all bars"),
			change(125*time.Second, "acme/eve", "endpoint.change", "ep_1", "its URL"),
			change(121*time.Second, "ann", "partner.change", "acme", ""),
			change(5*time.Second, "ledgerhook", "gateway.update", "", "v2 after v1"),
			change(-time.Second, "ann", "partner.change", "acme", "before all bars"),
		}},
	}
	d := drawing{q: &shell.Request{Surface: &shell.Surface{Name: shell.Ops, Base: "/ops"}, User: partners.Person{Role: partners.RoleAuditor}}, edges: edges, partner: "acme"}
	flags, marks, cut := d.mark("acme", v)
	var told []string
	for _, m := range marks {
		told = append(told, strings.Join([]string{m.Letter, m.What, m.Target, m.Who, m.Between}, "|"))
		if m.At.IsZero() != (m.Between != "") {
			t.Errorf("%+v is at one time and between two", m)
		}
	}
	want := []string{
		"A|Another version of the gateway began to serve|v2 after v1||",
		"B|Deliveries were held back, as too many attempts failed, and went out again, as probes succeeded (3 times)|||between 2026-03-04 12:01 and 12:02",
		"C|Changed the account's settings||ann|", "C|Changed an endpoint|ep_1|acme/eve|",
		"C|Deliveries were held back, as too many attempts failed|||between 2026-03-04 12:02 and 12:03", // after what may have caused it
	}
	if !slices.Equal(told, want) || cut {
		t.Errorf("%q, want %q", told, want)
	}
	if got := flags[2]; got.Title != "C: 2026-03-04 12:02 Changed the account's settings. 2026-03-04 12:02 Changed an endpoint ep_1. between 2026-03-04 12:02 and 12:03 Deliveries were held back, as too many attempts failed." || len(flags) != 3 ||
		got.Href != "/ops/audit?action=partner.change&since=2026-03-04T12%3A02%3A01Z&until=2026-03-04T12%3A02%3A02Z" {
		t.Errorf("%+v of %d", got, len(flags))
	}
	d.flags = flags
	c := d.byOutcome(v.Outcomes.Value)
	if n := strings.Count(string(c.SVG), `<a class="flag"`); n != 2*3 || !strings.Contains(string(c.SVG), "<title>"+template.HTMLEscapeString(flags[2].Title)+"</title>") {
		t.Errorf("%d flags in two drawings: %s", n, c.SVG)
	}

	if _, marks, _ = d.mark("", v); len(marks) != 3 {
		t.Errorf("%d marks beside all partners' attempts, want those of what people and the program did", len(marks))
	}
	d.q.User.Role = partners.RoleViewer // who may not read the audit log
	if _, marks, _ = d.mark("acme", v); marks[0].Href != "#changes" {
		t.Errorf("a viewer is led to %q", marks[0].Href)
	}
	d.q = &shell.Request{Surface: &shell.Surface{Name: shell.Portal, Base: "/portal"}, User: partners.Person{PartnerCode: "acme"}}
	if _, marks, _ = d.mark("acme", v); marks[2].Who != "" || marks[2].Href != "/portal/activity" || marks[3].Who != "eve" || marks[3].Href != "/portal/activity" {
		t.Errorf("a partner is told %+v", marks[2:])
	}
	for range trendMarks {
		v.Changes.Value = append(v.Changes.Value, change(time.Second, "ann", "partner.change", "acme", ""))
	}
	if _, marks, cut = d.mark("acme", v); len(marks) != trendMarks || !cut || marks[trendMarks-1].Target != "ep_1" {
		t.Errorf("%d marks, cut: %t, the last %+v", len(marks), cut, marks[len(marks)-1])
	}
}

// A breaker that moves in every bar leaves the change before it its mark.
func TestABreakerThatFlapsDoesNotPushOutWhatCausedIt(t *testing.T) {
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	d := drawing{q: &shell.Request{Surface: &shell.Surface{Name: shell.Ops, Base: "/ops"}}, edges: []time.Time{noon}, partner: "acme"}
	v := Trend{Changes: shell.Reading[[]partners.AuditEntry]{Value: []partners.AuditEntry{{At: noon.Add(time.Second), Actor: "ann", Action: "endpoint.change", Target: "ep_1"}}}}
	for i := range 60 {
		v.Outcomes.Value = append(v.Outcomes.Value, reports.PeriodCount{Since: d.edges[i], BreakersOpened: 1, BreakersClosed: 1})
		d.edges = append(d.edges, noon.Add(time.Duration(i+1)*time.Minute))
	}
	_, marks, cut := d.mark("acme", v)
	if len(marks) != trendMarks || !cut || marks[0].Target != "ep_1" || marks[1].bar != 60-trendMarks+1 || marks[trendMarks-1].bar != 59 {
		t.Errorf("%d marks, cut: %t: %+v", len(marks), cut, marks)
	}
	v.Outcomes.Value = v.Outcomes.Value[:trendMarks-1]
	if _, marks, cut = d.mark("acme", v); len(marks) != trendMarks || cut {
		t.Errorf("%d marks, cut: %t, want all", len(marks), cut)
	}
}

// A day has its end at the beginning of the next.
func TestATimeThatEndsOnAnotherDayNamesBoth(t *testing.T) {
	midnight := time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
	d := drawing{q: &shell.Request{}}
	if got := d.between(midnight, midnight.AddDate(0, 0, 1)); got != "between 2026-03-04 00:00 and 2026-03-05 00:00" {
		t.Error(got)
	}
}
