package dashboard_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"ledgerhook/dashboard"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/signer"
)

var (
	ledTo = regexp.MustCompile(`(?:href|action)="([^"#]*)`)
	forms = regexp.MustCompile(`<form [^>]*>`)
)

// leadsOn fails the test unless the page that answers a form leads to pages:
// by its links, by the forms that search, and back from another theme or
// language. Each address is asked for once: seen are those of before.
func (b *browser) leadsOn(a answer, back string, seen map[string]bool) {
	b.t.Helper()
	if a.StatusCode >= http.StatusInternalServerError || !strings.Contains(a.text, "<!doctype html>") {
		b.t.Errorf("%s: %d, no page", a.Request.URL.Path, a.StatusCode)
	}
	if got := strings.ReplaceAll(a.hidden("back"), "&amp;", "&"); got != back {
		b.t.Errorf("%s leads back to %q, want %q", a.Request.URL.Path, got, back)
	}
	text := forms.ReplaceAllStringFunc(a.text, func(form string) string {
		if strings.Contains(form, `method="post"`) || strings.Contains(form, `method="dialog"`) {
			return ""
		}
		if !strings.Contains(form, "action=") {
			b.t.Errorf("%s: %s sends to the address of a form", a.Request.URL.Path, form)
		}
		return form
	})
	for _, found := range ledTo.FindAllStringSubmatch(text, -1) {
		to := strings.ReplaceAll(found[1], "&amp;", "&")
		switch {
		case to == "" || seen[to]:
			continue
		case !strings.HasPrefix(to, "/"):
			b.t.Errorf("%s leads to %q, whatever that is from here", a.Request.URL.Path, to)
			continue
		}
		seen[to] = true
		if got := b.do("GET", to, nil); got.StatusCode != http.StatusOK && got.StatusCode != http.StatusSeeOther {
			b.t.Errorf("%s leads to %s, which answers %d", a.Request.URL.Path, to, got.StatusCode)
		}
	}
	if back != "" {
		if got := b.do("GET", back, nil); got.StatusCode != http.StatusOK {
			b.t.Errorf("%s leads back to %s, which answers %d", a.Request.URL.Path, back, got.StatusCode)
		}
	}
}

