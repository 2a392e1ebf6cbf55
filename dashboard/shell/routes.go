package shell

import (
	"net/http"
	"slices"

	"ledgerhook/webhook"
)

// Page answers a request or returns an error before it has begun to: a
// *webhook.Error is shown in its words, any other as a fault of ours.
type Page func(w http.ResponseWriter, r *http.Request, q *Request) error

// Route is one page: a pattern of http.ServeMux and who may ask for it.
type Route struct {
	pattern string
	may     right
	page    Page
}

// right is what a page asks of its reader.
type right int

const (
	mayAnyone     right = iota // nobody has to have signed in
	mayRead                    // everybody who has
	mayAct                     // partners.Person.CanAct
	mayAdminister              // partners.Person.CanAdminister
	mayAudit                   // partners.Person.CanAudit
)

// Anyone is a page for everybody, signed in or not.
func Anyone(pattern string, p Page) Route { return Route{pattern: pattern, may: mayAnyone, page: p} }

// Read is a page for everybody who has signed in.
func Read(pattern string, p Page) Route { return Route{pattern: pattern, may: mayRead, page: p} }

// Act is a page for readers who may change something.
func Act(pattern string, p Page) Route { return Route{pattern: pattern, may: mayAct, page: p} }

// Administer is a page for readers who may say who may do what.
func Administer(pattern string, p Page) Route {
	return Route{pattern: pattern, may: mayAdminister, page: p}
}

// Audit is a page for readers who may see what others did.
func Audit(pattern string, p Page) Route { return Route{pattern: pattern, may: mayAudit, page: p} }

// Form is p once the form that was sent has been read; Invalid if it cannot be.
func Form(p Page) Page {
	return func(w http.ResponseWriter, r *http.Request, q *Request) error {
		if err := r.ParseForm(); err != nil {
			return webhook.Invalid("form", "cannot be read")
		}
		return p(w, r, q)
	}
}

// Add gives the surface pages.
func (s *Surface) Add(routes ...Route) { s.routes = append(s.routes, routes...) }

// Patterns lists every route as a pattern of http.ServeMux.
func (s *Surface) Patterns() (all []string) {
	for _, rt := range s.routes {
		all = append(all, rt.pattern)
	}
	return all
}

// sharedRoutes are what every surface answers.
func (s *Surface) sharedRoutes() []Route {
	return slices.Concat(s.peopleRoutes(), s.viewRoutes(), []Route{
		Anyone("GET "+s.Base+"/{$}", s.dropSlash),
		Anyone("GET "+s.Base+"/static/{name}", s.staticFile),
		Anyone("POST "+s.Base+"/preferences", Form(s.savePreferences)),
		Read("GET "+s.Base+"/live", s.live),
	})
}

// dropSlash leads /ops/ to /ops.
func (s *Surface) dropSlash(w http.ResponseWriter, r *http.Request, _ *Request) error {
	http.Redirect(w, r, s.Base, http.StatusMovedPermanently)
	return nil
}
