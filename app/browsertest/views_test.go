package browsertest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"ledgerhook/app/receiver"
	"ledgerhook/bench/stage"
)

// A filter of a list is saved under a name, found again above the list, renamed
// and removed; a name that is none is said where it was typed. Who has no script
// has a phone here.
func TestAFilterIsSavedAndFoundAgain(t *testing.T) {
	t.Parallel()
	g := start(t)
	w := &world{Gateway: g, t: t}
	acme := onboard(t, g, "acme", "Acme Pay")
	w.listen(acme, receiver.Always(receiver.Answer{Status: http.StatusServiceUnavailable}))
	order := acme.cashout("ORD-7")
	g.Must("POST", "/internal/v1/orders/"+order+"/transitions", map[string]any{"status": "PAYMENT_COMPLETED", "reason": "it was paid"}, http.StatusOK, nil)
	g.Await("acme", patience)
	twice(t, func(t *testing.T, open func(*testing.T, string) *tab) {
		b := open(t, addressOf(g, "/ops"))
		if strings.HasSuffix(t.Name(), "/without_scripts") {
			b.isPhone()
		}
		b.signIn("/ops", "admin", stage.TestPassword)
		looks := func(as string) {
			t.Helper()
			b.fits(as)
			for _, theme := range []string{"dark", "light"} {
				b.wears(theme)
				if !b.scriptless {
					b.accessible(as + ", " + theme)
				}
			}
		}
		b.visit("/ops/orders")
		b.do(chromedp.SetValue(chromedp.CSS(`main [name="waits"]`), "partner"))
		b.press("Show")
		b.sees("The partner waits for our notification of payment completed, undelivered since", "given up after 2 attempts, answered 503", "we wait for the partner's tokens to be deducted, since")
		b.do(click(chromedp.Search(`//summary[contains(., "Save this view")]`)))
		looks("the form")
		b.do(chromedp.SetValue(chromedp.CSS(`.views [name="name"]`), "  "))
		if status := b.goes(click(chromedp.CSS(`.views form button`))); status != http.StatusBadRequest {
			t.Errorf("a blank name is answered with %d", status)
		}
		b.sees("The name must have 1 to 60 characters.")
		looks("a wrong name")
		b.fill("name", "Untold orders")
		b.press("Save")
		b.sees("Untold orders", "Change saved views", "The partner waits")
		looks("the list")
		b.visit("/ops/orders")
		b.follow(`.views a.button`)
		b.sees("The partner waits")
		b.press("Change saved views")
		b.sees("waits=partner")
		b.fill("name", "Not told")
		b.press("Rename")
		b.sees("The view is renamed.", "Not told")
		looks("the saved views")
		b.fill("name", strings.Repeat("W", 60))
		b.press("Rename")
		b.visit("/ops/orders?waits=us")
		b.sees(strings.Repeat("W", 60))
		looks("a long name")
		b.press("Change saved views")
		b.press("Remove")
		b.sees("The view is removed.", "No saved views")
	})
}
