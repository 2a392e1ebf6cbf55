package browsertest

import (
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"

	"ledgerhook/app/receiver"
	"ledgerhook/bench/stage"
)

// Whatever somebody has opened, selected or typed stays, and the figures beside
// it are brought up to date all the same.
func TestNothingThatIsOpenStopsTheFigures(t *testing.T) {
	t.Parallel()
	g := start(t)
	b := open(t, addressOf(g, "/ops"))
	b.signIn("/ops", "admin", stage.TestPassword)
	b.visit("/ops")
	b.sees("no partner has an endpoint")
	b.do(click(chromedp.CSS("#verdict summary")))
	value[bool](b, `getSelection().selectAllChildren(document.querySelector("#canary h2")), true`)
	c := onboard(t, g, "acme", "Acme Pay")
	server := httptest.NewServer(c.receiver(receiver.Always(receiver.OK)))
	t.Cleanup(server.Close)
	addEndpoint(t, g, "acme", server.URL+"/hooks")
	b.sees("nothing has been delivered yet to 1 endpoint", "none of 1 partner fails")
	if !value[bool](b, `document.querySelector("#verdict details").open`) {
		t.Error("what was opened is closed")
	}
	if said := value[string](b, `getSelection().toString()`); said != "Canary" {
		t.Errorf("%q is selected, want what was", said)
	}
}
