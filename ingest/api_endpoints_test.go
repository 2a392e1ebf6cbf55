package ingest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ledgerhook/web"
	"ledgerhook/webhook"
)

func TestAnEndpointIsRegisteredAndChanged(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		made := a.want(t, 201, "POST", "/partners/acme/endpoints", `{"url":"https://partner.example.com/hook?a=b","description":"cards","webhookTypes":["CreateCard","TopupCard"],"maxInFlight":7}`,
			`"partnerCode":"acme"`, `"url":"https://partner.example.com/hook?a=b"`, `"webhookTypes":["CreateCard","TopupCard"]`, `"description":"cards"`,
			`"state":"active"`, `"maxInFlight":7,"window":2,"inFlight":0,"waiting":0`)
		path := "/endpoints/" + made.text(t, "endpointId")
		a.want(t, 200, "PATCH", path, `{"maxInFlight":1}`, `"maxInFlight":1,"window":1`, `"description":"cards"`)
		a.want(t, 200, "PATCH", path, `{"webhookTypes":[],"url":"https://partner.example.com:8443/"}`, `"webhookTypes":[]`, `"url":"https://partner.example.com:8443/"`)
		a.want(t, 200, "PATCH", path, `{"url":"https://partner.example.com./?name=Nguyễn"}`, `"url":"https://partner.example.com/?name=Nguy%E1%BB%85n"`)
		a.want(t, 201, "POST", "/partners/acme/endpoints", `{"url":" https://partner.example.com/?shop=My Shop "}`, `"url":"https://partner.example.com/?shop=My%20Shop"`)
		a.want(t, 200, "PATCH", path, `{"description":null,"webhookTypes":null}`, `"description":"cards"`)
		shown := strings.Replace(string(a.want(t, 200, "GET", path, nil).body), `,"advice":[]`, "", 1) // which no list has
		listed := a.want(t, 200, "GET", "/partners/acme/endpoints", nil)
		if !strings.Contains(string(listed.body), strings.TrimSpace(shown)) {
			t.Errorf("shown is %s, listed %s", shown, listed.body)
		}
		a.want(t, 201, "POST", "/partners/acme/endpoints", `{"url":"https://partner.example.com:8443/"}`, `"maxInFlight":32`) // the same URL again
		a.want(t, 204, "DELETE", path, nil)
		a.want(t, 404, "GET", path, nil)
	})
}

