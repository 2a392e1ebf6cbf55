package dashboard

import "net/http"

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

// Anyone is a page for everybody, signed in or not.
func Anyone(pattern string, p page) route { return route{pattern: pattern, may: mayAnyone, page: p} }

// Read is a page for everybody who has signed in.
func Read(pattern string, p page) route { return route{pattern: pattern, may: mayRead, page: p} }

// Act is a page for who may change something.
func Act(pattern string, p page) route { return route{pattern: pattern, may: mayAct, page: p} }

// Administer is a page for who may say who may do what.
func Administer(pattern string, p page) route {
	return route{pattern: pattern, may: mayAdminister, page: p}
}

// Audit is a page for who may see what others did.
func Audit(pattern string, p page) route { return route{pattern: pattern, may: mayAudit, page: p} }

// Add gives the surface pages.
func (s *surface) Add(routes ...route) { s.routes = append(s.routes, routes...) }

// Patterns lists every route as a pattern of http.ServeMux.
func (s *surface) Patterns() (all []string) {
	for _, rt := range s.routes {
		all = append(all, rt.pattern)
	}
	return all
}

// sharedRoutes are what every surface answers.
func (s *surface) sharedRoutes() []route {
	return append(s.peopleRoutes(), []route{
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
