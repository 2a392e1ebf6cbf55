package browsertest

import (
	"net/http/httptest"
	"testing"

	"github.com/chromedp/cdproto/page"

	"ledgerhook/app/receiver"
	"ledgerhook/bench/stage"
)

// noteStreams keeps what a page listens to where a test can look at it.
const noteStreams = `window.streams = []; window.EventSource = class extends EventSource {
	constructor(address) { super(address); window.streams.push(this); }
}`

// turn hides the page or shows it, as a tab does that is left or chosen.
func (b *tab) turn(hidden bool) {
	b.t.Helper()
	state := "false"
	if hidden {
		state = "true"
	}
	value[bool](b, `Object.defineProperty(document, "hidden", {value: `+state+`, configurable: true}), document.dispatchEvent(new Event("visibilitychange"))`)
}

// A page is brought up to date by itself, and listens only while it is seen: a
// browser has six connections for all its tabs.
func TestAPageListensOnlyWhileItIsSeen(t *testing.T) {
	t.Parallel()
	g := start(t)
	const code = "acme"
	c := onboard(t, g, code, "Acme Pay")
	server := httptest.NewServer(c.receiver(receiver.Always(receiver.OK)))
	defer server.Close()
	endpoint := addEndpoint(t, g, code, server.URL+"/hooks")
	g.Must("POST", "/internal/v1/endpoints/"+endpoint+"/pause", nil, 200, nil)
	postEvents(g, code, 1)
	held := g.Deliveries(code, "held")[0].DeliveryID

	b := open(t, addressOf(g, "/ops"))
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: noteStreams})
	b.signIn("/ops", "admin", stage.TestPassword)
	b.visit("/ops/deliveries/" + held)
	b.sees("held")
	streams := func(want string) {
		t.Helper()
		stage.Eventually(t, patience, "the page's streams are "+want, func() bool {
			return value[string](b, `window.streams.map(s => ["connecting", "open", "closed"][s.readyState]).join(" ")`) == want
		})
	}
	streams("open")
	b.turn(true)
	streams("closed")
	g.Must("POST", "/internal/v1/endpoints/"+endpoint+"/resume", nil, 200, nil)
	g.Await(code, patience)
	b.turn(false)
	streams("closed open")
	stage.Eventually(t, patience, "the page shows the end, and asks for no more", func() bool {
		return value[bool](b, `/delivered/i.test(document.getElementById("standing").innerText) && !document.querySelector("[data-live='often']")`)
	})
}
