package shell

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"ledgerhook/partners"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

// ticketLife is how long the code may come after the password.
const ticketLife = 5 * time.Minute

// Why somebody is not let in, or may not try, as
// ledgerhook_auth_failures_total counts it.
const (
	failedPassword = "password"
	failedCode     = "code"
	failedDisabled = "disabled"
	failedLocked   = "locked"
	failedCrowd    = "crowd"
)

// loginView is the sign-in page: the password first, then the code if Ticket
// is set.
type loginView struct {
	Username string
	Next     string
	Ticket   string
	Problem  string
}

// peopleRoutes are the pages about the people who sign in, of either surface.
func (s *Surface) peopleRoutes() []Route {
	return append(s.providerRoutes(), []Route{
		Anyone("GET "+s.Base+"/login", s.loginPage),
		Anyone("POST "+s.Base+"/login", s.logIn),
		Anyone("POST "+s.Base+"/logout", s.logOut),
		Anyone("GET "+s.Base+"/invite/{token}", s.invitePage),
		Anyone("POST "+s.Base+"/invite/{token}", Form(s.acceptInvite)),
		Read("GET "+s.Base+"/account", s.accountPage),
		Read("POST "+s.Base+"/account/password", Form(s.changePassword)),
		Read("GET "+s.Base+"/account/totp", s.totpPage),
		Read("POST "+s.Base+"/account/totp", Form(s.enrolTOTP)),
		Read("POST "+s.Base+"/account/totp/off", Form(s.dropTOTP)),
		Read("POST "+s.Base+"/account/sessions/{id}/end", s.endSession),
		Administer("GET "+s.peoplePath(), s.peoplePage),
		Administer("POST "+s.peoplePath()+"/invite", Form(s.invite)),
		Administer("POST "+s.peoplePath()+"/invites/{id}/withdraw", s.withdrawInvite),
		Administer("POST "+s.peoplePath()+"/{id}/role", Form(s.changeRole)),
		Administer("POST "+s.peoplePath()+"/{id}/disable", s.switchPerson(true)),
		Administer("POST "+s.peoplePath()+"/{id}/enable", s.switchPerson(false)),
		Administer("POST "+s.peoplePath()+"/{id}/link", Form(s.passwordLink)),
	}...)
}

func (s *Surface) loginPage(w http.ResponseWriter, r *http.Request, q *Request) error {
	next := s.localTarget(r.URL.Query().Get("next"))
	if q.SignedIn() {
		http.Redirect(w, r, next, http.StatusSeeOther)
		return nil
	}
	v := loginView{Next: next}
	if r.URL.Query().Get("signed") == "in" && cookie(r, s.sessionCookie()) == "" {
		v.Problem = q.T("Your username and password are right, but your browser did not send the session's cookie back. Allow cookies for this address; if its cookies are for https only, open it with https://.")
	}
	return q.Render(w, r, "login", v)
}

// logIn takes a username with a password, or the code that was then asked
// for. Whoever is wrong hears the same after the same work, whether the
// username is known or not.
func (s *Surface) logIn(w http.ResponseWriter, r *http.Request, q *Request) error {
	if s.door().crowded() {
		if err := s.explain(r.Context(), q, failedCrowd, crowdWait); err != nil {
			return err
		}
	}
	if err := r.ParseForm(); err != nil {
		return webhook.Invalid("form", "cannot be read")
	}
	v := loginView{Username: r.PostForm.Get("username"), Next: s.localTarget(r.PostForm.Get("next"))}
	if v.Next != s.Base {
		q.Path += "?" + url.Values{"next": {v.Next}}.Encode()
	}
	leave, ok := s.door().enter()
	if !ok {
		return s.refuseCrowd(w, r, q, v)
	}
	defer leave()
	if sealed := r.PostForm.Get("ticket"); sealed != "" {
		return s.checkCode(w, r, q, v, sealed)
	}
	username, err := partners.NewUsername(v.Username)
	if err != nil {
		username = "" // nobody's; the same is done
	}
	tries := s.triesOf(username, r)
	if wait, err := s.try(r.Context(), tries, q.Now); err != nil {
		return err
	} else if wait > 0 {
		return s.refuseLocked(w, r, q, v, wait)
	}
	c, err := s.Accounts.CredentialsByName(r.Context(), username, s.Name == Ops)
	if err != nil {
		return err
	}
	right, err := s.door().passwords.Check(r.Context(), c.PasswordHash, r.PostForm.Get("password"))
	if err != nil {
		return err
	}
	switch {
	case !right:
		v.Problem = q.T("The username or the password is wrong.")
		why := "wrong password"
		if c.ID == "" { // what was typed may be a password: it is kept nowhere
			why = "a username that nobody has"
		}
		return s.refuseLogin(w, r, q, v, c, failedPassword, why)
	case c.Disabled || c.PartnerDisabled:
		v.Problem = q.T("This account is disabled. Ask your administrator.")
		return s.refuseLogin(w, r, q, v, c, failedDisabled, "the account is disabled")
	case !s.takesPassword(c.Username):
		v.Problem = "Operators sign in with " + s.SignIn.Name + ". Only the break-glass administrator has a password here."
		return s.refuseLogin(w, r, q, v, c, failedLocal, "only the break-glass administrator's password is taken")
	case c.TOTP:
		if err := s.Accounts.LoggedIn(r.Context(), tries.all(), nil, q.Now); err != nil {
			return err
		}
		v.Ticket = s.sealTicket(c.ID, q.Now)
		return q.Render(w, r, "login", v)
	}
	if err := s.Accounts.LoggedIn(r.Context(), tries.all(), tries.username, q.Now); err != nil {
		return err
	}
	return s.startSession(w, r, q, c.Person, v.Next, s.loggedIn(r, c.Person))
}

