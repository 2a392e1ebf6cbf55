package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	partnersDoc = `{"items":[
		{"partnerCode":"acme","name":"Acme Pay","state":"active","createdAt":"2026-01-02T03:04:05Z","settings":{"signatures":["rsa","standard"]}},
		{"partnerCode":"globex","name":"","state":"disabled","createdAt":"2026-02-03T04:05:06Z","settings":{}}],"nextCursor":"c2"}`
	endpointsDoc = `{"items":[{"endpointId":"ep_1","partnerCode":"acme","url":"https://acme.example/hook","webhookTypes":[],"description":"","state":"active","maxInFlight":32,"createdAt":"2026-01-02T03:04:05Z"},
		{"endpointId":"ep_2","partnerCode":"acme","url":"https://acme.example/cards","webhookTypes":["CreateCard","TopupCard"],"state":"paused","maxInFlight":4,"inFlight":3,"waiting":1200,"createdAt":"2026-01-02T03:04:05Z"},
		{"endpointId":"ep_3","partnerCode":"acme","url":"https://acme.example/dead","webhookTypes":[],"state":"active","maxInFlight":32,"waiting":7,"breaker":{"state":"half_open","openUntil":null,"reason":"the probe failed"},"createdAt":"2026-01-02T03:04:05Z"}],"nextCursor":""}`
	secretsDoc = `{"items":[{"secretId":"sec_1","state":"retiring","createdAt":"2026-01-02T03:04:05Z","activatedAt":"2026-01-02T03:04:05Z","retiresAt":"2026-03-04T05:06:07Z","revokedAt":null},
		{"secretId":"sec_2","state":"active","createdAt":"2026-03-03T05:06:07Z","activatedAt":"2026-03-03T05:06:07Z","retiresAt":null,"revokedAt":null}],"nextCursor":""}`
	deliveriesDoc = `{"items":[
		{"deliveryId":"dlv_3","eventId":"evt_3","endpointId":"ep_1","partnerCode":"acme","webhookType":"CardTransaction","state":"pending","attemptCount":2,"createdAt":"2026-01-02T03:04:07Z","nextAttemptAt":"2026-01-02T04:00:00Z","waitingFor":{"reason":"retry","until":"2026-01-02T04:00:00Z"},"lastStatusCode":503,"lastErrorClass":"http_5xx"},
		{"deliveryId":"dlv_2","eventId":"evt_2","endpointId":"","partnerCode":"acme","webhookType":"ProfileApplication.Updated","state":"held","attemptCount":0,"createdAt":"2026-01-02T03:04:06Z","nextAttemptAt":null,"waitingFor":{"reason":"no_endpoint","until":null}},
		{"deliveryId":"dlv_1","eventId":"evt_1","endpointId":"ep_1","partnerCode":"acme","webhookType":"TopupCard","state":"delivered","attemptCount":1,"createdAt":"2026-01-02T03:04:05Z","nextAttemptAt":null,"waitingFor":null,"lastStatusCode":200,"lastErrorClass":""}],"nextCursor":""}`
	ratesDoc = `{"items":[{"crypto":"BTC","network":"BITCOIN","price":1500000000,"walletAddress":"","updatedAt":"2026-01-02T03:04:05Z"},
		{"crypto":"USDT","network":"TRC20","price":25450.5,"walletAddress":"TWallet1","updatedAt":"2026-03-04T05:06:07Z"}],"nextCursor":""}`
	tokensDoc = `{"items":[{"tokenId":"tok_1","name":"billing","prefix":"lht_aaaaaa","scopes":["ingest","read"],"state":"active","createdBy":"api","createdAt":"2026-01-02T03:04:05Z","expiresAt":"2027-01-02T03:04:05Z","lastUsedAt":null,"revokedAt":null},
		{"tokenId":"tok_2","name":"old","prefix":"lht_bbbbbb","scopes":["administer"],"state":"expired","createdBy":"token:billing","createdAt":"2026-01-02T03:04:05Z","expiresAt":"2026-03-02T03:04:05Z","lastUsedAt":"2026-02-02T03:04:05Z","revokedAt":null}],"nextCursor":""}`
	keyDoc      = `{"keyId":"key_2","state":"pending","publicKey":"-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----\n","createdAt":"2026-03-04T05:06:07Z","activatesAt":"2026-03-05T05:06:07Z","retiresAt":null}`
	keysDoc     = `{"items":[{"keyId":"key_1","state":"active","publicKey":"","createdAt":"2026-01-02T03:04:05Z","activatesAt":"2026-01-02T03:04:05Z","retiresAt":"2026-04-06T05:06:07Z"},` + keyDoc + `],"nextCursor":""}`
	deliveryDoc = `{"deliveryId":"dlv_3","eventId":"evt_3","endpointId":"ep_1","partnerCode":"acme","webhookType":"CardTransaction","reference":"tx_1","sequence":7,"state":"pending","attemptCount":2,"createdAt":"2026-01-02T03:04:07Z","waitingFor":{"reason":"retry","until":"2026-01-02T04:00:00Z"},
		"attempts":[{"number":1,"trigger":"first","startedAt":"2026-01-02T03:04:07Z","durationMs":12.4,"peerIp":"203.0.113.5","outcome":"failed","statusCode":0,"errorClass":"timeout","errorDetail":"no answer within 10s","nextAttemptAt":"2026-01-02T03:04:12Z","nextAttemptReason":"schedule"},
		{"number":2,"trigger":"retry","startedAt":"2026-01-02T03:04:12Z","durationMs":30,"peerIp":"203.0.113.5","outcome":"failed","statusCode":503,"errorClass":"http_5xx","errorDetail":"","responseHeaders":{"Content-Type":["text/plain"],"Retry-After":["3600"]},"responseBody":"down for\nmaintenance \u001b[2J","truncated":true,"nextAttemptAt":"2026-01-02T04:00:00Z","nextAttemptReason":"Retry-After"}]}`
)

