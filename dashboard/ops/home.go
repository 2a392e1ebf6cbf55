package ops

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"ledgerhook/dashboard/deliveries"
	"ledgerhook/dashboard/shell"
	"ledgerhook/incidents"
	"ledgerhook/ledger/reports"
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
	Failing shell.Reading[[]reports.FailingPartner]
	Workers shell.Reading[[]reports.WorkerLease]
	Changes shell.Reading[[]partners.AuditEntry]
	// Incidents are the open ones, of which incidents.Store lists only so many.
	Incidents shell.Reading[[]incidents.Incident]
	// Conflicts are what was said of orders that have failed and is to settle.
	Conflicts shell.Reading[[]orders.Conflict]
	Hours     shell.Reading[[]reports.PeriodCount] // of a day, with this one
	Trend     deliveries.Trend
}

// ChangeRows are the changes in words.
func (v overviewView) ChangeRows() []changeRow { return changeRows(v.Changes.Value, overviewChanges) }

// ReplayPath is the preview of sending what was given up again.
func (v overviewView) ReplayPath() string { return deliveries.ReplayPath("/ops", v.Verdict.Failed) }

// OpenIncidents says how many incidents are open, and how many of these nobody
// has acknowledged; empty: none.
func (v overviewView) OpenIncidents() string {
	open, anew := len(v.Incidents.Value), 0
	switch {
	case !v.Incidents.Known:
		return "open incidents: not known just now"
	case open == 0:
		return ""
	}
	for _, i := range v.Incidents.Value {
		if !i.Acknowledged() {
			anew++
		}
	}
	says := count(open, "open incident")
	if open >= incidents.MaxListed {
		says = english.Number(open) + " or more open incidents"
	}
	if anew > 0 {
		says += ", " + english.Number(anew) + " not acknowledged"
	}
	return says
}

// PartnerPath is the page of a partner.
func (v overviewView) PartnerPath(code string) string { return deliveries.PartnerPath(code) }

// WaitingPath lists what waits for a partner.
func (v overviewView) WaitingPath(code string) string { return deliveriesOf(code, webhook.Pending) }

// stageView is one of the three stages that everything goes through.
type stageView struct {
	Title, Icon string
	Figures     []shell.Figure
}

const (
	overviewChanges = 8   // rows of the first page
	readChanges     = 100 // that are read for them
)

// opsHome answers "is it us or them?" first.
func (s pages) opsHome(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), shell.PanelLimit)
	defer cancel()
	e := evidence{Now: q.Here(q.Now), RateAge: s.RateAge}
	if s.FailedQuotes != nil {
		e.Quotes.Count, e.Quotes.Key, e.Quotes.At = s.FailedQuotes()
	}
	var v overviewView
	shell.Together(
		func() { e.Situation = shell.Shared(ctx, s.Memory, "home/situation", s.Reports.Situation) },
		func() { e.Workers = shell.Shared(ctx, s.Memory, "system/workers", s.Reports.Workers) },
		func() { e.Partners = shell.Shared(ctx, s.Memory, "home/partners", s.Reports.FailingPartners) },
		func() { e.Conflicts = shell.Shared(ctx, s.Memory, "home/conflicts", s.Reports.OpenConflicts) },
		func() { e.Stores = shell.Shared(ctx, s.Memory, "system/stores", s.stores) },
		func() { e.Rates = shell.Shared(ctx, s.Memory, "rates", s.Prices.Rates) },
		func() { e.Slow = shell.Shared(ctx, s.Memory, "home/slow", s.Reports.SlowPartners) },
		func() { e.Hosts = shell.Shared(ctx, s.Memory, "home/hosts", s.Reports.FailingHosts) },
		func() {
			v.Hours = shell.Shared(ctx, s.Memory, "home/hours", func(ctx context.Context) ([]reports.PeriodCount, error) {
				return s.Reports.Series(ctx, partners.Everything(), "", q.Now.Add(-24*time.Hour), q.Now)
			})
		},
		func() { v.Incidents = shell.Shared(ctx, s.Memory, "home/incidents", s.Incidents.Open) },
		func() { v.Trend = s.TrendOf(ctx, q, r.URL, partners.Everything(), "") },
		func() {
			v.Changes = shell.Shared(ctx, s.Memory, "home/changes", func(ctx context.Context) ([]partners.AuditEntry, error) {
				return s.Reports.RecentChanges(ctx, readChanges)
			})
		},
	)
	v.Verdict, v.Failing, v.Workers, v.Conflicts = judge(e), e.Partners, e.Workers, e.Conflicts
	v.Verdict = v.Verdict.withGivenUp(v.Hours)
	v.Ingest, v.Queue, v.Deliver = ingestStage(e), queueStage(e), deliveryStage(e, v.Hours)
	return q.Render(w, r, "overview", v)
}

// withGivenUp leads to the replay of what was given up in the last day. Beside a
// verdict that names partners others are not meant.
func (v verdict) withGivenUp(day shell.Reading[[]reports.PeriodCount]) verdict {
	if v.Failed == "" && !v.Named && givenUp(day) > 0 {
		v.Failed = deliveries.FailedQuery("24h")
	}
	return v
}

// givenUp is how many deliveries were given up in some hours, and not delivered by
// another since, as far as that is known.
func givenUp(hours shell.Reading[[]reports.PeriodCount]) (n int64) {
	for _, h := range hours.Value {
		n += h.Exhausted - h.Settled
	}
	return n
}

