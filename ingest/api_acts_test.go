package ingest_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ledgerhook/ingest"
)

// act is a request that does something, by the route that it shows to work.
type act struct {
	route string // "POST /partners/{code}/disable"
	path  string // with ids
	body  any
	entry string
}

// noActs are the routes that change something and are no acts: events are
// the company's own traffic, not anybody's decision.
var noActs = []string{"POST /events", "POST /events/batch"}

// Every act of the API is done with its entry in the audit log, or not at all:
// a route that is missing here fails the test, too.
func TestNoActOfTheAPIIsDoneWithoutItsEntry(t *testing.T) {
	t.Parallel()
	a := one(t)
	a.partner(t, "acme")
	endpoint := a.endpoint(t, "acme", nil)
	first, _ := a.page(t, "/partners/acme/secrets", "secretId")
	second := a.want(t, 201, "POST", "/partners/acme/secrets", nil).text(t, "secretId")
	a.want(t, 200, "POST", "/endpoints/"+endpoint+"/pause", nil)
	_, retried := a.event(t, "acme", "tp_1", "Pending")
	_, cancelled := a.event(t, "acme", "tp_2", "Pending")
	paid, moved := a.Order(t, "acme", "order-1", time.Hour), a.Order(t, "acme", "order-2", time.Hour)

	seen := slices.Clone(noActs)
	do := func(x act) answer {
		t.Helper()
		seen = append(seen, x.route)
		method, _, _ := strings.Cut(x.route, " ")
		a.Unaudited(t, x.route, func() {
			if _, _, got := a.exchange(t, method, x.path, x.body); got.status < 500 {
				t.Errorf("%s without an entry: status %d: %s", x.route, got.status, got.body)
			}
		})
		count := func() int { return a.Count(t, "SELECT COUNT(*) FROM audit WHERE action = $1", x.entry) }
		before := count()
		got := a.do(t, method, x.path, x.body)
		if n := count() - before; got.status >= 300 || n != 1 {
			t.Errorf("%s: status %d, %d entries %s: %s", x.route, got.status, n, x.entry, got.body)
		}
		return got
	}
	reason := map[string]string{"reason": "maintenance"}
	key := func(i int) string { return string(keys()[i].PublicPEM()) }
	for _, x := range []act{
		{"POST /partners", "/partners", map[string]string{"partnerCode": "globex", "name": "Globex", "publicKey": key(1)}, "partner.create"},
		{"PATCH /partners/{code}", "/partners/acme", map[string]string{"name": "Acme JSC"}, "partner.change"},
		{"POST /partners/{code}/rotate-key", "/partners/acme/rotate-key", map[string]string{"publicKey": key(2)}, "partner.rotate-key"},
		{"POST /partners/{code}/disable", "/partners/acme/disable", nil, "partner.disable"},
		{"POST /partners/{code}/enable", "/partners/acme/enable", nil, "partner.enable"},
		{"POST /partners/{code}/secrets", "/partners/acme/secrets", nil, "secret.create"},
		{"POST /partners/{code}/secrets/{id}/activate", "/partners/acme/secrets/" + second + "/activate", nil, "secret.activate"},
		{"POST /partners/{code}/secrets/{id}/revoke", "/partners/acme/secrets/" + first[0] + "/revoke", nil, "secret.revoke"},
		{"POST /partners/{code}/endpoints", "/partners/acme/endpoints", map[string]string{"url": "https://partner.example.com/two"}, "endpoint.create"},
		{"PATCH /endpoints/{id}", "/endpoints/" + endpoint, map[string]int{"maxInFlight": 3}, "endpoint.change"},
		{"POST /endpoints/{id}/pause", "/endpoints/" + endpoint + "/pause", nil, "endpoint.pause"},
		{"POST /deliveries/{id}/retry", "/deliveries/" + retried[0] + "/retry", nil, "delivery.retry"},
		{"POST /deliveries/{id}/cancel", "/deliveries/" + cancelled[0] + "/cancel", nil, "delivery.cancel"},
		{"POST /endpoints/{id}/resume", "/endpoints/" + endpoint + "/resume", nil, "endpoint.resume"},
		{"POST /endpoints/{id}/open-breaker", "/endpoints/" + endpoint + "/open-breaker", reason, "endpoint.open-breaker"},
		{"POST /endpoints/{id}/close-breaker", "/endpoints/" + endpoint + "/close-breaker", reason, "endpoint.close-breaker"},
		{"POST /endpoints/{id}/test", "/endpoints/" + endpoint + "/test", nil, "endpoint.test"},
		{"POST /orders/{id}/payout", "/orders/" + paid.ID + "/payout", nil, "order.payout"},
		{"POST /orders/{id}/transitions", "/orders/" + moved.ID + "/transitions", map[string]string{"status": "FAIL", "reason": "withdrawn"}, "order.transition"},
		{"PUT /rates/{crypto}", "/rates/USDT", map[string]any{"price": 25000, "network": "TRC20", "walletAddress": "TXYZ"}, "rate.set"},
		{"POST /keys/rotate", "/keys/rotate", map[string]int{"activateAfterSeconds": 60}, "key.rotate"},
	} {
		do(x)
	}
	a.transition(t, 200, paid.ID, map[string]any{"status": "FAIL", "reason": "the bank refused it"})
	a.transition(t, 409, paid.ID, map[string]any{"status": "PAYMENT_COMPLETED", "paidAmount": paid.FiatAmount}) // kept as a conflict
	do(act{"POST /orders/{id}/settle", "/orders/" + paid.ID + "/settle", reason, "order.settle"})
	replay := do(act{"POST /replays", "/replays", map[string]any{"filter": map[string]string{"state": "cancelled"}, "reason": "their outage"}, "replay.start"}).text(t, "replayId")
	made := do(act{"POST /tokens", "/tokens", map[string]any{"name": "desk", "scopes": []string{"read"}, "expiresAt": time.Now().Add(time.Hour)}, "token.create"}).text(t, "tokenId")
	do(act{"POST /tokens/{id}/revoke", "/tokens/" + made + "/revoke", nil, "token.revoke"})
	for _, verb := range []string{"pause", "resume", "cancel"} {
		do(act{"POST /replays/{id}/" + verb, "/replays/" + replay + "/" + verb, nil, "replay." + verb})
	}
	do(act{"POST /erasures", "/erasures", map[string]string{"partnerCode": "acme", "accountId": "acc_1", "reason": "request 4711"}, "erase"})
	do(act{"DELETE /endpoints/{id}", "/endpoints/" + endpoint, nil, "endpoint.remove"})
	do(act{"GET /mailbox", "/mailbox", nil, "mailbox.read"}) // a code lets its reader in
	do(act{"POST /master-key/rotate", "/master-key/rotate", nil, "master-key.rotate"})

	for _, route := range ingest.Routes() {
		if route = strings.Replace(route, "/internal/v1", "", 1); !strings.HasPrefix(route, http.MethodGet) && !slices.Contains(seen, route) {
			t.Errorf("%s is not looked at: does it write its entry with what it does?", route)
		}
	}
}

