package ingest_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/webhook"
)

var (
	delivered200 = webhook.Attempt{StartedAt: time.Unix(1700000000, 0), Outcome: webhook.OutcomeDelivered, StatusCode: 200}
	delivered    = delivery.Verdict{State: webhook.Delivered}
	exhausted    = delivery.Verdict{State: webhook.Exhausted, Reason: "the schedule is at its end"}
)

func failed(status int, class webhook.ErrorClass) webhook.Attempt {
	return webhook.Attempt{StartedAt: time.Unix(1700000000, 0), Outcome: webhook.OutcomeFailed, StatusCode: status, ErrorClass: class}
}

func TestADeliverySaysWhatItIsWaitingFor(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		_, ids := a.event(t, "acme", "tp_0", "Pending")
		says := func(id, want string) {
			t.Helper()
			if got := a.delivery(t, id).String(); got != want {
				t.Errorf("the delivery reads %q, want %q", got, want)
			}
		}
		says(ids[0], "held, waits for no_endpoint")

		endpoint := a.endpoint(t, "acme", map[string]any{"maxInFlight": 1, "headers": map[string]string{"X-Token": "secret"}}) // takes over
		a.want(t, 200, "GET", "/endpoints/"+endpoint, nil, `"headers":["X-Token"]`)                                            // sealed for the id that it took over
		says(ids[0], "queued, waits for queue")
		_, second := a.event(t, "acme", "tp_1", "Pending")
		says(second[0], "pending, waits for slot")

		job := a.claim(t)[0]
		says(ids[0], "sending, waits for nothing")
		due := time.Now().Add(time.Hour)
		a.record(t, job, failed(503, webhook.ErrorHTTP5xx), delivery.Verdict{State: webhook.Pending, NextAt: due, Reason: "again"})
		says(ids[0], "pending, waits for retry")
		d := a.delivery(t, ids[0])
		if want := due.UTC().Format("2006-01-02T15:04:05.000Z"); d.NextAttemptAt == nil || *d.NextAttemptAt != want || *d.WaitingFor.Until != want {
			t.Errorf("the next attempt is at %v, want %s", d.NextAttemptAt, want)
		}
		says(second[0], "queued, waits for queue")

		a.want(t, 200, "POST", "/endpoints/"+endpoint+"/pause", nil, `"state":"paused"`)
		says(ids[0], "held, waits for paused")
		a.want(t, 200, "POST", "/partners/acme/disable", nil, `"state":"disabled"`)
		says(ids[0], "held, waits for disabled")
		a.want(t, 200, "GET", "/endpoints/"+endpoint, nil, `"state":"disabled"`)
		a.want(t, 200, "POST", "/partners/acme/enable", nil, `"state":"active"`)
		says(ids[0], "held, waits for paused") // enabling the partner keeps the pause
		a.want(t, 200, "POST", "/endpoints/"+endpoint+"/resume", nil, `"state":"active"`)
		says(ids[0], "pending, waits for retry")

		a.record(t, a.claim(t)[0], delivered200, delivered)
		says(second[0], "delivered, waits for nothing")
	})
}

func TestWhatIsHeldByAPauseIsShownAndLeavesInOrder(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		endpoint := a.endpoint(t, "acme", map[string]any{"maxInFlight": 1})
		a.want(t, 200, "POST", "/endpoints/"+endpoint+"/pause", nil)
		a.want(t, 200, "POST", "/endpoints/"+endpoint+"/pause", nil) // twice is once
		var sent, left []string
		for i := range 5 {
			_, ids := a.event(t, "acme", fmt.Sprint("tp_", i), "Pending")
			sent = append(sent, ids...)
		}
		held, _ := a.page(t, "/deliveries?state=held", "deliveryId")
		if len(held) != 5 || len(a.Tickets()) != 0 {
			t.Fatalf("held are %v", held)
		}
		a.want(t, 200, "GET", "/endpoints/"+endpoint, nil, `"waiting":5`)
		a.want(t, 200, "POST", "/endpoints/"+endpoint+"/resume", nil)
		for range sent {
			job := a.claim(t)[0]
			left = append(left, job.Delivery.ID)
			a.record(t, job, delivered200, delivered)
		}
		if fmt.Sprint(left) != fmt.Sprint(sent) {
			t.Errorf("left in order\n%v, came in order\n%v", left, sent)
		}
	})
}