func TestAnEndpointIsMadeFromGoodInputOnly(t *testing.T) {
	a := one(t)
	a.partner(t, "acme")
	path := "/endpoints/" + a.endpoint(t, "acme", nil)
	for members, says := range map[string]string{
		`"webhookTypes":["Nothing"]`:                                 "/webhookTypes/0",
		`"webhookTypes":["TopupCard","TopupCard"]`:                   "/webhookTypes/1",
		`"webhookTypes":[null]`:                                      "/webhookTypes/0",
		`"webhookTypes":"TopupCard"`:                                 "/webhookTypes",
		`"maxInFlight":0`:                                            "/maxInFlight",
		`"maxInFlight":1001`:                                         "/maxInFlight",
		`"maxInFlight":-1`:                                           "/maxInFlight",
		`"maxInFlight":1.5`:                                          "/maxInFlight",
		`"maxInFlight":"7"`:                                          "/maxInFlight",
		`"maxInFlight":99999999999999999999`:                         "/maxInFlight",
		`"description":"a\u0000b"`:                                   "/description",
		`"description":7`:                                            "/description",
		`"state":"paused"`:                                           "/state",
		`"endpointId":"ep_1"`:                                        "/endpointId",
		`"rateLimit":-1`:                                             `"/rateLimit","detail":"must be 1 to 1000`,
		`"rateLimit":1001`:                                           "/rateLimit",
		`"rateLimit":0.5`:                                            "/rateLimit",
		`"rateLimit":"10"`:                                           "/rateLimit",
		`"ordered":1`:                                                "/ordered",
		`"ordered":"true"`:                                           "/ordered",
		`"ackMode":"both"`:                                           `"/ackMode","detail":"must be \"status\" or \"body\""`,
		`"ackMode":""`:                                               "/ackMode",
		`"ackMode":true`:                                             "/ackMode",
		`"timeoutSeconds":2`:                                         `"/timeoutSeconds","detail":"must be 3 to 30`,
		`"timeoutSeconds":31`:                                        "/timeoutSeconds",
		`"timeoutSeconds":-5`:                                        "/timeoutSeconds",
		`"timeoutSeconds":9.5`:                                       "/timeoutSeconds",
		`"timeoutSeconds":"9s"`:                                      "/timeoutSeconds",
		`"breaker":{"state":"closed"}`:                               "/breaker",
		`"headers":["X-A: b"]`:                                       "/headers",
		`"headers":{"X-A":["s3cret"]}`:                               "/headers/X-A",
		`"headers":{"X-A":"s3cret\u000aX-B: c"}`:                     "/headers/X-A",
		`"headers":{"X-A":"s3cret\u00e9"}`:                           "/headers/X-A",
		`"headers":{"X-A":"s3cret","x-a":"t"}`:                       "X-A once",
		`"headers":{"Content-Type":"s3cret"}`:                        "/headers/Content-Type",
		`"headers":{"host":"s3cret"}`:                                "/headers/host",
		`"headers":{"Idempotency-Key":"s3cret"}`:                     "/headers/Idempotency-Key",
		`"headers":{"x-idempotency-key":"s3cret"}`:                   "/headers/x-idempotency-key",
		`"headers":{"Webhook-Signature":"s3cret"}`:                   "/headers/Webhook-Signature",
		`"headers":{"Ledgerhook-X":"s3cret"}`:                        "/headers/Ledgerhook-X",
		`"headers":{"X A":"s3cret"}`:                                 `"/headers"`,
		`"headers":{"":"s3cret"}`:                                    `"/headers"`,
		`"headers":{` + manyHeaders(21) + `}`:                        "at most 20",
		`"headers":{"X-A":"` + strings.Repeat("s3cret", 1000) + `"}`: "/headers/X-A",
		`"headers":{"` + strings.Repeat("x", 200) + `":"s3cret"}`:    `"/headers"`,
	} {
		for _, refused := range []answer{
			a.want(t, 400, "POST", "/partners/acme/endpoints", `{"url":"https://partner.example.com/",`+members+`}`, says),
			a.want(t, 400, "PATCH", path, `{`+members+`}`, says),
		} {
			if strings.Contains(string(refused.body), "s3cret") {
				t.Errorf("a header's value comes back: %s", refused.body)
			}
		}
	}
	a.want(t, 400, "POST", "/partners/acme/endpoints", `{}`, "/url")
	a.want(t, 400, "POST", "/partners/acme/endpoints", `{"url":null}`, "/url")
	if n := a.Count(t, "SELECT COUNT(*) FROM endpoints"); n != 1 {
		t.Errorf("%d endpoints", n)
	}
	if strings.Contains(a.log.text(), "s3cret") {
		t.Error("a header's value is in the log")
	}
}

// manyHeaders are the members of n custom headers.
func manyHeaders(n int) string {
	var members []string
	for i := range n {
		members = append(members, fmt.Sprintf(`"X-%d":"s3cret"`, i))
	}
	return strings.Join(members, ",")
}

