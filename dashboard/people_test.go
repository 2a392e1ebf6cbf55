package dashboard_test

import (
	"context"
	"encoding/base64"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/crypto/argon2"

	"ledgerhook/dashboard"
	"ledgerhook/delivery/guard"
	"ledgerhook/delivery/queue"
	"ledgerhook/ledger/incidents"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

// cheapHash is of goodPassword at a cost that the race detector bears.
var cheapHash = "$argon2id$v=19$m=64,t=1,p=1$c2FsdHNhbHRzYWx0c2FsdA$" +
	base64.RawStdEncoding.EncodeToString(argon2.IDKey([]byte(goodPassword), []byte("saltsaltsaltsalt"), 1, 64, 1, 32))

// house is both surfaces over a real ledger, each behind a server of its own.
type house struct {
	*ledgertest.Bench
	box         *signer.Box
	ops, portal *httptest.Server
}

const goodPassword = "correct horse battery"

func newHouse(t *testing.T, b *ledgertest.Bench, more ...func(*dashboard.Options)) *house {
	t.Helper()
	box, err := signer.NewBox(make([]byte, signer.MasterKeySize))
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	q, err := queue.Open(t.Context(), queue.Options{Timeout: 15 * time.Second, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.Close() })
	o := dashboard.Options{Database: b.DB, Ledger: b.Ledger, Accounts: b.Accounts, Trail: b.Trail, Reports: b.Reports, Prices: b.Prices, Incidents: incidents.New(b.DB, incidents.Audience{Webhook: "ops"}), Box: box, Key: dashboard.TestKey, Guard: guard.New(nil), Resolver: net.DefaultResolver, Queue: q, Health: &web.Health{}, Slots: func() (int, int, bool) { return 0, 0, false }, Log: log, PublicURL: "https://pay.example.com"}
	for _, each := range more {
		each(&o)
	}
	d, err := dashboard.New(o)
	if err != nil {
		t.Fatal(err)
	}
	h := &house{Bench: b, box: box, ops: httptest.NewServer(d.Ops()), portal: httptest.NewServer(d.Portal())}
	t.Cleanup(h.ops.Close)
	t.Cleanup(h.portal.Close)
	return h
}

// onSQLite and onBoth run a test of the pages over a real ledger.
func onSQLite(t *testing.T, test func(t *testing.T, h *house)) {
	t.Helper()
	test(t, newHouse(t, ledgertest.New(t, "sqlite")))
}

func onBoth(t *testing.T, test func(t *testing.T, h *house)) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) { test(t, newHouse(t, b)) })
}

// join makes somebody, past the pages.
func (h *house) join(t *testing.T, partnerCode, username string, role partners.Role) partners.Person {
	t.Helper()
	_, hash := partners.NewPageToken()
	now := time.Now()
	by := partners.AuditEntry{Actor: "test", Action: "test"}
	i := partners.Invite{ID: webhook.NewID(webhook.InvitePrefix), PartnerCode: partnerCode, Role: role, CreatedAt: now, ExpiresAt: now.Add(time.Hour)}
	if err := h.CreateInvite(t.Context(), hash, i, by); err != nil {
		t.Fatal(err)
	}
	p, err := h.AcceptInvite(t.Context(), hash, partners.Person{ID: webhook.NewID(webhook.PersonPrefix), Username: username, Name: username, CreatedAt: now}, cheapHash, now, by)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// browser is somebody at one of the surfaces. It follows no redirect.
type browser struct {
	t      *testing.T
	base   string
	client *http.Client
}

func (h *house) browse(t *testing.T, server *httptest.Server) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &browser{t, server.URL, client}
}

type answer struct {
	*http.Response
	text string
}

func (b *browser) do(method, path string, form url.Values, headers ...string) answer {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer{response, string(body)}
}

// want fails the test unless the answer has the status and holds all of says.
func (b *browser) want(status int, method, path string, form url.Values, says ...string) answer {
	b.t.Helper()
	a := b.do(method, path, form)
	if a.StatusCode != status {
		b.t.Errorf("%s %s: status %d, want %d: %.600s", method, path, a.StatusCode, status, a.text)
	}
	for _, text := range says {
		if !strings.Contains(a.text, text) {
			b.t.Errorf("%s %s does not say %q: %.3000s", method, path, text, a.text)
		}
	}
	return a
}

// form is pairs of names and values.
func form(pairs ...string) url.Values {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return v
}

func (b *browser) signIn(base, username string) {
	b.t.Helper()
	b.arrives(b.want(303, "POST", base+"/login", form("username", username, "password", goodPassword)), base)
}