func TestAnAttemptIsShownWhole(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		a.endpoint(t, "acme", nil)
		_, ids := a.event(t, "acme", "tp_1", "Pending")
		full := failed(500, webhook.ErrorHTTP5xx)
		full.Phases = webhook.Phases{DNS: time.Millisecond, Connect: 2 * time.Millisecond, TLS: 3 * time.Millisecond, FirstByte: 4 * time.Millisecond, Total: 10 * time.Millisecond}
		full.PeerIP, full.TLSVersion, full.TLSNotAfter = "93.184.216.34", "TLS 1.3", time.Unix(1800000000, 0)
		full.Certificate = bytes.Repeat([]byte{0xab}, 32)
		full.RequestHeaders, full.ResponseHeaders = map[string][]string{"Webhook-Id": {"evt_1"}}, map[string][]string{"Server": {"x", "y"}}
		full.ErrorDetail, full.ResponseBody, full.Truncated = "the answer was 500", []byte("\xffno\x00 text"), true
		full.KeyID, full.Worker = "key_1", "wrk_1"
		a.record(t, a.claim(t)[0], full, exhausted)
		a.want(t, 200, "GET", "/deliveries/"+ids[0], nil,
			`"state":"exhausted"`, `"reason":"the schedule is at its end"`, `"attemptCount":1`, `"lastStatusCode":500`, `"lastErrorClass":"http_5xx"`,
			`"number":1,"trigger":"first","startedAt":"2023-11-14T22:13:20.000Z","durationMs":10,`,
			`"phases":{"dnsMs":1,"connectMs":2,"tlsMs":3,"firstByteMs":4,"totalMs":10},"peerIp":"93.184.216.34"`,
			`"tls":{"version":"TLS 1.3","certificateNotAfter":"2027-01-15T08:00:00.000Z","certificateSha256":"`+strings.Repeat("ab", 32)+`"}`,
			`"requestHeaders":{"Webhook-Id":["evt_1"]},"responseHeaders":{"Server":["x","y"]}`,
			`"errorDetail":"the answer was 500"`, `"responseBody":null,"responseBodyBase64":"/25vACB0ZXh0","truncated":true,"isUtf8":false`,
			`"nextAttemptAt":null,"nextAttemptReason":"the schedule is at its end"`)

		_, ids = a.event(t, "acme", "tp_2", "Pending")
		short := delivered200
		short.ResponseBody = []byte("<ok>")
		a.record(t, a.claim(t)[0], short, delivered)
		a.want(t, 200, "GET", "/deliveries/"+ids[0], nil, `"responseBody":"<ok>","responseBodyBase64":"PG9rPg==","truncated":false,"isUtf8":true`,
			`"tls":null`, `"peerIp":null`, `"errorClass":null`)
	})
}

func TestRetryOfAnUnfinishedDeliveryMakesItDue(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		a.endpoint(t, "acme", nil)
		_, ids := a.event(t, "acme", "tp_1", "Pending")
		a.record(t, a.claim(t)[0], failed(0, webhook.ErrorConnect), delivery.Verdict{State: webhook.Pending, NextAt: time.Now().Add(time.Hour)})
		a.want(t, 200, "POST", "/deliveries/"+ids[0]+"/retry", nil, ids[0])
		job := a.claim(t)[0]
		if job.Delivery.ID != ids[0] || job.Trigger != webhook.TriggerManual || job.Delivery.Attempts != 2 {
			t.Errorf("claimed %+v", job)
		}
		a.want(t, 200, "POST", "/deliveries/"+ids[0]+"/retry", nil, ids[0]) // sending: nothing to do
	})
}

func TestRetryOfAFinishedDeliveryMakesANewOne(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		endpoint := a.endpoint(t, "acme", nil)
		event, ids := a.event(t, "acme", "tp_1", "Pending")
		a.record(t, a.claim(t)[0], delivered200, delivered)
		newID := a.want(t, 202, "POST", "/deliveries/"+ids[0]+"/retry", nil).text(t, "deliveryId")
		first, again := a.delivery(t, ids[0]), a.delivery(t, newID)
		if first.State != "delivered" || again.EventID != event || *again.ReplayOf != ids[0] || again.Trigger != "manual" || again.Sequence != first.Sequence {
			t.Errorf("again is %+v", again)
		}
		if job := a.claim(t)[0]; job.Delivery.ID != newID || job.Event.ID != event {
			t.Errorf("claimed %+v", job)
		}
		a.want(t, 204, "DELETE", "/endpoints/"+endpoint, nil)
		a.want(t, 409, "POST", "/deliveries/"+ids[0]+"/retry", nil, "removed")
	})
}