func TestAnEndpointsURLMustLeadToThePublicInternetOrAnOpenedNetwork(t *testing.T) {
	a := one(t)
	a.partner(t, "acme")
	path := "/endpoints/" + a.endpoint(t, "acme", nil)
	for url, allowed := range map[string]bool{
		"https://partner.example.com":           true,
		"https://partner.example.com:8443/x":    true,
		"https://unknown.example.com/":          true, // every attempt checks the address it dials
		"http://127.0.0.1:9000/hook":            true, // in the opened network
		"http://lab.example.com:81/":            true,
		"http://partner.example.com/":           false,
		"https://partner.example.com:444/":      false,
		"https://inside.example.com/":           false,
		"https://10.1.2.3/":                     false,
		"https://[::1]/":                        false,
		"https://[::ffff:10.0.0.1]/":            false,
		"https://93.184.216.34/":                false,
		"https://169.254.169.254/latest":        false,
		"https://localhost/":                    false,
		"https://partner/":                      false,
		"https://u:p@partner.example.com/":      false,
		"https://partner.example.com/#x":        false,
		"ftp://partner.example.com/":            false,
		"partner.example.com":                   false,
		"https://0x7f.1/":                       false,
		"https://partner.example.com/\u0000":    false,
		"":                                      false,
		"https://" + strings.Repeat("a.", 1100): false,
	} {
		want := 400
		if allowed {
			want = 201
		}
		got := a.do(t, "POST", "/partners/acme/endpoints", map[string]any{"url": url})
		if got.status != want || !allowed && !strings.Contains(string(got.body), `"pointer":"/url"`) {
			t.Errorf("%q: %d %s", url, got.status, got.body)
		}
		if patched := a.do(t, "PATCH", path, map[string]any{"url": url}); patched.status == 200 != allowed {
			t.Errorf("%q, changed to: %d %s", url, patched.status, patched.body)
		}
	}
}

func TestAPartnerHasAtMostTwentyEndpoints(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		var last string
		for range 20 {
			last = a.endpoint(t, "acme", nil)
		}
		body := `{"url":"https://partner.example.com/"}`
		a.want(t, 409, "POST", "/partners/acme/endpoints", body, "20 endpoints")
		a.want(t, 204, "DELETE", "/endpoints/"+last, nil)
		a.want(t, 201, "POST", "/partners/acme/endpoints", body)
	})
}

func TestATestGoesOutPastTheGateAndOutsideTheSequence(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		for _, types := range [][]string{nil, {"CashoutOrder.Updated"}} {
			endpoint := a.endpoint(t, "acme", map[string]any{"webhookTypes": types})
			a.want(t, 200, "POST", "/endpoints/"+endpoint+"/pause", nil)
			made := a.want(t, 202, "POST", "/endpoints/"+endpoint+"/test", nil)
			d := a.delivery(t, made.text(t, "deliveryId"))
			if d.Trigger != "test" || d.Sequence != 0 || *d.EndpointID != endpoint || d.State != "queued" {
				t.Errorf("%+v", d)
			}
			job := a.claim(t)[0]
			a.record(t, job, delivered200, delivered)
			var e eventView
			a.want(t, 200, "GET", "/events/"+made.text(t, "eventId"), nil).json(t, &e)
			if !e.Test || len(types) > 0 && e.WebhookType != types[0] || len(e.Deliveries) != 1 {
				t.Errorf("%+v", e)
			}
			a.want(t, 200, "POST", "/endpoints/"+endpoint+"/resume", nil)
			if _, ids := a.event(t, "acme", fmt.Sprint("tp_", endpoint), "Pending"); a.delivery(t, ids[0]).Sequence != 1 && types == nil {
				t.Errorf("the test took a sequence number")
			}
			a.CheckWindows(t)
		}
	})
}

func TestARemovedEndpointCancelsWhatWaits(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		endpoint := a.endpoint(t, "acme", map[string]any{"maxInFlight": 1})
		_, first := a.event(t, "acme", "tp_1", "Pending")
		_, second := a.event(t, "acme", "tp_2", "Pending")
		job := a.claim(t)[0]
		a.want(t, 204, "DELETE", "/endpoints/"+endpoint, nil)
		if d := a.delivery(t, second[0]); d.State != "cancelled" || !strings.Contains(d.Reason, "removed") {
			t.Errorf("%+v", d)
		}
		a.record(t, job, failed(503, webhook.ErrorHTTP5xx), exhausted)
		if d := a.delivery(t, first[0]); d.State != "exhausted" {
			t.Errorf("%+v", d)
		}
	})
}