// arrives follows where signing in leads.
func (b *browser) arrives(a answer, at string) {
	b.t.Helper()
	if got := b.want(303, "GET", a.Header.Get("Location"), nil).Header.Get("Location"); got != at {
		b.t.Errorf("signing in leads to %q", got)
	}
}

// hidden is the value of a hidden field on a page.
func (a answer) hidden(name string) string {
	found := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(a.text)
	if found == nil {
		return ""
	}
	return found[1]
}

func (h *house) acts(t *testing.T, f partners.AuditFilter) string {
	t.Helper()
	f.Limit = 100
	found, _, err := h.AuditEntries(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	var acts []string
	for _, e := range found {
		acts = append(acts, e.Action)
	}
	return strings.Join(acts, " ")
}

func TestSigningInAndOut(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		ann := h.join(t, "", "ann", partners.RoleAdmin)
		b := h.browse(t, h.ops)
		a := b.want(303, "GET", "/ops/audit?actor=x", nil)
		if got := a.Header.Get("Location"); got != "/ops/login?next=%2Fops%2Faudit%3Factor%3Dx" {
			t.Errorf("a page without a session leads to %q", got)
		}
		b.want(200, "GET", "/ops/login", nil, "Sign in", `name="username"`, `name="password"`)
		b.want(401, "POST", "/ops/login", form("username", "ann", "password", "wrong"), "The username or the password is wrong.", `value="ann"`)
		b.want(401, "POST", "/ops/login", form("username", "<script>", "password", "wrong"), "The username or the password is wrong.", "&lt;script&gt;")
		a = b.want(303, "POST", "/ops/login", form("username", " Ann ", "password", goodPassword, "next", "/ops/audit"))
		b.arrives(a, "/ops/audit")
		c := a.Cookies()[0]
		if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/ops" || c.Secure || len(c.Value) != 43 {
			t.Errorf("cookie %+v", c)
		}
		if h.Count(t, "SELECT COUNT(*) FROM sessions WHERE hash = $1", []byte(c.Value)) != 0 {
			t.Error("the token itself is stored")
		}
		b.want(200, "GET", "/ops/audit", nil, "login.fail", "ann")
		b.want(303, "POST", "/ops/logout", form())
		b.want(303, "GET", "/ops", nil)
		other := h.browse(t, h.ops)
		if again := other.do("GET", "/ops", nil, "Cookie", c.Name+"="+c.Value); again.StatusCode != 303 {
			t.Errorf("the token of an ended session answers %d", again.StatusCode)
		}
		if got := h.acts(t, partners.AuditFilter{Target: ann.ID}); got != "logout login login.fail test" {
			t.Errorf("acts %q", got)
		}
	})
}

func TestNobodyEntersTheOtherSurface(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		h.Partner(t, "acme")
		h.join(t, "", "ann", partners.RoleAdmin)
		h.join(t, "acme", "eve", partners.RoleAdmin)
		ops, portal := h.browse(t, h.ops), h.browse(t, h.portal)
		ops.want(401, "POST", "/ops/login", form("username", "eve", "password", goodPassword))
		portal.want(401, "POST", "/portal/login", form("username", "ann", "password", goodPassword))
		ops.signIn("/ops", "ann")
		portal.signIn("/portal", "eve")
		tokenOf := func(b *browser, path string) string {
			u, err := url.Parse(b.base + path)
			if err != nil {
				t.Fatal(err)
			}
			return b.client.Jar.Cookies(u)[0].Value
		}
		if a := h.browse(t, h.ops).do("GET", "/ops", nil, "Cookie", "ledgerhook_ops="+tokenOf(portal, "/portal")); a.StatusCode != 303 {
			t.Errorf("a partner's session opens /ops: %d", a.StatusCode)
		}
		if a := h.browse(t, h.portal).do("GET", "/portal", nil, "Cookie", "ledgerhook_portal="+tokenOf(ops, "/ops")); a.StatusCode != 303 {
			t.Errorf("an operator's session opens /portal: %d", a.StatusCode)
		}
	})
}

func TestASessionIsNeverTheOneTheBrowserBrought(t *testing.T) {
	onSQLite(t, func(t *testing.T, h *house) {
		h.join(t, "", "ann", partners.RoleViewer)
		b := h.browse(t, h.ops)
		planted, _ := partners.NewPageToken()
		a := b.do("POST", "/ops/login", form("username", "ann", "password", goodPassword), "Cookie", "ledgerhook_ops="+planted)
		if got := a.Cookies()[0].Value; a.StatusCode != 303 || got == planted {
			t.Errorf("the planted token is the session: %d %q", a.StatusCode, got)
		}
		first := a.Cookies()[0].Value
		b.want(303, "POST", "/ops/login", form("username", "ann", "password", goodPassword))
		if old := h.browse(t, h.ops).do("GET", "/ops", nil, "Cookie", "ledgerhook_ops="+first); old.StatusCode != 303 {
			t.Errorf("the session before goes on beside the new one: %d", old.StatusCode)
		}
		if h.Count(t, "SELECT COUNT(*) FROM sessions") != 1 {
			t.Error("signing in again leaves two sessions in one browser")
		}
	})
}

