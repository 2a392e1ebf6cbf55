package ingest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/orders"
)

// orderView is an order as the API shows it.
type orderView struct {
	OrderID, ExternalOrderID, Status, Description string
	Sequence, FiatAmount, PaidAmount              int64
	TokenTransfer                                 struct{ TxHash string }
	PayoutAt                                      *string
	History                                       []struct {
		From, To, Actor, Reason, EventID string
		Refused                          *struct {
			PaidAmount        int64
			TxHash, SettledBy string
			SettledAt         *string
		}
	}
	Notifications []struct{ EventID, DeliveryID, WebhookType, State string }
}

func (a *api) order(t *testing.T, id string) (o orderView) {
	t.Helper()
	a.want(t, 200, "GET", "/orders/"+id, nil).json(t, &o)
	return o
}

func (a *api) transition(t *testing.T, status int, id string, body map[string]any, says ...string) answer {
	t.Helper()
	return a.want(t, status, "POST", "/orders/"+id+"/transitions", body, says...)
}

func TestAnOrderIsWalkedThroughItsLife(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		a.endpoint(t, "acme", nil)
		id := a.Order(t, "acme", "order-1", orders.DefaultOrderExpiry).ID
		a.want(t, 200, "POST", "/orders/"+id+"/payout", nil)
		if o := a.order(t, id); o.PayoutAt == nil || o.Sequence != 0 || len(o.Notifications) != 0 {
			t.Errorf("after the payout mark: %+v", o)
		}
		a.transition(t, 200, id, map[string]any{"status": "PAYMENT_COMPLETED", "paidAmount": 500000, "description": "sent"})
		a.transition(t, 200, id, map[string]any{"status": "PROCESSING_TOKEN_TRANSFER"})
		a.transition(t, 200, id, map[string]any{"status": "PROCESSING_TOKEN_TRANSFER"}) // again
		a.transition(t, 200, id, map[string]any{"status": "ERROR", "reason": "the node is silent"})
		a.transition(t, 400, id, map[string]any{"status": "SUCCESS"}, "/reason")
		a.transition(t, 200, id, map[string]any{"status": "SUCCESS", "txHash": "0xabc", "reason": "block 7"}, `"status":"SUCCESS"`, `"txHash":"0xabc"`)
		a.transition(t, 409, id, map[string]any{"status": "FAIL"}, "final")

		o := a.order(t, id)
		if o.Status != "SUCCESS" || o.Sequence != 4 || o.PaidAmount != 500_000 || o.TokenTransfer.TxHash != "0xabc" || o.Description != "sent" {
			t.Errorf("%+v", o)
		}
		var path []string
		for i, c := range o.History {
			path = append(path, c.To+" "+c.Reason)
			if c.Actor != "api" || c.EventID != o.Notifications[i].EventID || o.Notifications[i].WebhookType != "CashoutOrder.Updated" {
				t.Errorf("%+v, told by %+v", c, o.Notifications[i])
			}
		}
		want := []string{"PAYMENT_COMPLETED ", "PROCESSING_TOKEN_TRANSFER ", "ERROR the node is silent", "SUCCESS block 7"}
		if !slices.Equal(path, want) || len(o.Notifications) != len(want) {
			t.Errorf("history %q with %d notifications, want %q", path, len(o.Notifications), want)
		}
		acts, _ := a.page(t, "/audit", "action")
		if got := acts[:5]; !slices.Equal(got, []string{"order.transition", "order.transition", "order.transition", "order.transition", "order.payout"}) {
			t.Errorf("audit %q", got)
		}
	})
}

func TestALateConfirmationIsKeptForWhoSettlesIt(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		id := a.Order(t, "acme", "order-1", orders.DefaultOrderExpiry).ID
		a.want(t, 200, "POST", "/orders/"+id+"/payout", nil)
		a.transition(t, 400, id, map[string]any{"status": "FAIL"}, "/reason")
		a.transition(t, 200, id, map[string]any{"status": "FAIL", "reason": "the bank knows no such account"})
		a.want(t, 409, "POST", "/orders/"+id+"/settle", map[string]any{"reason": "nothing"})
		for range 3 { // a bank repeats what is not taken
			a.transition(t, 409, id, map[string]any{"status": "PAYMENT_COMPLETED", "paidAmount": 400000, "reason": "paid at last"}, "conflict to settle")
		}
		a.transition(t, 409, id, map[string]any{"status": "AWAITING_PAYMENT"}, "final")
		o := a.order(t, id)
		if o.Status != "FAIL" || o.PaidAmount != 0 || o.Sequence != 1 || len(o.History) != 2 || len(o.Notifications) != 1 {
			t.Fatalf("%+v", o)
		}
		late := o.History[1]
		if late.Refused == nil || late.Refused.PaidAmount != 400_000 || late.Refused.SettledAt != nil || late.From != "FAIL" ||
			late.To != "PAYMENT_COMPLETED" || late.Actor != "api" || late.Reason != "paid at last" || late.EventID != "" {
			t.Errorf("%+v, %+v", late, late.Refused)
		}
		a.want(t, 400, "POST", "/orders/"+id+"/settle", map[string]any{"reason": " "}, "/reason")
		a.want(t, 404, "POST", "/orders/ord_none/settle", map[string]any{"reason": "nothing"})
		a.want(t, 200, "POST", "/orders/"+id+"/settle", map[string]any{"reason": "the customer sent it back"}, "sent it back")
		if o = a.order(t, id); o.Status != "FAIL" || o.History[1].Refused.SettledAt == nil || o.History[1].Refused.SettledBy != "api" {
			t.Errorf("%+v, %+v", o, o.History[1].Refused)
		}
		if acts, _ := a.page(t, "/audit", "action"); acts[0] != "order.settle" {
			t.Errorf("audit %q", acts)
		}
	})
}

