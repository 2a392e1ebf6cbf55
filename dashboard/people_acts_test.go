package dashboard_test

import (
	"fmt"
	"html"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ledgerhook/dashboard"
	"ledgerhook/delivery"
	"ledgerhook/delivery/guard"
	"ledgerhook/incidents"
	store "ledgerhook/ledger/incidents"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/webhook"
)

// noActs are the forms that do nothing that anybody has to answer for: they
// ask, show or set the look of one's own pages.
var noActs = []string{"/ops/preferences", "/portal/preferences", "/ops/replays", "/portal/replays", "/ops/reconcile", "/portal/verify", "/portal/verify/request"}

// walk sends forms that act, and remembers which.
type walk struct {
	*house
	seen []string
}

// act sends a form, first while no entry can be written and then for good. It
// fails the test unless nothing is done then, and one entry is written now.
// form is asked for each time, since one counts once.
func (w *walk) act(t *testing.T, b *browser, pattern, path, entry string, form func() url.Values) answer {
	t.Helper()
	w.seen = append(w.seen, pattern)
	filled := form()
	w.Unaudited(t, pattern, func() {
		if a := b.do("POST", path, filled); a.StatusCode < 500 {
			t.Errorf("%s without an entry: status %d: %s", pattern, a.StatusCode, a.says())
		}
	})
	count := func() int { return w.Count(t, "SELECT COUNT(*) FROM audit WHERE action = $1", entry) }
	before := count()
	a := b.do("POST", path, filled)
	if n := count() - before; a.StatusCode >= 400 || n != 1 {
		t.Errorf("%s: status %d, %d entries %s: %s", pattern, a.StatusCode, n, entry, a.says())
	}
	return a
}

// says is the page's title and what it complains of.
func (a answer) says() string {
	return strings.Join(regexp.MustCompile(`<title>[^<]*|<p role="alert"[^>]*>[^<]*|class="error"[^>]*>[^<]*`).FindAllString(a.text, -1), " ")
}

// fill is the form of a page with more fields.
func fill(b *browser, page string, pairs ...string) func() url.Values {
	return func() url.Values {
		filled := form(pairs...)
		if page != "" {
			filled.Set("form", b.want(200, "GET", page, nil).hidden("form"))
		}
		return filled
	}
}

// Everything that can be done on the pages is done with its entry in the audit
// log, or not at all: a form that is missing here fails the test, too.
func TestNoActOfThePagesIsDoneWithoutItsEntry(t *testing.T) {
	t.Parallel()
	w := &walk{house: newHouse(t, ledgertest.New(t, "sqlite"), func(o *dashboard.Options) {
		o.Guard = guard.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
		o.Key, o.Composer = gatewayKey().Public, delivery.NewComposer(onlyKey{}, o.Box, nil)
	})}
	w.Partner(t, "acme")
	for _, at := range []place{
		{w.ops, "/ops", "", "/ops/admin", "/ops/replays", partners.RoleOperator},
		{w.portal, "/portal", "acme", "/portal/people", "/portal/recover", partners.RoleDeveloper},
	} {
		b := w.browse(t, at.server)
		w.peopleActs(t, b, at)
		w.deliveryActs(t, b, at)
		if at.code == "" {
			w.operatorActs(t, b)
		} else {
			w.partnerActs(t, b)
		}
		w.act(t, b, at.base+"/logout", at.base+"/logout", "logout", fill(b, ""))
	}
	for _, pattern := range dashboard.Forms() {
		if !slices.Contains(w.seen, pattern) && !slices.Contains(noActs, pattern) {
			t.Errorf("%s is not looked at: does it write its entry with what it does?", pattern)
		}
	}
}

// place is one of the surfaces, and the role of somebody new there.
type place struct {
	server                      *httptest.Server
	base, code, people, replays string
	role                        partners.Role
}