func TestTenFailuresLockAUsernameAndManyMoreAnAddress(t *testing.T) {
	onSQLite(t, func(t *testing.T, h *house) {
		h.join(t, "", "ann", partners.RoleAdmin)
		h.join(t, "", "bob", partners.RoleAdmin)
		fail := func(subject string, times int) {
			t.Helper()
			for range times {
				if wait, err := h.TryLogin(t.Context(), []string{subject}, time.Now()); wait != 0 || err != nil {
					t.Fatal(wait, err)
				}
			}
		}
		b := h.browse(t, h.ops)
		for _, username := range []string{"ann", "nobody"} { // known or not: the same
			fail("username ops "+username, partners.LoginFailures-1)
			b.want(401, "POST", "/ops/login", form("username", username, "password", "wrong"))
			a := b.want(429, "POST", "/ops/login", form("username", username, "password", goodPassword), "Too many failed sign-ins. Try again in 15 minutes.")
			if got := a.Header.Get("Retry-After"); len(got) != 3 {
				t.Errorf("Retry-After %q", got)
			}
		}
		fail("address 127.0.0.1", 2*partners.LoginFailures) // of other people behind the same proxy
		b.signIn("/ops", "bob")
		if _, err := h.Raw.ExecContext(t.Context(), "UPDATE login_failures SET n = $1 WHERE subject = 'address 127.0.0.1'", partners.AddressFailures); err != nil {
			t.Fatal(err)
		}
		b.want(429, "POST", "/ops/login", form("username", "bob", "password", goodPassword))
	})
}

// Whoever watches the gateway sees that passwords are guessed, on which
// surface, and that somebody is locked out.
func TestFailedSignInsAreCounted(t *testing.T) {
	counted := prometheus.NewRegistry()
	h := newHouse(t, ledgertest.New(t, "sqlite"), func(o *dashboard.Options) { o.Metrics = web.NewMetrics(counted) })
	failures := func(surface, reason string) float64 {
		families, err := counted.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			for _, m := range f.Metric {
				if l := m.Label; f.GetName() == "ledgerhook_auth_failures_total" && l[0].GetValue() == reason && l[1].GetValue() == surface {
					return m.Counter.GetValue()
				}
			}
		}
		return -1
	}
	reasons := []string{"password", "code", "disabled", "locked"}
	for _, surface := range []string{"ops", "portal"} {
		for _, reason := range reasons {
			if n := failures(surface, reason); n != 0 {
				t.Errorf("%s %s begins at %v", surface, reason, n)
			}
		}
	}
	h.join(t, "", "ann", partners.RoleAdmin)
	b := h.browse(t, h.ops)
	for range 2 {
		b.want(401, "POST", "/ops/login", form("username", "ann", "password", "wrong"))
	}
	h.browse(t, h.portal).want(401, "POST", "/portal/login", form("username", "nobody", "password", "wrong"))
	b.signIn("/ops", "ann")
	b.want(400, "POST", "/ops/account/password", form("current", "wrong", "password", "x", "again", "x"))
	page := b.want(200, "GET", "/ops/account/totp", nil)
	secret, _ := partners.ParseTOTPSecret(regexp.MustCompile(`<code>([A-Z2-7]{32})</code>`).FindStringSubmatch(page.text)[1])
	b.want(200, "POST", "/ops/account/totp", form("sealed", page.hidden("sealed"), "code", secret.Code(time.Now()), "current", goodPassword))
	other := h.browse(t, h.ops)
	ticket := other.want(200, "POST", "/ops/login", form("username", "ann", "password", goodPassword)).hidden("ticket")
	other.want(401, "POST", "/ops/login", form("ticket", ticket, "code", "nothing"))
	bob := h.join(t, "", "bob", partners.RoleViewer)
	if _, err := h.AlterPerson(t.Context(), "", bob.ID, partners.AuditEntry{Actor: "test", Action: "test"}, func(p *partners.Person) error { p.Disabled = true; return nil }); err != nil {
		t.Fatal(err)
	}
	other.want(401, "POST", "/ops/login", form("username", "bob", "password", goodPassword))
	for range partners.LoginFailures {
		other.do("POST", "/ops/login", form("username", "zoe", "password", "wrong"))
	}
	other.want(429, "POST", "/ops/login", form("username", "zoe", "password", "wrong"))
	got := map[string]float64{}
	for _, reason := range reasons {
		got[reason] = failures("ops", reason)
	}
	if got["password"] < 4 || got["code"] != 1 || got["disabled"] != 1 || got["locked"] < 1 || failures("portal", "password") != 1 {
		t.Errorf("counted %v at /ops, %v wrong passwords at /portal", got, failures("portal", "password"))
	}
}

