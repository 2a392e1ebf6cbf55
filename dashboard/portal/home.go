package portal

import (
	"context"
	"net/http"
	"time"

	"ledgerhook/dashboard/deliveries"
	"ledgerhook/dashboard/shell"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// portalView is the partner's first page: the steps that are left, then how
// its notifications do.
type portalView struct {
	Steps        []homeStep // nil: all are done, or it is not known
	Done         int
	StepsReading shell.Reading[homeState]
	Healthy      shell.Notice
	Repairs      []shell.Repair
	Figures      []shell.Figure
	Endpoints    shell.Reading[[]portalEndpoint]
	Failures     shell.Reading[[]deliveries.Row]
	Hours        shell.Reading[[]reports.PeriodCount]
	Trend        deliveries.Trend
	Oldest       shell.Reading[time.Time]
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

func (s pages) portalHome(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), shell.PanelLimit)
	defer cancel()
	code, scope := q.User.PartnerCode, q.Scope()
	key := "portal/" + code + "/"
	var v portalView
	shell.Together(
		func() { v.Endpoints = s.partnerEndpoints(ctx, q) },
		func() { v.Trend = s.TrendOf(ctx, q, r.URL, scope, code) },
		func() {
			v.Hours = shell.Cached(ctx, s.Memory, key+"hours", func(ctx context.Context) ([]reports.PeriodCount, error) {
				return s.Reports.Series(ctx, scope, code, q.Now.Add(-23*time.Hour), q.Now)
			})
		},
		func() {
			v.Failures = shell.Cached(ctx, s.Memory, key+"failures/"+q.Locale, func(ctx context.Context) (rows []deliveries.Row, err error) {
				page, err := s.Reports.SearchDeliveries(ctx, reports.DeliveryQuery{Scope: scope, NeedsAttention: true, Limit: homeFailures})
				for _, d := range page.Items {
					rows = append(rows, deliveries.RowOf(q, d))
				}
				return rows, err
			})
		},
		func() {
			v.Oldest = shell.Cached(ctx, s.Memory, key+"oldest", func(ctx context.Context) (time.Time, error) { return s.Reports.OldestWaiting(ctx, scope) })
		},
		func() {
			v.StepsReading = shell.Cached(ctx, s.Memory, key+"steps", func(ctx context.Context) (homeState, error) { return s.homeState(ctx, q) })
		},
	)
	v.Steps, v.Done = homeSteps(q, v)
	v.Healthy, v.Figures = homeHealth(q, v.Endpoints), homeFigures(q, v)
	v.Repairs = homeRepairs(q, v)
	return q.Render(w, r, "home", v)
}

// Live reports whether there is a health to show.
func (v portalView) Live() bool { return len(v.Steps) == 0 || len(v.Endpoints.Value) > 0 }

// partnerEndpoints are the partner's endpoints with what their receivers
// answered of late.
func (s pages) partnerEndpoints(ctx context.Context, q *shell.Request) shell.Reading[[]portalEndpoint] {
	code := q.User.PartnerCode
	panels := shell.Cached(ctx, s.Memory, "endpoints/"+code, func(ctx context.Context) ([]deliveries.EndpointPanel, error) { return s.EndpointPanels(ctx, code) })
	found := shell.Reading[[]portalEndpoint]{At: panels.At, Known: panels.Known, Fresh: panels.Fresh}
	for _, p := range panels.Value {
		found.Value = append(found.Value, portalEndpoint{p, q})
	}
	return found
}

// homeState reads what has happened. Whatever can no longer be undone is not
// asked for: a delivered notification says that one was sent and answered.
func (s pages) homeState(ctx context.Context, q *shell.Request) (h homeState, err error) {
	code := q.User.PartnerCode
	secrets, err := s.Accounts.Secrets(ctx, code)
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
	any := func(query reports.DeliveryQuery) bool {
		if err != nil {
			return false
		}
		query.Scope, query.Limit = q.Scope(), 1
		var page reports.DeliveryPage
		page, err = s.Reports.SearchDeliveries(ctx, query)
		return len(page.Items) > 0
	}
	delivered := []webhook.State{webhook.Delivered}
	h.Delivered = h.Delivered || any(reports.DeliveryQuery{States: delivered, Triggers: []webhook.Trigger{webhook.TriggerFirst, webhook.TriggerManual, webhook.TriggerReplay}})
	h.Answered = h.Delivered || any(reports.DeliveryQuery{States: delivered})
	h.Sent = h.Answered || any(reports.DeliveryQuery{AttemptsMin: 1})
	return h, err
}

