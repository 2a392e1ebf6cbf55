package dashboard_test

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"ledgerhook/dashboard"
	"ledgerhook/dashboard/oidc"
	"ledgerhook/dashboard/oidc/oidctest"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
)

var (
	ann  = oidctest.Person{ID: "id-ann", Username: "ann", Password: "ann's own words", FirstName: "Ann", LastName: "Lee", Email: "ann@example.com", EmailVerified: true, Groups: []string{"support"}}
	carl = oidctest.Person{ID: "id-carl", Username: "carl", Password: "carl's own words", FirstName: "Carl", LastName: "Orr", Email: "carl@example.com", EmailVerified: true, Groups: []string{"cooks"}}
)

// office is a house whose operators sign in at a provider.
type office struct {
	*house
	signIn *dashboard.SignIn
	log    *journal
	stop   func() // ends the provider
}

// journal keeps what is logged.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) says() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func newOffice(t *testing.T, b *ledgertest.Bench) *office {
	t.Helper()
	o := &office{signIn: &dashboard.SignIn{Name: "Acme ID", BreakGlass: "root"}, log: &journal{}}
	o.house = newHouse(t, b, func(d *dashboard.Options) {
		d.SignIn, d.Log = o.signIn, slog.New(slog.NewTextHandler(o.log, nil))
	})
	o.signIn.Address = o.ops.URL
	at := oidc.Options{ClientID: oidctest.ClientID, ClientSecret: oidctest.ClientSecret, RedirectURL: o.ops.URL + dashboard.CallbackPath,
		Scopes: []string{"openid", "profile", "email"}, GroupsClaim: "groups"}
	at.Issuer, o.stop = oidctest.Start(t, at.RedirectURL, ann, carl)
	o.signIn.Provider = oidc.New(at)
	o.mapped("support", partners.RoleOperator)
	return o
}

// mapped makes a group the only one that gives a role.
func (o *office) mapped(group string, role partners.Role) {
	at := o.signIn.Provider.Options
	at.Roles = []oidc.GroupRole{{Group: group, Role: role}}
	o.signIn.Provider = oidc.New(at)
}

// goes takes a browser to the provider and back, and returns the address it
// comes back with.
func (o *office) goes(t *testing.T, b *browser, who oidctest.Person, next string) (back string) {
	t.Helper()
	to := b.want(303, "GET", "/ops/login/provider?"+url.Values{"next": {next}}.Encode(), nil).Header.Get("Location")
	return strings.TrimPrefix(oidctest.SignIn(t, to, who), o.ops.URL)
}

func TestAnOperatorSignsInAtTheProvider(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, bench *ledgertest.Bench) {
		o := newOffice(t, bench)
		b := o.browse(t, o.ops)
		page := b.want(200, "GET", "/ops/login?next=/ops/deliveries", nil, "Sign in with Acme ID", "Break-glass administrator",
			`href="`+o.ops.URL+`/ops/login/provider?next=%2Fops%2Fdeliveries"`)
		if policy := page.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "form-action 'self'") {
			t.Errorf("the policy is %q", policy)
		}
		back := o.goes(t, b, ann, "/ops/deliveries")
		b.arrives(b.want(303, "GET", back, nil), "/ops/deliveries")
		b.want(200, "GET", "/ops/deliveries", nil, "Ann Lee")
		b.want(403, "GET", "/ops/admin", nil)
		account := b.want(200, "GET", "/ops/account", nil, "Ann Lee", "operator", "With Acme ID")
		if strings.Contains(account.text, "Current password") {
			t.Error("a password can be changed that there is not")
		}

		o.mapped("support", partners.RoleAdmin)
		again := o.browse(t, o.ops)
		again.arrives(again.want(303, "GET", o.goes(t, again, ann, "/elsewhere"), nil), "/ops")
		again.want(200, "GET", "/ops/admin", nil, "Ann Lee", "single sign-on")
		if n := o.Count(t, "SELECT COUNT(*) FROM people WHERE username = 'ann' AND role = 'admin' AND email = 'ann@example.com' AND password = ''"); n != 1 {
			t.Errorf("%d people are as the provider says", n)
		}
		if acts := o.acts(t, partners.AuditFilter{}); acts != "login person.role login person.create" {
			t.Errorf("the audit log says %s", acts)
		}
		if text := o.log.says(); strings.Contains(text, oidctest.ClientSecret) || strings.Contains(text, "code=") {
			t.Errorf("the log says %s", text)
		}
	})
}

