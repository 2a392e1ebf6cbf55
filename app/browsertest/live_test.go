package browsertest

import (
	"encoding/json"
	"net/http"
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

// noteReloads keeps what waits for 15 s where a test can end its wait, waits
// for nothing else and does nothing by the clock.
const noteReloads = `window.reloads = []; window.setInterval = () => 0;
	const wait = window.setTimeout;
	window.setTimeout = (act, ms) => ms === 15000 ? window.reloads.push(act) : wait(act, 0)`

// hear holds a stream of changes open until the test ends.
func (v *visitor) hear(path string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, v.base+path, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	response, err := (&http.Client{Jar: v.client.Jar}).Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { response.Body.Close() })
	if response.StatusCode != http.StatusOK {
		v.t.Fatalf("%s: status %d", path, response.StatusCode)
	}
}

// A page that may not listen, since its person does on five others, is brought
// up to date every 15 s nevertheless.
func TestAPageThatMayNotListenReloadsByItself(t *testing.T) {
	t.Parallel()
	g := start(t)
	elsewhere := firstAdmin(t, g)
	for range 5 {
		elsewhere.hear("/ops/live")
	}
	b := open(t, addressOf(g, "/ops"))
	b.signIn("/ops", "admin", stage.TestPassword)
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: noteStreams + ";" + noteReloads})
	b.visit("/ops/rates")
	b.sees("No rates")
	for asked, price := range []json.Number{"25450.5", "26000"} {
		stage.Eventually(t, patience, "the page is refused a stream and waits", func() bool {
			return value[int](b, `window.reloads.length`) == 1 && value[int](b, `window.streams.length`) == asked+1 &&
				value[bool](b, `window.streams.every(s => s.readyState === EventSource.CLOSED)`)
		})
		g.Must("PUT", "/internal/v1/rates/USDT", map[string]any{"price": price, "network": "TRC20", "walletAddress": "TWallet"}, http.StatusOK, nil)
		value[bool](b, `window.reloads.pop()(), true`)
		b.sees(map[json.Number]string{"25450.5": "25,450.5", "26000": "26,000"}[price])
	}
}