// A page that answers a form has an address that takes forms alone. What leads
// on from it, and back after another language is chosen, leads to pages.
func TestEveryAnswerToAFormLeadsToPages(t *testing.T) {
	onSQLite(t, func(t *testing.T, h *house) {
		h.Partner(t, "acme")
		e := h.Endpoint(t, "acme", 8)
		o := h.Order(t, "acme", "order-1", time.Hour)
		sent, err := h.Append(t.Context(), ledgertest.NewEvent("acme", "tp_1", "Pending"))
		if err != nil {
			t.Fatal(err)
		}
		h.join(t, "", "ann", partners.RoleAdmin)
		bob := h.join(t, "", "bob", partners.RoleViewer)
		h.join(t, "acme", "eve", partners.RoleAdmin)
		dan := h.join(t, "acme", "dan", partners.RoleViewer)
		stranger, ops, portal := h.browse(t, h.ops), h.browse(t, h.ops), h.browse(t, h.portal)
		seen := map[*browser]map[string]bool{stranger: {}, ops: {}, portal: {}}
		ops.signIn("/ops", "ann")
		portal.signIn("/portal", "eve")
		portal.want(303, "POST", "/portal/deliveries/"+sent.DeliveryIDs[0]+"/cancel", nil)
		for _, each := range []struct {
			at     *browser
			status int
			path   string
			form   url.Values
			back   string // empty: the page shows something this once, and nothing leads away from it by mistake
		}{
			{stranger, 401, "/ops/login", form("username", "ann", "next", "/ops/orders"), "/ops/login?next=%2Fops%2Forders"},
			{ops, 400, "/ops/admin/invite", form("name", "Fay", "role", "nothing"), "/ops/admin"},
			{ops, 200, "/ops/admin/invite?partner=acme", form("partner", "acme", "role", "admin", "form", "f1"), ""},
			{ops, 409, "/ops/admin/invite?partner=acme", form("partner", "acme", "role", "admin", "form", "f1"), "/ops/admin?partner=acme"},
			{ops, 200, "/ops/admin/" + bob.ID + "/link", form("form", "f2"), ""},
			{ops, 400, "/ops/admin/" + bob.ID + "/role", form("role", "nothing"), "/ops/admin"},
			{ops, 404, "/ops/admin/nobody/role", form("role", "viewer"), "/ops/admin"},
			{ops, 400, "/ops/orders/" + o.ID + "/move", form("status", "SUCCESS", "form", "f3"), "/ops/orders/" + o.ID},
			{ops, 400, "/ops/account/password", form(), "/ops/account"},
			{ops, 400, "/ops/account/totp", form(), "/ops/account/totp"},
			{ops, 400, "/ops/account/totp/off", form(), "/ops/account"},
			{ops, 400, "/ops/partners", form("code", "a b"), "/ops/partners"},
			{ops, 201, "/ops/partners", form("code", "globex", "name", "Globex", "key", string(signer.PublicPEM(dashboard.TestKey()))), ""},
			{ops, 400, "/ops/endpoints/" + e.ID + "/open-breaker", form(), "/ops"},
			{ops, 200, "/ops/reconcile", form("references", "order-1"), "/ops/reconcile"},
			{ops, 400, "/ops/replays/start", form(), "/ops/replays"},
			{ops, 405, "/ops/audit", form(), "/ops"},
			{portal, 200, "/portal/people/invite", form("role", "viewer", "form", "f4"), ""},
			{portal, 400, "/portal/people/" + dan.ID + "/role", form("role", "nothing"), "/portal/people"},
			{portal, 400, "/portal/account/password", form(), "/portal/account"},
			{portal, 201, "/portal/secrets", form("form", "f5"), ""},
			{portal, 404, "/portal/secrets/nothing/activate", form("form", "f6"), "/portal/secrets"},
			{portal, 400, "/portal/endpoints", form("url", "no"), "/portal/endpoints/new"},
			{portal, 400, "/portal/endpoints/" + e.ID, form("url", "no"), "/portal/endpoints/" + e.ID + "/edit"},
			{portal, 409, "/portal/deliveries/" + sent.DeliveryIDs[0] + "/cancel", form(), "/portal/deliveries/" + sent.DeliveryIDs[0]},
			{portal, 400, "/portal/replays", form(), "/portal/recover"},
			{portal, 400, "/portal/verify", form("body", "{}"), "/portal/verify"},
			{portal, 400, "/portal/verify/request", form("operation", "create-cashout", "body", "{}"), "/portal/verify"},
		} {
			a := each.at.want(each.status, "POST", each.path, each.form)
			each.at.leadsOn(a, each.back, seen[each.at])
		}
	})
}

// An invitation for a partner's people is made where its page leads to: it
// names the partner, offers the partner's roles, and keeps what was typed when
// something of it is refused.
func TestThePeopleOfAPartnerAreInvitedAsItsPeople(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		h.Partner(t, "acme")
		h.join(t, "", "ann", partners.RoleAdmin)
		ops := h.browse(t, h.ops)
		ops.signIn("/ops", "ann")
		a := ops.want(200, "GET", "/ops/admin?partner=acme", nil, `name="partner" value="acme" readonly`, `action="/ops/admin/invite?partner=acme"`)
		_, invite, _ := strings.Cut(a.text, `id="i-role"`)
		invite, _, _ = strings.Cut(invite, "</select>")
		if got := regexp.MustCompile(`value="[a-z]+"`).FindAllString(invite, -1); strings.Join(got, " ") != `value="viewer" value="developer" value="admin"` {
			t.Errorf("the roles are %q", got)
		}
		typed := form("form", a.hidden("form"), "partner", "acme", "role", "developer", "name", "Fay", "email", "fay at example.com")
		refused := ops.want(400, "POST", "/ops/admin/invite?partner=acme", typed, `value="acme" readonly`, `value="Fay"`, `value="fay at example.com"`, `value="developer" selected`)
		typed.Set("form", refused.hidden("form"))
		typed.Set("email", "fay@example.com")
		ops.want(200, "POST", "/ops/admin/invite?partner=acme", typed, "https://pay.example.com/portal/invite/")
		if n := h.Count(t, "SELECT COUNT(*) FROM invites WHERE partner_code = 'acme' AND role = 'developer' AND name = 'Fay'"); n != 1 {
			t.Errorf("%d invitations of developers to acme", n)
		}
		ops.want(400, "POST", "/ops/admin/invite", form("partner", "nobody", "role", "developer", "name", "Gil"), `value="nobody" class`, `value="Gil"`, `value="developer" selected`)
	})
}
