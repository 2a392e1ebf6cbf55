package deliveries

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"ledgerhook/dashboard/shell"
	"ledgerhook/ledger/reports"
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