func TestACodeIsAskedForAfterThePassword(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		h.join(t, "", "ann", partners.RoleAdmin)
		b := h.browse(t, h.ops)
		b.signIn("/ops", "ann")
		page := b.want(200, "GET", "/ops/account/totp", nil, `<svg class="qr"`)
		key := regexp.MustCompile(`<code>([A-Z2-7]{32})</code>`).FindStringSubmatch(page.text)
		if key == nil {
			t.Fatalf("no key on the page: %.2000s", page.text)
		}
		secret, _ := partners.ParseTOTPSecret(key[1])
		code := secret.Code(time.Now())
		b.want(400, "POST", "/ops/account/totp", form("sealed", page.hidden("sealed"), "code", "000000", "current", goodPassword), "not what the app shows", key[1])
		b.want(400, "POST", "/ops/account/totp", form("sealed", page.hidden("sealed"), "code", code, "current", "wrong"), "That is not your current password.")
		b.want(400, "POST", "/ops/account/totp", form("sealed", "AAAA", "code", code, "current", goodPassword))
		done := b.want(200, "POST", "/ops/account/totp", form("sealed", page.hidden("sealed"), "code", code, "current", goodPassword), "Your recovery codes")
		recovery := regexp.MustCompile(`<code>([a-z2-7]{4}(?:-[a-z2-7]{4}){3})</code>`).FindAllStringSubmatch(done.text, -1)
		if len(recovery) != 10 {
			t.Fatalf("%d recovery codes", len(recovery))
		}

		other := h.browse(t, h.ops)
		step := other.want(200, "POST", "/ops/login", form("username", "ann", "password", goodPassword), "Enter your code")
		if len(step.Cookies()) != 0 {
			t.Error("the password alone signs in")
		}
		ticket := step.hidden("ticket")
		other.want(401, "POST", "/ops/login", form("ticket", ticket, "code", code), "wrong or was used already") // the step that enrolled
		other.want(401, "POST", "/ops/login", form("ticket", ticket, "code", ""))
		other.want(401, "POST", "/ops/login", form("ticket", "AAAA", "code", code), "That took too long")
		next := secret.Code(time.Now().Add(30 * time.Second))
		other.want(303, "POST", "/ops/login", form("ticket", ticket, "code", next))
		third := h.browse(t, h.ops)
		ticket = third.want(200, "POST", "/ops/login", form("username", "ann", "password", goodPassword)).hidden("ticket")
		third.want(401, "POST", "/ops/login", form("ticket", ticket, "code", next))
		third.want(303, "POST", "/ops/login", form("ticket", ticket, "code", recovery[0][1]))
		fourth := h.browse(t, h.ops)
		ticket = fourth.want(200, "POST", "/ops/login", form("username", "ann", "password", goodPassword)).hidden("ticket")
		fourth.want(401, "POST", "/ops/login", form("ticket", ticket, "code", recovery[0][1]))

		b.want(200, "GET", "/ops/account", nil, "Recovery codes left: 9.")
		b.want(303, "POST", "/ops/account/totp/off", form("current", goodPassword))
		h.browse(t, h.ops).signIn("/ops", "ann")
	})
}

func TestChangingThePassword(t *testing.T) {
	onSQLite(t, func(t *testing.T, h *house) {
		h.Partner(t, "acme")
		eve := h.join(t, "acme", "eve", partners.RoleViewer)
		b, elsewhere := h.browse(t, h.portal), h.browse(t, h.portal)
		b.signIn("/portal", "eve")
		elsewhere.signIn("/portal", "eve")
		change := func(current, password, again string) url.Values {
			return form("current", current, "password", password, "again", again)
		}
		b.want(400, "POST", "/portal/account/password", change("wrong", "another horse", "another horse"), "That is not your current password.")
		b.want(400, "POST", "/portal/account/password", change(goodPassword, "short", "short"), "8 to 200 characters")
		b.want(400, "POST", "/portal/account/password", change(goodPassword, "another horse", "another house"), "The two passwords differ.")
		b.want(303, "POST", "/portal/account/password", change(goodPassword, "another horse", "another horse"))
		b.want(200, "GET", "/portal/account?done=password", nil, "Your password is changed.")
		elsewhere.want(303, "GET", "/portal/account", nil)
		elsewhere.want(401, "POST", "/portal/login", form("username", "eve", "password", goodPassword))
		elsewhere.want(303, "POST", "/portal/login", form("username", "eve", "password", "another horse"))
		sessions, err := h.Sessions(t.Context(), eve.ID, time.Now())
		if err != nil || len(sessions) != 2 {
			t.Fatalf("sessions %v (%v)", sessions, err)
		}
		b.want(303, "POST", "/portal/account/sessions/"+sessions[0].ID+"/end", form())
		b.want(404, "POST", "/portal/account/sessions/"+sessions[0].ID+"/end", form())
		elsewhere.want(303, "GET", "/portal/account", nil)
		b.do("POST", "/portal/preferences", form("lang", "vi"))
		b.want(400, "POST", "/portal/account/password", change("another horse", "short", "short"), "Mật khẩu phải có 8 đến 200 ký tự.")
	})
}

