package ingest_test

import (
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"ledgerhook/ingest"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/ledgertest"
)

// unavailable fails the test unless got says to come back later.
func unavailable(t *testing.T, what string, got answer) {
	t.Helper()
	seconds, err := strconv.Atoi(got.header.Get("Retry-After"))
	if got.status != 503 || err != nil || seconds < 1 {
		t.Errorf("%s: %d, Retry-After %q: %s", what, got.status, got.header.Get("Retry-After"), got.body)
	}
}

// wired is the API on a database behind a wire, with something to ask for.
func wired(t *testing.T) (w *ledgertest.Wire, a *api, endpoint, eventID, deliveryID, secret string) {
	t.Helper()
	w, address := ledgertest.NewWire(t, ledgertest.Borrowed(t))
	b := &ledgertest.Bench{At: database.Options{DatabaseURL: address}}
	b.Reopen(t)
	t.Cleanup(func() { _ = b.Close() })
	a = serve(t, b.Ledger, b)
	a.partner(t, "acme")
	endpoint = a.endpoint(t, "acme", nil)
	eventID, ids := a.event(t, "acme", "tp_1", "Pending")
	secrets, _ := a.page(t, "/partners/acme/secrets", "secretId")
	return w, a, endpoint, eventID, ids[0], secrets[0]
}

func TestWithoutItsDatabaseEveryRouteSaysComeBackLater(t *testing.T) {
	w, a, endpoint, eventID, deliveryID, secret := wired(t)
	routes := map[string]bool{}
	for _, pattern := range ingest.Routes() {
		routes[pattern] = true
	}
	w.Cut()
	for _, request := range everyRequest(t, endpoint, eventID, deliveryID, secret) {
		unavailable(t, request[0]+" "+request[1], a.send(t, request))
		_, pattern := openDocument(t).mux.Handler(httptest.NewRequest(request[0], "/internal/v1"+request[1], nil))
		delete(routes, pattern)
	}
	for pattern := range routes {
		t.Errorf("%s was not asked", pattern)
	}
	if got := a.sample(t, `ledgerhook_ingest_requests_total{result="failed",source="TopupCard"}`); got != 2 {
		t.Errorf("%v events failed, want 2", got)
	}
}

// A process that is stopped keeps its connections and answers nothing, for ever.
func TestWhileItsDatabaseStandsStillEveryRouteAnswersInTime(t *testing.T) {
	t.Parallel()
	w, a, endpoint, eventID, deliveryID, secret := wired(t)
	requests := everyRequest(t, endpoint, eventID, deliveryID, secret)
	w.Stop()
	defer w.Cut()
	var all sync.WaitGroup
	for _, request := range requests {
		all.Go(func() {
			began := time.Now()
			unavailable(t, request[0]+" "+request[1], a.send(t, request))
			if took := time.Since(began); took > 40*time.Second {
				t.Errorf("%s %s took %s", request[0], request[1], took)
			}
		})
	}
	all.Wait()
}

// send asks one of everyRequest's.
func (a *api) send(t *testing.T, request [3]string) answer {
	t.Helper()
	if request[2] == "" {
		return a.do(t, request[0], request[1], nil)
	}
	return a.do(t, request[0], request[1], request[2])
}

// everyRequest is a good request for each route: method, path and body.
func everyRequest(t *testing.T, endpoint, eventID, deliveryID, secret string) [][3]string {
	t.Helper()
	event := item(t, "acme", "tp_2", "Pending")
	return [][3]string{
		{"POST", "/events", event}, {"POST", "/events/batch", `{"events":[` + event + `,7]}`}, {"GET", "/events"}, {"GET", "/events/" + eventID},
		{"GET", "/deliveries"}, {"GET", "/deliveries/" + deliveryID}, {"POST", "/deliveries/" + deliveryID + "/retry"}, {"POST", "/deliveries/" + deliveryID + "/cancel"},
		{"POST", "/partners", `{"partnerCode":"b","publicKey":` + strconv.Quote(string(keys()[1].PublicPEM())) + `}`},
		{"GET", "/partners"}, {"GET", "/partners/acme"}, {"PATCH", "/partners/acme", `{}`}, {"POST", "/partners/acme/disable"}, {"POST", "/partners/acme/enable"},
		{"POST", "/partners/acme/rotate-key", `{"publicKey":` + strconv.Quote(string(keys()[2].PublicPEM())) + `}`},
		{"POST", "/partners/acme/secrets"}, {"GET", "/partners/acme/secrets"},
		{"POST", "/partners/acme/secrets/" + secret + "/activate"}, {"POST", "/partners/acme/secrets/" + secret + "/revoke"},
		{"POST", "/partners/acme/endpoints", `{"url":"https://partner.example.com/"}`}, {"GET", "/partners/acme/endpoints"},
		{"GET", "/endpoints/" + endpoint}, {"PATCH", "/endpoints/" + endpoint, `{}`}, {"DELETE", "/endpoints/" + endpoint},
		{"POST", "/endpoints/" + endpoint + "/test"}, {"POST", "/endpoints/" + endpoint + "/pause"}, {"POST", "/endpoints/" + endpoint + "/resume"},
		{"POST", "/endpoints/" + endpoint + "/open-breaker", `{"reason":"x"}`}, {"POST", "/endpoints/" + endpoint + "/close-breaker", `{"reason":"x"}`},
		{"GET", "/endpoints/" + endpoint + "/sequence"}, {"GET", "/replays"}, {"POST", "/replays", `{"filter":{"state":"exhausted"},"reason":"x"}`},
		{"GET", "/replays/rpl_1"}, {"POST", "/replays/rpl_1/pause"}, {"POST", "/replays/rpl_1/resume"}, {"POST", "/replays/rpl_1/cancel"},
		{"GET", "/orders"}, {"GET", "/orders/ord_1"}, {"POST", "/orders/ord_1/payout"}, {"POST", "/orders/ord_1/transitions", `{"status":"FAIL"}`}, {"POST", "/orders/ord_1/settle", `{"reason":"x"}`},
		{"PUT", "/rates/USDT", `{"price":25000,"network":"TRC20","walletAddress":"T1"}`}, {"GET", "/rates"}, {"GET", "/audit"}, {"GET", "/mailbox"},
		{"POST", "/tokens", `{"name":"billing","scopes":["ingest"],"expiresAt":"` + time.Now().Add(time.Hour).Format(time.RFC3339) + `"}`}, {"GET", "/tokens"}, {"POST", "/tokens/tok_1/revoke"},
		{"POST", "/erasures", `{"partnerCode":"acme","email":"an@example.com","reason":"x"}`},
		{"GET", "/keys"}, {"POST", "/keys/rotate", `{}`}, {"POST", "/master-key/rotate"},
	}
}
