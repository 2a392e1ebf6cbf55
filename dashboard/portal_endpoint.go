package dashboard

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"ledgerhook/dashboard/locale"
	"ledgerhook/delivery"
	"ledgerhook/ledger"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// endpointRoutes are the partner's pages about its endpoints.
func (s *surface) endpointRoutes() []route {
	return []route{
		{"GET /portal/endpoints", mayRead, s.endpointsPage},
		{"GET /portal/endpoints/new", mayAct, s.newEndpointPage},
		{"POST /portal/endpoints", mayAct, s.createEndpoint},
		{"GET /portal/endpoints/{id}", mayRead, s.endpointPage},
		{"GET /portal/endpoints/{id}/edit", mayAct, s.editEndpointPage},
		{"POST /portal/endpoints/{id}", mayAct, s.saveEndpoint},
		{"POST /portal/endpoints/{id}/pause", mayAct, s.pauseEndpoint()},
		{"POST /portal/endpoints/{id}/resume", mayAct, s.resumeEndpoint()},
		{"POST /portal/endpoints/{id}/test", mayAct, s.testEndpoint},
		{"GET /portal/endpoints/{id}/remove", mayAct, s.removeEndpointPage},
		{"POST /portal/endpoints/{id}/remove", mayAct, s.removeEndpoint},
	}
}

// portalEndpoint is an endpoint as its partner sees it.
type portalEndpoint struct {
	endpointPanel
	q *request
}

// Path is the endpoint's page.
func (e portalEndpoint) Path() string { return endpointPath(e.ID) }

// TypeWords lists the types that it takes.
func (e portalEndpoint) TypeWords() string {
	if len(e.endpointPanel.Types) == 0 {
		return e.q.T("all event types")
	}
	return strings.Join(plain(e.endpointPanel.Types), ", ")
}

// Result is what the newest attempt came to; empty: there was none of late.
func (e portalEndpoint) Result() string { return resultWords(e.q.T, lastOf(e.Newest)) }

// ResultPill is the newest attempt's outcome.
func (e portalEndpoint) ResultPill() pill { return e.q.attemptView(e.Newest, false).Outcome }

// Advices are what the receiver's answers say to its owner.
func (e portalEndpoint) Advices() []string { return e.q.advices(e.endpointPanel) }

// Held says why nothing goes out just now, and what helps; empty: it does.
func (e portalEndpoint) Held() string {
	w, t := e.Window, e.q.T
	switch {
	case w.PartnerDisabled:
		return t(locale.Text("Your account is disabled by the gateway's operators: deliveries are held until it is enabled."))
	case w.Disabled && w.Health.DisabledReason != "":
		return t(locale.Text("The gateway disabled this endpoint: %s. Repair the receiver, then resume: what was held goes out."), e.q.Stored(w.Health.DisabledReason).Text)
	case w.Disabled:
		return t(locale.Text("This endpoint is disabled. Repair the receiver, then resume: what was held goes out."))
	case w.Paused:
		return t(locale.Text("This endpoint is paused. Its deliveries are held and counted; resume, and they go out in order."))
	case e.BreakerClosed():
		return ""
	case w.Breaker.OpenUntil.IsZero():
		return t(locale.Text("The gateway's operators hold deliveries back until further notice."))
	}
	return t(locale.Text("Too many attempts failed, so deliveries wait and use no attempts up. One of them is tried every now and then; three that succeed open the way for the rest."))
}

// Rate is how many deliveries a second it takes at most.
func (e portalEndpoint) Rate() string {
	if n := delivery.RateLimit(e.Window); n > 0 {
		return e.q.T("%s a second", formatNumber(n))
	}
	return e.q.T("no limit")
}

// Limit is how long an attempt may take; empty: not known here.
func (e portalEndpoint) Limit() string {
	if limit := cmp.Or(e.Timeout, e.q.surface.Timeout); limit > 0 {
		return formatDuration(limit)
	}
	return ""
}

// Acknowledges is what counts as taken.
func (e portalEndpoint) Acknowledges() string {
	if e.AckMode == webhook.AckBody {
		return e.q.T("2xx with JSON that does not say success: false")
	}
	return e.q.T("any 2xx")
}

