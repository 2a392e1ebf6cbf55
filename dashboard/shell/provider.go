package shell

import (
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"time"

	"ledgerhook/dashboard/oidc"
	"ledgerhook/partners"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

// SignIn is how operators sign in when they do not do so with passwords.
type SignIn struct {
	Provider *oidc.Provider
	Name     string // of the provider, as the button says it
	// BreakGlass is the username of the one operator whose password is taken all
	// the same.
	BreakGlass string
	// Address is how operators reach this gateway, without a slash at its end:
	// a sign-in begins and ends there, so that its cookie is sent back.
	Address string
}

// CallbackPath is where the provider sends people back to.
const CallbackPath = "/ops/login/callback"

const (
	providerPath   = "/ops/login/provider"
	providerCookie = "ledgerhook_signin"
	// providerLife is how long somebody may take at the provider.
	providerLife = 15 * time.Minute
)

// Why the provider's people are not let in, as ledgerhook_auth_failures_total
// counts it.
const (
	failedProvider = "provider" // it did not say who it is
	failedGroup    = "group"    // none of their groups gives a role
	failedLocal    = "local"    // a right password that is not taken
)

// byProvider reports whether the surface's people sign in at a provider.
func (s *Surface) byProvider() bool { return s.Name == Ops && s.SignIn != nil }

// Provider is the name of the provider that people of the surface sign in at;
// empty: they have passwords.
func (q *Request) Provider() string {
	if !q.Surface.byProvider() {
		return ""
	}
	return q.Surface.SignIn.Name
}

// ProviderURL is where a sign-in at the provider begins that leads on to next.
func (q *Request) ProviderURL(next string) string {
	return q.Surface.SignIn.Address + providerPath + "?" + url.Values{"next": {next}}.Encode()
}

// providerRoutes are the pages of a sign-in at the provider.
func (s *Surface) providerRoutes() []Route {
	if s.Name != Ops {
		return nil
	}
	return []Route{Anyone("GET "+providerPath, s.toProvider), Anyone("GET "+CallbackPath, s.fromProvider)}
}

// asksProvider reports whether the answer waits for the provider.
func asksProvider(pattern string) bool {
	return pattern == "GET "+providerPath || pattern == "GET "+CallbackPath
}

// passage is what a browser carries, sealed, to the provider and back.
type passage struct {
	oidc.Flow
	Next  string
	Until int64 // microseconds since 1970
}

const passagePurpose = "provider-sign-in"

// toProvider sends a browser to the provider.
func (s *Surface) toProvider(w http.ResponseWriter, r *http.Request, q *Request) error {
	if !s.byProvider() {
		return webhook.NotFound("page", providerPath)
	}
	v := loginView{Next: s.localTarget(r.URL.Query().Get("next"))}
	leave, ok := s.providerDoor.enter()
	if !ok {
		return s.refuseCrowd(w, r, q, v)
	}
	defer leave()
	address, flow, err := s.SignIn.Provider.Begin(r.Context())
	if err != nil {
		return s.providerAway(w, r, q, v, err)
	}
	sealed := s.sealForm(passagePurpose, passage{flow, v.Next, q.Now.Add(providerLife).UnixMicro()})
	s.setCookie(w, r, providerCookie, sealed, s.Base+"/login", providerLife)
	http.Redirect(w, r, address, http.StatusSeeOther)
	return nil
}

// fromProvider is where the provider sends the browser back to: with a code,
// or with why there is none.
func (s *Surface) fromProvider(w http.ResponseWriter, r *http.Request, q *Request) error {
	if !s.byProvider() {
		return webhook.NotFound("page", CallbackPath)
	}
	q.Path = s.Base // the address holds a code, which is good once
	var carried passage
	err := s.openForm(passagePurpose, cookie(r, providerCookie), &carried)
	s.setCookie(w, r, providerCookie, "", s.Base+"/login", -time.Second)
	v := loginView{Next: s.localTarget(carried.Next)}
	given := r.URL.Query()
	if err != nil || q.Now.UnixMicro() >= carried.Until || subtle.ConstantTimeCompare([]byte(given.Get("state")), []byte(carried.State)) != 1 {
		v.Problem = "That took too long, or another sign-in was begun in this browser. Please start again."
		return q.RenderStatus(w, r, http.StatusUnauthorized, "login", v)
	}
	tries := s.triesOf("", r)
	if wait, err := s.try(r.Context(), tries, q.Now); err != nil {
		return err
	} else if wait > 0 {
		return s.refuseLocked(w, r, q, v, wait)
	}
	if given.Get("code") == "" {
		v.Problem = s.SignIn.Name + " did not sign you in."
		return s.refuseLogin(w, r, q, v, partners.Credentials{}, failedProvider, "the provider answered "+clip(given.Get("error"), 100))
	}
	leave, ok := s.providerDoor.enter()
	if !ok {
		return s.refuseCrowd(w, r, q, v)
	}
	defer leave()
	who, err := s.SignIn.Provider.Finish(r.Context(), carried.Flow, given.Get("code"))
	switch {
	case errors.Is(err, oidc.ErrRefused):
		s.Log.WarnContext(r.Context(), "a sign-in at the provider was not valid", "error", err)
		v.Problem = s.SignIn.Name + " did not confirm who you are. Please start again."
		return s.refuseLogin(w, r, q, v, partners.Credentials{}, failedProvider, "the provider's answer was not valid")
	case err != nil:
		return s.providerAway(w, r, q, v, err)
	}
	return s.letIn(w, r, q, v, who, tries)
}

// letIn signs somebody in whom the provider has named, with the role that
// their groups give now.
func (s *Surface) letIn(w http.ResponseWriter, r *http.Request, q *Request, v loginView, who oidc.Identity, tries tries) error {
	role, mapped := s.SignIn.Provider.RoleOf(who.Groups)
	p, known, err := s.Accounts.ProvidedOperator(r.Context(), s.SignIn.Provider.Issuer+" "+who.Subject, operator(who, role, q.Now), q.Now)
	if err != nil {
		return err
	}
	c := partners.Credentials{}
	if known {
		c.Person = p
	}
	switch {
	case !mapped:
		v.Problem = "You signed in at " + s.SignIn.Name + ", but none of your groups there gives you a role here. Ask your administrator."
		return s.turnAway(w, r, q, v, c, http.StatusForbidden, failedGroup, "no group of theirs gives a role")
	case p.Disabled:
		v.Problem = "This account is disabled. Ask your administrator."
		return s.refuseLogin(w, r, q, v, c, failedDisabled, "the account is disabled")
	}
	if err := s.Accounts.LoggedIn(r.Context(), tries.all(), nil, q.Now); err != nil {
		return err
	}
	return s.startSession(w, r, q, p, v.Next, partners.AuditEntry{Action: "login", Detail: "at the provider, from " + web.ClientAddress(r)})
}

// operator is somebody of the provider as a person here. What the provider says
// and the pages could not show is left out.
func operator(who oidc.Identity, role partners.Role, now time.Time) partners.Person {
	p := partners.Person{ID: webhook.NewID(webhook.PersonPrefix), Role: role, Name: who.Name, Email: who.Email, CreatedAt: now}
	for _, wanted := range []string{who.Username, who.Email, "operator"} {
		var err error
		if p.Username, err = partners.NewUsername(wanted); err == nil {
			break
		}
	}
	if partners.CheckName(p.Name) != nil {
		p.Name = p.Username
	}
	if partners.CheckEmail(p.Email) != nil {
		p.Email = ""
	}
	return p
}

// providerAway says that nobody can sign in at the provider now.
func (s *Surface) providerAway(w http.ResponseWriter, r *http.Request, q *Request, v loginView, err error) error {
	s.Log.ErrorContext(r.Context(), "the sign-in provider does not answer", "error", err)
	v.Problem = s.SignIn.Name + " does not answer just now. Try again in a moment."
	w.Header().Set("Retry-After", "5")
	return q.RenderStatus(w, r, http.StatusServiceUnavailable, "login", v)
}

// takesPassword reports whether the surface takes an operator's password.
func (s *Surface) takesPassword(username string) bool {
	return !s.byProvider() || username == s.SignIn.BreakGlass
}

// noPassword is why nobody gets a password here.
func (s *Surface) noPassword() error {
	return webhook.Conflict("Operators sign in with " + s.SignIn.Name + ": give them a group there.")
}
