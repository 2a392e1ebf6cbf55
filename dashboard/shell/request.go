package shell

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ledgerhook/dashboard/locale"
	"ledgerhook/partners"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

// Request is one request for a page: by whom, and how the page is to look. Pages get it ready;
// only the error page can meet one that nobody was identified for.
type Request struct {
	locale.Speller
	Surface    *Surface
	Session    partners.Session // zero: not signed in
	User       partners.Person
	Theme      string // auto, light or dark
	ChosenZone string // the name of a time zone; empty: the browser's
	Path       string // of a page, with its query, to come back to
	Now        time.Time
	Once       bool // the page shows what no other will: nothing on it may lead away by mistake
	// sessionKey is what the browser says of its session, as it is remembered;
	// empty: nothing.
	sessionKey  string
	sessionHash []byte
	explained   bool // it may get the whole page although it is refused
	short       bool // it is one of too many: whatever the answer is, it is a sentence
	asked       bool // who it is was looked up, with whatever result
	stale       bool // who it is could not be looked up just now, and was known a moment ago
}

type requestKey struct{}

// requestOf is the request of a handler below Surface.Handler.
func requestOf(ctx context.Context) *Request {
	q, _ := ctx.Value(requestKey{}).(*Request)
	return q
}

const (
	themeCookie  = "ledgerhook_theme"
	localeCookie = "ledgerhook_lang"
	zoneCookie   = "ledgerhook_zone" // that somebody chose
	hereCookie   = "ledgerhook_here" // the browser's, which app.js tells
)

var themes = []string{"auto", "light", "dark"}

func (s *Surface) newRequest(r *http.Request) *Request {
	q := &Request{Surface: s, Speller: locale.Speller{Locale: locale.English, Zone: locale.Zone(cookie(r, hereCookie))}, Theme: oneOf(themes, cookie(r, themeCookie)), Path: s.Base, Now: time.Now()}
	if chosen := locale.Zone(cookie(r, zoneCookie)); chosen != nil {
		q.Zone, q.ChosenZone = chosen, chosen.String()
	}
	if Reads(r) {
		q.Path = r.URL.RequestURI()
	}
	if token := cookie(r, s.sessionCookie()); token != "" {
		q.sessionHash = partners.HashPageToken(token)
		q.sessionKey = "session/" + string(q.sessionHash)
	}
	if s.Name == Portal {
		q.Locale = oneOf(locale.All(), cookie(r, localeCookie), locale.Preferred(r.Header.Get("Accept-Language")))
	}
	return q
}

// Reads reports whether a request changes nothing, so that it can be repeated.
func Reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// oneOf is the first of wanted that is allowed, else the first allowed.
func oneOf(allowed []string, wanted ...string) string {
	for _, w := range wanted {
		for _, a := range allowed {
			if w == a {
				return a
			}
		}
	}
	return allowed[0]
}

func cookie(r *http.Request, name string) string {
	c, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return c.Value
}

// sessionCookie is the name of the cookie that holds the token of a session.
func (s *Surface) sessionCookie() string { return "ledgerhook_" + s.Name }

// setCookie gives the browser a cookie that scripts do not see. A life of 0
// ends with the browser, a negative one deletes the cookie.
func (s *Surface) setCookie(w http.ResponseWriter, r *http.Request, name, value, path string, life time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: path, MaxAge: int(life / time.Second),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.secure(r),
	})
}

// secure reports whether the browser speaks https with us, itself or through
// a proxy that is believed. The public URL speaks for the portal alone: operators
// come to a listener of their own.
func (s *Surface) secure(r *http.Request) bool {
	return s.Secure && s.Name == Portal || web.Secure(r)
}

// identity is what the ledger says of a session.
type identity struct {
	session partners.Session
	person  partners.Person
	found   bool
}

// identify finds out whose session the request belongs to. While the ledger
// is away, whoever was there a moment ago may go on reading.
func (s *Surface) identify(ctx context.Context, r *http.Request, q *Request, may right) error {
	q.asked = true
	if q.sessionKey == "" || strings.HasPrefix(r.URL.Path, s.Base+"/static/") {
		return nil
	}
	who := Cached(ctx, s.Memory, q.sessionKey, func(ctx context.Context) (identity, error) {
		session, person, found, err := s.Accounts.Session(ctx, q.sessionHash, q.Now)
		return identity{session, person, found}, err
	})
	if !who.Fresh {
		if !who.Known || !Reads(r) || q.Now.Sub(who.At) > staleSession {
			if may == mayAnyone {
				return nil
			}
			return &webhook.Error{Kind: webhook.KindUnavailable, Message: q.T("your account cannot be looked up just now"), Err: who.Err}
		}
		q.stale = true
	}
	if !who.Value.found {
		forget[identity](s.Memory, q.sessionKey) // anybody can make up a cookie
		return nil
	}
	if who.Value.session.Live(q.Now) && who.Value.person.IsOperator() == (s.Name == Ops) {
		q.Session, q.User = who.Value.session, who.Value.person
	}
	return nil
}

// staleSession is how long somebody may go on reading while the ledger cannot
// say whether their session was ended.
const staleSession = 5 * time.Minute

// SignedIn reports whether somebody has signed in.
func (q *Request) SignedIn() bool { return q.User.ID != "" }

// Locales are what the language form offers.
func (q *Request) Locales() []string { return locale.All() }

// ZoneName is the name of the time zone that the page shows times in.
func (q *Request) ZoneName() string { return q.Here(q.Now).Location().String() }

