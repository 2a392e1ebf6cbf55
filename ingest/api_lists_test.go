package ingest_test

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// lists are the lists of the API with what names an item of each.
var lists = map[string]string{
	"/events": "eventId", "/deliveries": "deliveryId", "/partners": "partnerCode", "/partners/acme/secrets": "secretId",
	"/partners/acme/endpoints": "endpointId", "/audit": "auditId", "/mailbox": "letterId", "/orders": "orderId", "/rates": "crypto",
	"/replays": "replayId", "/keys": "keyId",
}

func TestEveryListComesInPages(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		for _, path := range []string{"/events", "/deliveries", "/partners", "/orders", "/rates", "/replays", "/audit", "/mailbox"} {
			a.want(t, 200, "GET", path, nil, `{"items":[],"nextCursor":null}`)
		}
		for i := range 5 {
			code := []string{"acme", "b", "B-2", "c_3", "0"}[i]
			a.partner(t, code)
			a.endpoint(t, "acme", nil)
			a.want(t, 201, "POST", "/partners/acme/secrets", nil)
			a.Order(t, "acme", code, time.Hour)
			if err := partners.NewMailbox(a.Accounts, a.box).Carry(t.Context(), partners.Letter{To: partners.Addressee{PartnerCode: "acme", Email: code + "@example.com"}, Code: "012345"}); err != nil {
				t.Fatal(err)
			}
			a.want(t, 200, "PUT", "/rates/"+[]string{"USDT", "BTC", "ETH", "A1", "ZZ"}[i], `{"price":1,"network":"N","walletAddress":"W"}`)
			_, ids := a.event(t, "acme", fmt.Sprint("tp_", i), "Pending")
			a.want(t, 201, "POST", "/replays", map[string]any{"filter": map[string]any{"reference": a.finish(t, ids[0])}, "reason": "pages"})
			a.want(t, 201, "POST", "/keys/rotate", `{"activateAfterSeconds":0}`)
		}
		for path, member := range lists {
			all, next := a.page(t, path, member)
			if len(all) < 5 || next != "" {
				t.Fatalf("%s: %d items, next %q", path, len(all), next)
			}
			var pages []string
			for cursor, first := "", true; first || cursor != ""; first = false {
				var page []string
				page, cursor = a.page(t, path+"?limit=2&cursor="+cursor, member)
				if len(page) == 0 || len(page) > 2 {
					t.Fatalf("%s: a page of %d", path, len(page))
				}
				pages = append(pages, page...)
			}
			if diff := cmp.Diff(all, pages); diff != "" {
				t.Errorf("%s (-whole +in pages):\n%s", path, diff)
			}
		}
	})
}

func TestAListRefusesWhatItDoesNotUnderstand(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		encode := base64.RawURLEncoding.EncodeToString
		for path := range lists {
			for query, says := range map[string]string{
				"limit=0": `"parameter":"limit"`, "limit=501": "limit", "limit=-1": "limit", "limit=x": "limit", "limit=1.0": "limit", "limit=%2B1": "limit",
				"limit=1&limit=2": "limit", "nothing=1": `"parameter":"nothing"`, "Limit=1": "Limit", "%zz": "query",
				"cursor=%21": `"parameter":"cursor"`, "cursor=x": "cursor", "cursor=" + encode([]byte("\xff")): "cursor", "cursor=" + strings.Repeat("a", 2000): "cursor",
			} {
				a.want(t, 400, "GET", path+"?"+query, nil, says)
			}
			if path != "/rates" && path != "/partners" { // there any word may be a name
				for _, position := range []string{"evt", "evt_1", "ord_01JD0000000000000000000000\n", "dlv_01JD000000000000000000000U", "a\x00"} {
					a.want(t, 400, "GET", path+"?cursor="+encode([]byte(position)), nil, "nextCursor of this list")
				}
			}
			a.want(t, 200, "GET", path+"?limit=500", nil)
			a.want(t, 200, "GET", path+"?limit=&cursor=", nil)
		}
		// A cursor of one list is none of another.
		delivery, event := encode([]byte(webhook.NewID(webhook.DeliveryPrefix))), encode([]byte(webhook.NewID(webhook.EventPrefix)))
		a.want(t, 400, "GET", "/partners?cursor="+encode([]byte("a\x00")), nil, "nextCursor of this list")
		a.want(t, 200, "GET", "/deliveries?cursor="+delivery, nil)
		a.want(t, 200, "GET", "/events?cursor="+event, nil)
		a.want(t, 400, "GET", "/deliveries?cursor="+event, nil, "nextCursor of this list")
		a.want(t, 400, "GET", "/events?cursor="+delivery, nil, "nextCursor of this list")

		for query, says := range map[string]string{
			"state=Held": "state", "state=failed": "delivered", "webhookType=X": "TopupCard", "statusCode=99": "100 to 599", "statusCode=600": "statusCode",
			"statusCode=2xx": "statusCode", "errorClass=http": "http_5xx", "since=yesterday": "RFC 3339", "since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z": "must not lie after until", "until=2026-01-01": "until",
			"partnerCode=a%00b": "control characters", "reference=%0a": "reference", "endpointId=%7f": "endpointId", "reference=%ff": "UTF-8",
		} {
			a.want(t, 400, "GET", "/deliveries?"+query, nil, says)
		}
		for _, query := range []string{"webhookType=X", "since=1", "until=1", "reference=%00", "partnerCode=%00", "state=held"} {
			a.want(t, 400, "GET", "/events?"+query, nil)
		}
		for _, query := range []string{"since=0001-01-01T00:00:00Z", "until=9999-12-31T23:59:59%2B14:00", "partnerCode=nobody", "reference=%27%22%3B--"} {
			a.want(t, 200, "GET", "/events?"+query, nil)
			a.want(t, 200, "GET", "/deliveries?"+query, nil)
		}
	})
}

