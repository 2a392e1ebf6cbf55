package deliveries

import (
	"cmp"
	"net/url"
	"slices"
	"sort"
	"strings"
	"time"

	"ledgerhook/dashboard/chart"
	"ledgerhook/dashboard/locale"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
)

// trendMarks is how many changes a trend marks: no more letters are needed than
// there are.
const trendMarks = 20

// TrendMark is something that changed in the time of a trend.
type TrendMark struct {
	Letter  string    // of its bar, which it may share
	At      time.Time // zero: it was Between
	Between string    // which times it was, in words; empty: it was At
	What    string
	Target  string // what it was done to; empty: said already
	Who     string // empty: nobody in particular
	Href    string // where it is told
	bar     int
	order   time.Time // by when it had happened at the latest
}

// mark finds the bars of what changed, and gives each of these bars a letter. Of
// too much the newest is kept: of what was done first, then of what breakers did,
// which may be what came of it.
func (d drawing) mark(code string, v Trend) (flags map[int]chart.Flag, marks []TrendMark, cut bool) {
	moves := d.moves(code, v.Outcomes.Value)
	marks = d.changes(code, v.Changes.Value)
	cut = len(marks)+len(moves) > trendMarks
	marks = marks[max(0, len(marks)-trendMarks):]
	marks = append(marks, moves[max(0, len(marks)+len(moves)-trendMarks):]...)
	slices.SortStableFunc(marks, func(x, y TrendMark) int { return x.order.Compare(y.order) })
	flags = map[int]chart.Flag{}
	for i := range marks {
		m := &marks[i]
		flag := flags[m.bar]
		if flag.Letter == "" {
			flag = chart.Flag{Letter: string(rune('A' + len(flags))), Href: m.Href}
			flag.Title = flag.Letter + ":"
		}
		m.Letter = flag.Letter
		flag.Title += " " + strings.TrimSpace(cmp.Or(m.Between, d.q.Minute(m.At))+" "+m.What+" "+m.Target) + "."
		flags[m.bar] = flag
	}
	return flags, marks, cut
}

// changes are the marks of entries of the audit log, which are the newest first, in
// the order of their times.
func (d drawing) changes(code string, entries []partners.AuditEntry) (marks []TrendMark) {
	rows := ActivityRows(d.q, entries)
	for i, e := range slices.Backward(entries) {
		m := TrendMark{At: e.At, What: rows[i].What(d.q.T), Target: e.Target, Who: rows[i].Who, Href: d.told(e), bar: d.barAt(e.At), order: e.At}
		if m.Target == code {
			m.Target = ""
		}
		if e.Action == "gateway.update" {
			m.Target, m.Who = rows[i].Detail, ""
		}
		if m.bar >= 0 {
			marks = append(marks, m)
		}
	}
	return marks
}

// moves are the marks of bars in whose time a partner's breakers opened or closed
// by themselves; when in that time is not kept. Those of all partners together
// would be noise: they have none.
func (d drawing) moves(code string, periods []reports.PeriodCount) (marks []TrendMark) {
	for i, p := range periods {
		bar := d.barAt(p.Since)
		if code == "" || bar < 0 || p.BreakersOpened == 0 && p.BreakersClosed == 0 {
			continue
		}
		what := locale.Text("Deliveries were held back, as too many attempts failed, and went out again, as probes succeeded")
		switch {
		case p.BreakersClosed == 0:
			what = locale.Text("Deliveries were held back, as too many attempts failed")
		case p.BreakersOpened == 0:
			what = locale.Text("Deliveries went out again, as probes succeeded")
		}
		until := d.until(i, p.Since)
		m := TrendMark{Between: d.between(p.Since, until), What: d.q.T(what), Href: d.list(i, p.Since), bar: bar, order: until}
		if n := max(p.BreakersOpened, p.BreakersClosed); n > 1 {
			m.What = d.q.T("%s (%d times)", m.What, n)
		}
		marks = append(marks, m)
	}
	return marks
}

// between says between which times something was, the day once if it is one.
func (d drawing) between(since, until time.Time) string {
	end := d.q.Minute(until)
	if d.q.Day(since) == d.q.Day(until) {
		end = d.q.HourAndMinute(until)
	}
	return d.q.T("between %s and %s", d.q.Minute(since), end)
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
	case !d.q.Ops(): // what it was done to may be gone
		return d.q.Base() + "/activity"
	case d.q.User.CanAudit():
		at := e.At.UTC().Truncate(time.Second)
		return d.q.Base() + "/audit?" + url.Values{"since": {at.Format(time.RFC3339)}, "until": {at.Add(time.Second).Format(time.RFC3339)}, "action": {e.Action}}.Encode()
	}
	return "#changes"
}