// peopleActs signs somebody in and looks after the people of a surface.
func (w *walk) peopleActs(t *testing.T, b *browser, at place) {
	t.Helper()
	who, other := "admin"+at.code, w.join(t, at.code, "other"+at.code, at.role)
	w.join(t, at.code, who, partners.RoleAdmin)
	account, views := at.base+"/account", at.base+"/views"
	w.act(t, b, at.base+"/login", at.base+"/login", "login", fill(b, "", "username", who, "password", goodPassword))
	w.act(t, b, account+"/totp", account+"/totp", "totp.on", func() url.Values {
		page := b.want(200, "GET", account+"/totp", nil)
		secret, _ := partners.ParseTOTPSecret(regexp.MustCompile(`<code>([A-Z2-7]{32})</code>`).FindStringSubmatch(page.text)[1])
		return form("sealed", page.hidden("sealed"), "code", secret.Code(time.Now()), "current", goodPassword)
	})
	w.act(t, b, account+"/totp/off", account+"/totp/off", "totp.off", fill(b, "", "current", goodPassword))
	const fresh = "another good battery"
	w.act(t, b, account+"/password", account+"/password", "password.change", fill(b, "", "current", goodPassword, "password", fresh, "again", fresh))
	w.browse(t, at.server).want(303, "POST", at.base+"/login", form("username", who, "password", fresh))
	elsewhere := w.text(t, "SELECT id FROM sessions ORDER BY id DESC LIMIT 1")
	w.act(t, b, account+"/sessions/{id}/end", account+"/sessions/"+elsewhere+"/end", "session.end", fill(b, ""))

	invited := func() string {
		made := w.act(t, b, at.people+"/invite", at.people+"/invite", "person.invite", fill(b, at.people, "role", string(at.role), "name", "New"))
		return linkPattern.FindStringSubmatch(made.text)[2]
	}
	accept := form("username", "new"+at.code, "name", "New", "password", fresh, "again", fresh)
	w.act(t, w.browse(t, at.server), at.base+"/invite/{token}", at.base+"/invite/"+invited(), "invite.accept", func() url.Values { return accept })
	invited()
	invite := w.text(t, "SELECT id FROM invites WHERE used_at = 0 ORDER BY id DESC LIMIT 1")
	w.act(t, b, at.people+"/invites/{id}/withdraw", at.people+"/invites/"+invite+"/withdraw", "invite.withdraw", fill(b, ""))
	for _, x := range [][2]string{{"role", "person.role"}, {"link", "password.link"}, {"disable", "person.disable"}, {"enable", "person.enable"}} {
		w.act(t, b, at.people+"/{id}/"+x[0], at.people+"/"+other.ID+"/"+x[0], x[1], fill(b, at.people, "role", "viewer"))
	}
	list := at.base + "/deliveries"
	w.act(t, b, views+"/save", views+"/save", "view.save", fill(b, "", "list", list, "query", "q=state:any", "name", "mine"))
	w.act(t, b, views+"/rename", views+"/rename", "view.rename", fill(b, "", "list", list, "view", "mine", "name", "all of them"))
	w.act(t, b, views+"/remove", views+"/remove", "view.remove", fill(b, "", "list", list, "view", "all of them"))
}

// deliveryActs does what can be done with deliveries and replays.
func (w *walk) deliveryActs(t *testing.T, b *browser, at place) {
	t.Helper()
	e := w.Endpoint(t, "acme", 1)
	var ids []string
	for i := range 3 {
		a, err := w.Append(t.Context(), ledgertest.NewEvent("acme", fmt.Sprint("order-", at.code, i), "SUCCESS"))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, a.DeliveryIDs[0])
	}
	all := at.base + "/deliveries/"
	w.act(t, b, all+"{id}/cancel", all+ids[1]+"/cancel", "delivery.cancel", fill(b, ""))
	w.act(t, b, all+"{id}/retry", all+ids[2]+"/retry", "delivery.retry", fill(b, ""))
	started := w.act(t, b, at.replays+"/start", at.replays+"/start", "replay.start", func() url.Values {
		page := b.want(200, "GET", b.want(303, "POST", at.base+"/replays", form("id", ids[1])).Header.Get("Location"), nil)
		filled := form("rate", "50", "reason", "their outage")
		for _, name := range []string{"form", "q", "ids", "of", "at"} {
			filled.Set(name, html.UnescapeString(page.hidden(name)))
		}
		return filled
	})
	replay, _, _ := strings.Cut(started.Header.Get("Location"), "?")
	for _, verb := range []string{"pause", "resume", "cancel"} {
		w.act(t, b, at.replays+"/{id}/"+verb, replay+"/"+verb, "replay."+verb, fill(b, ""))
	}
	if err := w.RemoveEndpoint(t.Context(), partners.Everything(), e.ID); err != nil {
		t.Fatal(err)
	}
}

