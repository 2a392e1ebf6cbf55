package ingest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/webhook"
)

// finish ends a delivery that waits, by cancelling it, and returns what it is about.
func (a *api) finish(t *testing.T, id string) (reference string) {
	t.Helper()
	return a.want(t, 200, "POST", "/deliveries/"+id+"/cancel", nil).text(t, "reference")
}

// says checks the state of a delivery and what it waits for.
func (a *api) says(t *testing.T, id, want string) deliveryView {
	t.Helper()
	d := a.delivery(t, id)
	if d.String() != want {
		t.Errorf("the delivery reads %q, want %q", d, want)
	}
	return d
}

func TestHowAnEndpointIsDeliveredToIsSetAndShown(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		made := a.want(t, 201, "POST", "/partners/acme/endpoints",
			`{"url":"https://partner.example.com/","rateLimit":7,"ordered":true,"ackMode":"body","timeoutSeconds":30,"headers":{"x-api-key":"s3cret","Authorization":"Bearer s3cret","X-Gone":null}}`,
			`"rateLimit":7,"ordered":true,"ackMode":"body","timeoutSeconds":30,"headers":["Authorization","x-api-key"]`,
			`"breaker":{"state":"closed","openUntil":null},"lastSuccessAt":null,"failingSince":null`)
		path := "/endpoints/" + made.text(t, "endpointId")
		a.want(t, 200, "PATCH", path, `{"description":"x","headers":null,"rateLimit":null,"ordered":null,"ackMode":null,"timeoutSeconds":null}`,
			`"rateLimit":7,"ordered":true,"ackMode":"body","timeoutSeconds":30,"headers":["Authorization","x-api-key"]`)
		for _, rate := range []int{1, 3, 600, 997, 999, 1000} {
			a.want(t, 200, "PATCH", path, map[string]any{"rateLimit": rate}, fmt.Sprintf(`"rateLimit":%d,`, rate))
		}
		a.want(t, 200, "PATCH", path, `{"headers":{"X-Other":""},"ordered":false,"ackMode":"status","timeoutSeconds":0,"rateLimit":0}`,
			`"rateLimit":0,"ordered":false,"ackMode":"status","timeoutSeconds":15,"headers":["X-Other"]`)
		a.want(t, 200, "PATCH", path, `{"headers":{}}`, `"headers":[]`)
		a.want(t, 200, "PATCH", path, `{"headers":{`+manyHeaders(20)+`}}`)
		a.want(t, 200, "GET", "/audit", nil)
	})
}

func TestTheValuesOfCustomHeadersStaySecret(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		id := a.endpoint(t, "acme", map[string]any{"headers": map[string]string{"X-Api-Key": "s3cret-value"}})
		var sealed []byte
		if err := a.Raw.QueryRowContext(t.Context(), "SELECT headers FROM endpoints").Scan(&sealed); err != nil {
			t.Fatal(err)
		}
		headers, err := delivery.OpenHeaders(a.box, id, sealed)
		if strings.Contains(string(sealed), "s3cret") || strings.Contains(strings.ToLower(string(sealed)), "x-api-key") || err != nil || headers["X-Api-Key"] != "s3cret-value" {
			t.Errorf("kept are %q, which open to %v, %v", sealed, headers, err)
		}
		if _, err := delivery.OpenHeaders(a.box, "ep_other", sealed); err == nil {
			t.Error("the headers of one endpoint open as another's")
		}
		_, ids := a.event(t, "acme", "tp_1", "Pending")
		for _, path := range []string{"/endpoints/" + id, "/partners/acme/endpoints", "/deliveries/" + ids[0], "/audit"} {
			if got := a.want(t, 200, "GET", path, nil); strings.Contains(string(got.body), "s3cret") {
				t.Errorf("%s shows %s", path, got.body)
			}
		}
		if strings.Contains(a.log.text(), "s3cret") {
			t.Error("the log shows it")
		}
	})
}