// Whoever hangs up while their act is being done leaves its entry behind.
func TestAnActWhoseCallerHangsUpHasItsEntry(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		last := a.Order(t, "acme", "last", time.Hour)
		var ids []string
		for i := range 20 {
			ids = append(ids, a.Order(t, "acme", fmt.Sprint("order-", i), time.Hour).ID)
		}
		conn, err := a.Raw.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		hold := func(statement string) {
			t.Helper()
			if _, err := conn.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		hold("BEGIN")
		hold("UPDATE orders SET paid_amount = paid_amount")
		ctx, hangUp := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		before := a.listener.read.Load()
		const body = `{"status":"FAIL","reason":"withdrawn"}`
		for _, id := range ids {
			callers.Go(func() {
				r, err := http.NewRequestWithContext(ctx, "POST", a.url+"/orders/"+id+"/transitions", strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				r.Header.Set("Authorization", "Bearer "+token)
				r.Header.Set("Content-Type", "application/json")
				if resp, err := http.DefaultClient.Do(r); err == nil {
					resp.Body.Close()
					t.Errorf("an order that is locked is moved: %d", resp.StatusCode)
				}
			})
		}
		for a.listener.read.Load()-before < int64(len(ids)*(len(body)+100)) { // all are being worked on
			runtime.Gosched()
		}
		hangUp()
		callers.Wait()
		hold("ROLLBACK")
		a.transition(t, 200, last.ID, map[string]any{"status": "FAIL", "reason": "withdrawn"}) // behind the others
		moved := a.Count(t, "SELECT COUNT(*) FROM order_changes")
		if noted := a.Count(t, "SELECT COUNT(*) FROM audit WHERE action = 'order.transition'"); noted != moved {
			t.Errorf("%d orders were moved, %d entries tell of it", moved, noted)
		}
	})
}

func TestTheAuditLogSaysWhatOfAPartnerWasChanged(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		a.want(t, 200, "PATCH", "/partners/acme", `{"name":"Acme JSC","settings":{"allowedIps":["203.0.113.7"],"limits":{"burst":50},"fees":{"system":{"fixed":2000}}}}`)
		a.want(t, 200, "POST", "/partners/acme/rotate-key", map[string]any{"publicKey": string(keys()[2].PublicPEM())})
		got, _ := a.page(t, "/audit", "detail")
		want := []string{"publicKey", "name: acme → Acme JSC, allowedIps, limits.burst: 0 → 50, fees.system.fixed: 0 → 2000"}
		if !slices.Equal(got[:2], want) {
			t.Errorf("details %q, want %q", got[:2], want)
		}
	})
}