// HeaderNames are its custom headers without their values.
func (e portalEndpoint) HeaderNames() []string {
	headers, err := delivery.OpenHeaders(e.q.surface.Box, e.ID, e.Headers)
	if err != nil {
		e.q.surface.Log.Error("an endpoint's headers cannot be read", "endpoint", e.ID, "error", err)
	}
	return slices.Sorted(maps.Keys(headers))
}

// DeliveriesPath lists its deliveries.
func (e portalEndpoint) DeliveriesPath() string {
	return deliveriesAt("/portal", "endpoint:"+e.ID+" state:any")
}

// endpointsView is the list of the partner's endpoints.
type endpointsView struct {
	Endpoints fact[[]portalEndpoint]
	Max       int
	Done      string
}

// Full reports whether the partner has all that it may.
func (v endpointsView) Full() bool { return len(v.Endpoints.Value) >= v.Max }

func (s *surface) endpointsPage(w http.ResponseWriter, r *http.Request, q *request) error {
	ctx, cancel := context.WithTimeout(r.Context(), panelLimit)
	defer cancel()
	v := endpointsView{Endpoints: s.partnerEndpoints(ctx, q), Max: partners.MaxEndpoints, Done: q.endpointDone(r)}
	return q.render(w, r, "portal_endpoints", v)
}

// endpointView is one endpoint of the partner.
type endpointView struct {
	portalEndpoint
	Known   fact[endpointPanel]
	Steps   []checkStep // of the newest attempt
	Types   []string    // that a test can be of
	Form    string
	History fact[[]activityRow]
	Done    string
}

// endpointHistory is how many acts an endpoint's page lists.
const endpointHistory = 10

// endpointDone is what was just done to an endpoint, in words.
func (q *request) endpointDone(r *http.Request) string {
	done := map[string]string{
		"created": locale.Text("The endpoint is saved. Notifications that it takes go to it from now on."),
		"saved":   locale.Text("The changes are saved. Every attempt from now on uses them."),
		"pause":   locale.Text("The endpoint is paused. What comes for it is held."), "resume": locale.Text("The endpoint is resumed. What was held goes out now."),
		"removed": locale.Text("The endpoint is removed. What waited for it is cancelled."), "again": doneBefore,
	}[r.URL.Query().Get("done")]
	if done == "" {
		return ""
	}
	return q.T(done)
}

// endpointAt is the endpoint of the path, if it is the partner's own.
func (s *surface) endpointAt(ctx context.Context, r *http.Request, q *request) (e webhook.Endpoint, err error) {
	id, err := pathID(r, "endpoint", webhook.EndpointPrefix)
	if err != nil {
		return e, err
	}
	return s.Ledger.EndpointIn(ctx, q.scope(), id)
}

func (s *surface) endpointPage(w http.ResponseWriter, r *http.Request, q *request) error {
	id, err := pathID(r, "endpoint", webhook.EndpointPrefix)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), panelLimit)
	defer cancel()
	key := "endpoint/" + q.User.PartnerCode + "/" + id
	v := endpointView{Form: newFormToken(), Types: plain(webhook.Types), Done: q.endpointDone(r)}
	together(
		func() {
			v.Known = recall(ctx, s.Memory, key, func(ctx context.Context) (endpointPanel, error) {
				e, err := s.endpointAt(ctx, r, q)
				if err != nil {
					return endpointPanel{}, err
				}
				return s.endpointPanel(ctx, e)
			})
		},
		func() {
			v.History = recall(ctx, s.Memory, key+"/history", func(ctx context.Context) ([]activityRow, error) {
				found, _, err := s.Ledger.AuditEntries(ctx, partners.AuditFilter{Target: id, PartnerCode: q.User.PartnerCode, Limit: endpointHistory})
				return q.activityRows(found), err
			})
		},
	)
	if webhook.KindOf(v.Known.Err) == webhook.KindNotFound || !v.Known.Known {
		return v.Known.Err
	}
	v.portalEndpoint = portalEndpoint{v.Known.Value, q}
	if v.Newest.ID != "" {
		v.Steps = q.checkSteps(v.URL, v.Newest)
	}
	return q.render(w, r, "portal_endpoint", v)
}

