package dashboard

import (
	"net/http"
	"slices"
)

// page answers a request or returns an error before it has begun to: a
// *webhook.Error is shown in its words, any other as a fault of ours.
type page func(w http.ResponseWriter, r *http.Request, q *request) error

// route is one page: a pattern of http.ServeMux and who may ask for it.
type route struct {
	pattern string
	may     right
	page    page
}

// right is what a page asks of who wants it.
type right int

const (
	mayAnyone     right = iota // nobody has to have signed in
	mayRead                    // everybody who has
	mayAct                     // partners.Person.CanAct
	mayAdminister              // partners.Person.CanAdminister
	mayAudit                   // partners.Person.CanAudit
)

// opsRoutes are the operators' pages. The first ones are of every surface.
func (s *surface) opsRoutes() []route {
	return append(slices.Concat(s.sharedRoutes(), s.partnerRoutes(), s.orderRoutes(), s.rateRoutes()),
		route{"GET /ops", mayRead, s.opsHome},
		route{"GET /ops/mailbox", mayAct, s.mailboxPage},
		route{"GET /ops/system", mayRead, s.systemPage},
		route{"GET /ops/events", mayRead, s.eventsPage}, route{"GET /ops/events/{id}", mayRead, s.eventPage},
		route{"GET /ops/find", mayRead, s.findPage},
		route{"GET /ops/reconcile", mayRead, s.reconcilePage}, route{"POST /ops/reconcile", mayRead, s.reconcile},
	)
}

// portalRoutes are the partners' pages.
func (s *surface) portalRoutes() []route {
	return append(slices.Concat(s.sharedRoutes(), s.verifyRoutes(), s.endpointRoutes(), s.secretRoutes()),
		route{"GET /portal", mayRead, s.portalHome},
		route{"GET /portal/catalogue", mayRead, s.cataloguePage},
	)
}

// sharedRoutes are what both surfaces answer.
func (s *surface) sharedRoutes() []route {
	return append(slices.Concat(s.peopleRoutes(), s.deliveryRoutes(), s.replayRoutes()), []route{
		{"GET " + s.base + "/{$}", mayAnyone, s.dropSlash},
		{"GET " + s.base + "/static/{name}", mayAnyone, s.staticFile},
		{"POST " + s.base + "/preferences", mayAnyone, s.savePreferences},
		{"GET " + s.base + "/live", mayRead, s.live},
	}...)
}

// dropSlash leads /ops/ to /ops.
func (s *surface) dropSlash(w http.ResponseWriter, r *http.Request, _ *request) error {
	http.Redirect(w, r, s.base, http.StatusMovedPermanently)
	return nil
}