var linkPattern = regexp.MustCompile(`<code>(https?://[^<]*/invite/)([A-Za-z0-9_-]{43})</code>`)

func TestInvitingAndAccepting(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		h.Partner(t, "acme")
		h.Partner(t, "umbrella")
		h.join(t, "", "ann", partners.RoleAdmin)
		h.join(t, "umbrella", "uma", partners.RoleAdmin)
		ops, portal := h.browse(t, h.ops), h.browse(t, h.portal)
		ops.signIn("/ops", "ann")
		desk, value, err := partners.NewInternalToken("desk", partners.TokenScopes, time.Now().Add(time.Hour), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if err := h.AddInternalToken(t.Context(), desk); err != nil {
			t.Fatal(err)
		}
		page := ops.want(200, "GET", "/ops/admin", nil, "Operators", "ann", "LEDGERHOOK_TOKEN", "desk", desk.Shown+"…", "ingest, read, administer", "active")
		if strings.Contains(page.text, value) {
			t.Error("the page shows a token")
		}
		invite := form("form", page.hidden("form"), "partner", "acme", "role", "admin", "name", "Eve <b>", "email", "eve@example.com")
		ops.want(400, "POST", "/ops/admin/invite", form("form", "x", "partner", "acme", "role", "operator"))
		ops.want(400, "POST", "/ops/admin/invite", form("form", "x", "partner", "nobody", "role", "admin"))
		ops.want(400, "POST", "/ops/admin/invite", form("form", "x", "role", "developer"))
		made := ops.want(200, "POST", "/ops/admin/invite", invite, "https://pay.example.com/portal/invite/")
		token := linkPattern.FindStringSubmatch(made.text)[2]
		ops.want(409, "POST", "/ops/admin/invite", invite, "This has already been done")
		ops.want(410, "GET", "/ops/invite/"+token, nil, "no longer works")

		portal.want(200, "GET", "/portal/invite/"+token, nil, "portal of acme as administrator", "Eve &lt;b&gt;")
		accept := form("username", "eve", "name", "Eve", "password", "eve's own words", "again", "eve's own words")
		portal.want(400, "POST", "/portal/invite/"+token, form("username", "eve", "name", "Eve", "password", "short", "again", "short"), "8 to 200 characters", `value="eve"`)
		portal.want(409, "POST", "/portal/invite/"+token, form("username", "uma", "name", "Eve", "password", "eve's own words", "again", "eve's own words"), "is taken")
		portal.want(303, "POST", "/portal/invite/"+token, accept)
		portal.want(200, "GET", "/portal/people", nil, "Eve")
		other := h.browse(t, h.portal)
		other.want(410, "GET", "/portal/invite/"+token, nil, "no longer works")
		other.want(410, "POST", "/portal/invite/"+token, accept)
		other.want(410, "GET", "/portal/invite/nothing", nil)

		page = portal.want(200, "GET", "/portal/people", nil)
		made = portal.want(200, "POST", "/portal/people/invite", form("form", page.hidden("form"), "role", "viewer", "partner", "other"), "/portal/invite/")
		late := linkPattern.FindStringSubmatch(made.text)[2]
		if n := h.Count(t, "SELECT COUNT(*) FROM invites WHERE partner_code = 'acme' AND role = 'viewer'"); n != 1 {
			t.Error("a partner's administrator invites into another partner")
		}
		if _, err := h.Raw.ExecContext(t.Context(), "UPDATE invites SET expires_at = $1 WHERE used_at = 0", time.Now().UnixMicro()); err != nil {
			t.Fatal(err)
		}
		other.want(410, "GET", "/portal/invite/"+late, nil)
		if got := h.acts(t, partners.AuditFilter{PartnerCode: "acme"}); got != "person.invite login invite.accept person.invite" {
			t.Errorf("acts %q", got)
		}
		portal.want(200, "GET", "/portal/activity", nil, "invite.accept", "gateway operator")
	})
}