func TestADeliverySaysWhichGateHoldsIt(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		endpoint := "/endpoints/" + a.endpoint(t, "acme", map[string]any{"rateLimit": 1})
		_, first := a.event(t, "acme", "tp_1", "Pending")
		_, second := a.event(t, "acme", "tp_2", "Pending")
		if d := a.says(t, second[0], "pending, waits for rate"); d.WaitingFor.Until == nil {
			t.Error("it is not said until when")
		}
		a.want(t, 200, "PATCH", endpoint, `{"rateLimit":0}`)
		a.says(t, second[0], "queued, waits for queue")

		a.want(t, 200, "POST", endpoint+"/open-breaker", `{"reason":"they told us"}`, `"breaker":{"state":"open","openUntil":null,"reason":"opened by hand: they told us"}`, `"state":"active"`)
		_, third := a.event(t, "acme", "tp_3", "Pending")
		if d := a.says(t, third[0], "pending, waits for breaker"); d.WaitingFor.Until != nil {
			t.Error("a breaker that was opened by hand does not close by itself")
		}
		a.want(t, 200, "POST", endpoint+"/pause", nil)
		a.says(t, third[0], "held, waits for paused")
		a.want(t, 200, "POST", endpoint+"/resume", nil, `"state":"active"`, `"breaker":{"state":"open"`) // resuming keeps the breaker
		a.says(t, third[0], "pending, waits for breaker")
		a.want(t, 200, "POST", endpoint+"/pause", nil)
		a.want(t, 200, "POST", endpoint+"/close-breaker", `{"reason":"well again"}`, `"breaker":{"state":"closed","openUntil":null}`, `"state":"paused"`) // and closing it the pause
		a.want(t, 200, "POST", endpoint+"/resume", nil)
		a.want(t, 200, "POST", endpoint+"/close-breaker", `{"reason":"once more"}`, `"state":"closed"`)
		a.want(t, 200, "GET", "/audit", nil, `"endpoint.open-breaker"`, "they told us", `"endpoint.close-breaker"`, "well again")

		until := time.Now().Add(time.Minute)
		for _, job := range a.claim(t) {
			v := delivery.Verdict{State: webhook.Delivered}
			if job.Delivery.ID == first[0] {
				v = delivery.Verdict{State: webhook.Pending, NextAt: until, AskedByReceiver: true, EndpointPause: time.Minute}
			}
			a.record(t, job, failed(503, webhook.ErrorHTTP5xx), v)
		}
		if d := a.says(t, first[0], "pending, waits for retry_after"); d.NextAttemptAt == nil || *d.NextAttemptAt != until.UTC().Format("2006-01-02T15:04:05.000Z") {
			t.Errorf("the next attempt is at %v", d.NextAttemptAt)
		}
		_, fourth := a.event(t, "acme", "tp_4", "Pending")
		a.says(t, fourth[0], "pending, waits for retry_after")
		a.CheckWindows(t)
	})
}

func TestADeliveryWaitsForItsOrderingKeyOnlyWhereOrderIsKept(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		endpoint := "/endpoints/" + a.endpoint(t, "acme", map[string]any{"ordered": true})
		_, first := a.event(t, "acme", "tp_1", "Pending")
		_, second := a.event(t, "acme", "tp_2", "Pending") // of the same card
		other := topup("acme", "tp_3", "Pending")
		other["data"].(map[string]any)["cardId"] = "card_2"
		var third struct{ DeliveryIDs []string }
		a.want(t, 202, "POST", "/events", other).json(t, &third)
		a.says(t, first[0], "queued, waits for queue")
		a.says(t, second[0], "pending, waits for order")
		a.says(t, third.DeliveryIDs[0], "queued, waits for queue")
		a.want(t, 200, "GET", endpoint, nil, `"inFlight":2,"waiting":1`)
		a.want(t, 200, "PATCH", endpoint, `{"ordered":false,"maxInFlight":3}`)
		if d := a.delivery(t, second[0]); d.WaitingFor == nil || d.WaitingFor.Reason == "order" {
			t.Errorf("no order is kept any more, and it reads %s", d)
		}
		a.CheckWindows(t)
	})
}