func TestListsAndShowsReadAsTables(t *testing.T) {
	s := newServer(t, map[string][]string{
		"GET /internal/v1/partners":                {"200 " + partnersDoc},
		"GET /internal/v1/partners/acme":           {`200 {"partnerCode":"acme","name":"Acme Pay","state":"active","createdAt":"2026-01-02T03:04:05Z","settings":{"signatures":["rsa"]}}`},
		"GET /internal/v1/partners/acme/endpoints": {"200 " + endpointsDoc},
		"GET /internal/v1/partners/acme/secrets":   {"200 " + secretsDoc},
		"GET /internal/v1/deliveries":              {"200 " + deliveriesDoc},
		"GET /internal/v1/deliveries/dlv_3":        {"200 " + deliveryDoc},
		"GET /internal/v1/rates":                   {"200 " + ratesDoc},
		"GET /internal/v1/tokens":                  {"200 " + tokensDoc},
		"GET /internal/v1/keys":                    {"200 " + keysDoc},
		"POST /internal/v1/keys/rotate":            {"201 " + keyDoc},
		"PUT /internal/v1/rates/USDT":              {`200 {"crypto":"USDT","network":"TRC20","price":25450.5,"walletAddress":"TWallet1","updatedAt":"2026-03-04T05:06:07Z"}`},
	})
	for name, args := range map[string]string{
		"partner-list": "partner list", "partner-show": "partner show acme", "endpoint-list": "endpoint list acme",
		"secret-list": "secret list acme", "token-list": "token list", "deliveries-list": "deliveries list", "deliveries-show": "deliveries show dlv_3",
		"rate-list": "rate list", "keys-list": "keys list", "keys-rotate": "keys rotate", "rate-set": "rate set USDT --price 25450.5 --network TRC20 --wallet TWallet1",
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, s.env(), "", strings.Fields(args)...)
			got.has(t, exitOK, "")
			golden(t, name, "stdout:\n"+got.out+"stderr:\n"+got.errors)
			raw := run(t, s.env(), "", strings.Fields(args+" --json")...)
			raw.has(t, exitOK, "")
			s.mu.Lock()
			path := strings.SplitN(s.asked[len(s.asked)-1].line, "?", 2)[0]
			_, want, _ := strings.Cut(s.answers[path][0]+"\n", " ")
			s.mu.Unlock()
			if raw.out != want {
				t.Errorf("--json is not what the server said:\n%s", cmp.Diff(want, raw.out))
			}
		})
	}
}

