package browsertest

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"ledgerhook/app/receiver"
	"ledgerhook/bench/stage"
	"ledgerhook/signer"
)

// codeOf is a partner's code of the subtest's own.
func codeOf(t *testing.T) string {
	_, name, _ := strings.Cut(t.Name(), "/")
	return strings.ToLower(strings.ReplaceAll(name, "_", "-"))
}

// opens unfolds the part of a page below a summary.
func (b *tab) opens(summary string) {
	b.t.Helper()
	b.do(click(chromedp.Search(button(summary))))
}

// exact is the text of an element, character by character.
func (b *tab) exact(id string) string {
	b.t.Helper()
	return value[string](b, `document.getElementById("`+id+`").textContent`)
}

// readable is accessible where the page's scripts run, as axe has to.
func (b *tab) readable(as string) {
	b.t.Helper()
	if strings.HasSuffix(b.t.Name(), "/with_scripts") {
		b.accessible(as)
	}
}

// rotating is a receiver that learns another secret while it runs.
type rotating struct {
	now atomic.Pointer[receiver.Receiver]
}

func (r *rotating) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.now.Load().ServeHTTP(w, req)
}

// A partner's developer changes the webhook secret alone: a receiver that
// knows the old one, and then the new one, never refuses anything.
func TestASecretIsRotatedInThePortal(t *testing.T) {
	t.Parallel()
	g := start(t)
	admin := firstAdmin(t, g)
	twice(t, func(t *testing.T, open func(*testing.T, string) *tab) {
		code := codeOf(t)
		c := onboard(t, g, code, "Acme Pay")
		knows := func(secret string) *receiver.Receiver {
			return (&cashier{t: t, text: c.text, webhookSecret: secret}).receiver(receiver.Always(receiver.OK))
		}
		their := &rotating{}
		their.now.Store(knows(c.webhookSecret))
		server := httptest.NewServer(their)
		defer server.Close()
		addEndpoint(t, g, code, server.URL+"/hooks")
		newVisitor(t, g.Public).join(admin.invite(code, "developer"), code)
		takes := func(state string, n int) {
			t.Helper()
			postEvents(g, code, 1)
			g.Await(code, patience)
			if got := len(g.Deliveries(code, state)); got != n {
				t.Errorf("%d deliveries are %s, want %d", got, state, n)
			}
		}

		b := open(t, g.Public)
		b.signIn("/portal", code, goodPassword)
		b.visit("/portal/secrets")
		b.sees("Changing a secret in four steps", "Signs every notification")
		if status := b.goes(click(chromedp.Search(button("Create a secret")))); status != http.StatusCreated {
			t.Fatalf("status %d", status)
		}
		b.sees("It is shown only this once")
		fresh := value[string](b, `document.querySelector(".made code").textContent`)
		if !strings.HasPrefix(fresh, "whsec_") {
			t.Fatalf("the page shows %q", fresh)
		}
		g.Secret(fresh)
		b.readable("with a new secret")
		b.visit("/portal/secrets")
		if strings.Contains(b.text(), "whsec_") {
			t.Error("the secret is shown a second time")
		}
		b.sees("Signs nothing yet")
		takes("delivered", 1) // by the old one
		b.opens("Activate…")
		b.press("Activate it now")
		b.sees("The new secret signs from now on", "Still signs beside the active one")
		takes("delivered", 2) // the receiver knows the old one still
		their.now.Store(knows(fresh))
		takes("delivered", 3)
		b.opens("Revoke…")
		b.press("Revoke it now")
		b.sees("The secret no longer signs", "revoked the secret")
		takes("delivered", 4)
		their.now.Store(knows(c.webhookSecret))
		takes("exhausted", 1) // a receiver that has not learnt the new one refuses
		b.visit("/portal/activity")
		b.sees("Made a webhook secret", "Activated a webhook secret", "Revoked a webhook secret")
	})
}

