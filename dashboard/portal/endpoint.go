package portal

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"ledgerhook/dashboard/deliveries"
	"ledgerhook/dashboard/locale"
	"ledgerhook/dashboard/shell"
	"ledgerhook/delivery"
	"ledgerhook/incidents"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// endpointRoutes are the partner's pages about its endpoints.
func (s pages) endpointRoutes() []shell.Route {
	return []shell.Route{
		shell.Read("GET /portal/endpoints", s.endpointsPage),
		shell.Act("GET /portal/endpoints/new", s.newEndpointPage),
		shell.Act("POST /portal/endpoints", s.createEndpoint),
		shell.Read("GET /portal/endpoints/{id}", s.endpointPage),
		shell.Act("GET /portal/endpoints/{id}/edit", s.editEndpointPage),
		shell.Act("POST /portal/endpoints/{id}", s.saveEndpoint),
		shell.Act("POST /portal/endpoints/{id}/pause", s.PauseEndpoint()),
		shell.Act("POST /portal/endpoints/{id}/resume", s.ResumeEndpoint()),
		shell.Act("POST /portal/endpoints/{id}/test", s.testEndpoint),
		shell.Act("POST /portal/endpoints/{id}/contacts", s.addContact),
		shell.Act("POST /portal/endpoints/{id}/contacts/remove", s.removeContact),
		shell.Act("GET /portal/endpoints/{id}/remove", s.removeEndpointPage),
		shell.Act("POST /portal/endpoints/{id}/remove", s.removeEndpoint),
	}
}

// portalEndpoint is an endpoint as its partner sees it.
type portalEndpoint struct {
	deliveries.EndpointPanel
	q *shell.Request
}

// Repairs lead from its refusals to what repairs them.
func (e portalEndpoint) Repairs() []shell.Repair {
	var newest reports.FoundDelivery
	newest.ID, newest.Last = e.Newest.DeliveryID, deliveries.LastOf(e.Newest)
	return deliveries.Repairs(e.q, []reports.FoundDelivery{newest}, false, "")
}

// Path is the endpoint's page.
func (e portalEndpoint) Path() string { return deliveries.EndpointPath(e.ID) }

// TypeWords lists the types that it takes.
func (e portalEndpoint) TypeWords() string {
	if len(e.EndpointPanel.Types) == 0 {
		return e.q.T("all event types")
	}
	return strings.Join(shell.Plain(e.EndpointPanel.Types), ", ")
}

// Result is what the newest attempt came to; empty: there was none of late.
func (e portalEndpoint) Result() string {
	return deliveries.ResultWords(e.q.T, deliveries.LastOf(e.Newest))
}

// ResultPill is the newest attempt's outcome.
func (e portalEndpoint) ResultPill() shell.Pill {
	return deliveries.AttemptOf(e.q, e.Newest, false).Outcome
}

// Advices are what the receiver's answers say to its owner.
func (e portalEndpoint) Advices() []string { return deliveries.Advices(e.q, e.EndpointPanel) }

// Held says why nothing goes out just now, and what helps; empty: it does.
func (e portalEndpoint) Held() string {
	w, t := e.Window, e.q.T
	switch {
	case w.PartnerDisabled:
		return t(locale.Text("Your account is disabled by the gateway's operators: deliveries are held until it is enabled."))
	case w.Disabled && w.Health.DisabledReason != "":
		return t(locale.Text("The gateway disabled this endpoint: %s. Repair the receiver, then resume: held deliveries go out."), e.q.Stored(w.Health.DisabledReason).Text)
	case w.Disabled:
		return t(locale.Text("This endpoint is disabled. Repair the receiver, then resume: held deliveries go out."))
	case w.Paused:
		return t(locale.Text("This endpoint is paused. Its deliveries are held and counted; resume, and they go out in order."))
	case e.BreakerClosed():
		return ""
	case w.Breaker.OpenUntil.IsZero():
		return t(locale.Text("The gateway's operators hold deliveries back until further notice."))
	}
	return t(locale.Text("Too many attempts failed, so deliveries wait without using up attempts. One of them is tried from time to time; after three successes the rest follow."))
}

