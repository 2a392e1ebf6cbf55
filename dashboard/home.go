package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"ledgerhook/ledger"
	"ledgerhook/orders"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// overviewView is the operators' first page: what is wrong and whose it is,
// then what it rests on.
type overviewView struct {
	Verdict verdict
	Ingest  stageView
	Queue   stageView
	Deliver stageView
	Failing fact[[]ledger.FailingPartner]
	Workers fact[[]ledger.WorkerLease]
	Changes fact[[]partners.AuditEntry]
	// Conflicts are what was said of orders that have failed and is to settle.
	Conflicts fact[[]orders.Conflict]
	Hours     fact[[]ledger.HourCount] // the last 24, oldest first
	Chart     chart
}

// ChangeRows are the changes in words.
func (v overviewView) ChangeRows() []changeRow { return changeRows(v.Changes.Value, overviewChanges) }

// PartnerPath is the page of a partner.
func (v overviewView) PartnerPath(code string) string { return partnerPath(code) }

// WaitingPath lists what waits for a partner.
func (v overviewView) WaitingPath(code string) string { return deliveriesOf(code, webhook.Pending) }

// stageView is one of the three stages that everything goes through.
type stageView struct {
	Title, Icon string
	Figures     []figure
}

const (
	overviewChanges = 8   // rows of the first page
	readChanges     = 100 // that are read for them
)

// opsHome answers "is it us or them?" first.
func (s *surface) opsHome(w http.ResponseWriter, r *http.Request, q *request) error {
	ctx, cancel := context.WithTimeout(r.Context(), panelLimit)
	defer cancel()
	e := evidence{Now: q.Now, RateAge: s.RateAge}
	if s.FailedQuotes != nil {
		e.Quotes.Count, e.Quotes.Key, e.Quotes.At = s.FailedQuotes()
	}
	var v overviewView
	together(
		func() { e.Situation = recall(ctx, s.Memory, "home/situation", s.Ledger.Situation) },
		func() { e.Workers = recall(ctx, s.Memory, "system/workers", s.Ledger.Workers) },
		func() { e.Partners = recall(ctx, s.Memory, "home/partners", s.Ledger.FailingPartners) },
		func() { e.Conflicts = recall(ctx, s.Memory, "home/conflicts", s.Ledger.OpenConflicts) },
		func() { e.Stores = recall(ctx, s.Memory, "system/stores", s.stores) },
		func() { e.Rates = recall(ctx, s.Memory, "rates", s.Ledger.Rates) },
		func() { e.Hosts = recall(ctx, s.Memory, "home/hosts", s.Ledger.FailingHosts) },
		func() {
			v.Hours = recall(ctx, s.Memory, "home/hours", func(ctx context.Context) ([]ledger.HourCount, error) {
				return s.Ledger.Series(ctx, ledger.Everything(), "", q.Now.Add(-23*time.Hour), q.Now)
			})
		},
		func() {
			v.Changes = recall(ctx, s.Memory, "home/changes", func(ctx context.Context) ([]partners.AuditEntry, error) {
				return s.Ledger.RecentChanges(ctx, readChanges)
			})
		},
	)
	v.Verdict, v.Failing, v.Workers, v.Conflicts = judge(e), e.Partners, e.Workers, e.Conflicts
	v.Ingest, v.Queue, v.Deliver = ingestStage(e), queueStage(e), deliveryStage(e, v.Hours)
	v.Chart = outcomeChart("Attempts by outcome, last 24 hours", v.Hours.Value)
	return q.render(w, r, "overview", v)
}

// since is the figure of how long ago something was; nothing is a word for
// that it never was.
func since(label string, e evidence, of func(ledger.Situation) time.Time, nothing string) figure {
	return figureOf(label, e.Situation, func(s ledger.Situation) string {
		if t := of(s); !t.IsZero() {
			return e.ago(t)
		}
		return nothing
	})
}

func ingestStage(e evidence) stageView {
	s := e.Situation.Value
	return stageView{"Ingest", "inbox", []figure{
		figureOf("Events, last minute", e.Situation, func(s ledger.Situation) string {
			if s.EventsLastMinute >= ledger.MaxCounted {
				return formatNumber(ledger.MaxCounted) + " +"
			}
			return formatNumber(s.EventsLastMinute)
		}).with("accepted", "/ops/events"),
		since("Last event", e, ledger.Situation.NewestEvent, "none yet").with("ago", ""),
		figureOf("Without endpoint", e.Situation, func(s ledger.Situation) string { return formatNumber(s.WaitingForEndpoint) }).
			with("wait for one", "").tinted("warn", s.WaitingForEndpoint > 0),
	}}
}