// removal says what an endpoint's end means.
type removal struct {
	portalEndpoint
	Last bool // the partner has no other
	Form string
}

func (s *surface) removeEndpointPage(w http.ResponseWriter, r *http.Request, q *request) error {
	e, err := s.endpointAt(r.Context(), r, q)
	if err != nil {
		return err
	}
	all, err := s.Ledger.Endpoints(r.Context(), e.PartnerCode)
	if err != nil {
		return err
	}
	return q.render(w, r, "portal_endpoint_remove", removal{portalEndpoint{endpointPanel{Endpoint: e}, q}, len(all) == 1, newFormToken()})
}

func (s *surface) removeEndpoint(w http.ResponseWriter, r *http.Request, q *request) error {
	return s.once(w, r, func() (string, error) {
		if err := s.Ledger.RemoveEndpointIn(r.Context(), q.scope(), r.PathValue("id"), q.audit("endpoint.remove")); err != nil {
			return "", err
		}
		return "/portal/endpoints?done=removed", nil
	})
}

// once does what a form asks for, the first time that it is sent, and leads to
// the place that do names. Sent again, it leads there and is told.
func (s *surface) once(w http.ResponseWriter, r *http.Request, do func() (place string, err error)) error {
	if err := r.ParseForm(); err != nil {
		return webhook.Invalid("form", "cannot be read")
	}
	place, again, err := s.Ledger.OnceForm(r.Context(), r.PostForm.Get("form"), do)
	if err != nil {
		return err
	}
	if again {
		path, _, _ := strings.Cut(place, "?")
		place = path + "?done=again"
	}
	http.Redirect(w, r, place, http.StatusSeeOther)
	return nil
}

// testEndpoint sends the catalogue's example of the chosen type and leads to
// what came of it and what exactly was signed.
func (s *surface) testEndpoint(w http.ResponseWriter, r *http.Request, q *request) error {
	e, err := s.endpointAt(r.Context(), r, q)
	if err != nil {
		return err
	}
	return s.once(w, r, func() (string, error) {
		return s.sendTest(r.Context(), q, e, webhook.Type(r.PostForm.Get("type")), "test")
	})
}

// sendTest sends a test event and returns the page about it, where done says
// what was done. It waits a little for the outcome: whoever has no script then
// finds it there.
func (s *surface) sendTest(ctx context.Context, q *request, e webhook.Endpoint, t webhook.Type, done string) (place string, err error) {
	var made delivery.Appended
	test, err := delivery.NewTest(e, t, s.keyID(), q.Now)
	if err == nil {
		err = s.Limiter.AllowTest(ctx, e.PartnerCode, e.ID)
	}
	if err == nil {
		made, err = s.Ledger.Append(ctx, test, q.audit("endpoint.test"))
	}
	var refusal *webhook.Error
	if errors.As(err, &refusal) && refusal.Kind == webhook.KindRateLimited {
		return "", &webhook.Error{Kind: webhook.KindRateLimited, RetryAfter: refusal.RetryAfter, Message: q.T("Your endpoints are tested too often: at most %d times a minute, and %d tests on their way to an endpoint at once. Wait a little and test again.",
			webhook.TestsPerMinute, webhook.MaxTests)}
	}
	if err != nil {
		return "", err
	}
	id := made.DeliveryIDs[0]
	s.awaitEnd(ctx, q.scope(), id)
	return signedPath("/portal", id) + "?done=" + done, nil
}

const (
	testPatience = 3 * time.Second // of a form that sent a test
	testLook     = 50 * time.Millisecond
)

// awaitEnd waits until a delivery has ended or the patience is at its end.
func (s *surface) awaitEnd(ctx context.Context, scope ledger.Scope, id string) {
	ctx, cancel := context.WithTimeout(ctx, testPatience)
	defer cancel()
	look := time.NewTicker(testLook)
	defer look.Stop()
	for {
		if d, err := s.Ledger.SeenDelivery(ctx, scope, id); err == nil && d.State.Final() {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}