// ZoneShown is the time zone with its name, where that says more: UTC+7 (Asia/Ho_Chi_Minh).
func (q *Request) ZoneShown() string {
	offset, name := q.Offset(q.Now), q.ZoneName()
	if name == offset {
		return name
	}
	return offset + " (" + name + ")"
}

// Ops reports whether the page is one of the operators'.
func (q *Request) Ops() bool { return q.Surface.Name == Ops }

// Base is the path that the surface's pages begin with.
func (q *Request) Base() string { return q.Surface.Base }

// CanAct reports whether the reader may change something.
func (q *Request) CanAct() bool { return q.SignedIn() && q.User.CanAct() && !q.stale }

// CanAdminister reports whether the reader may say who may do what.
func (q *Request) CanAdminister() bool { return q.SignedIn() && q.User.CanAdminister() && !q.stale }

// RoleWord is the reader's role, in English.
func (q *Request) RoleWord() string { return roleWords[q.User.Role] }

var roleWords = map[partners.Role]string{
	partners.RoleViewer:    locale.Text("viewer"),
	partners.RoleOperator:  locale.Text("operator"),
	partners.RoleDeveloper: locale.Text("developer"),
	partners.RoleAdmin:     locale.Text("administrator"),
	partners.RoleAuditor:   locale.Text("auditor"),
}

// Stale reports whether the ledger could not be asked who this is.
func (q *Request) Stale() bool { return q.stale }

func (q *Request) may(what right) bool {
	switch what {
	case mayAnyone:
		return true
	case mayRead:
		return q.SignedIn()
	case mayAct:
		return q.SignedIn() && q.User.CanAct()
	case mayAdminister:
		return q.SignedIn() && q.User.CanAdminister()
	case mayAudit:
		return q.SignedIn() && q.User.CanAudit()
	}
	return false
}

// forbidden says which right is missing.
func (q *Request) forbidden(what right) error {
	need := map[right]string{
		mayAct:        locale.Text("your role can only read; ask an administrator for one that may make changes"),
		mayAdminister: locale.Text("only an administrator may do this"),
		mayAudit:      locale.Text("only an auditor or an administrator may see this"),
	}[what]
	return &webhook.Error{Kind: webhook.KindForbidden, Message: q.T(need)}
}

// Audit is the start of an entry of the audit log about what the reader does.
func (q *Request) Audit(action string) partners.AuditEntry {
	return partners.AuditEntry{At: q.Now, Actor: q.User.Actor(), Action: action, PartnerCode: q.User.PartnerCode}
}

// toSignIn leads to the sign-in page, and back after it.
func (s *Surface) toSignIn(w http.ResponseWriter, r *http.Request, q *Request) error {
	if r.Method != http.MethodGet || strings.HasSuffix(r.URL.Path, "/live") {
		return &webhook.Error{Kind: webhook.KindUnauthenticated, Message: q.T("your session has ended; sign in and try again")}
	}
	target := s.Base + "/login"
	if r.URL.RequestURI() != s.Base {
		target += "?" + url.Values{"next": {r.URL.RequestURI()}}.Encode()
	}
	http.Redirect(w, r, target, http.StatusSeeOther)
	return nil
}

// PathID is the id in the path, which begins with prefix; NotFound if it cannot
// be that of a thing.
func PathID(r *http.Request, thing, prefix string) (string, error) {
	id := r.PathValue("id")
	if webhook.CheckID("id", prefix, id) != nil {
		return "", webhook.NotFound(thing, id)
	}
	return id, nil
}

// localTarget is where a form may lead to: a path of this surface, else its
// first page.
func (s *Surface) localTarget(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || strings.ContainsAny(path, "\\\r\n") ||
		u.Path != s.Base && !strings.HasPrefix(u.Path, s.Base+"/") || strings.Contains(u.Path, "..") {
		return s.Base
	}
	return u.RequestURI()
}

// savePreferences keeps theme, language and time zone in cookies and leads back.
func (s *Surface) savePreferences(w http.ResponseWriter, r *http.Request, q *Request) error {
	const year = 365 * 24 * time.Hour
	for field, allowed := range map[string][]string{"theme": themes, "lang": locale.All()} {
		if value := r.PostForm.Get(field); value != "" {
			name := map[string]string{"theme": themeCookie, "lang": localeCookie}[field]
			s.setCookie(w, r, name, oneOf(allowed, value), "/", year)
		}
	}
	if r.PostForm.Has("zone") {
		zone := strings.TrimSpace(r.PostForm.Get("zone"))
		switch {
		case zone == "": // the browser's
			s.setCookie(w, r, zoneCookie, "", "/", -time.Second)
		case locale.Zone(zone) == nil:
			return webhook.Invalid("zone", q.T("must be a time zone such as Asia/Ho_Chi_Minh or UTC, or empty for the browser's own"))
		default:
			s.setCookie(w, r, zoneCookie, zone, "/", year)
		}
	}
	http.Redirect(w, r, s.localTarget(r.PostForm.Get("back")), http.StatusSeeOther)
	return nil
}

// note adds who asked to the request's log event.
func (q *Request) note(ctx context.Context) {
	if q.SignedIn() {
		web.Note(ctx, userAttr(q.User))
	}
}

func userAttr(p partners.Person) slog.Attr { return slog.String("user", p.Actor()) }

// Scope is what the reader may see.
func (q *Request) Scope() partners.Scope {
	if q.Surface.Name == Ops {
		return partners.Everything()
	}
	return partners.Only(q.User.PartnerCode)
}

// KeysURL is where the gateway's public keys are.
func (q *Request) KeysURL() string { return q.Surface.PublicURL + "/.well-known/jwks.json" }
