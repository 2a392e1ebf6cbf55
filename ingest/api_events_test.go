package ingest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ledgerhook/signer"
	"ledgerhook/webhook"
)

// eventView is an event as the API shows it.
type eventView struct {
	EventID, PartnerCode, WebhookType, Reference, Status, Body, KeyID string
	Success, Filtered, Unexpected, Test                               bool
	Data                                                              json.RawMessage
	Deliveries                                                        []deliveryView
}

func TestEveryTypeIsAcceptedStoredAndSentAsItsBodySays(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		endpoint := a.endpoint(t, "acme", nil)
		for _, about := range webhook.Catalog {
			request := map[string]any{"partnerCode": "acme", "webhookType": about.Type, "data": json.RawMessage(about.Example)}
			if !about.FromInside {
				a.want(t, 400, "POST", "/events", request, "/webhookType", "TopupCard")
				continue
			}
			posted := a.want(t, 202, "POST", "/events", request)
			var e eventView
			a.want(t, 200, "GET", "/events/"+posted.text(t, "eventId"), nil).json(t, &e)
			if diff := cmp.Diff(about.Example, string(e.Data)); diff != "" {
				t.Errorf("%s: data (-posted +stored):\n%s", about.Type, diff)
			}
			if err := signer.VerifyNotification(keys()[0].Public(), []byte(e.Body)); err != nil || e.KeyID != keys()[0].ID() {
				t.Errorf("%s: the body does not verify: %v\n%s", about.Type, err, e.Body)
			}
			if e.PartnerCode != "acme" || e.WebhookType != string(about.Type) || e.Filtered || e.Test || len(e.Deliveries) != 1 ||
				*e.Deliveries[0].EndpointID != endpoint || e.Success != !strings.HasSuffix(e.Status, "REJECTED") {
				t.Errorf("%s: %+v", about.Type, e)
			}
		}
	})
}

func TestTheSignatureSettingIsPinnedOnTheEvent(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		signed, _ := a.event(t, "acme", "tp_1", "Pending")
		a.want(t, 200, "PATCH", "/partners/acme", `{"settings":{"signatures":["standard"]}}`)
		plain, _ := a.event(t, "acme", "tp_2", "Pending")
		for id, want := range map[string]bool{signed: true, plain: false} {
			var e eventView
			a.want(t, 200, "GET", "/events/"+id, nil).json(t, &e)
			if has := strings.Contains(e.Body, `"signature"`); has != want {
				t.Errorf("%s: %s", id, e.Body)
			}
		}
	})
}

func TestAnUnknownMemberIsNamedByItsPointer(t *testing.T) {
	a := one(t)
	a.partner(t, "acme")
	data := `"webhookType":"TopupCard","partnerCode":"acme","data":`
	for body, says := range map[string]string{
		`{"eventId":"x"}`:                                    `"/eventId"`,
		`{"PartnerCode":"acme"}`:                             `"/PartnerCode"`,
		`{"a/b":1}`:                                          `"/a~1b"`,
		`{` + data + `{"nothing":1}}`:                        `"/data/nothing"`,
		`{` + data + `{"signature":"x"}}`:                    `"/data/signature"`,
		`{` + data + `{"id":"1","id":"2"}}`:                  `"/data/id"`,
		`{` + data + `[]}`:                                   `"/data"`,
		`{` + data + `"text"}`:                               `"/data"`,
		`{"webhookType":"X","partnerCode":"acme","data":{}}`: `"/webhookType"`,
		`{"webhookType":7}`:                                  `"/webhookType"`,
		`{"webhookType":"TopupCard","data":{}}`:              `"/partnerCode"`,
		`{"webhookType":"TopupCard","partnerCode":"a\u0000","data":{}}`:                          `"/partnerCode"`,
		`{"webhookType":"TopupCard","partnerCode":"acme"}`:                                       `"/data"`,
		`{"webhookType":"TopupCard","partnerCode":"acme","data":null}`:                           `"/data"`,
		`{` + data + `{},"idempotencyKey":"` + strings.Repeat("k", 256) + `"}`:                   `"/idempotencyKey"`,
		`{` + data + `{},"idempotencyKey":"é"}`:                                                  `"/idempotencyKey"`,
		`{"webhookType":"CardTransaction","partnerCode":"acme","data":{"feeDetails":[{"x":1}]}}`: `"/data/feeDetails/0/x"`,
	} {
		a.want(t, 400, "POST", "/events", body, `"pointer":`+says)
	}
	if n := a.Count(t, "SELECT COUNT(*) FROM events"); n != 0 {
		t.Errorf("%d events were stored", n)
	}
}

func TestAnUnknownPartnerGetsNoEvent(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.want(t, 404, "POST", "/events", topup("nobody", "tp_1", "Pending"), "partner nobody")
	})
}