// Many read a list; the endpoint by itself is shown as it was written.
func TestACardNumberInAListOfEndpointsIsMasked(t *testing.T) {
	t.Parallel()
	a := one(t)
	a.partner(t, "acme")
	path := "/endpoints/" + a.endpoint(t, "acme", map[string]any{"description": "card 4111111111111111"})
	a.want(t, 200, "POST", path+"/open-breaker", map[string]any{"reason": "it got 4111111111111111"})
	a.want(t, 200, "GET", path, nil, "card 4111111111111111", "it got 4111111111111111")
	listed := a.want(t, 200, "GET", "/partners/acme/endpoints", nil, "card ************1111", "it got ************1111")
	if strings.Contains(string(listed.body), "4111") {
		t.Errorf("a list shows a card number: %s", listed.body)
	}
}

// Whoever tests an endpoint again and again would else keep the ledger busy.
func TestATestTooManyIsRefusedAgainWithoutTheLedger(t *testing.T) {
	t.Parallel()
	w, a, endpoint, _, _, _ := wired(t)
	// What is left for an hour, so that no test comes back meanwhile.
	if ok, _ := a.limiter.Allow(t.Context(), "test:acme", web.Rate{Interval: time.Hour, Burst: 1}); !ok {
		t.Fatal("the partner was tested before")
	}
	a.want(t, 429, "POST", "/endpoints/"+endpoint+"/test", nil, "at most 10 tests a minute")
	w.Cut()
	a.want(t, 429, "POST", "/endpoints/"+endpoint+"/test", nil)
	a.want(t, 503, "GET", "/endpoints/"+endpoint, nil)
}

// testUntilRefused tests new endpoints of a partner, each as often as it may be
// at once, until a test is one too many for the partner. That is the eleventh,
// or a later one if the machine is slow: one test comes back every 6 s.
func (a *api) testUntilRefused(t *testing.T, code string) (endpoint string, refused answer) {
	t.Helper()
	const oneEvery = time.Minute / webhook.TestsPerMinute
	begun := time.Now()
	for accepted := 0; ; accepted++ {
		if accepted%webhook.MaxTests == 0 {
			endpoint = a.endpoint(t, code, nil)
		}
		got := a.do(t, "POST", "/endpoints/"+endpoint+"/test", nil)
		switch most := webhook.TestsPerMinute + int(time.Since(begun)/oneEvery); {
		case got.status == 429 && accepted >= webhook.TestsPerMinute:
			return endpoint, got
		case got.status != 202 || accepted >= most:
			t.Fatalf("test %d: %d, %s after the first: %s", accepted+1, got.status, time.Since(begun), got.body)
		}
	}
}

func TestAPartnersEndpointsAreTestedTenTimesAMinute(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		a.partner(t, "other")
		endpoint, refused := a.testUntilRefused(t, "acme")
		if wait := refused.header.Get("Retry-After"); wait == "" || wait == "0" || !strings.Contains(string(refused.body), "at most 10 tests a minute") {
			t.Errorf("refused with Retry-After %q: %s", wait, refused.body)
		}
		a.want(t, 204, "DELETE", "/endpoints/"+endpoint, nil)
		a.want(t, 404, "POST", "/endpoints/"+endpoint+"/test", nil)
		other := a.endpoint(t, "other", nil)
		for range webhook.MaxTests {
			a.want(t, 202, "POST", "/endpoints/"+other+"/test", nil)
		}
		refused = a.want(t, 429, "POST", "/endpoints/"+other+"/test", nil)
		if refused.header.Get("Retry-After") != "1" || !strings.Contains(string(refused.body), "2 tests of this endpoint are on their way") {
			t.Errorf("a third test at once: %s", refused.body)
		}
		a.CheckWindows(t)
	})
}