func TestFiltersBecomeTheListsParameters(t *testing.T) {
	s := newServer(t, map[string][]string{"GET /internal/v1/deliveries": {"200 " + deliveriesDoc}})
	run(t, s.env(), "", strings.Fields("deliveries list --partner acme --state held --type TopupCard --code 503 --since 2026-01-02T10:00:00+07:00 --limit 7 --cursor c1")...).
		has(t, exitOK, "")
	want := "GET /internal/v1/deliveries?cursor=c1&limit=7&partnerCode=acme&since=2026-01-02T03%3A00%3A00Z&state=held&statusCode=503&webhookType=TopupCard"
	if got := s.last(t).line; got != want {
		t.Errorf("asked %s\nwant  %s", got, want)
	}
}

func TestSinceReadsAMomentAsPeopleSayIt(t *testing.T) {
	hanoi := time.FixedZone("", 7*3600)
	now := time.Date(2026, 5, 6, 15, 30, 0, 0, hanoi)
	for text, want := range map[string]time.Time{
		"2h":                        now.Add(-2 * time.Hour),
		"90m30s":                    now.Add(-90*time.Minute - 30*time.Second),
		"14:00":                     time.Date(2026, 5, 6, 14, 0, 0, 0, hanoi),
		"2026-05-01":                time.Date(2026, 5, 1, 0, 0, 0, 0, hanoi),
		"2026-05-06T01:02:03Z":      time.Date(2026, 5, 6, 1, 2, 3, 0, time.UTC),
		"2026-05-06T01:02:03+07:00": time.Date(2026, 5, 6, 1, 2, 3, 0, hanoi),
	} {
		if got, err := parseMoment("--since", text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s is %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "yesterday", "-2h", "25:00", "14:00:00", "2026-13-01"} {
		if got, err := parseMoment("--since", text, now); err == nil {
			t.Errorf("%q is %v, want an error", text, got)
		}
	}
}

func TestRequestsSayWhatTheCommandLineSaid(t *testing.T) {
	s := newServer(t, map[string][]string{
		"POST /internal/v1/partners":                           {`201 {"partnerCode":"acme","secretKey":"sk","webhookSecretKey":"whsec_x","publicKey":"PEM\n"}`},
		"POST /internal/v1/partners/acme/rotate-key":           {`200 {}`},
		"POST /internal/v1/partners/acme/disable":              {`200 {}`},
		"POST /internal/v1/partners/acme/endpoints":            {`201 {"endpointId":"ep_1","url":"https://a.example/h","webhookTypes":["TopupCard"]}`},
		"DELETE /internal/v1/endpoints/ep_1":                   {`204 `},
		"POST /internal/v1/partners/acme/secrets":              {`201 {"secretId":"sec_1","webhookSecretKey":"whsec_y","state":"pending"}`},
		"POST /internal/v1/partners/acme/secrets/sec_1/revoke": {`200 {}`},
		"POST /internal/v1/events":                             {`202 {"eventId":"evt_1","deliveryIds":["dlv_1","dlv_2"],"duplicate":false}`, `200 {"eventId":"evt_1","deliveryIds":[],"duplicate":true}`},
	})
	key := writeFile(t, t.TempDir(), "key.pem", "THE KEY")
	for _, test := range []struct {
		args, stdin, line, body, out, says string
	}{
		{"partner create acme --public-key " + key, "", "POST /internal/v1/partners",
			`{"partnerCode":"acme","name":"acme","publicKey":"THE KEY"}`,
			"partner code    acme\nsecret key      sk\nwebhook secret  whsec_x\n\nPEM\n", "keep both secrets now"},
		{"partner rotate-key acme --public-key " + key, "", "POST /internal/v1/partners/acme/rotate-key", `{"publicKey":"THE KEY"}`, "", "verifies for 24 h more"},
		{"partner disable acme", "", "POST /internal/v1/partners/acme/disable", "", "", "partner acme is disabled"},
		{"endpoint add acme --url https://a.example/h --types TopupCard", "", "POST /internal/v1/partners/acme/endpoints",
			`{"url":"https://a.example/h","webhookTypes":["TopupCard"]}`,
			"endpoint  ep_1\nurl       https://a.example/h\ntypes     TopupCard\n", "ledgerhook endpoint test ep_1"},
		{"endpoint remove ep_1", "", "DELETE /internal/v1/endpoints/ep_1", "", "", "is removed"},
		{"secret create acme", "", "POST /internal/v1/partners/acme/secrets", `{}`,
			"secret id       sec_1\nwebhook secret  whsec_y\nstate           pending\n", "ledgerhook secret activate acme sec_1"},
		{"secret revoke acme sec_1", "", "POST /internal/v1/partners/acme/secrets/sec_1/revoke", "", "", "is revoked"},
		{"send acme --type TopupCard --data - --key k1", `{"amount": 1.50}`, "POST /internal/v1/events",
			`{"partnerCode":"acme","webhookType":"TopupCard","data":{"amount":1.50},"idempotencyKey":"k1"}`,
			"event     evt_1\ndelivery  dlv_1\ndelivery  dlv_2\n", "accepted"},
		{"send acme --type TopupCard --data - --json", "\uFEFF{}", "POST /internal/v1/events",
			`{"partnerCode":"acme","webhookType":"TopupCard","data":{}}`,
			`{"eventId":"evt_1","deliveryIds":[],"duplicate":true}` + "\n", "already known"},
	} {
		got := run(t, s.env(), test.stdin, strings.Fields(test.args)...)
		got.has(t, exitOK, test.says)
		if got.out != test.out {
			t.Errorf("%s: printed\n%s", test.args, cmp.Diff(test.out, got.out))
		}
		asked := s.last(t)
		if asked.line != test.line || asked.body != test.body {
			t.Errorf("%s: asked %s %s", test.args, asked.line, asked.body)
		}
	}
	run(t, s.env(), "{", "send", "acme", "--type", "TopupCard", "--data", "-").has(t, exitFailed, "standard input is not JSON")
	run(t, s.env(), "\n", "send", "acme", "--type", "TopupCard", "--data", "-").has(t, exitFailed, "standard input is empty: want a JSON object")
	run(t, s.env(), "", "partner", "create", "acme", "--public-key", "none").has(t, exitFailed, "read --public-key")
}

func TestATestOfAnEndpointTellsHowItWent(t *testing.T) {
	t.Parallel()
	attempt := func(state, outcome, class string, status int) string {
		doc, _ := json.Marshal(map[string]any{"deliveryId": "dlv_1", "state": state, "attempts": []any{
			map[string]any{"number": 1, "outcome": outcome, "statusCode": status, "errorClass": class, "durationMs": 34}}})
		return "200 " + string(doc)
	}
	for _, test := range []struct {
		name    string
		answers []string
		code    int
		out     string
		says    string
	}{
		{"answered, after some waiting", []string{`200 {"state":"queued"}`, `200 {"state":"sending","attempts":[]}`, attempt("delivered", "delivered", "", 204)},
			exitOK, "✓ the endpoint answered 204 after 34 ms\n", ""},
		{"failed, and will be tried again", []string{attempt("pending", "failed", "http_5xx", 503)},
			exitFailed, "", "the endpoint failed the test after 34 ms: 503; the whole exchange: ledgerhook deliveries show dlv_1"},
		{"not reached", []string{attempt("exhausted", "failed", "connect", 0)}, exitFailed, "", "34 ms: connect;"},
		{"removed meanwhile", []string{`200 {"deliveryId":"dlv_1","state":"cancelled","attempts":[]}`}, exitFailed, "", "ended cancelled without an attempt"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(t, map[string][]string{
				"POST /internal/v1/endpoints/ep_1/test": {`202 {"eventId":"evt_1","deliveryId":"dlv_1"}`},
				"GET /internal/v1/deliveries/dlv_1":     test.answers,
			})
			got := run(t, s.env(), "", "endpoint", "test", "ep_1")
			got.has(t, test.code, test.says)
			if got.out != test.out {
				t.Errorf("printed %q", got.out)
			}
		})
	}
}