// checkCode is the second step: the code of an app, or a recovery code.
func (s *Surface) checkCode(w http.ResponseWriter, r *http.Request, q *Request, v loginView, sealed string) error {
	id, ok := s.openTicket(sealed, q.Now)
	if !ok {
		v.Problem = q.T("That took too long. Please start again.")
		return q.RenderStatus(w, r, http.StatusUnauthorized, "login", v)
	}
	c, err := s.Accounts.Credentials(r.Context(), id)
	if err != nil {
		return err
	}
	tries := s.triesOf(c.Username, r)
	if wait, err := s.try(r.Context(), tries, q.Now); err != nil {
		return err
	} else if wait > 0 {
		return s.refuseLocked(w, r, q, v, wait)
	}
	good, err := s.useCode(r.Context(), c, r.PostForm.Get("code"), q.Now)
	if err != nil {
		return err
	}
	if !good || c.Disabled || c.PartnerDisabled {
		v.Ticket, v.Problem = sealed, q.T("The code is wrong or was used already. Wait for the next one.")
		return s.refuseLogin(w, r, q, v, c, failedCode, "wrong code")
	}
	if err := s.Accounts.LoggedIn(r.Context(), tries.all(), tries.username, q.Now); err != nil {
		return err
	}
	return s.startSession(w, r, q, c.Person, v.Next, s.loggedIn(r, c.Person))
}

// loggedIn is the entry of a sign-in with a password.
func (s *Surface) loggedIn(r *http.Request, p partners.Person) partners.AuditEntry {
	entry := partners.AuditEntry{Action: "login", Detail: "from " + web.ClientAddress(r)}
	if s.byProvider() {
		entry.Action = "login.break-glass"
		s.Log.WarnContext(r.Context(), "the break-glass administrator signed in with the password", "user", p.Actor(), "address", web.ClientAddress(r))
	}
	return entry
}

// useCode uses a code up and reports whether it was good.
func (s *Surface) useCode(ctx context.Context, c partners.Credentials, code string, now time.Time) (bool, error) {
	if len(c.SealedTOTP) == 0 {
		return false, nil
	}
	secret, err := s.Box.Open(c.SealPurpose(), c.SealedTOTP)
	if err != nil {
		return false, err
	}
	if step, ok := partners.TOTPSecret(secret).Check(code, now, c.TOTPStep); ok {
		return s.Accounts.UseTOTPStep(ctx, c.ID, step)
	}
	return s.Accounts.UseRecoveryCode(ctx, c.ID, partners.HashRecoveryCode(code))
}

func (s *Surface) refuseLogin(w http.ResponseWriter, r *http.Request, q *Request, v loginView, c partners.Credentials, reason, why string) error {
	return s.turnAway(w, r, q, v, c, http.StatusUnauthorized, reason, why)
}

// turnAway notes that somebody is not let in, and shows why.
func (s *Surface) turnAway(w http.ResponseWriter, r *http.Request, q *Request, v loginView, c partners.Credentials, status int, reason, why string) error {
	s.Metrics.AuthFailed(s.Name, reason)
	entry := partners.AuditEntry{Actor: "unknown", Action: "login.fail", Target: c.ID, PartnerCode: c.PartnerCode, Detail: why + " at " + s.Base + ", from " + web.ClientAddress(r)}
	if c.ID != "" {
		entry.Actor = c.Actor()
	}
	if err := s.Record(r.Context(), entry); err != nil {
		return err
	}
	return q.RenderStatus(w, r, status, "login", v)
}

func (s *Surface) refuseLocked(w http.ResponseWriter, r *http.Request, q *Request, v loginView, wait time.Duration) error {
	if err := s.explain(r.Context(), q, failedLocked, wait); err != nil {
		return err
	}
	s.Metrics.AuthFailed(s.Name, failedLocked)
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	v.Problem = q.T("Too many failed sign-ins. Try again in %d minutes.", int(math.Ceil(wait.Minutes())))
	return q.RenderStatus(w, r, http.StatusTooManyRequests, "login", v)
}