// operatorActs does what only an operator can.
func (w *walk) operatorActs(t *testing.T, b *browser) {
	t.Helper()
	key, err := signer.GenerateKey(2048)
	if err != nil {
		t.Fatal(err)
	}
	w.act(t, b, "/ops/partners", "/ops/partners", "partner.create", fill(b, "", "code", "globex", "key", string(key.PublicPEM())))
	for _, act := range []string{"disable", "enable"} {
		w.act(t, b, "/ops/partners/{code}/"+act, "/ops/partners/acme/"+act, "partner."+act, fill(b, "", "reason", "maintenance"))
	}
	w.act(t, b, "/ops/reconcile/evidence", "/ops/reconcile/evidence", "evidence.take", fill(b, "", "partner", "acme", "references", "tp_1"))
	e := w.Endpoint(t, "acme", 1)
	for _, act := range []string{"pause", "resume", "open-breaker", "close-breaker"} {
		w.act(t, b, "/ops/endpoints/{id}/"+act, "/ops/endpoints/"+e.ID+"/"+act, "endpoint."+act, fill(b, "", "reason", "maintenance"))
	}
	w.act(t, b, "/ops/rates", "/ops/rates", "rate.set", fill(b, "", "form", "rate", "crypto", "USDT", "price", "25450.5", "network", "TRC20", "walletAddress", "TWallet1"))
	now := time.Now()
	i := incidents.Incident{ID: webhook.NewID(incidents.Prefix), Kind: incidents.Canary, State: incidents.Open, Version: 1, SeenAt: now, OpenedAt: now}
	if err := store.New(w.DB, store.Audience{}).Keep(t.Context(), []incidents.Change{{Incident: i, Act: incidents.ActOpen}}, now); err != nil {
		t.Fatal(err)
	}
	for _, act := range []string{"acknowledge", "snooze"} {
		w.act(t, b, "/ops/incidents/{id}/"+act, "/ops/incidents/"+i.ID+"/"+act, "incident."+act, fill(b, "", "for", "1h"))
	}
	w.act(t, b, "/ops/incidents/test", "/ops/incidents/test", "incident.test", fill(b, "/ops/incidents"))
	for status, entry := range map[string]string{"payout": "order.payout", "FAIL": "order.transition"} {
		path := "/ops/orders/" + w.Order(t, "acme", "order-"+status, time.Hour).ID
		w.act(t, b, "/ops/orders/{id}/move", path+"/move", entry, fill(b, path, "status", status, "reason", "withdrawn"))
	}
}

// partnerActs does what only a partner can.
func (w *walk) partnerActs(t *testing.T, b *browser) {
	t.Helper()
	const all, hook = "/portal/endpoints", "http://127.0.0.1:9/hook"
	limits := []string{"url", hook, "maxInFlight", "8", "rateLimit", "0", "timeout", "15"}
	w.act(t, b, all, all, "endpoint.create", fill(b, all+"/new", limits...))
	id := w.text(t, "SELECT id FROM endpoints ORDER BY id DESC LIMIT 1")
	at := all + "/" + id
	w.act(t, b, all+"/{id}", at, "endpoint.change", func() (filled url.Values) {
		page := b.want(200, "GET", at+"/edit", nil)
		filled = form(append(limits, "form", page.hidden("form"), "version", page.hidden("version"), "description", "ours")...)
		return filled
	})
	contact := []string{"email", "dev@acme.example", "lang", "vi"}
	w.act(t, b, all+"/{id}/contacts", at+"/contacts", "endpoint.contact.add", fill(b, "", contact...))
	w.act(t, b, all+"/{id}/contacts/remove", at+"/contacts/remove", "endpoint.contact.remove", fill(b, "", contact...))
	for _, act := range []string{"pause", "resume", "test", "remove"} {
		page := map[string]string{"remove": at + "/remove"}[act]
		if page == "" {
			page = at
		}
		w.act(t, b, all+"/{id}/"+act, at+"/"+act, "endpoint."+act, fill(b, page, "type", "TopupCard"))
	}
	w.act(t, b, "/portal/secrets", "/portal/secrets", "secret.create", fill(b, "/portal/secrets"))
	old, fresh := w.text(t, "SELECT id FROM secrets WHERE partner_code = 'acme' ORDER BY id LIMIT 1"), w.text(t, "SELECT id FROM secrets WHERE partner_code = 'acme' ORDER BY id DESC LIMIT 1")
	w.act(t, b, "/portal/secrets/{id}/activate", "/portal/secrets/"+fresh+"/activate", "secret.activate", fill(b, "/portal/secrets"))
	w.act(t, b, "/portal/secrets/{id}/revoke", "/portal/secrets/"+old+"/revoke", "secret.revoke", fill(b, "/portal/secrets"))
}

func (w *walk) text(t *testing.T, query string) (found string) {
	t.Helper()
	if err := w.Raw.QueryRowContext(t.Context(), query).Scan(&found); err != nil {
		t.Fatal(err)
	}
	return found
}
