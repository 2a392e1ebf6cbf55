package ingest_test

import (
	"strings"
	"testing"

	"ledgerhook/webhook"
)

func TestAnErasedEventSaysByWhomInsteadOfItsContent(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		a.endpoint(t, "acme", nil)
		event, made := a.event(t, "acme", "tp_0", "Pending")
		a.record(t, a.claim(t)[0], failed(503, webhook.ErrorHTTP5xx), exhausted)
		card := `{"partnerCode":"acme","cardId":"card_1"`
		a.want(t, 200, "GET", "/events/"+event, nil, `"data":{`, `"erased":null`)
		a.want(t, 200, "GET", "/deliveries/"+made[0], nil, `"erased":null`)
		a.want(t, 200, "POST", "/erasures", card+`,"dryRun":true}`, `"events":1`, `"done":false`)
		a.want(t, 200, "GET", "/events/"+event, nil, `"data":{`)
		a.want(t, 200, "POST", "/erasures", card+`,"reason":"request 4711"}`, `"events":1`, `"done":true`)
		a.want(t, 200, "GET", "/events/"+event, nil, `"data":null`, `"body":null`, `"by":"api"`)
		a.want(t, 200, "GET", "/events", nil, `"data":null`)
		a.want(t, 200, "GET", "/deliveries/"+made[0], nil, `"by":"api"`, `"requestHeaders":{}`, `"responseBody":""`)
		a.want(t, 409, "POST", "/deliveries/"+made[0]+"/retry", nil, "erased")
		a.want(t, 200, "GET", "/audit?action=erase", nil, `"target":"card_1"`, "request 4711", `"partnerCode":"acme"`)
	})
}

func TestAnErasureNamesOneSubjectAndAReason(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		for body, says := range map[string]string{
			`{"partnerCode":"acme","reason":"x"}`:                                                              "exactly one of email, cardId, accountId and orderId",
			`{"partnerCode":"acme","email":"","reason":"x"}`:                                                   "exactly one of",
			`{"partnerCode":"acme","email":"a@example.com","cardId":"c","reason":"x"}`:                         "exactly one of",
			`{"partnerCode":"acme","cardId":"c"}`:                                                              "/reason",
			`{"partnerCode":"acme","cardId":"c","reason":" "}`:                                                 "/reason",
			`{"partnerCode":"acme","cardId":"` + strings.Repeat("c", 201) + `","reason":"x"}`:                  "/cardId",
			`{"partnerCode":"acme","email":"Ann@Example.com","reason":"asked for by ANN@example.com herself"}`: "/reason",
			`{"partnerCode":"a b","cardId":"c","reason":"x"}`:                                                  "/partnerCode",
		} {
			a.want(t, 400, "POST", "/erasures", body, says)
		}
		a.want(t, 404, "POST", "/erasures", `{"partnerCode":"nobody","cardId":"c","reason":"x"}`, "nobody")
		a.want(t, 404, "POST", "/erasures", `{"partnerCode":"acme","orderId":"ord_1","reason":"x"}`, "ord_1")
		a.want(t, 200, "POST", "/erasures", `{"partnerCode":"acme","email":"Ann@Example.com","reason":"request 4711"}`, `"done":true`)
		if got := a.want(t, 200, "GET", "/audit", nil, `"target":"acme"`, "nothing more; request 4711"); strings.Contains(strings.ToLower(string(got.body)), "ann@") {
			t.Errorf("the audit log names the person: %s", got.body)
		}
	})
}