func TestAnIdempotencyKeyMakesOneEvent(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		a.partner(t, "globex")
		a.endpoint(t, "acme", nil)
		first := topup("acme", "tp_1", "Pending")
		first["idempotencyKey"] = "key-1"
		made := a.want(t, 202, "POST", "/events", first, `"duplicate":false`)
		same := func(got answer) {
			t.Helper()
			var want, have struct {
				EventID     string
				DeliveryIDs []string
				Duplicate   bool
			}
			made.json(t, &want)
			got.json(t, &have)
			want.Duplicate = true
			if diff := cmp.Diff(want, have); got.status != 200 || diff != "" {
				t.Errorf("%d (-want +got):\n%s", got.status, diff)
			}
		}
		same(a.do(t, "POST", "/events", first))
		same(a.do(t, "POST", "/events", first, "Idempotency-Key", "key-1"))
		plain := topup("acme", "tp_1", "Pending")
		same(a.do(t, "POST", "/events", plain, "Idempotency-Key", "key-1"))
		plain["data"].(map[string]any)["amount"] = json.RawMessage("1.0050e2") // the same number
		same(a.do(t, "POST", "/events", plain, "Idempotency-Key", "key-1"))
		for _, job := range a.claim(t) { // and after its delivery
			a.record(t, job, delivered200, delivered)
		}
		same(a.do(t, "POST", "/events", first))

		if got := a.do(t, "POST", "/events", first, "Idempotency-Key", "key-2"); got.status != 400 || !strings.Contains(string(got.body), `"/idempotencyKey"`) {
			t.Errorf("a header that disagrees: %d %s", got.status, got.body)
		}
		other := topup("acme", "tp_1", "Completed")
		other["idempotencyKey"] = "key-1"
		a.want(t, 409, "POST", "/events", other, made.text(t, "eventId"))
		again := topup("acme", "tp_1", "Pending") // a new key is a new event, an own partner an own key space
		again["idempotencyKey"] = "key-2"
		a.want(t, 202, "POST", "/events", again)
		elsewhere := topup("globex", "tp_1", "Pending")
		elsewhere["idempotencyKey"] = "key-1"
		a.want(t, 202, "POST", "/events", elsewhere)
	})
}

func TestFiftyPostsOfOneKeyMakeOneEvent(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		a.endpoint(t, "acme", nil)
		event := topup("acme", "tp_1", "Pending")
		event["idempotencyKey"] = "key"
		answers := make([]answer, 50)
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() { answers[i] = a.do(t, "POST", "/events", event) })
		}
		wg.Wait()
		accepted := 0
		for _, got := range answers {
			if got.status == 202 {
				accepted++
			} else if got.status != 200 {
				t.Errorf("%d %s", got.status, got.body)
			}
			if id := got.text(t, "eventId"); id == "" || id != answers[0].text(t, "eventId") {
				t.Errorf("event %q", id)
			}
		}
		if n := a.Count(t, "SELECT COUNT(*) FROM deliveries"); accepted != 1 || n != 1 {
			t.Errorf("%d were accepted, %d deliveries made", accepted, n)
		}
	})
}

func TestWithoutAKeyARepeatedStatusIsADuplicate(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		post := func(status string, at int) answer {
			t.Helper()
			return a.do(t, "POST", "/events", map[string]any{"partnerCode": "acme", "webhookType": "ProfileApplication.Updated",
				"data": map[string]any{"accountId": "acc", "kycStatus": status, "createdAt": at}})
		}
		var ids []string
		for i, status := range []string{"REJECTED", "SUBMITTED", "REJECTED"} {
			got := post(status, i+1)
			if got.status != 202 {
				t.Fatalf("%s: %d %s", status, got.status, got.body)
			}
			ids = append(ids, got.text(t, "eventId"))
			if again := post(status, i+10); again.status != 200 || again.text(t, "eventId") != ids[i] {
				t.Errorf("%s again: %d %s", status, again.status, again.body)
			}
		}
		var e eventView
		for i, unexpected := range []bool{true, false, true} { // SUBMITTED → REJECTED is known, "" → REJECTED is not
			a.want(t, 200, "GET", "/events/"+ids[i], nil).json(t, &e)
			if want := unexpected && i == 0; e.Unexpected != want {
				t.Errorf("event %d is unexpected: %v", i, e.Unexpected)
			}
		}
	})
}

func TestNumbersAreExactOrRefused(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		for i, tt := range []struct{ in, out string }{
			{"12.750", "12.75"}, {"0.1", "0.1"}, {"1e2", "100"}, {`"12.750"`, "12.75"}, {`"1e2"`, "100"}, {"-0", "0"}, {"-0.10", "-0.1"},
			{"999999999999999", "999999999999999"}, {"0.000001", "0.000001"}, {"123456789.123456", "123456789.123456"},
			{"9007199254740993", ""}, {"1234567890123456", ""}, {"0.0000001", ""}, {"1e15", ""}, {"1e400", ""}, {`""`, ""}, {`"12,5"`, ""},
			{`" 1"`, ""}, {`"NaN"`, ""}, {`"0x10"`, ""}, {"true", ""}, {"[1]", ""}, {`"+1"`, ""}, {"1e-31", ""}, {`"` + strings.Repeat("1", 41) + `"`, ""},
		} {
			event := fmt.Sprintf(`{"partnerCode":"acme","webhookType":"TopupCard","data":{"id":"tp_%d","amount":%s,"cardId":"c","fee":0,"status":"Pending","createdAt":1}}`, i, tt.in)
			if tt.out == "" {
				a.want(t, 400, "POST", "/events", event, `"pointer":"/data/amount"`)
				continue
			}
			var e eventView
			a.want(t, 200, "GET", "/events/"+a.want(t, 202, "POST", "/events", event).text(t, "eventId"), nil).json(t, &e)
			if !strings.Contains(string(e.Data), `"amount":`+tt.out+",") || !strings.Contains(e.Body, `"amount":`+tt.out+",") {
				t.Errorf("%s is %s, sent as %s", tt.in, e.Data, e.Body)
			}
		}
	})
}