func TestAPayoutThatCannotStartIsAConflict(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		late := a.Order(t, "acme", "late", -time.Second).ID
		a.want(t, 409, "POST", "/orders/"+late+"/payout", nil, "expired")
		failed := a.Order(t, "acme", "failed", time.Hour).ID
		a.transition(t, 200, failed, map[string]any{"status": "FAIL"})
		a.want(t, 409, "POST", "/orders/"+failed+"/payout", nil, "FAIL")
		a.want(t, 404, "POST", "/orders/ord_none/payout", nil)
		a.want(t, 404, "GET", "/orders/ord_none", nil)
		a.want(t, 404, "POST", "/orders/ord_none/transitions", map[string]any{"status": "FAIL"})
	})
}

func TestAWrongTransitionNamesItsField(t *testing.T) {
	a := one(t)
	a.partner(t, "acme")
	id := a.Order(t, "acme", "order-1", time.Hour).ID
	for body, field := range map[string]string{
		`{}`:                "/status",
		`{"status":"PAID"}`: "/status",
		`{"status":"PAYMENT_COMPLETED","paidAmount":0.5}`:                "/paidAmount",
		`{"status":"PAYMENT_COMPLETED","paidAmount":-1}`:                 "/paidAmount",
		`{"status":"PAYMENT_COMPLETED","paidAmount":"1"}`:                "/paidAmount",
		`{"status":"PAYMENT_COMPLETED","paidAmount":1e99}`:               "/paidAmount",
		`{"status":"ERROR","txHash":"a\u0000b"}`:                         "/txHash",
		`{"status":"ERROR","description":"\u202e"}`:                      "/description",
		`{"status":"ERROR","reason":"` + strings.Repeat("x", 501) + `"}`: "/reason",
		`{"status":"ERROR","amount":1}`:                                  "/amount",
	} {
		a.want(t, 400, "POST", "/orders/"+id+"/transitions", body, `"`+field+`"`)
	}
	if o := a.order(t, id); o.Status != "AWAITING_PAYMENT" || o.Sequence != 0 {
		t.Errorf("%+v", o)
	}
	a.transition(t, 400, id, map[string]any{"status": "PAYMENT_COMPLETED", "paidAmount": 4e5}, "/paidAmount", "500000")
	a.transition(t, 200, id, map[string]any{"status": "PAYMENT_COMPLETED", "paidAmount": 4e5, "reason": "a fee"})
	if o := a.order(t, id); o.PaidAmount != 400_000 {
		t.Errorf("paid %d", o.PaidAmount)
	}
}

func TestOrdersAreFoundByWhatTheListTakes(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		a.partner(t, "other")
		var ids []string
		for i := range 3 {
			ids = append(ids, a.Order(t, "acme", fmt.Sprint("order-", i), time.Hour).ID)
		}
		ids = append(ids, a.Order(t, "other", "order-0", time.Hour).ID)
		a.transition(t, 200, ids[1], map[string]any{"status": "ERROR"})
		for query, want := range map[string][]string{
			"":                                  {ids[3], ids[2], ids[1], ids[0]},
			"?partnerCode=acme":                 {ids[2], ids[1], ids[0]},
			"?status=ERROR":                     {ids[1]},
			"?reference=order-0":                {ids[3], ids[0]},
			"?reference=" + ids[2]:              {ids[2]},
			"?since=2100-01-01T00:00:00Z":       {},
			"?until=2000-01-01T00:00:00Z":       {},
			"?partnerCode=other&reference=none": {},
			"?partnerCode=acme&status=ERROR":    {ids[1]},
			"?until=2100-01-01T00:00:00Z":       {ids[3], ids[2], ids[1], ids[0]},
		} {
			if got, _ := a.page(t, "/orders"+query, "orderId"); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", query, got, want)
			}
		}
		first, next := a.page(t, "/orders?limit=3", "orderId")
		second, end := a.page(t, "/orders?limit=3&cursor="+next, "orderId")
		if len(first) != 3 || !slices.Equal(second, ids[:1]) || end != "" {
			t.Errorf("pages %q and %q, then %q", first, second, end)
		}
		a.want(t, 400, "GET", "/orders?status=PAID", nil, "status")
		a.want(t, 400, "GET", "/orders?cursor=bm9uZQ", nil, "cursor")
	})
}