func TestATestIsNotRetried(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		test := a.want(t, 202, "POST", "/endpoints/"+a.endpoint(t, "acme", nil)+"/test", nil).text(t, "deliveryId")
		a.record(t, a.claim(t)[0], failed(500, webhook.ErrorHTTP5xx), exhausted)
		a.want(t, 409, "POST", "/deliveries/"+test+"/retry", nil, "a test is sent once")
	})
}

func TestOnlyWhatIsNotBeingSentCanBeCancelled(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		_, unrouted := a.event(t, "acme", "tp_0", "Completed")
		a.want(t, 200, "POST", "/deliveries/"+unrouted[0]+"/cancel", nil, `"state":"cancelled"`, `"endpointId":null`)
		a.want(t, 409, "POST", "/deliveries/"+unrouted[0]+"/retry", nil, "never had an endpoint")

		a.endpoint(t, "acme", map[string]any{"maxInFlight": 1})
		_, sending := a.event(t, "acme", "tp_1", "Pending")
		_, waiting := a.event(t, "acme", "tp_2", "Pending")
		job := a.claim(t)[0]
		a.want(t, 409, "POST", "/deliveries/"+sending[0]+"/cancel", nil, "being sent")
		a.want(t, 200, "POST", "/deliveries/"+waiting[0]+"/cancel", nil, `"state":"cancelled"`, "operator", `"waitingFor":null`)
		a.want(t, 409, "POST", "/deliveries/"+waiting[0]+"/cancel", nil, "already ended")
		a.record(t, job, delivered200, delivered)
		a.want(t, 409, "POST", "/deliveries/"+sending[0]+"/cancel", nil, "delivered")
		a.CheckWindows(t)
	})
}

func TestWhatDoesNotExistIsNotFound(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		secret := "/partners/acme/secrets/"
		for _, id := range []string{"x", "dlv_01JD0000000000000000000000", "%00", "a%01b", "%ff", "a%2Fb", strings.Repeat("x", 2000), "é", "' OR 1=1", "acme%0a"} {
			id = strings.ReplaceAll(id, " ", "%20")
			for _, route := range []string{
				"GET /events/" + id, "GET /deliveries/" + id, "POST /deliveries/" + id + "/retry", "POST /deliveries/" + id + "/cancel",
				"GET /partners/" + id, "POST /partners/" + id + "/disable", "POST /partners/" + id + "/enable",
				"POST /partners/" + id + "/secrets", "GET /partners/" + id + "/secrets", "GET /partners/" + id + "/endpoints",
				"POST " + secret + id + "/activate", "POST " + secret + id + "/revoke",
				"GET /endpoints/" + id, "DELETE /endpoints/" + id, "POST /endpoints/" + id + "/test", "POST /endpoints/" + id + "/pause",
				"POST /endpoints/" + id + "/resume", "GET /endpoints/" + id + "/sequence",
				"GET /replays/" + id, "POST /replays/" + id + "/pause", "POST /replays/" + id + "/resume", "POST /replays/" + id + "/cancel",
			} {
				method, path, _ := strings.Cut(route, " ")
				a.want(t, 404, method, path, nil)
			}
			a.want(t, 404, "PATCH", "/partners/"+id, `{"name":"x"}`)
			a.want(t, 404, "POST", "/partners/"+id+"/rotate-key", map[string]any{"publicKey": string(keys()[1].PublicPEM())})
			a.want(t, 404, "POST", "/partners/"+id+"/endpoints", `{"url":"https://partner.example.com/"}`)
			a.want(t, 404, "PATCH", "/endpoints/"+id, `{"description":"x"}`)
			a.want(t, 404, "POST", "/endpoints/"+id+"/open-breaker", `{"reason":"x"}`)
			a.want(t, 404, "POST", "/endpoints/"+id+"/close-breaker", `{"reason":"x"}`)
		}
	})
}
