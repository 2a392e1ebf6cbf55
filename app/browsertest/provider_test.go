package browsertest

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"ledgerhook/bench/stage"
	"ledgerhook/dashboard"
	"ledgerhook/dashboard/oidc/oidctest"
)

// A browser follows the way to the sign-in provider and back: the pages'
// policy and cookies let it.
func TestABrowserSignsInAtTheProvider(t *testing.T) {
	t.Parallel()
	ann := oidctest.Person{ID: "id-ann", Username: "ann", Password: "ann's own words", FirstName: "Ann", LastName: "Lee", Email: "ann@example.com", Groups: []string{"support"}}
	g := stage.Embedded(t)
	listen := fmt.Sprintf("127.0.0.1:%d", stage.FreePort(t))
	issuer, _ := oidctest.Start(t, "http://"+listen+dashboard.CallbackPath, ann)
	g.Set(map[string]string{
		"LEDGERHOOK_INTERNAL_LISTEN": listen, "LEDGERHOOK_OIDC_ISSUER": issuer, "LEDGERHOOK_OIDC_CLIENT_ID": oidctest.ClientID,
		"LEDGERHOOK_OIDC_CLIENT_SECRET": oidctest.ClientSecret, "LEDGERHOOK_OIDC_ROLES": "support=operator", "LEDGERHOOK_OIDC_NAME": "Acme ID",
	})
	g.Secret(oidctest.ClientSecret)
	g.Start()
	b := open(t, "http://"+listen)
	readable := func() {
		t.Helper()
		for _, theme := range []string{"light", "dark"} {
			b.wears(theme)
			b.themed(theme)
		}
	}
	b.visit("/ops/deliveries")
	b.sees("Break-glass administrator")
	readable()
	b.press("Sign in with Acme ID")
	b.do(chromedp.SendKeys(chromedp.CSS("#username"), ann.Username))
	b.do(chromedp.SendKeys(chromedp.CSS("#password"), ann.Password))
	if status := b.goes(click(chromedp.CSS("button[type=submit]"))); status != 200 {
		t.Errorf("back from the provider the answer is %d\n%s", status, b.where())
	}
	b.sees("Deliveries", "Ann Lee")
	b.visit("/ops/account")
	b.sees("With Acme ID")
	readable()
}