func TestABreakerIsMovedForAReasonOnly(t *testing.T) {
	a := one(t)
	a.partner(t, "acme")
	endpoint := "/endpoints/" + a.endpoint(t, "acme", nil)
	for _, verb := range []string{"/open-breaker", "/close-breaker"} {
		for body, says := range map[string]string{
			`{}`: `"/reason","detail":"is required`, `{"reason":""}`: "/reason", `{"reason":null}`: "/reason", `{"reason":" \t "}`: "/reason", `{"reason":"  "}`: `"/reason","detail":"is required`, `{"reason":7}`: "/reason",
			`{"reason":"a\u0000"}`: "/reason", `{"reason":"` + strings.Repeat("x", 201) + `"}`: "at most 200", `{"why":"x"}`: "/why", `[]`: "object",
		} {
			a.want(t, 400, "POST", endpoint+verb, body, says)
		}
	}
	a.want(t, 200, "GET", endpoint, nil, `"breaker":{"state":"closed","openUntil":null}`)
}

func TestAnEndpointThatDisabledItselfSaysWhyAndIsResumed(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		endpoint := "/endpoints/" + a.endpoint(t, "acme", nil)
		again := func() delivery.Verdict {
			return delivery.Verdict{State: webhook.Pending, NextAt: time.Now().Add(time.Hour)}
		}
		_, first := a.event(t, "acme", "tp_1", "Pending")
		a.event(t, "acme", "tp_2", "Pending")
		jobs := a.claim(t)
		for _, job := range jobs {
			gone := failed(410, webhook.ErrorHTTP4xx)
			gone.StartedAt = time.Now()
			a.record(t, job, gone, again())
		}
		a.says(t, first[0], "held, waits for disabled")
		a.want(t, 200, "GET", endpoint, nil, `"state":"disabled","stateReason":"the endpoint answered 410 Gone twice in a row"`, `"advice":["answers 410 Gone`)
		a.want(t, 200, "POST", "/partners/acme/disable", nil)
		a.want(t, 200, "POST", "/partners/acme/enable", nil)
		a.says(t, first[0], "held, waits for disabled") // enabling the partner does not enable it
		a.want(t, 200, "GET", "/audit", nil, `"actor":"ledgerhook","action":"endpoint.disable"`)

		got := a.want(t, 200, "POST", endpoint+"/resume", nil, `"state":"active"`, `"failingSince":null`)
		if strings.Contains(string(got.body), "stateReason") {
			t.Errorf("it says %s", got.body)
		}
		a.says(t, first[0], "pending, waits for retry")
		a.want(t, 200, "POST", "/deliveries/"+first[0]+"/retry", nil)
		a.record(t, a.claim(t)[0], failed(410, webhook.ErrorHTTP4xx), again())
		a.want(t, 200, "GET", endpoint, nil, `"state":"active"`) // it takes two in a row again
	})
}

func TestTheSequenceTellsWhatEachNumberWas(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		endpoint := a.endpoint(t, "acme", nil)
		path := "/endpoints/" + endpoint + "/sequence"
		a.want(t, 200, "GET", path, nil, `{"items":[],"nextCursor":null}`)
		var want []string
		for i := range 4 {
			_, ids := a.event(t, "acme", fmt.Sprint("tp_", i), "Pending")
			want = append(want, ids...)
			if i == 1 {
				a.want(t, 202, "POST", "/endpoints/"+endpoint+"/test", nil)
			}
		}
		for _, job := range a.claim(t) {
			a.record(t, job, delivered200, delivered)
		}
		a.want(t, 202, "POST", "/deliveries/"+want[0]+"/retry", nil) // repeats number 1
		for query, numbers := range map[string][]string{
			"": want, "?from=1&to=1000": want, "?from=2": want[1:], "?to=2": want[:2], "?from=2&to=3": want[1:3], "?from=3&to=3": want[2:3], "?from=5": nil,
			"?from=9223372036854774807": nil, "?from=&to=": want,
		} {
			if got, _ := a.page(t, path+query, "deliveryId"); fmt.Sprint(got) != fmt.Sprint(numbers) {
				t.Errorf("%s: %v, want %v", query, got, numbers)
			}
		}
		for query, says := range map[string]string{
			"from=0": `"parameter":"from"`, "from=-1": "from", "from=x": "from", "from=1.5": "from", "from=9223372036854775807": "from", "from=99999999999999999999": "from",
			"to=0": `"parameter":"to"`, "to=1001": "less than from + 1000", "from=5&to=4": "at least from", "from=2&to=1002": "to",
			"limit=5": "limit", "cursor=x": "cursor", "from=1&from=2": "from",
		} {
			a.want(t, 400, "GET", path+"?"+query, nil, says)
		}
	})
}
