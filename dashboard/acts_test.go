package dashboard

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/orders"
	"ledgerhook/partners"
)

func TestMoreThanAHundredDeliveriesAreReplayedOnlyIfTheirNumberIsTyped(t *testing.T) {
	s := newStage(t)
	s.Bench.Partner(t, "acme")
	s.Bench.Endpoint(t, "acme", 10)
	for i := range 100 + 1 {
		s.ended(t, "acme", fmt.Sprintf("order-%d", i))
	}
	c, path := s.SignIn(t, "", partners.RoleOperator), s.ops.URL+"/ops/replays"
	_, body := lead(t, c, "GET", path+"/new?q=state:cancelled", nil)
	if !strings.Contains(body, `name="count"`) || !strings.Contains(body, "Type 101") {
		t.Fatalf("%s", body)
	}
	form := formOf(body)
	form.Set("rate", "50")
	form.Set("reason", "their maintenance is over")
	for _, typed := range []string{"", "100", "1e2", "all"} {
		form.Set("count", typed)
		if resp, body := ask(t, c, "POST", path+"/start", form); resp.StatusCode != 400 || !strings.Contains(body, "Type the number of deliveries, 101") {
			t.Errorf("%q is typed: %d", typed, resp.StatusCode)
		}
	}
	if n := s.Bench.Count(t, "SELECT COUNT(*) FROM replays"); n != 0 {
		t.Fatalf("%d replays without the number", n)
	}
	form.Set("count", " 101 ")
	if resp, _ := ask(t, c, "POST", path+"/start", form); !strings.HasSuffix(resp.Header.Get("Location"), "?done=start") {
		t.Errorf("%d %s", resp.StatusCode, resp.Header.Get("Location"))
	}
}

func TestAConflictOfAnOrderIsShownUntilItIsSettled(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := stageOn(t, b)
		b.Partner(t, "acme")
		o := b.Order(t, "acme", "order-1", time.Hour)
		for _, to := range []orders.Status{orders.StatusFail, orders.StatusPaymentCompleted} {
			_, _, _ = b.TransitionOrder(t.Context(), o.ID, orders.Move{To: to, Actor: "the bank"}) // the second is refused
		}
		c, path := s.SignIn(t, "", partners.RoleOperator), s.ops.URL+"/ops/orders/"+o.ID
		if _, body := ask(t, c, "GET", s.ops.URL+"/ops", nil); !strings.Contains(body, "Conflicts to settle") || !strings.Contains(body, `href="/ops/orders/`+o.ID) {
			t.Errorf("the overview shows no conflict")
		}
		_, body := ask(t, c, "GET", path, nil)
		if !strings.Contains(body, "refused, to settle") || !strings.Contains(body, "the bank") {
			t.Errorf("the history shows no conflict: %s", body)
		}
		if _, seen := ask(t, s.SignIn(t, "", partners.RoleViewer), "GET", path, nil); strings.Contains(seen, `value="settle"`) {
			t.Error("a viewer may settle it")
		}
		form := formOf(body)
		form.Set("status", "settle")
		form.Set("reason", "came back on Monday")
		if resp, _ := ask(t, c, "POST", path+"/move", form); resp.Header.Get("Location") != "/ops/orders/"+o.ID+"?done=settle" {
			t.Errorf("%d %s", resp.StatusCode, resp.Header.Get("Location"))
		}
		if _, body = ask(t, c, "GET", path+"?done=settle", nil); !strings.Contains(body, "came back on Monday") || strings.Contains(body, `value="settle"`) {
			t.Errorf("after it is settled: %s", body)
		}
		if _, body := ask(t, c, "GET", s.ops.URL+"/ops", nil); strings.Contains(body, "Conflicts to settle") {
			t.Error("the overview still shows it")
		}
	})
}

func TestAPayoutIsMarkedAsStartedOnce(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := stageOn(t, b)
		b.Partner(t, "acme")
		o := b.Order(t, "acme", "order-1", time.Hour)
		c, path := s.SignIn(t, "", partners.RoleOperator), s.ops.URL+"/ops/orders/"+o.ID
		for _, done := range []string{"payout", "same"} { // each with a form of its own
			_, body := ask(t, c, "GET", path, nil)
			if offered := strings.Contains(body, `value="payout"`); offered != (done == "payout") {
				t.Errorf("before %s it is offered: %t", done, offered)
			}
			form := formOf(body)
			form.Set("status", "payout")
			form.Set("reason", "sent from the bank")
			if resp, _ := ask(t, c, "POST", path+"/move", form); resp.Header.Get("Location") != "/ops/orders/"+o.ID+"?done="+done {
				t.Errorf("%s: %d %s", done, resp.StatusCode, resp.Header.Get("Location"))
			}
		}
		now, err := s.Ledger.Order(t.Context(), o.ID)
		if err != nil || now.PayoutAt.IsZero() || now.Status != o.Status {
			t.Errorf("%+v, %v", now, err)
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM audit WHERE action = 'order.payout' AND detail = 'sent from the bank'"); n != 1 {
			t.Errorf("%d entries of the audit log", n)
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM deliveries"); n != 0 {
			t.Errorf("the partner is told %d times", n)
		}
	})
}

