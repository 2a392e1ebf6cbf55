package deliveries

import (
	"context"
	"net/url"
	"time"

	"ledgerhook/dashboard/chart"
	"ledgerhook/dashboard/locale"
	"ledgerhook/dashboard/shell"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
)

// Outcomes are the attempts of a time by their outcome, with a choice of
// times, which stands in the page's address.
type Outcomes struct {
	Periods shell.Fact[[]reports.PeriodCount]
	Chart   chart.Chart
	Spans   []outcomesSpan
}

// Name is the chosen time's.
func (v Outcomes) Name() string {
	for _, s := range v.Spans {
		if s.Chosen {
			return s.Name
		}
	}
	return ""
}

// outcomesSpan is a time to look back on.
type outcomesSpan struct {
	Name, Words string
	Href        string
	Chosen      bool
	bars        int
	minutes     int // of a bar, less than a day's or a day's
}

const dayMinutes = 24 * 60

var outcomesSpans = []outcomesSpan{
	{Name: "1h", Words: "last hour", bars: 60, minutes: 1},
	{Name: "6h", Words: "last 6 hours", bars: 72, minutes: 5},
	{Name: "24h", Words: "last 24 hours", bars: 24, minutes: 60},
	{Name: "7d", Words: "last 7 days", bars: 28, minutes: 6 * 60},
	{Name: "30d", Words: "last 30 days", bars: 30, minutes: dayMinutes},
}

// outcomesAt are the choices as they stand in the address of a page, which keeps
// what else is asked for there, and the chosen one: 24 hours unless it is another.
func outcomesAt(page *url.URL) (all []outcomesSpan, chosen outcomesSpan) {
	query, at := page.Query(), 2
	for i, s := range outcomesSpans {
		if s.Name == query.Get("outcomes") {
			at = i
		}
	}
	query.Del("done") // what was done before says nothing any more
	for _, s := range outcomesSpans {
		query.Set("outcomes", s.Name)
		s.Href = "?" + query.Encode() + "#outcomes"
		all = append(all, s)
	}
	all[at].Chosen = true
	return all, all[at]
}

// edges are where the bars begin, and where the last one ends: at full minutes,
// hours and days of the zone of now.
func (s outcomesSpan) edges(now time.Time) []time.Time {
	edges := make([]time.Time, s.bars+1)
	minute := (now.Hour()*60 + now.Minute()) / s.minutes * s.minutes // of the day, in which the last bar begins
	for i := range edges {
		back := (s.bars - 1 - i) * s.minutes
		if s.minutes >= 6*60 { // by the calendar: a day may have 23 hours
			edges[i] = time.Date(now.Year(), now.Month(), now.Day(), 0, minute-back, 0, 0, now.Location())
		} else {
			edges[i] = now.Truncate(time.Minute).Add(time.Duration(minute-now.Hour()*60-now.Minute()-back) * time.Minute)
		}
	}
	return edges
}

// OutcomesOf reads the attempts of a partner, or of all if code is empty, and draws
// them for a reader.
func (s Pages) OutcomesOf(ctx context.Context, q *shell.Request, page *url.URL, scope partners.Scope, code string) (v Outcomes) {
	spans, chosen := outcomesAt(page)
	edges := chosen.edges(q.Here(q.Now))
	v.Spans = spans
	v.Periods = shell.Cached(ctx, s.Memory, "outcomes/"+code+"/"+chosen.Name, func(ctx context.Context) ([]reports.PeriodCount, error) {
		return s.Reports.Periods(ctx, scope, code, edges)
	})
	v.Chart = outcomeChart(q.Speller, "Attempts by outcome, "+chosen.Words, code, v.Periods.Value, edges)
	return v
}

// outcomeChart draws attempts by their outcome; each bar leads to the deliveries
// that were made in its time.
func outcomeChart(reader locale.Speller, title, code string, periods []reports.PeriodCount, edges []time.Time) chart.Chart {
	var bars []chart.HourBar
	for i, p := range periods {
		typed := "state:any"
		if code != "" {
			typed += " partner:" + code
		}
		until := p.Since.Add(time.Hour)
		if i+1 < len(edges) && edges[i].Equal(p.Since) {
			until = edges[i+1]
		}
		typed += " since:" + p.Since.UTC().Format(time.RFC3339) + " until:" + until.UTC().Format(time.RFC3339)
		bars = append(bars, chart.HourBar{Hour: p.Since, Counts: []int64{p.AttemptDelivered, p.AttemptFailed, p.AttemptUnknown}, Href: Path("/ops", typed)})
	}
	return chart.StackedBars(reader, title, "From", []chart.Series{{Name: "delivered", Tone: "good"}, {Name: "failed", Tone: "bad"}, {Name: "unknown", Tone: "idle"}}, bars)
}