// crowdWait is after what time there may be room at the door again.
const crowdWait = 2 * time.Second

// refuseCrowd answers who finds too many others at the door.
func (s *Surface) refuseCrowd(w http.ResponseWriter, r *http.Request, q *Request, v loginView) error {
	if err := s.explain(r.Context(), q, failedCrowd, crowdWait); err != nil {
		return err
	}
	s.Metrics.AuthFailed(s.Name, failedCrowd)
	w.Header().Set("Retry-After", strconv.Itoa(int(crowdWait/time.Second)))
	v.Problem = q.T("Too many people are signing in just now. Try again in a moment.")
	return q.RenderStatus(w, r, http.StatusTooManyRequests, "login", v)
}

// startSession signs somebody in under a new token, whatever the browser sent,
// and leads on to next. The entry says how they signed in.
func (s *Surface) startSession(w http.ResponseWriter, r *http.Request, q *Request, p partners.Person, next string, entry partners.AuditEntry) error {
	token, hash := partners.NewPageToken()
	session := partners.Session{
		ID: webhook.NewID(webhook.SessionPrefix), PersonID: p.ID, CreatedAt: q.Now, ExpiresAt: q.Now.Add(partners.SessionLife),
		IP: web.ClientAddress(r), UserAgent: clip(r.UserAgent(), 200),
	}
	entry.Actor, entry.PartnerCode = p.Actor(), p.PartnerCode
	if err := s.Accounts.StartSession(r.Context(), hash, session, entry); err != nil {
		return err
	}
	if q.SignedIn() {
		if err := s.endOwn(r.Context(), q); err != nil {
			return err
		}
	}
	s.setCookie(w, r, s.sessionCookie(), token, s.Base, partners.SessionLife)
	// By way of the sign-in page, which says so if the cookie does not come back.
	http.Redirect(w, r, s.Base+"/login?"+url.Values{"next": {next}, "signed": {"in"}}.Encode(), http.StatusSeeOther)
	return nil
}

func (s *Surface) logOut(w http.ResponseWriter, r *http.Request, q *Request) error {
	if q.SignedIn() {
		if err := s.endOwn(r.Context(), q); err != nil {
			return err
		}
	}
	s.setCookie(w, r, s.sessionCookie(), "", s.Base, -time.Second)
	http.Redirect(w, r, s.Base+"/login", http.StatusSeeOther)
	return nil
}

// endOwn ends the reader's session. One that has just ended is no error.
func (s *Surface) endOwn(ctx context.Context, q *Request) error {
	err := s.Accounts.EndSession(ctx, q.User.ID, q.Session.ID, q.Audit("logout"))
	if webhook.KindOf(err) == webhook.KindNotFound {
		return nil
	}
	return err
}

// ticket is the proof of a right password, sealed, while the code is waited for.
type ticket struct {
	PersonID string
	Until    int64 // microseconds since 1970
}

func (s *Surface) ticketPurpose() string { return "login-ticket/" + s.Name }

func (s *Surface) sealTicket(personID string, now time.Time) string {
	return s.sealForm(s.ticketPurpose(), ticket{personID, now.Add(ticketLife).UnixMicro()})
}

func (s *Surface) openTicket(text string, now time.Time) (personID string, ok bool) {
	var t ticket
	if err := s.openForm(s.ticketPurpose(), text, &t); err != nil || now.UnixMicro() >= t.Until {
		return "", false
	}
	return t.PersonID, true
}

// sealForm is what a form carries through the browser without being read or
// changed there.
func (s *Surface) sealForm(purpose string, v any) string {
	plain, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers always have a JSON form
	}
	return base64.RawURLEncoding.EncodeToString(s.Box.Seal(purpose, plain))
}

func (s *Surface) openForm(purpose, text string, into any) error {
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return err
	}
	plain, err := s.Box.Open(purpose, sealed)
	if err != nil {
		return errors.New("a sealed field of a form cannot be opened")
	}
	return json.Unmarshal(plain, into)
}

// tries are whose failures a sign-in counts with.
type tries struct{ username, address []string }

func (t tries) all() []string { return append(t.address[:1:1], t.username...) }

func (s *Surface) triesOf(username string, r *http.Request) tries {
	t := tries{address: []string{addressSubject(r)}}
	if username != "" {
		t.username = []string{"username " + s.Name + " " + username}
	}
	return t
}

// network is what one client has of addresses: of IPv6 the first 64 bits.
func network(ip string) string {
	addr, err := netip.ParseAddr(ip)
	if err != nil || addr.Unmap().Is4() {
		return ip
	}
	p, err := addr.WithZone("").Prefix(64)
	if err != nil {
		return ip
	}
	return p.String()
}

// clip cuts a text after n characters.
func clip(text string, n int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	for i := range text {
		if n--; n < 0 {
			return text[:i] + "…"
		}
	}
	return text
}
