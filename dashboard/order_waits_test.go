package dashboard

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/orders"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// ordersOnAPage is how many notifications a page of the list looks at.
const ordersOnAPage = 50

// The list of orders and the page of one say who waits for what: the partner to
// be told, we for the order to end, or nobody. The list finds those that somebody
// waits for.
func TestAnOrderSaysWhoWaitsForWhat(t *testing.T) {
	t.Parallel()
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := stageOn(t, b)
		c := s.SignIn(t, "", partners.RoleViewer)
		b.Partner(t, "acme")
		b.Partner(t, "globex")
		b.Endpoint(t, "acme", 8)
		cards := b.Endpoint(t, "globex", 8, webhook.CreateCard)
		says := func(o orders.Order, want ...string) {
			t.Helper()
			for _, path := range []string{"/ops/orders/" + o.ID, "/ops/orders?ref=" + o.ID} {
				_, body := ask(t, c, "GET", s.ops.URL+path, nil)
				for _, w := range want {
					if !strings.Contains(body, w) {
						t.Errorf("%s does not say %q:\n%s", path, w, body)
					}
				}
			}
		}
		move := func(o orders.Order, to ...orders.Status) {
			t.Helper()
			for _, status := range to {
				if _, _, err := b.TransitionOrder(t.Context(), o.ID, orders.Move{To: status, Input: orders.TransitionInput{TxHash: "0xabc"}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		end := func(o orders.Order, state webhook.State, code int) { // its newest notification
			t.Helper()
			changes, err := b.OrderChanges(t.Context(), o.ID)
			if err != nil {
				t.Fatal(err)
			}
			found, err := b.EventDeliveries(t.Context(), changes[len(changes)-1].EventID)
			if err != nil {
				t.Fatal(err)
			}
			a := webhook.Attempt{Outcome: webhook.OutcomeDelivered, StatusCode: code}
			if state != webhook.Delivered {
				a.Outcome, a.ErrorClass = webhook.OutcomeFailed, webhook.ErrorHTTP5xx
			}
			s.recordOnce(t, found[0].ID, a, state)
		}

		fresh := b.Order(t, "acme", "fresh", time.Hour)
		says(fresh, "We wait for the payout to be started, since ", ", until the order expires at ")
		paying := b.Order(t, "acme", "paying", time.Hour)
		if _, _, err := b.MarkPayout(t.Context(), paying.ID); err != nil {
			t.Fatal(err)
		}
		says(paying, "We wait for the bank to report the payout, since ")

		paid := b.Order(t, "acme", "paid", time.Hour)
		move(paid, orders.StatusPaymentCompleted)
		says(paid, "The partner waits for our notification of payment completed, undelivered since ", "; we wait for the partner&#39;s tokens to be deducted, since ")
		end(paid, webhook.Pending, 503)
		says(paid, " (answered 503, waits for the next attempt); we wait")
		move(paid, orders.StatusProcessingTokenTransfer)
		end(paid, webhook.Delivered, 200)
		says(paid, "We wait for the token transfer to end, since ", "; the partner was told of processing token transfer at ")

		done := b.Order(t, "acme", "done", time.Hour)
		move(done, orders.StatusPaymentCompleted, orders.StatusProcessingTokenTransfer, orders.StatusSuccess)
		end(done, webhook.Delivered, 200)
		says(done, "Nobody waits: the partner was told of success at ")
		unclear := b.Order(t, "acme", "unclear", time.Hour)
		move(unclear, orders.StatusError)
		end(unclear, webhook.Exhausted, 503)
		says(unclear, "The partner waits for our notification of error, undelivered since ", " (given up after 1 attempt, answered 503); we have to find out what became of the money, since ")
		failed := b.Order(t, "globex", "failed", time.Hour)
		move(failed, orders.StatusFail)
		says(failed, "Nobody waits: the partner was not told of failed, none of its endpoints takes CashoutOrder.Updated.")
		_, _, _ = b.TransitionOrder(t.Context(), failed.ID, orders.Move{To: orders.StatusPaymentCompleted, Actor: "the bank"}) // is refused
		says(failed, "We have a conflict to settle, since ")

		if err := b.RemoveEndpoint(t.Context(), partners.Everything(), cards.ID); err != nil {
			t.Fatal(err)
		}
		homeless := b.Order(t, "globex", "homeless", time.Hour)
		move(homeless, orders.StatusFail)
		says(homeless, "The partner waits for our notification of failed, undelivered since ", " (waits for an endpoint to be registered).")
		b.Partner(t, "initech")
		b.Endpoint(t, "initech", 8)
		b.Endpoint(t, "initech", 8)
		twofold := b.Order(t, "initech", "twofold", time.Hour)
		move(twofold, orders.StatusFail)
		end(twofold, webhook.Delivered, 200) // to one of its endpoints
		says(twofold, "The partner still waits at 1 endpoint for our notification of failed, undelivered since ")

		fail := func(partner, id string) orders.Order { // and its notification is given up
			o := b.Order(t, partner, id, time.Hour)
			move(o, orders.StatusFail)
			end(o, webhook.Exhausted, 503)
			return o
		}
		erased := fail("acme", "erased")
		if _, _, err := b.Erase(t.Context(), partners.DataSubject{PartnerCode: "acme", OrderID: erased.ID}, partners.AuditEntry{Actor: "eva.operator", Action: "erase", Detail: "x"}); err != nil {
			t.Fatal(err)
		}
		says(erased, "Nobody waits: the partner was not told of failed, what our notification says was erased.")
		settled := fail("acme", "settled")
		if _, err := b.Raw.ExecContext(t.Context(), "UPDATE deliveries SET delivered_by = 'dlv_gone' WHERE object_id = 'settled'"); err != nil {
			t.Fatal(err)
		}
		says(settled, "Nobody waits: the partner was told of failed.")
		b.Partner(t, "hooli")
		left := b.Endpoint(t, "hooli", 8)
		removed := fail("hooli", "removed")
		if err := b.RemoveEndpoint(t.Context(), partners.Everything(), left.ID); err != nil {
			t.Fatal(err)
		}
		says(removed, "Nobody waits: the partner was not told of failed, the endpoint that our notification was for is removed.")

		lists := func(query string, want ...orders.Order) {
			t.Helper()
			resp, body := ask(t, c, "GET", s.ops.URL+"/ops/orders?"+query, nil)
			if n := strings.Count(body, `<th scope="row"`); resp.StatusCode != http.StatusOK || n != len(want) {
				t.Errorf("%s: %d, %d orders, want %d", query, resp.StatusCode, n, len(want))
			}
			for _, o := range want {
				if !strings.Contains(body, "/ops/orders/"+o.ID) {
					t.Errorf("%s: %s is missing", query, o.ExternalOrderID)
				}
			}
		}
		lists("waits=partner", unclear, homeless, twofold)
		lists("waits=partner&partner=globex", homeless)
		lists("waits=partner&status=ERROR", unclear)
		lists("waits=partner&ref="+unclear.ID, unclear)
		for _, f := range []orders.Filter{{Reference: "unclear", Limit: 1}, {Reference: unclear.ID, Limit: 1}} { // newer notifications do not fill the page
			if found, next, err := b.UntoldOrders(t.Context(), f); err != nil || len(found) != 1 || found[0].ID != unclear.ID || next != "" {
				t.Errorf("%v: %v, %q, %v", f, found, next, err)
			}
		}
		if _, next, err := b.UntoldOrders(t.Context(), orders.Filter{Since: time.Now().Add(time.Hour), Limit: 1}); err != nil || next != "" {
			t.Errorf("what is older follows a time: %q, %v", next, err)
		}
		lists("waits=us", fresh, paying, paid, unclear, failed)
		lists("waits=us&status=ERROR", unclear)
		lists("waits=us&status=FAIL&partner=globex", failed)
		lists("waits=us&status=SUCCESS")
		lists("waits=us&ref=paying", paying)
		for query, want := range map[string]string{"waits=nobody": "waits", "waits=partner&cursor=" + done.ID: "cursor", "waits=us&cursor=dlv_1": "cursor"} {
			if resp, body := ask(t, c, "GET", s.ops.URL+"/ops/orders?"+query, nil); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, want) {
				t.Errorf("%s: %d %s", query, resp.StatusCode, body)
			}
		}

		for i := range ordersOnAPage + 1 { // their orders are of no partner's
			e := ledgertest.NewEvent("initech", fmt.Sprint("elsewhere_", i), string(orders.StatusFail))
			e.Event.Type = webhook.CashoutOrderUpdated
			if _, err := b.Append(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		if _, body := ask(t, c, "GET", s.ops.URL+"/ops/orders?waits=partner&partner=initech", nil); !strings.Contains(body, "None on this page; older notifications follow") || strings.Contains(body, "No orders") {
			t.Errorf("a page without an order that others follow:\n%s", body)
		}

		changes, err := b.OrderChanges(t.Context(), paid.ID)
		if err != nil {
			t.Fatal(err)
		}
		told, err := b.EventDeliveries(t.Context(), changes[1].EventID)
		if err != nil {
			t.Fatal(err)
		}
		const status = "<dt>Tells of</dt><dd>PROCESSING_TOKEN_TRANSFER"
		if _, body := ask(t, c, "GET", s.ops.URL+"/ops/deliveries/"+told[0].ID, nil); !strings.Contains(body, status+` <a href="/ops/orders?partner=acme&amp;ref=paid">`) {
			t.Errorf("what a delivery tells of:\n%s", body)
		}
		if _, body := ask(t, s.SignIn(t, "acme", partners.RoleViewer), "GET", s.portal.URL+"/portal/deliveries/"+told[0].ID, nil); !strings.Contains(body, status+"</dd>") {
			t.Errorf("what a delivery tells its partner of:\n%s", body)
		}
		if _, body := ask(t, c, "GET", s.ops.URL+"/ops/orders/"+paid.ID, nil); strings.Count(body, `data-label="Tells of"`) != 2 || strings.Count(body, "where it stands</span>") != 1 {
			t.Errorf("what each notification tells of, and which of the present status:\n%s", body)
		}
	})
}