func TestListsAreNarrowedByTheirFilters(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		a.partner(t, "globex")
		endpoint := a.endpoint(t, "acme", nil)
		okEvent, okDelivery := a.event(t, "acme", "tp_ok", "Pending")
		a.record(t, a.claim(t)[0], delivered200, delivered)
		badEvent, badDelivery := a.event(t, "acme", "tp_bad", "Pending")
		a.record(t, a.claim(t)[0], failed(503, webhook.ErrorHTTP5xx), exhausted)
		queuedEvent, queuedDelivery := a.event(t, "acme", "tp_queued", "Pending")
		mark := time.Now().Add(2 * time.Millisecond)
		for time.Now().Before(mark) { // ids count whole milliseconds
		}
		heldEvent, heldDelivery := a.event(t, "globex", "tp_held", "Pending")
		names := map[string]string{
			okEvent: "ok", badEvent: "bad", queuedEvent: "queued", heldEvent: "held",
			okDelivery[0]: "ok", badDelivery[0]: "bad", queuedDelivery[0]: "queued", heldDelivery[0]: "held",
		}
		at := url.QueryEscape(mark.UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano))
		check := func(path, member, query, want string) {
			t.Helper()
			ids, _ := a.page(t, path+"?"+query, member)
			var got []string
			for _, id := range slices.Backward(ids) {
				got = append(got, names[id])
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s?%s: %v, want %s", path, query, got, want)
			}
		}
		for query, want := range map[string]string{
			"":                                     "ok bad queued held",
			"partnerCode=acme":                     "ok bad queued",
			"partnerCode=acme&since=" + at:         "",
			"since=" + at:                          "held",
			"until=" + at:                          "ok bad queued",
			"webhookType=TopupCard":                "ok bad queued held",
			"webhookType=CreateCard":               "",
			"reference=tp_bad":                     "bad",
			"reference=tp_bad&partnerCode=globex":  "",
			"partnerCode=globex&reference=tp_held": "held",
		} {
			check("/events", "eventId", query, want)
			check("/deliveries", "deliveryId", query, want)
		}
		for query, want := range map[string]string{
			"state=delivered": "ok", "state=exhausted": "bad", "state=queued": "queued", "state=held": "held", "state=pending": "", "state=sending": "",
			"state=cancelled": "", "statusCode=200": "ok", "statusCode=503": "bad", "errorClass=http_5xx": "bad", "errorClass=dns": "",
			"endpointId=" + endpoint: "ok bad queued", "endpointId=" + endpoint + "&state=exhausted&statusCode=503&errorClass=http_5xx": "bad",
			"reference=" + badEvent: "bad", "endpointId=ep_1": "",
		} {
			check("/deliveries", "deliveryId", query, want)
		}
	})
}