func TestSeveralRetriesGoOnWhenOneIsRefused(t *testing.T) {
	s := newServer(t, map[string][]string{
		"POST /internal/v1/deliveries/dlv_1/retry":  {`200 {"deliveryId":"dlv_1"}`},
		"POST /internal/v1/deliveries/dlv_2/retry":  {`202 {"deliveryId":"dlv_9"}`},
		"POST /internal/v1/deliveries/dlv_3/retry":  problemAnswer(409, "the delivery is being sent"),
		"POST /internal/v1/deliveries/dlv_1/cancel": {`204 `},
	})
	got := run(t, s.env(), "", "deliveries", "retry", "dlv_3", "dlv_1", "dlv_2")
	got.has(t, exitSomeFailed, "1 of 3 were refused")
	for _, says := range []string{"dlv_3: the delivery is being sent", "dlv_1 is due now", "dlv_2 goes out again as dlv_9"} {
		got.has(t, exitSomeFailed, says)
	}
	if got.out != "dlv_1\ndlv_9\n" {
		t.Errorf("printed %q, want the ids of what goes out", got.out)
	}
	if got := run(t, s.env(), "", "deliveries", "retry", "dlv_2", "dlv_1", "--json"); got.out != `{"deliveryId":"dlv_9"}`+"\n"+`{"deliveryId":"dlv_1"}`+"\n" {
		t.Errorf("--json is %s", got.out)
	}
	run(t, s.env(), "", "deliveries", "retry", "dlv_3").has(t, exitChanged, "ledgerhook: the delivery is being sent")
	run(t, s.env(), "", "deliveries", "retry", "dlv_3", "dlv_3").has(t, exitFailed, "all 2 were refused")
	run(t, s.env(), "", "deliveries", "cancel", "dlv_1").has(t, exitOK, "dlv_1 is cancelled")
	run(t, s.env(), "", "deliveries", "cancel", "dlv_4").has(t, exitNotFound, "")
}