func queueStage(e evidence) stageView {
	s := e.Situation.Value
	oldest := func(s ledger.Situation) time.Time {
		if s.OldestDue.IsZero() || !s.OldestQueued.IsZero() && s.OldestQueued.Before(s.OldestDue) {
			return s.OldestQueued
		}
		return s.OldestDue
	}
	return stageView{"Queue", "list", []figure{
		figureOf("In flight", e.Situation, func(s ledger.Situation) string { return formatNumber(s.InFlight) }).with("queued or sending", ""),
		figureOf("Waiting, first try", e.Situation, func(s ledger.Situation) string { return formatNumber(s.WaitingFirst + s.WaitingBlocked) }).with("", "/ops/deliveries?state=pending"),
		since("Oldest that could go", e, oldest, "none").tinted("bad", !oldest(s).IsZero() && e.Now.Sub(oldest(s)) > backlogLimit),
	}}
}

func deliveryStage(e evidence, hours fact[[]ledger.HourCount]) stageView {
	s := e.Situation.Value
	hour := func(hours []ledger.HourCount) (h ledger.HourCount) {
		if len(hours) > 0 {
			h = hours[len(hours)-1]
		}
		return h
	}
	return stageView{"Delivery", "send", []figure{
		figureOf("Delivered, this hour", hours, func(h []ledger.HourCount) string { return formatNumber(hour(h).Delivered) }).
			with("since "+e.Now.UTC().Format("15:00"), "/ops/deliveries?state=delivered"),
		figureOf("Attempts that succeed", hours, func(h []ledger.HourCount) string { return share(hour(h)) }).with("this hour", ""),
		figureOf("Waiting, again", e.Situation, func(s ledger.Situation) string { return formatNumber(s.WaitingAgain) }).with("retries and replays", ""),
		figureOf("Held", e.Situation, func(s ledger.Situation) string { return formatNumber(s.Held) }).
			with("paused or disabled", "/ops/deliveries?state=held").tinted("warn", s.Held > 0),
	}}
}

// share is how many attempts of an hour succeeded, in per cent; a word when
// there were none.
func share(h ledger.HourCount) string {
	all := h.AttemptDelivered + h.AttemptFailed + h.AttemptUnknown
	if all == 0 {
		return "none yet"
	}
	if h.AttemptDelivered == all {
		return "100 %"
	}
	return percent(h.AttemptDelivered, all)
}

// outcomeChart draws attempts by the hour.
func outcomeChart(title string, hours []ledger.HourCount) chart {
	var bars []hourBar
	for _, h := range hours {
		bars = append(bars, hourBar{h.Hour, []int64{h.AttemptDelivered, h.AttemptFailed, h.AttemptUnknown}})
	}
	return stackedBars(title, "Hour, UTC", []series{{"delivered", "good"}, {"failed", "bad"}, {"unknown", "idle"}}, bars)
}

// Breaker says in a word how a failing partner's breakers are.
func (v overviewView) Breaker(p ledger.FailingPartner) pill {
	if p.Breakers == 0 {
		return pill{"idle", "closed"}
	}
	if p.Breakers == p.Endpoints {
		return pill{"bad", "open"}
	}
	return pill{"warn", "some open"}
}

// CanaryOf is a worker's canary as a state.
func (v overviewView) CanaryOf(w ledger.WorkerLease) pill { return canaryPill(w) }

func canaryPill(w ledger.WorkerLease) pill {
	switch {
	case !w.Alive:
		return pill{"bad", "worker silent"}
	case w.Canary.At.IsZero() || w.Canary.Age > canaryLate:
		return pill{"idle", "not known"}
	case w.Canary.Failure != "":
		return pill{"bad", "fails"}
	}
	return pill{"good", "arrives"}
}

// deliveriesOf is the list of a partner's deliveries in a state.
func deliveriesOf(code string, state webhook.State) string {
	query := url.Values{"partner": {code}}
	if state != "" {
		query.Set("state", string(state))
	}
	return "/ops/deliveries?" + query.Encode()
}