// Whatever comes back was begun by this browser, a moment ago, and is used once.
func TestOnlyTheBrowserThatBeganASignInEndsIt(t *testing.T) {
	t.Parallel()
	o := newOffice(t, ledgertest.New(t, "sqlite"))
	b, thief := o.browse(t, o.ops), o.browse(t, o.ops)
	back := o.goes(t, b, ann, "/ops")
	const again = "Please start again"
	thief.want(401, "GET", back, nil, again)
	thief.want(303, "GET", "/ops/login/provider", nil)
	thief.want(401, "GET", back, nil, again) // the state of another sign-in
	b.want(303, "GET", back, nil)
	b.want(401, "GET", back, nil, again)

	state := func(b *browser) string {
		to, err := url.Parse(b.want(303, "GET", "/ops/login/provider", nil).Header.Get("Location"))
		if err != nil {
			t.Fatal(err)
		}
		return to.Query().Get("state")
	}
	victim := o.browse(t, o.ops)
	stolen, err := url.Parse(o.goes(t, b, ann, "/ops"))
	if err != nil {
		t.Fatal(err)
	}
	callback := func(pairs ...string) string { return dashboard.CallbackPath + "?" + form(pairs...).Encode() }
	victim.want(401, "GET", callback("state", state(victim), "code", stolen.Query().Get("code")), nil, "did not confirm who you are")
	victim.want(401, "GET", callback("state", state(victim), "error", "access_denied"), nil, "Acme ID did not sign you in")
	victim.want(401, "GET", callback("state", state(victim)), nil, "Acme ID did not sign you in")
	victim.want(401, "GET", dashboard.CallbackPath, nil, again)
	victim.want(303, "GET", "/ops/deliveries", nil)
	if acts := o.acts(t, partners.AuditFilter{Action: "login."}); acts != "login.fail login.fail login.fail" {
		t.Errorf("the audit log says %s", acts)
	}
}

func TestWhoHasNoMappedGroupIsToldSo(t *testing.T) {
	t.Parallel()
	o := newOffice(t, ledgertest.New(t, "sqlite"))
	b := o.browse(t, o.ops)
	b.want(403, "GET", o.goes(t, b, carl, "/ops"), nil, "none of your groups there gives you a role here")
	b.want(303, "GET", "/ops/deliveries", nil)
	if n := o.Count(t, "SELECT COUNT(*) FROM people"); n != 0 {
		t.Errorf("%d people were made", n)
	}
	b.arrives(b.want(303, "GET", o.goes(t, b, ann, "/ops"), nil), "/ops")
	o.mapped("nobody", partners.RoleViewer)
	other := o.browse(t, o.ops)
	other.want(403, "GET", o.goes(t, other, ann, "/ops"), nil, "none of your groups")
	b.want(303, "GET", "/ops/deliveries", nil) // the session from before has ended, too
	if got := o.acts(t, partners.AuditFilter{Actor: "ann"}); got != "login.fail login" {
		t.Errorf("the audit log says %s", got)
	}
}

func TestWhoIsDisabledDoesNotComeInThroughTheProvider(t *testing.T) {
	t.Parallel()
	o := newOffice(t, ledgertest.New(t, "sqlite"))
	o.join(t, "", "root", partners.RoleAdmin)
	b := o.browse(t, o.ops)
	b.want(303, "GET", o.goes(t, b, ann, "/ops"), nil)
	root := o.browse(t, o.ops)
	root.signIn("/ops", "root")
	var id string
	if err := o.Raw.QueryRowContext(t.Context(), "SELECT id FROM people WHERE username = 'ann'").Scan(&id); err != nil {
		t.Fatal(err)
	}
	root.want(409, "POST", "/ops/admin/"+id+"/role", form("role", "admin"), "The groups of ann at the sign-in provider say the role")
	root.want(409, "POST", "/ops/admin/"+id+"/link", form("form", root.want(200, "GET", "/ops/admin", nil).hidden("form")), "Operators sign in with Acme ID")
	root.want(303, "POST", "/ops/admin/"+id+"/disable", form())
	b.want(303, "GET", "/ops/deliveries", nil)
	b.want(401, "GET", o.goes(t, b, ann, "/ops"), nil, "This account is disabled")
}