func TestARetryAndAResumeSayWhatStillHoldsADelivery(t *testing.T) {
	const (
		paused  = `"state":"pending","waitingFor":{"reason":"paused","until":null}`
		breaker = `"state":"pending","waitingFor":{"reason":"breaker","until":"2026-01-02T04:00:00Z"}`
	)
	for _, test := range []struct{ args, post, answer, delivery, says string }{
		{"deliveries retry dlv_1", "deliveries/dlv_1/retry", `200 {"deliveryId":"dlv_1"}`, paused, "dlv_1 is due now, but waits for its endpoint to be resumed\n"},
		{"deliveries retry dlv_0", "deliveries/dlv_0/retry", `202 {"deliveryId":"dlv_1"}`, paused, "dlv_0 goes out again as dlv_1, which waits for its endpoint to be resumed\n"},
		{"deliveries retry dlv_1", "deliveries/dlv_1/retry", `200 {"deliveryId":"dlv_1"}`, breaker, "dlv_1 is due now, but waits for its endpoint's breaker at 2026-01-02 04:00:00\n"},
		{"deliveries retry dlv_1", "deliveries/dlv_1/retry", `200 {"deliveryId":"dlv_1"}`, `"state":"queued","waitingFor":{"reason":"queue","until":null}`, "dlv_1 is due now\n"},
		{"deliveries retry dlv_0", "deliveries/dlv_0/retry", `202 {"deliveryId":"dlv_1"}`, `"state":"delivered","waitingFor":null`, "dlv_0 goes out again as dlv_1\n"},
		{"endpoint resume ep_1", "endpoints/ep_1/resume", `200 {"state":"active","breaker":{"state":"closed"}}`, "", "endpoint ep_1 is resumed\n"},
		{"endpoint resume ep_1", "endpoints/ep_1/resume", `200 {"state":"disabled","partnerCode":"acme"}`, "", "endpoint ep_1 is resumed, but its partner is disabled: ledgerhook partner enable acme\n"},
		{"endpoint resume ep_1", "endpoints/ep_1/resume", `200 {"state":"active","breaker":{"state":"open","reason":"by hand"}}`, "", "endpoint ep_1 is resumed, but its breaker is open: by hand\n"},
		{"endpoint pause ep_1", "endpoints/ep_1/pause", `200 {"state":"disabled","partnerCode":"acme"}`, "", "endpoint ep_1 is paused; its deliveries are held\n"},
	} {
		s := newServer(t, map[string][]string{
			"POST /internal/v1/" + test.post:    {test.answer},
			"GET /internal/v1/deliveries/dlv_1": {`200 {"deliveryId":"dlv_1",` + test.delivery + "}"},
		})
		got := run(t, s.env(), "", strings.Fields(test.args)...)
		if got.has(t, exitOK, ""); got.errors != test.says {
			t.Errorf("%s: says %q, want %q", test.args, got.errors, test.says)
		}
	}
}