func TestANewPasswordByLink(t *testing.T) {
	onSQLite(t, func(t *testing.T, h *house) {
		h.join(t, "", "ann", partners.RoleAdmin)
		bob := h.join(t, "", "bob", partners.RoleViewer)
		ops := h.browse(t, h.ops)
		ops.signIn("/ops", "ann")
		page := ops.want(200, "GET", "/ops/admin", nil)
		made := ops.want(200, "POST", "/ops/admin/"+bob.ID+"/link", form("form", page.hidden("form")), h.ops.URL+"/ops/invite/")
		token := linkPattern.FindStringSubmatch(made.text)[2]
		b := h.browse(t, h.ops)
		b.want(200, "GET", "/ops/invite/"+token, nil, "Choose a new password", "bob")
		b.want(303, "POST", "/ops/invite/"+token, form("username", "ann", "password", "bob's new words", "again", "bob's new words"))
		b.want(200, "GET", "/ops/account", nil, "bob")
		h.browse(t, h.ops).want(303, "POST", "/ops/login", form("username", "bob", "password", "bob's new words"))
		h.browse(t, h.ops).want(401, "POST", "/ops/login", form("username", "bob", "password", goodPassword))
	})
}

func TestALinkOfSomebodyDisabledIsRefused(t *testing.T) {
	onSQLite(t, func(t *testing.T, h *house) {
		h.join(t, "", "ann", partners.RoleAdmin)
		bob := h.join(t, "", "bob", partners.RoleViewer)
		ops, b := h.browse(t, h.ops), h.browse(t, h.ops)
		ops.signIn("/ops", "ann")
		link := func() string {
			page := ops.want(200, "GET", "/ops/admin", nil)
			made := ops.want(200, "POST", "/ops/admin/"+bob.ID+"/link", form("form", page.hidden("form")), h.ops.URL+"/ops/invite/")
			return "/ops/invite/" + linkPattern.FindStringSubmatch(made.text)[2]
		}
		choose := form("password", "bob's new words", "again", "bob's new words")
		before := link()
		ops.want(303, "POST", "/ops/admin/"+bob.ID+"/disable", form())
		b.want(410, "POST", before, choose, "This link no longer works")
		after := link()
		b.want(409, "POST", after, choose, "Choose a new password", "This account is disabled. Ask your administrator.")
		ops.want(303, "POST", "/ops/admin/"+bob.ID+"/enable", form())
		b.signIn("/ops", "bob") // with the password as it was
		b.want(410, "GET", before, nil)
		b.want(303, "POST", after, choose)
		h.browse(t, h.ops).want(303, "POST", "/ops/login", form("username", "bob", "password", "bob's new words"))
	})
}

func TestAnInvitationIsMailedWhereThereIsAMailServer(t *testing.T) {
	var letters []string
	h := newHouse(t, ledgertest.New(t, "sqlite"), func(o *dashboard.Options) {
		o.SendMail = func(_ context.Context, to, subject, text string) error {
			letters = append(letters, to+" "+text)
			return nil
		}
	})
	h.Partner(t, "acme")
	h.join(t, "", "ann", partners.RoleAdmin)
	ops := h.browse(t, h.ops)
	ops.signIn("/ops", "ann")
	page := ops.want(200, "GET", "/ops/admin", nil)
	ops.want(400, "POST", "/ops/admin/invite", form("form", "x", "partner", "acme", "role", "viewer", "email", "eve@example.com\r\nBcc: x@example.com"))
	made := ops.want(200, "POST", "/ops/admin/invite", form("form", page.hidden("form"), "partner", "acme", "role", "viewer", "email", "eve@example.com"), "It was mailed.")
	link := linkPattern.FindStringSubmatch(made.text)
	if len(letters) != 1 || !strings.HasPrefix(letters[0], "eve@example.com ") || !strings.Contains(letters[0], link[1]+link[2]) {
		t.Errorf("letters %q", letters)
	}
}

