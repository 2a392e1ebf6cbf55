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

// Trend is what attempts came to and how long they took in the course of a time,
// with a choice of times, which stands in the page's address.
type Trend struct {
	Outcomes      shell.Reading[[]reports.PeriodCount]
	Latency       shell.Reading[[]reports.PeriodLatency]
	ByOutcome     chart.Chart
	Answers       chart.Chart
	FirstAttempts chart.Chart
	Changes       shell.Reading[[]partners.AuditEntry]
	Marks         []TrendMark // of what changed in that time, oldest first
	Cut           bool        // more changed, and the newest are marked
	Spans         []trendSpan
}

// Name is the chosen time's.
func (v Trend) Name() string {
	for _, s := range v.Spans {
		if s.Chosen {
			return s.Name
		}
	}
	return ""
}

// trendSpan is a time to look back on.
type trendSpan struct {
	Name, Words string
	Href        string
	Chosen      bool
	bars        int
	minutes     int // of a bar, less than a day's or a day's
}

const dayMinutes = 24 * 60

var trendSpans = []trendSpan{
	{Name: "1h", Words: locale.Text("last hour"), bars: 60, minutes: 1},
	{Name: "6h", Words: locale.Text("last 6 hours"), bars: 72, minutes: 5},
	{Name: "24h", Words: locale.Text("last 24 hours"), bars: 24, minutes: 60},
	{Name: "7d", Words: locale.Text("last 7 days"), bars: 28, minutes: 6 * 60},
	{Name: "30d", Words: locale.Text("last 30 days"), bars: 30, minutes: dayMinutes},
}

// trendAt are the choices as they stand in the address of a page, which keeps
// what else is asked for there, and the chosen one: 24 hours unless it is another.
func trendAt(page *url.URL) (all []trendSpan, chosen trendSpan) {
	query, at := page.Query(), 2
	for i, s := range trendSpans {
		if s.Name == query.Get("outcomes") {
			at = i
		}
	}
	query.Del("done") // what was done before says nothing any more
	for _, s := range trendSpans {
		query.Set("outcomes", s.Name)
		s.Href = "?" + query.Encode() + "#outcomes"
		all = append(all, s)
	}
	all[at].Chosen = true
	return all, all[at]
}

// edges are where the bars begin, and where the last one ends: at full minutes,
// hours and days of the zone of now.
func (s trendSpan) edges(now time.Time) []time.Time {
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

// TrendOf reads the attempts of a partner, or of all that the scope holds if code
// is empty, and draws them for a reader.
func (s Pages) TrendOf(ctx context.Context, q *shell.Request, page *url.URL, scope partners.Scope, code string) (v Trend) {
	spans, chosen := trendAt(page)
	d := drawing{q: q, edges: chosen.edges(q.Here(q.Now)), words: q.T(chosen.Words)}
	if q.Ops() {
		d.partner = code
	}
	v.Spans = spans
	// The bars of another zone begin elsewhere, and a partner is not told all that operators are.
	key := "trend" + q.Base() + "/" + code + "/" + chosen.Name + "/" + q.ZoneName() + "/"
	shell.Together(
		func() {
			v.Outcomes = shell.Shared(ctx, s.Memory, key+"outcomes", func(ctx context.Context) ([]reports.PeriodCount, error) {
				return s.Reports.Periods(ctx, scope, code, d.edges)
			})
		},
		func() {
			v.Latency = shell.Shared(ctx, s.Memory, key+"latency", func(ctx context.Context) ([]reports.PeriodLatency, error) {
				return s.Reports.Latencies(ctx, scope, code, d.edges)
			})
		},
		func() {
			v.Changes = shell.Shared(ctx, s.Memory, key+"changes", func(ctx context.Context) ([]partners.AuditEntry, error) {
				return s.Reports.ChangesSince(ctx, scope, code, d.edges[0], trendMarks+1)
			})
		},
	)
	d.flags, v.Marks, v.Cut = d.mark(code, v)
	v.ByOutcome = d.byOutcome(v.Outcomes.Value)
	v.Answers = d.latency(q.T("How long answers took, %s", d.words), q.T("Answers"), v.Latency.Value, func(p reports.PeriodLatency) reports.Latency { return p.Answers })
	v.FirstAttempts = d.latency(q.T("Time until the first attempt, %s", d.words), q.T("First attempts"), v.Latency.Value, func(p reports.PeriodLatency) reports.Latency { return p.FirstAttempts })
	return v
}

// drawing is what the charts of a trend have in common: each of their bars leads
// to the deliveries that were made in its time.
type drawing struct {
	q       *shell.Request
	edges   []time.Time
	words   string // the time that is looked at
	partner string // whose lists the bars lead to; empty: of all that the reader may see
	flags   map[int]chart.Flag
}

func (d drawing) byOutcome(periods []reports.PeriodCount) chart.Chart {
	var bars []chart.HourBar
	for i, p := range periods {
		bars = append(bars, chart.HourBar{Hour: p.Since, Counts: []int64{p.AttemptDelivered, p.AttemptFailed, p.AttemptUnknown}, Href: d.list(i, p.Since), Flag: d.flags[i]})
	}
	return chart.StackedBars(d.q.Speller, d.q.T("Attempts by outcome, %s", d.words), d.q.T("From"),
		[]chart.Series{{Name: d.q.T("delivered"), Tone: "good"}, {Name: d.q.T("failed"), Tone: "bad"}, {Name: d.q.T("outcome unknown"), Tone: "idle"}}, bars)
}

// shares are the shares of which charts say within what they took.
var shares = []struct {
	of   float64
	name string
}{{.5, "p50"}, {.95, "p95"}, {.99, "p99"}}

func (d drawing) latency(title, what string, periods []reports.PeriodLatency, of func(reports.PeriodLatency) reports.Latency) chart.Chart {
	var quantities []chart.Series
	for _, s := range shares {
		quantities = append(quantities, chart.Series{Name: s.name, Tone: s.name})
	}
	var bars []chart.LevelBar
	for i, p := range periods {
		took := of(p)
		bar := chart.LevelBar{Hour: p.Since, Count: took.Count(), Href: d.list(i, p.Since), Flag: d.flags[i]}
		for _, s := range shares {
			bar.Steps = append(bar.Steps, took.Within(s.of))
		}
		bars = append(bars, bar)
	}
	return chart.Levels(d.q.Speller, title, d.q.T("From"), what, quantities, reports.LatencySteps(), bars)
}

// list is where the deliveries stand that were made in the time of a bar.
func (d drawing) list(bar int, since time.Time) string {
	typed := "state:any"
	if d.partner != "" {
		typed += " partner:" + d.partner
	}
	return Path(d.q.Base(), typed+" since:"+since.UTC().Format(time.RFC3339)+" until:"+d.until(bar, since).UTC().Format(time.RFC3339))
}

// until is where the bar ends that begins at since.
func (d drawing) until(bar int, since time.Time) time.Time {
	if bar+1 < len(d.edges) && d.edges[bar].Equal(since) {
		return d.edges[bar+1]
	}
	return since.Add(time.Hour)
}