// From an invitation to a verified test event, without anybody's help.
func TestAPartnerIsOnboardedThroughThePortal(t *testing.T) {
	t.Parallel()
	g := start(t)
	twice(t, func(t *testing.T, open func(*testing.T, string) *tab) {
		code := codeOf(t)
		c := onboard(t, g, code, "Acme Pay")
		came := make(chan receiver.Received, 4)
		server := httptest.NewServer(c.receiver(func(got receiver.Received) receiver.Answer {
			came <- got
			return receiver.OK
		}))
		defer server.Close()

		operator := open(t, addressOf(g, "/ops"))
		operator.signIn("/ops", "admin", stage.TestPassword)
		operator.visit("/ops/admin?partner=" + code)
		for id, chosen := range map[string]string{"partner": code, "role": "developer", "name": "Ann"} {
			operator.do(chromedp.SetValue(chromedp.CSS("#i-"+id), chosen))
		}
		operator.press("Make the link")
		link := invitation.FindString(operator.text())
		if link == "" {
			t.Fatalf("there is no link:\n%s", operator.where())
		}

		b := open(t, g.Public)
		b.visit(link)
		for name, typed := range map[string]string{"username": "ann@" + code, "name": "Ann", "password": goodPassword, "again": goodPassword} {
			b.fill(name, typed)
		}
		b.press("Create my account")
		b.visit("/portal/endpoints")
		b.sees("No endpoint yet")
		b.press("Add an endpoint")
		b.fill("url", "https://10.1.2.3/hooks")
		b.fill("description", "production")
		if status := b.goes(click(chromedp.Search(button("Save")))); status != http.StatusBadRequest {
			t.Fatalf("an address of an inner network is answered with %d", status)
		}
		b.sees("Nothing is saved yet", "must name its host by a DNS name")
		b.readable("with an error")
		if kept := value[string](b, `document.querySelector("[name=description]").value`); kept != "production" {
			t.Errorf("what was typed is %q now", kept)
		}
		b.fill("url", server.URL+"/hooks")
		b.press("Save")
		b.sees("The endpoint is saved, and a test event was sent to it", "Host name", "Public address", "Connection", "TLS and certificate", "answered 200")
		<-came
		b.press("Endpoint")
		b.sees("How it is reached", "production")
		b.fill("type", "ProfileApplication.Updated")
		b.press("Send a test event")
		b.sees("The test event is sent", "delivered", "answered 200")
		got := <-came
		if got.Type != "ProfileApplication.Updated" || !got.VerifiedRSA || !got.VerifiedStandard {
			t.Errorf("the receiver got %+v", got)
		}
		if b.exact("body") != string(got.Body) {
			t.Errorf("the page shows the body\n%s\nand the receiver got\n%s", b.exact("body"), got.Body)
		}
		if want := got.ID + "." + got.Header.Get(signer.HeaderTimestamp) + "." + string(got.Body); b.exact("standard") != want {
			t.Errorf("the page shows\n%s\nwant\n%s", b.exact("standard"), want)
		}
		key, err := signer.ParsePublicKey([]byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		signature := value[string](b, `document.querySelector("[aria-labelledby=rsa-title] .pairs code").textContent`)
		if err := signer.Verify(key, []byte(b.exact("rsa")), signature); err != nil {
			t.Errorf("the text and the signature of the page: %v", err)
		}
		b.readable("what was signed")

		again := open(t, g.Public) // the link worked once
		if status := again.goes(chromedp.Navigate(g.Public + link)); status != http.StatusGone {
			t.Errorf("the link is answered with %d", status)
		}
		again.sees("This link no longer works")
	})
}

// A form that is sent a second time does nothing, and says so.
func TestAFormIsHeardOnce(t *testing.T) {
	t.Parallel()
	g := start(t)
	c := onboard(t, g, "acme", "Acme Pay")
	server := httptest.NewServer(c.receiver(receiver.Always(receiver.OK)))
	t.Cleanup(server.Close)
	endpoint := addEndpoint(t, g, "acme", server.URL+"/hooks")
	v := newVisitor(t, g.Public).join(firstAdmin(t, g).invite("acme", "developer"), "ann")
	page := "/portal/endpoints/" + endpoint
	form := url.Values{"form": {hidden(v.must(v.get(page)), "form")}, "type": {"TopupCard"}}
	first := v.must(v.post(page+"/test", form))
	again := v.must(v.post(page+"/test", form))
	if strings.Contains(first, "done already") || !strings.Contains(again, "This has already been done") {
		t.Errorf("first: %.300s\nagain: %.300s", first, again)
	}
	g.Await("acme", patience)
	if all := g.Deliveries("acme", ""); len(all) != 1 {
		t.Errorf("%d test events", len(all))
	}
}