func TestRightsOfThePagesAboutPeople(t *testing.T) {
	onSQLite(t, func(t *testing.T, h *house) {
		h.Partner(t, "acme")
		victim := h.join(t, "", "victim", partners.RoleViewer)
		member := h.join(t, "acme", "member", partners.RoleViewer)
		for _, c := range []struct {
			partner string
			role    partners.Role
			people  int // status of the page about people
			audit   int
		}{
			{"", partners.RoleViewer, 403, 403}, {"", partners.RoleOperator, 403, 403}, {"", partners.RoleAuditor, 403, 200}, {"", partners.RoleAdmin, 200, 200},
			{"acme", partners.RoleViewer, 403, 200}, {"acme", partners.RoleDeveloper, 403, 200}, {"acme", partners.RoleAdmin, 200, 200},
		} {
			p := h.join(t, c.partner, "p"+c.partner+string(c.role), c.role)
			base, people, audit, server, id := "/ops", "/ops/admin", "/ops/audit", h.ops, victim.ID
			if c.partner != "" {
				base, people, audit, server, id = "/portal", "/portal/people", "/portal/activity", h.portal, member.ID
			}
			b := h.browse(t, server)
			b.signIn(base, p.Username)
			b.want(200, "GET", base+"/account", nil)
			b.want(c.people, "GET", people, nil)
			b.want(c.audit, "GET", audit, nil)
			if base == "/ops" {
				b.want(c.audit, "GET", "/ops/audit.csv", nil)
			}
			if c.people == 403 {
				for _, act := range []string{"/invite", "/" + id + "/disable", "/" + id + "/enable", "/" + id + "/role", "/" + id + "/link", "/invites/inv_1/withdraw"} {
					b.want(403, "POST", people+act, form("role", "admin", "form", "x"))
				}
			}
		}
	})
}

func TestPeopleOfAnotherPartnerAreNotThere(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		h.Partner(t, "acme")
		h.Partner(t, "other")
		h.join(t, "acme", "eve", partners.RoleAdmin)
		theirs := h.join(t, "other", "mallory", partners.RoleViewer)
		operator := h.join(t, "", "ann", partners.RoleViewer)
		_, hash := partners.NewPageToken()
		i := partners.Invite{ID: webhook.NewID(webhook.InvitePrefix), PartnerCode: "other", Role: partners.RoleViewer, CreatedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour)}
		if err := h.CreateInvite(t.Context(), hash, i, partners.AuditEntry{Actor: "test", Action: "test"}); err != nil {
			t.Fatal(err)
		}
		b := h.browse(t, h.portal)
		b.signIn("/portal", "eve")
		for _, id := range []string{theirs.ID, operator.ID, "usr_nothing"} {
			for _, act := range []string{"disable", "enable", "role", "link"} {
				b.want(404, "POST", "/portal/people/"+id+"/"+act, form("role", "admin", "form", "x"))
			}
		}
		b.want(404, "POST", "/portal/people/invites/"+i.ID+"/withdraw", form("partner", "other"))
		for _, path := range []string{"/portal/people", "/portal/activity"} {
			if page := b.want(200, "GET", path, nil); strings.Contains(page.text, "mallory") || strings.Contains(page.text, i.ID) {
				t.Errorf("%s shows what is of another partner", path)
			}
		}
	})
}

func TestDisablingSomebodySignsHimOut(t *testing.T) {
	onSQLite(t, func(t *testing.T, h *house) {
		ann := h.join(t, "", "ann", partners.RoleAdmin)
		bob := h.join(t, "", "bob", partners.RoleViewer)
		a, b := h.browse(t, h.ops), h.browse(t, h.ops)
		a.signIn("/ops", "ann")
		b.signIn("/ops", "bob")
		a.want(409, "POST", "/ops/admin/"+ann.ID+"/disable", form(), "You cannot disable yourself.")
		a.want(409, "POST", "/ops/admin/"+ann.ID+"/role", form("role", "viewer"), "This is the last administrator.")
		a.want(400, "POST", "/ops/admin/"+bob.ID+"/role", form("role", "developer"))
		a.want(303, "POST", "/ops/admin/"+bob.ID+"/role", form("role", "auditor"))
		b.want(200, "GET", "/ops/audit", nil) // at once
		a.want(303, "POST", "/ops/admin/"+bob.ID+"/disable", form())
		b.want(303, "GET", "/ops/account", nil)
		b.want(401, "POST", "/ops/login", form("username", "bob", "password", goodPassword), "This account is disabled.")
		b.want(401, "POST", "/ops/login", form("username", "bob", "password", "wrong"), "The username or the password is wrong.")
		a.want(303, "POST", "/ops/admin/"+bob.ID+"/enable", form())
		b.signIn("/ops", "bob")
		if got := h.acts(t, partners.AuditFilter{Target: bob.ID, Action: "person."}); got != "person.enable person.disable person.role" {
			t.Errorf("acts %q", got)
		}
	})
}