func TestOnlyTheBreakGlassAdministratorHasAPassword(t *testing.T) {
	t.Parallel()
	o := newOffice(t, ledgertest.New(t, "sqlite"))
	o.join(t, "", "root", partners.RoleAdmin)
	o.join(t, "", "ann", partners.RoleAdmin) // from the time before
	b := o.browse(t, o.ops)
	b.want(401, "POST", "/ops/login", form("username", "ann", "password", "wrong"), "The username or the password is wrong")
	b.want(401, "POST", "/ops/login", form("username", "ann", "password", goodPassword), "Operators sign in with Acme ID")
	b.want(303, "GET", "/ops/deliveries", nil)
	b.signIn("/ops", "root")
	if acts := o.acts(t, partners.AuditFilter{Actor: "root"}); acts != "login.break-glass" {
		t.Errorf("the audit log says %s", acts)
	}
	if text := o.log.says(); !strings.Contains(text, "level=WARN") || !strings.Contains(text, "break-glass administrator signed in") || !strings.Contains(text, "user=root") {
		t.Errorf("the log says %s", text)
	}
	page := b.want(200, "GET", "/ops/admin", nil, "Operators sign in with Acme ID and need no invitation")
	b.want(409, "POST", "/ops/admin/invite", form("form", page.hidden("form"), "role", "operator", "name", "New"), "Operators sign in with Acme ID")

	// Whoever the provider calls ann does not become the ann from before.
	newcomer := o.browse(t, o.ops)
	newcomer.arrives(newcomer.want(303, "GET", o.goes(t, newcomer, ann, "/ops"), nil), "/ops")
	newcomer.want(403, "GET", "/ops/admin", nil)
	if n := o.Count(t, "SELECT COUNT(*) FROM people WHERE username LIKE 'ann-______' AND role = 'operator' OR username = 'ann' AND role = 'admin'"); n != 2 {
		t.Errorf("%d people are who they were", n)
	}
}

// An invitation that was made before leads to no password now.
func TestAnOldInvitationLeadsToTheProvider(t *testing.T) {
	t.Parallel()
	o := newOffice(t, ledgertest.New(t, "sqlite"))
	link, hash := partners.NewPageToken()
	now := time.Now()
	i := partners.Invite{ID: "inv_1", Role: partners.RoleAdmin, CreatedAt: now, ExpiresAt: now.Add(time.Hour)}
	if err := o.CreateInvite(t.Context(), hash, i, partners.AuditEntry{Actor: "test", Action: "test"}); err != nil {
		t.Fatal(err)
	}
	b := o.browse(t, o.ops)
	b.want(409, "POST", "/ops/invite/"+link, form("username", "eve", "name", "Eve", "password", "eve's own words", "again", "eve's own words"), "Operators sign in with Acme ID")
	b.want(303, "GET", "/ops/deliveries", nil)
}

func TestWithoutTheProviderTheBreakGlassAdministratorSignsIn(t *testing.T) {
	t.Parallel()
	o := newOffice(t, ledgertest.New(t, "sqlite"))
	o.join(t, "", "root", partners.RoleAdmin)
	b := o.browse(t, o.ops)
	back := o.goes(t, b, ann, "/ops")
	o.stop()
	away := b.want(503, "GET", back, nil, "Acme ID does not answer just now", "Break-glass administrator")
	if away.Header.Get("Retry-After") == "" {
		t.Error("it is not said when to come back")
	}
	o.mapped("support", partners.RoleOperator) // which knows nothing of the provider yet
	b.want(503, "GET", "/ops/login/provider", nil, "Acme ID does not answer just now")
	b.signIn("/ops", "root")
}

func TestWithoutASettingThereIsNoProvider(t *testing.T) {
	onSQLite(t, func(t *testing.T, h *house) {
		b := h.browse(t, h.ops)
		for _, path := range []string{"/ops/login/provider", dashboard.CallbackPath + "?code=x&state=y"} {
			if got := b.do(http.MethodGet, path, nil); got.StatusCode != 404 {
				t.Errorf("%s: %d", path, got.StatusCode)
			}
		}
		if page := b.want(200, "GET", "/ops/login", nil); strings.Contains(page.text, "Sign in with") {
			t.Errorf("a provider is offered: %s", page.text)
		}
	})
}