// Whoever presses a button twice, or whose browser sends a form twice at once,
// acts once.
func TestOfEqualFormsSentAtOnceOneActs(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := stageOn(t, b)
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 10)
		id := s.ended(t, "acme", "order-1")
		o := b.Order(t, "acme", "order-2", time.Hour)
		c := s.SignIn(t, "", partners.RoleOperator)
		_, draft := lead(t, c, "POST", s.ops.URL+"/ops/replays", url.Values{"id": {id}})
		_, order := ask(t, c, "GET", s.ops.URL+"/ops/orders/"+o.ID, nil)
		for path, page := range map[string]string{"/ops/replays/start": draft, "/ops/orders/" + o.ID + "/move": order} {
			form := formOf(page)
			for field, value := range map[string]string{"reason": "at once", "rate": "50", "status": "FAIL"} {
				form.Set(field, value)
			}
			var acted, again atomic.Int32
			var posts sync.WaitGroup
			for range 8 {
				posts.Go(func() {
					resp, body := ask(t, c, "POST", s.ops.URL+path, form)
					switch to := resp.Header.Get("Location"); {
					case strings.HasSuffix(to, "?done=start"), strings.HasSuffix(to, "?done=move"):
						acted.Add(1)
					case strings.HasSuffix(to, "?done=again"), strings.Contains(body, "is being processed"):
						again.Add(1)
					default:
						t.Errorf("%s: %d %s", path, resp.StatusCode, to)
					}
				})
			}
			posts.Wait()
			if acted.Load() != 1 || again.Load() != 7 {
				t.Errorf("%s: %d acted, %d were done already", path, acted.Load(), again.Load())
			}
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM replays"); n != 1 {
			t.Errorf("%d replays", n)
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM order_changes"); n != 1 {
			t.Errorf("%d changes of the order", n)
		}
	})
}

// What must not be seen unnoted is not shown, and that is counted.
func TestAnAuditLogThatCannotBeWrittenIsCounted(t *testing.T) {
	s := newStage(t)
	s.Bench.Partner(t, "acme")
	s.Bench.Endpoint(t, "acme", 10)
	id := s.ended(t, "acme", "order-1")
	var failures atomic.Int32
	s.AuditFailed = func() { failures.Add(1) }
	c := s.SignIn(t, "", partners.RoleOperator)
	s.Bench.Unaudited(t, "an export", func() {
		resp, body := ask(t, c, "GET", s.ops.URL+"/ops/deliveries.csv?q=state:cancelled", nil)
		if resp.StatusCode != 500 || strings.Contains(body, id) || failures.Load() != 1 {
			t.Errorf("%d, %d failures", resp.StatusCode, failures.Load())
		}
	})
}

func TestEventsAreFoundByWhenTheyWereSent(t *testing.T) {
	s := newStage(t)
	s.Bench.Partner(t, "acme")
	if _, err := s.Ledger.Append(t.Context(), ledgertest.NewEvent("acme", "tp_1", "Pending")); err != nil {
		t.Fatal(err)
	}
	c := s.SignIn(t, "", partners.RoleViewer)
	for query, want := range map[string]bool{"since=1h": true, "until=1h": false, "since=2d&until=1d": false, "since=1d": true, "since=2000-01-01&until=2999-01-01": true} {
		resp, body := ask(t, c, "GET", s.ops.URL+"/ops/events?"+query, nil)
		if found := strings.Contains(body, `>tp_1<`); resp.StatusCode != 200 || found != want {
			t.Errorf("%s: %d, found: %t", query, resp.StatusCode, found)
		}
	}
	for query, problem := range map[string]string{"since=yesterday": "since: must be a time", "since=1h&until=2h": "must be before until"} {
		if resp, body := ask(t, c, "GET", s.ops.URL+"/ops/events?"+query, nil); resp.StatusCode != 400 || !strings.Contains(body, problem) {
			t.Errorf("%s: %d %s", query, resp.StatusCode, body)
		}
	}
}