func TestTheAuditPageTellsWhetherTheChainIsWhole(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		h.join(t, "", "ann", partners.RoleAuditor)
		b := h.browse(t, h.ops)
		b.signIn("/ops", "ann")
		b.want(200, "GET", "/ops/audit", nil, "whole", "as of", "login")
		b.want(200, "GET", "/ops/audit?action=login.&since=2020-01-01T00:00", nil, "No entry fits the filter.")
		b.want(400, "GET", "/ops/audit?since=yesterday", nil)
		b.want(400, "GET", "/ops/audit?since=2026-01-02T00:00&until=2026-01-01T00:00", nil)
		b.want(400, "GET", "/ops/audit?after=x", nil)
		if err := h.Audit(t.Context(), partners.AuditEntry{Actor: "=1+1", Action: "x", Target: "@y", Detail: "<script>alert(1)</script>"}); err != nil {
			t.Fatal(err)
		}
		csv := b.want(200, "GET", "/ops/audit.csv?action=x", nil, "\ufeffseq,at,actor", "'=1+1,x,'@y")
		if got := csv.Header.Get("Content-Type"); got != "text/csv; charset=utf-8" {
			t.Errorf("content type %q", got)
		}
		if page := b.want(200, "GET", "/ops/audit", nil, "audit.export"); strings.Contains(page.text, "<script>alert") {
			t.Error("a detail becomes a script")
		}
		if _, err := h.Raw.ExecContext(t.Context(), "UPDATE audit SET detail = 'nothing' WHERE seq = 2"); err != nil {
			t.Fatal(err)
		}
		again := newHouse(t, h.Bench) // a process that has not looked yet
		c := again.browse(t, again.ops)
		c.signIn("/ops", "ann")
		c.want(200, "GET", "/ops/audit", nil, "Broken at aud_", "it was changed after it was written")
	})
}

func TestAnInvitationThatHasExpiredIsClosed(t *testing.T) {
	onSQLite(t, func(t *testing.T, h *house) {
		h.Partner(t, "acme")
		token, hash := partners.NewPageToken()
		made := time.Now().Add(-partners.InviteLife - time.Hour)
		i := partners.Invite{ID: webhook.NewID(webhook.InvitePrefix), PartnerCode: "acme", Role: partners.RoleDeveloper, CreatedAt: made, ExpiresAt: made.Add(partners.InviteLife)}
		if err := h.CreateInvite(t.Context(), hash, i, partners.AuditEntry{Actor: "test", Action: "test"}); err != nil {
			t.Fatal(err)
		}
		b := h.browse(t, h.portal)
		b.want(410, "GET", "/portal/invite/"+token, nil, "This link no longer works", "Ask the sender for a new one")
		b.want(410, "POST", "/portal/invite/"+token, form("username", "eve", "name", "Eve", "password", "eve's own words", "again", "eve's own words"), "This link no longer works")
	})
}

// The public URL is https; each surface is asked on a plain listener, without a
// proxy, through one that is believed and one that is not.
func TestACookieIsSecureWhereItsOwnSurfaceIs(t *testing.T) {
	t.Parallel()
	h := newHouse(t, ledgertest.New(t, "sqlite"), func(o *dashboard.Options) { o.Secure = true })
	h.Partner(t, "acme")
	h.join(t, "", "ann", partners.RoleAdmin)
	h.join(t, "acme", "eve", partners.RoleAdmin)
	believed := func(server *httptest.Server) *httptest.Server {
		behind := httptest.NewServer(web.Proxies{netip.MustParsePrefix("127.0.0.0/8")}.Handle(server.Config.Handler))
		t.Cleanup(behind.Close)
		return behind
	}
	for _, c := range []struct {
		server *httptest.Server
		base   string
		proxy  string
		secure bool
	}{
		{h.ops, "/ops", "", false},
		{h.ops, "/ops", "https", false},
		{believed(h.ops), "/ops", "https", true},
		{believed(h.ops), "/ops", "http", false},
		{h.portal, "/portal", "", true},
		{believed(h.portal), "/portal", "https", true},
	} {
		username := map[string]string{"/ops": "ann", "/portal": "eve"}[c.base]
		a := h.browse(t, c.server).do("POST", c.base+"/login", form("username", username, "password", goodPassword), "X-Forwarded-For", "192.0.2.1", "X-Forwarded-Proto", c.proxy)
		if a.StatusCode != 303 || a.Cookies()[0].Secure != c.secure {
			t.Errorf("%s behind %q: %d, Secure %t", c.base, c.proxy, a.StatusCode, a.Cookies()[0].Secure)
		}
	}
	h.browse(t, h.ops).signIn("/ops", "ann")
	a := h.browse(t, h.portal).want(303, "POST", "/portal/login", form("username", "eve", "password", goodPassword))
	h.browse(t, h.portal).want(200, "GET", a.Header.Get("Location"), nil, "did not send the session", "cookie back", `value="/portal"`)
}