func TestRatesAreReadAndShownExactly(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.want(t, 200, "PUT", "/rates/USDT", `{"price":25345.123456,"network":"TRC20","walletAddress":"T1"}`, `"price":25345.123456`)
		a.want(t, 200, "PUT", "/rates/BTC", `{"price":1.5e9,"network":"BITCOIN","walletAddress":"B1"}`, `"price":1500000000`)
		a.want(t, 200, "PUT", "/rates/USDT", `{"price":25346.10,"network":"TRC20","walletAddress":"T2"}`, `"price":25346.1,`, `"walletAddress":"T2"`)
		if got, _ := a.page(t, "/rates", "crypto"); !slices.Equal(got, []string{"BTC", "USDT"}) {
			t.Errorf("%q", got)
		}
		rate, err := a.Rate(t.Context(), "USDT")
		if err != nil || !rate.Price.Equal(ledgertest.Amount(t, "25346.1")) || time.Since(rate.UpdatedAt) > time.Minute {
			t.Errorf("%+v, %v", rate, err)
		}
	})
	a := one(t)
	for path, bodies := range map[string]map[string]string{
		"/rates/usdt": {`{"price":1,"network":"N"}`: "/crypto"},
		"/rates/USDT": {
			`{"network":"N"}`:                                  "/price",
			`{"price":0,"network":"N"}`:                        "/price",
			`{"price":-1,"network":"N"}`:                       "/price",
			`{"price":"1","network":"N"}`:                      "/price",
			`{"price":1.1234567,"network":"N"}`:                "/price",
			`{"price":1e31,"network":"N"}`:                     "/price",
			`{"price":12345678901234567890,"network":"N"}`:     "/price",
			`{"price":1}`:                                      "/network",
			`{"price":1,"network":"N","walletAddress":"a\nb"}`: "/walletAddress",
			`{"price":1,"network":"N"}`:                        "/walletAddress",
			`{"price":1,"network":"N","walletAddress":null}`:   "/walletAddress",
		},
	} {
		for body, field := range bodies {
			a.want(t, 400, "PUT", path, body, `"`+field+`"`)
		}
	}
}

func TestSettingsOfAPartnerAreKept(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		created := `"limits":{"perSecond":20,"burst":100,"createPerSecond":5,"createBurst":60},"fees":{"processing":{"fixed":0,"basisPoints":0},"system":{"fixed":0,"basisPoints":0}}`
		a.partner(t, "acme")
		a.want(t, 200, "GET", "/partners/acme", nil, created, `"requireAccessToken":false`, `"requireVerifiedEmail":false`, `"allowedIps":[]`)
		a.want(t, 200, "PATCH", "/partners/acme", `{"settings":{"requireAccessToken":true,"requireVerifiedEmail":true,
			"allowedIps":["203.0.113.7","2001:db8::/32"],"limits":{"burst":7},"fees":{"processing":{"fixed":1000},"system":{"basisPoints":25}}}}`)
		a.want(t, 200, "PATCH", "/partners/acme", `{"settings":{"limits":{"createBurst":9},"fees":{"system":{"fixed":5}}}}`)
		want := []string{`"requireAccessToken":true`, `"requireVerifiedEmail":true`, `"allowedIps":["203.0.113.7","2001:db8::/32"]`,
			`"limits":{"perSecond":20,"burst":7,"createPerSecond":5,"createBurst":9}`,
			`"fees":{"processing":{"fixed":1000,"basisPoints":0},"system":{"fixed":5,"basisPoints":0}}`}
		a.want(t, 200, "GET", "/partners/acme", nil, want...)
		for body, field := range map[string]string{
			`{"allowedIps":["203.0.113.7","somewhere"]}`:    "/settings/allowedIps/1",
			`{"limits":{"perSecond":-1}}`:                   "/settings/limits/perSecond",
			`{"limits":{"perSecond":1.5}}`:                  "/settings/limits/perSecond",
			`{"fees":{"processing":{"basisPoints":10001}}}`: "/settings/fees/processing/basisPoints",
			`{"fees":{"system":{"fixed":500000000}}}`:       "/settings/fees/system/fixed",
			`{"fees":{"system":{"percent":1}}}`:             "/settings/fees/system/percent",
			`{"requireAccessToken":"yes"}`:                  "/settings/requireAccessToken",
		} {
			a.want(t, 400, "PATCH", "/partners/acme", `{"settings":`+body+`}`, `"`+field+`"`)
		}
		a.want(t, 200, "GET", "/partners/acme", nil, want...)
		a.want(t, 200, "PATCH", "/partners/acme", `{"settings":{"allowedIps":[],"limits":{"burst":0}}}`, `"allowedIps":[]`, `"burst":100`)
	})
}