// Rate is how many deliveries a second it takes at most.
func (e portalEndpoint) Rate() string {
	if n := delivery.RateLimit(e.Window); n > 0 {
		return e.q.T("%s a second", e.q.Number(n))
	}
	return e.q.T("no limit")
}

// Limit is how long an attempt may take; empty: not known here.
func (e portalEndpoint) Limit() string {
	if limit := cmp.Or(e.Timeout, e.q.Surface.Timeout); limit > 0 {
		return e.q.Duration(limit)
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
	headers, err := delivery.OpenHeaders(e.q.Surface.Box, e.ID, e.Headers)
	if err != nil {
		e.q.Surface.Log.Error("an endpoint's headers cannot be read", "endpoint", e.ID, "error", err)
	}
	return slices.Sorted(maps.Keys(headers))
}

// DeliveriesPath lists its deliveries.
func (e portalEndpoint) DeliveriesPath() string {
	return deliveries.Path("/portal", "endpoint:"+e.ID+" state:any")
}

// endpointsView is the list of the partner's endpoints.
type endpointsView struct {
	Endpoints shell.Reading[[]portalEndpoint]
	Max       int
	Done      string
}

// Full reports whether the partner has all that it may.
func (v endpointsView) Full() bool { return len(v.Endpoints.Value) >= v.Max }

func (s pages) endpointsPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), shell.PanelLimit)
	defer cancel()
	v := endpointsView{Endpoints: s.partnerEndpoints(ctx, q), Max: partners.MaxEndpoints, Done: endpointDone(q, r)}
	return q.Render(w, r, "endpoints", v)
}

// endpointView is one endpoint of the partner.
type endpointView struct {
	portalEndpoint
	Known   shell.Reading[deliveries.EndpointPanel]
	Steps   []deliveries.CheckStep // of the newest attempt
	Types   []string               // that a test can be of
	Form    string
	History shell.Reading[[]deliveries.ActivityRow]
	Told    contactsView
	Done    string
}

// endpointHistory is how many acts an endpoint's page lists.
const endpointHistory = 10

// endpointDone is what was just done to an endpoint, in words.
func endpointDone(q *shell.Request, r *http.Request) string {
	done := map[string]string{
		"created": locale.Text("The endpoint is saved. It receives notifications of its types from now on."),
		"saved":   locale.Text("The changes are saved. Every attempt from now on uses them."),
		"pause":   locale.Text("The endpoint is paused. Its deliveries are held."), "resume": locale.Text("The endpoint is resumed. Held deliveries go out now."),
		"removed": locale.Text("The endpoint is removed. Its waiting deliveries are cancelled."), "again": deliveries.DoneBefore,
		"contact-added": locale.Text("The contact is added. Incidents of this endpoint are told there from now on."), "contact-removed": locale.Text("The contact is removed."),
	}[r.URL.Query().Get("done")]
	if done == "" {
		return ""
	}
	return q.T(done)
}

// endpointAt is the endpoint of the path, if it is the partner's own.
func (s pages) endpointAt(ctx context.Context, r *http.Request, q *shell.Request) (e webhook.Endpoint, err error) {
	id, err := shell.PathID(r, "endpoint", webhook.EndpointPrefix)
	if err != nil {
		return e, err
	}
	return s.Ledger.Endpoint(ctx, q.Scope(), id)
}

func (s pages) endpointPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	v := endpointView{Done: endpointDone(q, r)}
	v.Told.readLanguages(q.Locale)
	return s.showEndpoint(w, r, q, http.StatusOK, v)
}

