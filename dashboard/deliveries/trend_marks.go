package deliveries

import (
	"net/url"
	"slices"
	"sort"
	"strings"
	"time"

	"ledgerhook/dashboard/chart"
	"ledgerhook/dashboard/locale"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// trendMarks is how many changes a trend marks: no more letters are needed than
// there are.
const trendMarks = 20

// TrendMark is something that changed in the time of a trend.
type TrendMark struct {
	Letter string // of its bar, which it may share
	At     time.Time
	What   string
	Target string // what it was done to; empty: said already
	Who    string // empty: nobody in particular
	Href   string // where it is told
	bar    int
}

// mark finds the bars of what changed, and gives each of these bars a letter.
func (d drawing) mark(code string, v Trend) (flags map[int]chart.Flag, marks []TrendMark, cut bool) {
	rows := ActivityRows(d.q, v.Changes.Value)
	for i, e := range v.Changes.Value {
		m := TrendMark{At: e.At, What: rows[i].What(d.q.T), Target: e.Target, Who: rows[i].Who, Href: d.told(e), bar: d.barAt(e.At)}
		if m.Target == code {
			m.Target = ""
		}
		if e.Action == "gateway.update" {
			m.Target, m.Who = rows[i].Detail, ""
		}
		marks = append(marks, m)
	}
	if code != "" { // of all together it would be noise
		for i, p := range v.Outcomes.Value {
			tell := func(n int64, what string) {
				if n > 0 {
					marks = append(marks, TrendMark{At: p.Since, What: d.q.T(what), Href: d.list(i, p.Since), bar: d.barAt(p.Since)})
				}
			}
			tell(p.BreakersOpened, locale.Text("Deliveries were held back, as too many attempts failed"))
			tell(p.BreakersClosed, locale.Text("Deliveries went out again, as probes succeeded"))
		}
	}
	marks = slices.DeleteFunc(marks, func(m TrendMark) bool { return m.bar < 0 })
	slices.SortStableFunc(marks, func(x, y TrendMark) int { return x.At.Compare(y.At) })
	if cut = len(marks) > trendMarks; cut {
		marks = marks[len(marks)-trendMarks:]
	}
	flags = map[int]chart.Flag{}
	for i := range marks {
		m := &marks[i]
		flag := flags[m.bar]
		if flag.Letter == "" {
			flag = chart.Flag{Letter: string(rune('A' + len(flags))), Href: m.Href}
			flag.Title = flag.Letter + ":"
		}
		m.Letter = flag.Letter
		flag.Title += " " + strings.TrimSpace(d.q.Minute(m.At)+" "+m.What+" "+m.Target) + "."
		flags[m.bar] = flag
	}
	return flags, marks, cut
}

// barAt is the bar in whose time a moment lies, -1 if it lies in none.
func (d drawing) barAt(at time.Time) int {
	bar := sort.Search(len(d.edges), func(i int) bool { return d.edges[i].After(at) }) - 1
	if bar >= len(d.edges)-1 {
		return -1
	}
	return bar
}

// told is the page that tells of a change to the reader.
func (d drawing) told(e partners.AuditEntry) string {
	switch {
	case !d.q.Ops() && strings.HasPrefix(e.Target, webhook.EndpointPrefix) && e.Action != "endpoint.remove":
		return EndpointPath(e.Target)
	case !d.q.Ops():
		return d.q.Base() + "/activity"
	case d.q.User.CanAudit():
		at := e.At.UTC().Truncate(time.Second)
		return d.q.Base() + "/audit?" + url.Values{"since": {at.Format(time.RFC3339)}, "until": {at.Add(time.Second).Format(time.RFC3339)}, "action": {e.Action}}.Encode()
	}
	return "#changes"
}