// homeSteps are the five steps; none once all are done.
func homeSteps(q *shell.Request, v portalView) (steps []homeStep, done int) {
	h := v.StepsReading.Value
	if !v.StepsReading.Known || h.complete() {
		return nil, 0
	}
	endpoint := "/portal/endpoints"
	if len(v.Endpoints.Value) > 0 {
		endpoint = v.Endpoints.Value[0].Path()
	}
	steps = []homeStep{
		{Title: q.T("Have a webhook secret"), Detail: q.T("It signs what you get. One was made with your account; you may make another at any time."), Done: h.Secret, Href: "/portal/secrets", Link: q.T("Secrets")},
		{Title: q.T("Add an endpoint"), Detail: q.T("The URL that receives your notifications. Earlier events wait for it."), Done: h.Endpoint, Href: "/portal/endpoints/new", Link: q.T("Add an endpoint")},
		{Title: q.T("Send it a test"), Detail: q.T("The test is signed like every notification, so your receiver can check it."), Done: h.Sent, Href: endpoint, Link: q.T("Send a test")},
		{Title: q.T("Answer it with 2xx"), Detail: q.T("Check the signature first; the verification page says what is wrong with one that does not verify."), Done: h.Answered, Href: "/portal/verify", Link: q.T("Verify a signature")},
		{Title: q.T("Receive your first notification"), Detail: q.T("Notifications arrive when something happens. The catalogue shows every type."), Done: h.Delivered, Href: "/portal/catalogue", Link: q.T("Event types")},
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
func homeHealth(q *shell.Request, endpoints shell.Reading[[]portalEndpoint]) shell.Notice {
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
		return shell.Notice{Tone: "warn", Text: q.T("The state of your endpoints is not known just now.")}
	case all == 0:
		return shell.Notice{Tone: "warn", Text: q.T("You have no endpoint: notifications wait for one.")}
	case failing > 0:
		return shell.Notice{Tone: "bad", Text: q.T("%d of %d endpoints fail. Failed notifications are retried automatically.", failing, all)}
	case held > 0:
		return shell.Notice{Tone: "warn", Text: q.T("%d of %d endpoints are switched off: their notifications wait.", held, all)}
	}
	return shell.Notice{Tone: "good", Text: q.T("Every endpoint accepts its notifications.")}
}

// homeRepairs lead from what is wrong to what repairs it.
func homeRepairs(q *shell.Request, v portalView) []shell.Repair {
	var failing []reports.FoundDelivery
	for _, row := range v.Failures.Value {
		failing = append(failing, row.FoundDelivery)
	}
	var givenUp int64
	for _, h := range v.Hours.Value {
		givenUp += h.Exhausted - h.Settled
	}
	return deliveries.Repairs(q, failing, givenUp > 0, "since:24h")
}

// homeFigures are the last 24 hours in numbers.
func homeFigures(q *shell.Request, v portalView) []shell.Figure {
	count := func(label string, of func(reports.PeriodCount) int64) shell.Figure {
		return shell.FigureOf(label, v.Hours, func(hours []reports.PeriodCount) string {
			var n int64
			for _, h := range hours {
				n += of(h)
			}
			return q.Number(n)
		})
	}
	waiting := func(rows []portalEndpoint) (n int) {
		for _, e := range rows {
			n += e.Waiting() + e.Window.Used
		}
		return n
	}
	return []shell.Figure{
		count(q.T("Delivered"), func(h reports.PeriodCount) int64 { return h.Delivered }).With("", deliveries.Path("/portal", "state:delivered")),
		count(q.T("Given up"), func(h reports.PeriodCount) int64 { return h.Exhausted - h.Settled }).With("", deliveries.Path("/portal", "state:exhausted settled:no")),
		shell.FigureOf(q.T("Attempts that succeed"), v.Hours, func(hours []reports.PeriodCount) string {
			var good, all int64
			for _, h := range hours {
				good, all = good+h.AttemptDelivered, all+h.AttemptDelivered+h.AttemptFailed+h.AttemptUnknown
			}
			if all == 0 {
				return q.T("none yet")
			}
			return q.Percent(good, all)
		}),
		shell.FigureOf(q.T("Waiting now"), v.Endpoints, func(rows []portalEndpoint) string { return q.Number(waiting(rows)) }).With("", deliveries.Path("/portal", "state:pending,queued,sending,held")),
		shell.FigureOf(q.T("Oldest waiting"), v.Oldest, func(at time.Time) string {
			if at.IsZero() {
				return q.T("none")
			}
			return q.Duration(q.Now.Sub(at).Truncate(time.Second))
		}),
	}
}
