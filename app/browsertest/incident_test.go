package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ledgerhook/app/receiver"
	"ledgerhook/bench/stage"
)

// "Partner X says they miss callbacks since 14:00": from the first page to a
// replay that has brought them all.
func TestAnIncidentEndsInAReplay(t *testing.T) {
	t.Parallel()
	g := start(t)
	twice(t, func(t *testing.T, open func(*testing.T, string) *tab) {
		code := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(t.Name(), "TestAnIncidentEndsInAReplay/"), "_", "-"))
		x := onboard(t, g, code, "Partner X")
		their := &mood{}
		their.be(receiver.Answer{Status: http.StatusServiceUnavailable, Body: "maintenance"})
		server := httptest.NewServer(x.receiver(their.answer))
		defer server.Close()
		endpoint := addEndpoint(t, g, code, server.URL+"/hooks")
		const missed = 2 // few enough that the breaker lets each have its tries
		postEvents(g, code, missed)
		g.Await(code, patience)

		b := open(t, addressOf(g, "/ops"))
		b.signIn("/ops", "admin", stage.TestPassword)
		b.visit("/ops/partners/" + code)
		b.sees(endpoint)
		b.press("Deliveries")
		b.sees("exhausted")
		since := time.Now().UTC().Add(-time.Hour)
		b.visit(fmt.Sprintf("/ops/deliveries?q=partner:%s+state:exhausted+since:%s", code, since.Format("2006-01-02T15:04")))
		b.press("Replay all that match")
		b.sees(fmt.Sprint(missed), "would be sent again", "frozen")
		their.be(receiver.OK)
		g.Must("POST", "/internal/v1/endpoints/"+endpoint+"/close-breaker", map[string]any{"reason": "they are back"}, http.StatusOK, nil)
		b.fill("reason", "their maintenance is over")
		b.press("Start the replay")
		b.sees("their maintenance is over")
		all := g.Await(code, patience)
		stage.Eventually(t, patience, "the replay's deliveries are delivered", func() bool {
			return len(g.Deliveries(code, "delivered")) == missed
		})
		if len(all) < missed {
			t.Errorf("only %d deliveries", len(all))
		}
		b.becomes("finished")
		if said := b.text(); strings.Contains(said, "Pause it") || strings.Contains(said, "Cancel it") || strings.Contains(said, "is started") {
			t.Errorf("the page of a replay that is over says:\n%s", said)
		}
		done := value[string](b, `[...document.querySelectorAll(".tallies tr")].map(r => r.innerText).find(r => /\bdone\b/i.test(r)) || ""`)
		if !strings.HasSuffix(strings.TrimSpace(done), fmt.Sprint(missed)) {
			t.Errorf("the replay says %q", done)
		}
		b.visit("/ops/audit")
		b.sees("replay.start")
	})
}

// A pasted list is answered line by line, and what failed can be sent again.
func TestAListIsReconciled(t *testing.T) {
	t.Parallel()
	g := start(t)
	x := onboard(t, g, "acme", "Acme Pay")
	their := &mood{}
	their.be(receiver.Answer{Status: http.StatusServiceUnavailable})
	server := httptest.NewServer(x.receiver(their.answer))
	t.Cleanup(server.Close)
	addEndpoint(t, g, "acme", server.URL+"/hooks")
	postEvents(g, "acme", 1)
	failed := g.Await("acme", patience)[0]
	their.be(receiver.OK)
	twice(t, func(t *testing.T, open func(*testing.T, string) *tab) {
		b := open(t, addressOf(g, "/ops"))
		b.signIn("/ops", "admin", stage.TestPassword)
		b.visit("/ops/reconcile")
		b.fill("references", failed.EventID+"\nnobody-knows-this, "+failed.DeliveryID)
		b.press("Look them up")
		b.sees("3 references", "never received", "exhausted", failed.EventID)
		b.press("Replay these")
		b.sees("1", "would be sent again")
	})
}