// showEndpoint shows the page with what was typed into its form of contacts.
func (s pages) showEndpoint(w http.ResponseWriter, r *http.Request, q *shell.Request, status int, v endpointView) error {
	id, err := shell.PathID(r, "endpoint", webhook.EndpointPrefix)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), shell.PanelLimit)
	defer cancel()
	key := "endpoint/" + q.User.PartnerCode + "/" + id
	v.Form, v.Types = shell.NewFormToken(), shell.Plain(webhook.Types)
	shell.Together(
		func() {
			v.Known = shell.Cached(ctx, s.Memory, key, func(ctx context.Context) (deliveries.EndpointPanel, error) {
				e, err := s.endpointAt(ctx, r, q)
				if err != nil {
					return deliveries.EndpointPanel{}, err
				}
				return s.PanelOf(ctx, e)
			})
		},
		func() {
			v.History = shell.Cached(ctx, s.Memory, key+"/history", func(ctx context.Context) ([]deliveries.ActivityRow, error) {
				found, _, err := s.Trail.AuditEntries(ctx, partners.AuditFilter{Target: id, PartnerCode: q.User.PartnerCode, Limit: endpointHistory})
				return deliveries.ActivityRows(q, found), err
			})
		},
		func() {
			v.Told.Contacts = shell.Cached(ctx, s.Memory, key+"/contacts", func(ctx context.Context) ([]incidents.Contact, error) {
				return s.Incidents.Contacts(ctx, q.Scope(), id)
			})
		},
	)
	if webhook.KindOf(v.Known.Err) == webhook.KindNotFound || !v.Known.Known {
		return v.Known.Err
	}
	v.portalEndpoint = portalEndpoint{v.Known.Value, q}
	if v.Newest.ID != "" {
		v.Steps = deliveries.CheckSteps(q, v.URL, v.Newest)
	}
	return q.RenderStatus(w, r, status, "endpoint", v)
}

// removal says what an endpoint's end means.
type removal struct {
	portalEndpoint
	Last bool // the partner has no other
	Form string
}

func (s pages) removeEndpointPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	e, err := s.endpointAt(r.Context(), r, q)
	if err != nil {
		return err
	}
	all, err := s.Ledger.Endpoints(r.Context(), e.PartnerCode)
	if err != nil {
		return err
	}
	return q.Render(w, r, "endpoint_remove", removal{portalEndpoint{deliveries.EndpointPanel{Endpoint: e}, q}, len(all) == 1, shell.NewFormToken()})
}

func (s pages) removeEndpoint(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	return s.once(w, r, func() (string, error) {
		if err := s.Ledger.RemoveEndpoint(r.Context(), q.Scope(), r.PathValue("id"), q.Audit("endpoint.remove")); err != nil {
			return "", err
		}
		return "/portal/endpoints?done=removed", nil
	})
}

// once does what a form asks for, the first time that it is sent, and leads to
// the place that do names. Sent again, it leads there and is told.
func (s pages) once(w http.ResponseWriter, r *http.Request, do func() (place string, err error)) error {
	if err := r.ParseForm(); err != nil {
		return webhook.Invalid("form", "cannot be read")
	}
	place, again, err := s.Accounts.OnceForm(r.Context(), r.PostForm.Get("form"), do)
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
func (s pages) testEndpoint(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
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
func (s pages) sendTest(ctx context.Context, q *shell.Request, e webhook.Endpoint, t webhook.Type, done string) (place string, err error) {
	var made delivery.Appended
	test, err := delivery.NewTest(e, t, s.KeyID(), q.Now)
	if err == nil {
		err = s.Limiter.AllowTest(ctx, e.PartnerCode, e.ID)
	}
	if err == nil {
		made, err = s.Ledger.Append(ctx, test, q.Audit("endpoint.test"))
	}
	if refusal, ok := errors.AsType[*webhook.Error](err); ok && refusal.Kind == webhook.KindRateLimited {
		return "", &webhook.Error{Kind: webhook.KindRateLimited, RetryAfter: refusal.RetryAfter, Message: q.T("Your endpoints are tested too often: at most %d times a minute, and %d tests under way per endpoint. Wait a little and test again.",
			webhook.TestsPerMinute, webhook.MaxTests)}
	}
	if err != nil {
		return "", err
	}
	id := made.DeliveryIDs[0]
	s.awaitEnd(ctx, q.Scope(), id)
	return deliveries.SignedPath("/portal", id) + "?done=" + done, nil
}

const (
	testPatience = 3 * time.Second // of a form that sent a test
	testLook     = 50 * time.Millisecond
)

// awaitEnd waits until a delivery has ended or the patience is at its end.
func (s pages) awaitEnd(ctx context.Context, scope partners.Scope, id string) {
	ctx, cancel := context.WithTimeout(ctx, testPatience)
	defer cancel()
	look := time.NewTicker(testLook)
	defer look.Stop()
	for {
		if d, err := s.Reports.SeenDelivery(ctx, scope, id); err == nil && d.State.Final() {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}