func TestBothSpellingsOfAnIdentityCheckAreRead(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		for i, members := range []string{
			`"status":"REJECTED","rejectReason":"R"`, `"kycStatus":"REJECTED","kycRejectReason":"R"`,
			`"status":"REJECTED","kycStatus":"REJECTED","kycRejectReason":"R"`,
		} {
			event := fmt.Sprintf(`{"partnerCode":"acme","webhookType":"ProfileApplication.Updated","data":{"accountId":"a%d","createdAt":1,%s}}`, i, members)
			var e eventView
			a.want(t, 200, "GET", "/events/"+a.want(t, 202, "POST", "/events", event).text(t, "eventId"), nil).json(t, &e)
			want := fmt.Sprintf(`{"accountId":"a%d","createdAt":1,"kycRejectReason":"R","kycStatus":"REJECTED","rejectReason":"R","status":"REJECTED"}`, i)
			if string(e.Data) != want || e.Success {
				t.Errorf("%s is %s", members, e.Data)
			}
		}
		a.want(t, 400, "POST", "/events", `{"partnerCode":"acme","webhookType":"ProfileApplication.Updated",
			"data":{"accountId":"a","createdAt":1,"status":"REJECTED","kycStatus":"VERIFIED"}}`, "/data/kycStatus")
	})
}

func TestAWholeCardNumberLeavesNoTrace(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		data := func(number string) map[string]any {
			return map[string]any{"id": "card_1", "firstName": "A", "lastName": "B", "cardNumber": number, "status": "Init", "createdAt": 1}
		}
		event := func(number string) map[string]any {
			return map[string]any{"partnerCode": "acme", "webhookType": "CreateCard", "data": data(number)}
		}
		for _, number := range []string{"4929123456789012", "4929 1234 5678 9012", "4929-1234-5678-9012", "xx492912345678xx"} {
			for _, got := range []answer{
				a.want(t, 400, "POST", "/events", event(number), "/data/cardNumber", "masked"),
				a.want(t, 200, "POST", "/events/batch", map[string]any{"events": []any{event(number)}}, "/data/cardNumber", "masked"),
			} {
				if strings.Contains(string(got.body), "4929") {
					t.Errorf("the answer repeats the number: %s", got.body)
				}
			}
		}
		asName := event("4111******1111")
		asName["data"].(map[string]any)["4929123456789012"] = 1
		if got := a.want(t, 400, "POST", "/events", asName); strings.Contains(string(got.body), "4929") {
			t.Errorf("the answer repeats the number: %s", got.body)
		}
		a.want(t, 202, "POST", "/events", event("4929********9012"))
		if log := a.log.text(); strings.Contains(log, "4929") {
			t.Errorf("the number was logged:\n%s", log)
		}
		for _, table := range []string{"events", "idempotency_keys", "objects", "audit"} {
			want := map[string]int{"events": 1, "idempotency_keys": 1, "objects": 1, "audit": 1}[table] // the masked one, and its partner's creation
			if n := a.Count(t, "SELECT COUNT(*) FROM "+table); n != want {
				t.Errorf("%d rows in %s, want %d", n, table, want)
			}
		}
	})
}

func TestEventsThatNoEndpointTakesAreMarkedFiltered(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		a.endpoint(t, "acme", map[string]any{"webhookTypes": []string{"CreateCard"}})
		id, deliveries := a.event(t, "acme", "tp_1", "Pending")
		var e eventView
		a.want(t, 200, "GET", "/events/"+id, nil).json(t, &e)
		if !e.Filtered || len(e.Deliveries) != 0 || len(deliveries) != 0 {
			t.Errorf("%+v", e)
		}
	})
}

func TestOneDeliveryForEachEndpointThatTakesTheType(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		want := []string{a.endpoint(t, "acme", nil), a.endpoint(t, "acme", map[string]any{"webhookTypes": []string{"TopupCard"}})}
		a.endpoint(t, "acme", map[string]any{"webhookTypes": []string{"CreateCard"}})
		_, deliveries := a.event(t, "acme", "tp_1", "Pending")
		var got []string
		for _, id := range deliveries {
			got = append(got, *a.delivery(t, id).EndpointID)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("endpoints (-want +got):\n%s", diff)
		}
	})
}