// since is the figure of how long ago something was; nothing is a word for
// that it never was.
func since(label string, e evidence, of func(reports.Situation) time.Time, nothing string) shell.Figure {
	return shell.FigureOf(label, e.Situation, func(s reports.Situation) string {
		if t := of(s); !t.IsZero() {
			return e.ago(t)
		}
		return nothing
	})
}

func ingestStage(e evidence) stageView {
	s := e.Situation.Value
	return stageView{"Ingest", "inbox", []shell.Figure{
		shell.FigureOf("Events, last minute", e.Situation, func(s reports.Situation) string {
			if s.EventsLastMinute >= reports.MaxCounted {
				return english.Number(reports.MaxCounted) + " +"
			}
			return english.Number(s.EventsLastMinute)
		}).With("accepted", "/ops/events"),
		since("Last event", e, reports.Situation.NewestEvent, "none yet").With("ago", ""),
		shell.FigureOf("Without endpoint", e.Situation, func(s reports.Situation) string { return english.Number(s.WaitingForEndpoint) }).
			With("wait for one", "").Tinted("warn", s.WaitingForEndpoint > 0),
	}}
}

func queueStage(e evidence) stageView {
	s := e.Situation.Value
	oldest := func(s reports.Situation) time.Time {
		if s.OldestDue.IsZero() || !s.OldestQueued.IsZero() && s.OldestQueued.Before(s.OldestDue) {
			return s.OldestQueued
		}
		return s.OldestDue
	}
	return stageView{"Queue", "list", []shell.Figure{
		shell.FigureOf("In flight", e.Situation, func(s reports.Situation) string { return english.Number(s.InFlight) }).With("queued or sending", ""),
		shell.FigureOf("Not yet tried", e.Situation, func(s reports.Situation) string { return english.Number(s.WaitingFirst + s.WaitingBlocked) }).With("", "/ops/deliveries?state=pending"),
		since("Oldest ready", e, oldest, "none").Tinted("bad", !oldest(s).IsZero() && e.Now.Sub(oldest(s)) > backlogLimit),
	}}
}

func deliveryStage(e evidence, hours shell.Reading[[]reports.PeriodCount]) stageView {
	s := e.Situation.Value
	// Of the hour before, too: nothing is forgotten when one begins.
	delivered := func(hours []reports.PeriodCount) (n int64) {
		for _, h := range hours[max(0, len(hours)-2):] {
			n += h.Delivered
		}
		return n
	}
	return stageView{"Delivery", "send", []shell.Figure{
		shell.FigureOf("Delivered", hours, func(h []reports.PeriodCount) string { return english.Number(delivered(h)) }).
			With("since "+e.Now.Add(-time.Hour).Truncate(time.Hour).Format("15:04"), "/ops/deliveries?state=delivered"),
		shell.FigureOf("Attempts that succeed", e.Situation, share).With(besides(e, s), "").Tinted("warn", s.WaitingFailing > 0),
		shell.FigureOf("To be sent again", e.Situation, func(s reports.Situation) string { return english.Number(s.WaitingAgain) }).With("retries and replays", ""),
		shell.FigureOf("Held", e.Situation, func(s reports.Situation) string { return english.Number(s.Held) }).
			With("paused or disabled", "/ops/deliveries?state=held").Tinted("warn", s.Held > 0),
	}}
}

// share is how many of the newest attempts succeeded, in per cent; a word when
// there were none.
func share(s reports.Situation) string {
	switch s.Attempts {
	case 0:
		return "none"
	case s.AttemptsDelivered:
		return "100 %"
	}
	return english.Percent(int64(s.AttemptsDelivered), int64(s.Attempts))
}

// besides says of which attempts the share is, and what is not even tried.
func besides(e evidence, s reports.Situation) string {
	note := "in the last " + english.Duration(reports.RecentWithin)
	if s.Attempts > 0 {
		note = fmt.Sprintf("of %s in the last %s", english.Number(s.Attempts), e.ago(s.AttemptsSince))
	}
	if s.WaitingFailing > 0 {
		note += "; " + english.Number(s.WaitingFailing) + verb(s.WaitingFailing, " waits", " wait") + " for endpoints that fail"
	}
	return note
}

// Breaker says in a word how a failing partner's breakers are.
func (v overviewView) Breaker(p reports.FailingPartner) shell.Pill {
	if p.Breakers == 0 {
		return shell.Idle("holds nothing back")
	}
	if p.Breakers == p.Endpoints {
		return shell.Bad("holds all back")
	}
	return shell.Warn("some hold back")
}

// Failure is what the newest attempts at a failing partner came to.
func (v overviewView) Failure(p reports.FailingPartner) string { return failure(p) }

// CanaryOf is a worker's canary as a state.
func (v overviewView) CanaryOf(w reports.WorkerLease) shell.Pill { return canaryPill(w) }

func canaryPill(w reports.WorkerLease) shell.Pill {
	switch {
	case !w.Alive:
		return shell.Bad("worker silent")
	case w.Canary.At.IsZero() || w.Canary.Age > canaryLate:
		return shell.Idle("not known")
	case w.Canary.Failure != "":
		return shell.Bad("fails")
	}
	return shell.Good("arrives")
}

// deliveriesOf is the list of a partner's deliveries in a state.
func deliveriesOf(code string, state webhook.State) string {
	query := url.Values{"partner": {code}}
	if state != "" {
		query.Set("state", string(state))
	}
	return "/ops/deliveries?" + query.Encode()
}
