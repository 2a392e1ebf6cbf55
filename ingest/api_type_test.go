package ingest_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"ledgerhook/signer"
	"ledgerhook/webhook/webhooktest"
)

// What a type is stands in one file: one that is added to the catalogue alone
// is taken, checked, stored, signed, offered, documented and erased.
func TestATypeThatIsAddedToTheCatalogueIsTakenAndSent(t *testing.T) {
	webhooktest.Add(t)
	before, beforePartners := loadDocument, loadPartnerDocument
	t.Cleanup(func() { loadDocument, loadPartnerDocument = before, beforePartners })
	loadDocument = sync.OnceValues(func() (*document, error) { return readDocument("../docs/openapi-internal.yaml") })
	loadPartnerDocument = sync.OnceValues(func() (*document, error) { return readDocument("../docs/openapi-partner.yaml") })
	if notification := partnerDocument(t).spec.Webhooks["Card.Blocked"]; notification == nil {
		t.Error("partners are not told of it")
	}
	a, about := one(t), webhooktest.CardBlocked // which holds each answer against the document
	a.partner(t, "acme")
	endpoint := a.endpoint(t, "acme", map[string]any{"webhookTypes": []string{string(about.Type)}})
	post := func(data string) map[string]any {
		return map[string]any{"partnerCode": "acme", "webhookType": about.Type, "data": json.RawMessage(data)}
	}
	for status, success := range map[string]bool{"Blocked": true, "NotBlocked": false} {
		posted := a.want(t, 202, "POST", "/events", post(strings.Replace(about.Example, `"status":"Blocked"`, `"status":"`+status+`"`, 1)))
		var e eventView
		a.want(t, 200, "GET", "/events/"+posted.text(t, "eventId"), nil).json(t, &e)
		if e.WebhookType != string(about.Type) || e.Reference != "block_01" || e.Success != success || len(e.Deliveries) != 1 {
			t.Errorf("%s: %+v", status, e)
		}
		if err := signer.VerifyNotification(keys()[0].Public(), []byte(e.Body)); err != nil || !strings.Contains(e.Body, `},"signature":"`) {
			t.Errorf("%s: %v\n%s", status, err, e.Body)
		}
	}
	a.want(t, 400, "POST", "/events", post(strings.Replace(about.Example, `"status":"Blocked"`, `"status":"Lost"`, 1)), "/data/status", "Asked, Blocked, NotBlocked")
	a.want(t, 400, "POST", "/events", post(strings.Replace(about.Example, `"note":"lost"`, `"note":"stolen"`, 1)), "/data/blockNote", "must equal /data/note")
	for wrong, says := range map[string][2]string{
		`"until":"2023-11-14T22:20:00Z"`:     {"/data/until", "with milliseconds"},
		`"until":"2023-13-14T22:20:00.000Z"`: {"/data/until", "a time in UTC"},
		`"until":"2023-11-14T22:20:00,000Z"`: {"/data/until", "a time in UTC"},
		`"until":1700000000`:                 {"/data/until", "must be a text"},
	} {
		a.want(t, 400, "POST", "/events", post(strings.Replace(about.Example, `"until":"2023-11-14T22:20:00.000Z"`, wrong, 1)), says[0], says[1])
	}
	const place = `"place":{"city":"HANOI","country":"VN"}`
	a.want(t, 400, "POST", "/events", post(strings.Replace(about.Example, place, `"place":[]`, 1)), "/data/place", "must be an object")
	a.want(t, 400, "POST", "/events", post(strings.Replace(about.Example, place, `"place":{"city":"HANOI","zip":"1"}`, 1)), "/data/place/country", "/data/place/zip")
	sample := a.want(t, 202, "POST", "/endpoints/"+endpoint+"/test", nil)
	var e eventView
	a.want(t, 200, "GET", "/events/"+sample.text(t, "eventId"), nil).json(t, &e)
	if !e.Test || e.WebhookType != string(about.Type) || !strings.Contains(e.Body, about.Example) {
		t.Errorf("a test of it is %+v", e)
	}
	if err := signer.VerifyNotification(keys()[0].Public(), []byte(e.Body)); err != nil {
		t.Errorf("a test of it: %v", err)
	}
	a.want(t, 200, "GET", "/events?webhookType="+string(about.Type), nil, "block_01")
	a.want(t, 400, "GET", "/events?webhookType=Card.Lost", nil, string(about.Type))
	a.want(t, 200, "POST", "/erasures", `{"partnerCode":"acme","cardId":"card_01","dryRun":true}`, `"events":2`)
}
