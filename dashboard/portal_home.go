package dashboard

import (
	"context"
	"net/http"
	"time"

	"ledgerhook/ledger"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// portalView is the partner's first page: the steps that are left, then how
// its notifications do.
type portalView struct {
	Steps     []homeStep // nil: all are done, or it is not known
	Done      int
	StepsFact fact[homeState]
	Healthy   notice
	Figures   []figure
	Endpoints fact[[]portalEndpoint]
	Failures  fact[[]deliveryRow]
	Hours     fact[[]ledger.HourCount]
	Chart     chart
	Oldest    fact[time.Time]
}

// homeStep is one step of the way to a first notification.
type homeStep struct {
	Title, Detail string
	Done          bool
	Next          bool // the first that is not done
	Href, Link    string
}

// homeState is what the steps are read from.
type homeState struct{ Secret, Endpoint, Sent, Answered, Delivered bool }

func (h homeState) complete() bool { return h.Secret && h.Endpoint && h.Answered && h.Delivered }

// homeFailures is how many deliveries that need attention the page lists.
const homeFailures = 6

func (s *surface) portalHome(w http.ResponseWriter, r *http.Request, q *request) error {
	ctx, cancel := context.WithTimeout(r.Context(), panelLimit)
	defer cancel()
	code, scope := q.User.PartnerCode, q.scope()
	key := "portal/" + code + "/"
	var v portalView
	together(
		func() { v.Endpoints = s.partnerEndpoints(ctx, q) },
		func() {
			v.Hours = recall(ctx, s.Memory, key+"hours", func(ctx context.Context) ([]ledger.HourCount, error) {
				return s.Ledger.Series(ctx, scope, code, q.Now.Add(-23*time.Hour), q.Now)
			})
		},
		func() {
			v.Failures = recall(ctx, s.Memory, key+"failures/"+q.Locale, func(ctx context.Context) (rows []deliveryRow, err error) {
				page, err := s.Ledger.SearchDeliveries(ctx, ledger.DeliveryQuery{Scope: scope, NeedsAttention: true, Limit: homeFailures})
				for _, d := range page.Items {
					rows = append(rows, q.deliveryRow(d))
				}
				return rows, err
			})
		},
		func() {
			v.Oldest = recall(ctx, s.Memory, key+"oldest", func(ctx context.Context) (time.Time, error) { return s.Ledger.OldestWaiting(ctx, scope) })
		},
		func() {
			v.StepsFact = recall(ctx, s.Memory, key+"steps", func(ctx context.Context) (homeState, error) { return s.homeState(ctx, q) })
		},
	)
	v.Steps, v.Done = q.homeSteps(v)
	v.Healthy, v.Figures = q.homeHealth(v.Endpoints), q.homeFigures(v)
	v.Chart = q.outcomes(v.Hours.Value)
	return q.render(w, r, "portal_home", v)
}

// Live reports whether there is a health to show.
func (v portalView) Live() bool { return len(v.Steps) == 0 || len(v.Endpoints.Value) > 0 }

// partnerEndpoints are the partner's endpoints with what their receivers
// answered of late.
func (s *surface) partnerEndpoints(ctx context.Context, q *request) fact[[]portalEndpoint] {
	code := q.User.PartnerCode
	panels := recall(ctx, s.Memory, "endpoints/"+code, func(ctx context.Context) ([]endpointPanel, error) { return s.endpointPanels(ctx, code) })
	found := fact[[]portalEndpoint]{At: panels.At, Known: panels.Known, Fresh: panels.Fresh}
	for _, p := range panels.Value {
		found.Value = append(found.Value, portalEndpoint{p, q})
	}
	return found
}

// homeState reads what has happened. Whatever can no longer be undone is not
// asked for: a delivered notification says that one was sent and answered.
func (s *surface) homeState(ctx context.Context, q *request) (h homeState, err error) {
	code := q.User.PartnerCode
	secrets, err := s.Ledger.Secrets(ctx, code)
	if err != nil {
		return h, err
	}
	for _, secret := range secrets {
		h.Secret = h.Secret || secret.StateAt(q.Now) == partners.SecretActive
	}
	found, err := s.Ledger.Endpoints(ctx, code)
	if err != nil {
		return h, err
	}
	h.Endpoint = len(found) > 0
	for _, e := range found {
		h.Delivered = h.Delivered || !e.Window.Health.LastSuccess.IsZero()
	}
	any := func(query ledger.DeliveryQuery) bool {
		if err != nil {
			return false
		}
		query.Scope, query.Limit = q.scope(), 1
		var page ledger.DeliveryPage
		page, err = s.Ledger.SearchDeliveries(ctx, query)
		return len(page.Items) > 0
	}
	delivered := []webhook.State{webhook.Delivered}
	h.Delivered = h.Delivered || any(ledger.DeliveryQuery{States: delivered, Triggers: []webhook.Trigger{webhook.TriggerFirst, webhook.TriggerManual, webhook.TriggerReplay}})
	h.Answered = h.Delivered || any(ledger.DeliveryQuery{States: delivered})
	h.Sent = h.Answered || any(ledger.DeliveryQuery{AttemptsMin: 1})
	return h, err
}

// homeSteps are the five steps; none once all are done.
func (q *request) homeSteps(v portalView) (steps []homeStep, done int) {
	h := v.StepsFact.Value
	if !v.StepsFact.Known || h.complete() {
		return nil, 0
	}
	endpoint := "/portal/endpoints"
	if len(v.Endpoints.Value) > 0 {
		endpoint = v.Endpoints.Value[0].Path()
	}
	steps = []homeStep{
		{Title: q.T("Have a webhook secret"), Detail: q.T("It signs what you get. One was made with your account; you may make another at any time."), Done: h.Secret, Href: "/portal/secrets", Link: q.T("Secrets")},
		{Title: q.T("Add an endpoint"), Detail: q.T("The URL that takes your notifications. What comes before waits for it."), Done: h.Endpoint, Href: "/portal/endpoints/new", Link: q.T("Add an endpoint")},
		{Title: q.T("Send it a test"), Detail: q.T("The test is signed like every notification, so your receiver can check it."), Done: h.Sent, Href: endpoint, Link: q.T("Send a test")},
		{Title: q.T("Answer it with 2xx"), Detail: q.T("Check the signature first; the page for that says what is wrong with one that does not verify."), Done: h.Answered, Href: "/portal/verify", Link: q.T("Verify a signature")},
		{Title: q.T("Take your first notification"), Detail: q.T("It comes by itself when something happens. The catalogue shows every type."), Done: h.Delivered, Href: "/portal/catalogue", Link: q.T("Event types")},
	}
	next := false
	for i := range steps {
		step := &steps[i]
		if step.Done || step.Href == "/portal/endpoints/new" && !q.CanAct() {
			step.Href = ""
		}
		if step.Done {
			done++
		} else if !next {
			step.Next, next = true, true
		}
	}
	return steps, done
}

// homeHealth says in one sentence how the endpoints are.
func (q *request) homeHealth(endpoints fact[[]portalEndpoint]) notice {
	failing, held := 0, 0
	for _, e := range endpoints.Value {
		switch h := e.Window.Health; {
		case !e.Window.Open():
			held++
		case !e.BreakerClosed() || h.FailingSince.After(h.LastSuccess):
			failing++
		}
	}
	switch all := len(endpoints.Value); {
	case !endpoints.Fresh:
		return notice{"warn", q.T("How your endpoints are is not known just now.")}
	case all == 0:
		return notice{"warn", q.T("You have no endpoint: notifications wait for one.")}
	case failing > 0:
		return notice{"bad", q.T("%d of %d endpoints fail. What is missed is tried again by itself.", failing, all)}
	case held > 0:
		return notice{"warn", q.T("%d of %d endpoints are switched off: what comes for them waits.", held, all)}
	}
	return notice{"good", q.T("Every endpoint takes what it gets.")}
}

// homeFigures are the last 24 hours in numbers.
func (q *request) homeFigures(v portalView) []figure {
	count := func(label string, of func(ledger.HourCount) int64) figure {
		return figureOf(label, v.Hours, func(hours []ledger.HourCount) string {
			var n int64
			for _, h := range hours {
				n += of(h)
			}
			return formatNumber(n)
		})
	}
	waiting := func(rows []portalEndpoint) (n int) {
		for _, e := range rows {
			n += e.Waiting() + e.Window.Used
		}
		return n
	}
	return []figure{
		count(q.T("Delivered"), func(h ledger.HourCount) int64 { return h.Delivered }).with("", deliveriesAt("/portal", "state:delivered")),
		count(q.T("Given up"), func(h ledger.HourCount) int64 { return h.Exhausted }).with("", deliveriesAt("/portal", "state:exhausted")),
		figureOf(q.T("Attempts that succeed"), v.Hours, func(hours []ledger.HourCount) string {
			var good, all int64
			for _, h := range hours {
				good, all = good+h.AttemptDelivered, all+h.AttemptDelivered+h.AttemptFailed+h.AttemptUnknown
			}
			if all == 0 {
				return q.T("none yet")
			}
			return percent(good, all)
		}),
		figureOf(q.T("Waiting now"), v.Endpoints, func(rows []portalEndpoint) string { return formatNumber(waiting(rows)) }).with("", deliveriesAt("/portal", "state:pending,queued,sending,held")),
		figureOf(q.T("Oldest waiting"), v.Oldest, func(at time.Time) string {
			if at.IsZero() {
				return q.T("none")
			}
			return formatDuration(q.Now.Sub(at).Truncate(time.Second))
		}),
	}
}

// outcomes draws the attempts of 24 hours.
func (q *request) outcomes(hours []ledger.HourCount) chart {
	var bars []hourBar
	for _, h := range hours {
		bars = append(bars, hourBar{h.Hour, []int64{h.AttemptDelivered, h.AttemptFailed, h.AttemptUnknown}})
	}
	return stackedBars(q.T("Attempts by outcome, last 24 hours"), q.T("Hour, UTC"),
		[]series{{q.T("delivered"), "good"}, {q.T("failed"), "bad"}, {q.T("outcome unknown"), "idle"}}, bars)
}
