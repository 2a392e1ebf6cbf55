package ops

import (
	"cmp"
	"context"
	"net/http"
	"runtime"
	"runtime/debug"
	"time"

	"ledgerhook/dashboard/shell"
	"ledgerhook/delivery/queue"
	"ledgerhook/ledger/reports"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

// systemView is how the gateway itself is.
type systemView struct {
	Figures  []shell.Figure
	Stores   shell.Reading[[]web.Finding]
	Queue    shell.Reading[[]queue.Depth]
	Workers  shell.Reading[[]reports.WorkerLease]
	Breakers shell.Reading[[]reports.PartnerWindows]
	Settings []shell.Setting
	Build    []buildDetail
	Wrong    []heldBack
}

// heldBack is a partner with a breaker that is not closed, or held deliveries.
type heldBack struct{ reports.PartnerWindows }

// Open and OnProbation count its endpoints with such a breaker.
func (p heldBack) Open() int        { return p.Breakers[webhook.BreakerOpen] }
func (p heldBack) OnProbation() int { return p.Breakers[webhook.BreakerHalfOpen] }

// systemPage shows queues, workers, breakers and stores, the configuration and
// the build. What cannot be read does not keep the rest from being seen.
func (s pages) systemPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	v := systemView{Settings: s.Settings, Build: s.build(q.Now)}
	ctx, cancel := context.WithTimeout(r.Context(), shell.PanelLimit)
	defer cancel()
	var lag, skew shell.Reading[time.Duration]
	shell.Together(
		func() { v.Stores = shell.Cached(ctx, s.Memory, "system/stores", s.stores) },
		func() { v.Queue = shell.Cached(ctx, s.Memory, "system/queue", s.Queue.Depths) },
		func() { v.Workers = shell.Cached(ctx, s.Memory, "system/workers", s.Reports.Workers) },
		func() { v.Breakers = shell.Cached(ctx, s.Memory, "system/breakers", s.Reports.PartnerWindows) },
		func() { lag = shell.Cached(ctx, s.Memory, "system/lag", s.Reports.RollupLag) },
		func() { skew = shell.Cached(ctx, s.Memory, "system/skew", s.Database.ClockSkew) },
	)
	for _, windows := range v.Breakers.Value {
		if p := (heldBack{windows}); p.Held > 0 || p.Open()+p.OnProbation() > 0 {
			v.Wrong = append(v.Wrong, p)
		}
	}
	v.Figures = []shell.Figure{
		shell.FigureOf("Waiting in the queue", v.Queue, func(d []queue.Depth) string { return english.Number(depth(d, queuePending)) }),
		shell.FigureOf("Scheduled retries", v.Queue, func(d []queue.Depth) string { return english.Number(depth(d, queueScheduled)) }),
		workersFigure(v.Workers),
		breakersFigure(v.Breakers),
		durationFigure("Charts are behind by", lag, time.Second),
		durationFigure("Clock against the database", skew, 2*time.Second),
		s.slotsFigure(q.Now),
	}
	return q.Render(w, r, "system", v)
}

// checkWords are the checks of /readyz in words: what each is called and what it
// asks.
var checkWords = map[string][2]string{
	"ledger":    {"Ledger", "the database accepts writes"},
	"queue":     {"Queue", "Redis accepts writes"},
	"replica":   {"Replica", "lists and pages can be read from it"},
	"process":   {"This process", "it is not stopping"},
	"records":   {"Results of attempts", "the worker can write down what it has sent"},
	"invariant": {"Count of deliveries", "each one created is delivered, exhausted, cancelled or unfinished"},
	"clock":     {"Clock", "it agrees with the database's"},
	"retention": {"Retention", "what is past it is deleted"},
}

// CheckName is what a check is called.
func (v systemView) CheckName(name string) string { return cmp.Or(checkWords[name][0], name) }

// CheckAsks is what a check asks; empty: nobody has said it.
func (v systemView) CheckAsks(name string) string { return checkWords[name][1] }

// storesLimit leaves a page the time to say which store does not answer.
const storesLimit = shell.PanelLimit - 300*time.Millisecond

// stores looks at what /readyz looks at.
func (s pages) stores(ctx context.Context) ([]web.Finding, error) {
	ctx, cancel := context.WithTimeout(ctx, storesLimit)
	defer cancel()
	return s.Health.Find(ctx), nil
}

func queuePending(d queue.Depth) int64   { return d.Pending + d.Active }
func queueScheduled(d queue.Depth) int64 { return d.Scheduled }

func depth(shards []queue.Depth, of func(queue.Depth) int64) (n int64) {
	for _, d := range shards {
		n += of(d)
	}
	return n
}

func workersFigure(r shell.Reading[[]reports.WorkerLease]) shell.Figure {
	alive := func(list []reports.WorkerLease) (n int) {
		for _, w := range list {
			if w.Alive {
				n++
			}
		}
		return n
	}
	shown := shell.FigureOf("Workers alive", r, func(list []reports.WorkerLease) string { return english.Number(alive(list)) })
	if n := alive(r.Value); r.Fresh && n == 0 {
		shown.Tone, shown.Note = "bad", "nothing is being sent"
	} else if dead := len(r.Value) - n; r.Fresh && dead > 0 {
		shown.Tone, shown.Note = "warn", english.Number(dead)+" not heard of"
	}
	return shown
}

func breakersFigure(r shell.Reading[[]reports.PartnerWindows]) shell.Figure {
	open := func(list []reports.PartnerWindows) (n int) {
		for _, p := range list {
			n += p.Breakers[webhook.BreakerOpen] + p.Breakers[webhook.BreakerHalfOpen]
		}
		return n
	}
	shown := shell.FigureOf("Endpoints held back by a breaker", r, func(list []reports.PartnerWindows) string { return english.Number(open(list)) })
	if r.Fresh && open(r.Value) > 0 {
		shown.Tone = "warn"
	}
	return shown
}

// durationFigure shows a time that should be short.
func durationFigure(label string, r shell.Reading[time.Duration], warn time.Duration) shell.Figure {
	shown := shell.FigureOf(label, r, english.Duration)
	if r.Fresh && r.Value.Abs() > warn {
		shown.Tone = "warn"
	}
	return shown
}

func (s pages) slotsFigure(now time.Time) shell.Figure {
	busy, total, known := s.Slots()
	if !known {
		return shell.Figure{Label: "Being sent by this process", Value: "none", Note: "it has no worker", At: now, Fresh: true}
	}
	return shell.Figure{Label: "Being sent by this process", Value: english.Number(busy) + " of " + english.Number(total), Note: "deliveries that it can send at the same time", At: now, Fresh: true}
}

// buildDetail is one thing to know about the program that runs.
type buildDetail struct{ Name, Value string }

func (s pages) build(now time.Time) []buildDetail {
	details := []buildDetail{{"Version", s.Version}, {"Go", runtime.Version()}, {"Running for", english.Duration(now.Sub(s.Started).Round(time.Second))}}
	database := "PostgreSQL"
	if s.Database.Embedded() {
		database = "SQLite, embedded"
	}
	details = append(details, buildDetail{"Ledger", database}, buildDetail{"Public address", s.PublicURL})
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return details
	}
	for _, setting := range info.Settings {
		if name, wanted := map[string]string{"vcs.revision": "Revision", "vcs.time": "Revision of"}[setting.Key]; wanted {
			details = append(details, buildDetail{name, setting.Value})
		}
	}
	return details
}
