package dashboard_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// send ends the deliveries of an event to acme with an answer.
func (h *signingHouse) send(t *testing.T, e webhook.Event, status int) {
	t.Helper()
	h.Tickets()
	if _, err := h.Append(t.Context(), delivery.NewEvent{Event: e, IdempotencyKey: e.ID, Digest: []byte(e.ID)}); err != nil {
		t.Fatal(err)
	}
	for _, ticket := range h.Tickets() {
		job, ok, err := h.Claim(t.Context(), ticket, "wrk_1")
		if err != nil || !ok {
			t.Fatalf("claim: %v, %v", ok, err)
		}
		a := webhook.Attempt{ID: webhook.NewID(webhook.AttemptPrefix), DeliveryID: job.Delivery.ID, Number: job.Delivery.Attempts, Trigger: webhook.TriggerFirst, StartedAt: time.Now(), Outcome: webhook.OutcomeDelivered, StatusCode: status}
		verdict := delivery.Verdict{State: webhook.Delivered}
		if status >= 300 {
			a.Outcome, a.ErrorClass, verdict = webhook.OutcomeFailed, webhook.ErrorHTTP4xx, delivery.Verdict{State: webhook.Exhausted, Reason: "all 3 attempts of the schedule are used"}
		}
		if _, err := h.Record(t.Context(), delivery.Result{DeliveryID: job.Delivery.ID, EndpointID: job.Delivery.EndpointID, Generation: job.Delivery.Generation, Attempt: a, Verdict: verdict}); err != nil {
			t.Fatal(err)
		}
	}
}

// The first page leads from nothing to a first notification, and then says how
// they do. It counts what is in the ledger and nothing else.
func TestTheFirstPageLeadsToAFirstNotification(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		h := newSigningHouse(t, b)
		h.join(t, "acme", "dora", partners.RoleDeveloper)
		dora, eve := h.browse(t, h.portal), h.browse(t, h.portal)
		dora.signIn("/portal", "dora")
		eve.signIn("/portal", "eve")
		dora.want(200, "GET", "/portal", nil, "1 of 5 steps done", `href="/portal/endpoints/new"`, `aria-current="step"`)
		if page := eve.want(200, "GET", "/portal", nil, "1 of 5 steps done"); strings.Contains(page.text, `href="/portal/endpoints/new"`) {
			t.Error("a viewer is led to a form that is not for them")
		}
		endpoint := h.Endpoint(t, "acme", 8)
		dora.want(200, "GET", "/portal", nil, "2 of 5 steps done", `href="/portal/endpoints/`+endpoint.ID+`"`, "Every endpoint accepts its notifications")
		event := ledgertest.NewEvent("acme", "topup_1", "Rejected").Event
		h.send(t, event, 401)
		dora.want(200, "GET", "/portal", nil, "3 of 5 steps done", "1 of 1 endpoints fail", "answers 401: does the receiver", "topup_1", "exhausted")
		h.send(t, ledgertest.NewEvent("acme", "topup_2", "Completed").Event, 200)
		page := dora.want(200, "GET", "/portal", nil, "Every endpoint accepts its notifications", "50 %", "Attempts by outcome, last 24 hours")
		if strings.Contains(page.text, "steps done") {
			t.Error("the steps are still there")
		}
		for label, want := range map[string]string{"Delivered": "1", "Given up": "1", "Waiting now": "0", "Oldest waiting": "none"} {
			if got := figureOn(page.text, label); got != want {
				t.Errorf("%s is %q, want %q", label, got, want)
			}
		}
		if _, err := h.UpdateEndpoint(t.Context(), partners.Everything(), endpoint.ID, func(e *webhook.Endpoint) error { e.Window.Paused = true; return nil }); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Append(t.Context(), ledgertest.NewEvent("acme", "topup_3", "Pending")); err != nil {
			t.Fatal(err)
		}
		page = dora.want(200, "GET", "/portal", nil, "1 of 1 endpoints are switched off", "topup_3")
		if figureOn(page.text, "Waiting now") != "1" || !regexp.MustCompile(`^\d+ m?s$`).MatchString(figureOn(page.text, "Oldest waiting")) {
			t.Errorf("waiting: %q, oldest %q", figureOn(page.text, "Waiting now"), figureOn(page.text, "Oldest waiting"))
		}
		mallory := h.browse(t, h.portal)
		mallory.signIn("/portal", "mallory")
		if page := mallory.want(200, "GET", "/portal", nil, "1 of 5 steps done"); strings.Contains(page.text, "topup_") || strings.Contains(page.text, endpoint.ID) {
			t.Error("another partner's things are on the page")
		}
		if oldest, err := h.OldestWaiting(t.Context(), partners.Only("globex")); err != nil || !oldest.IsZero() {
			t.Errorf("globex has waited since %v, %v", oldest, err)
		}
	})
}

// figureOn is the value of a labelled figure on a page.
func figureOn(page, label string) string {
	found := regexp.MustCompile(`<dt>` + regexp.QuoteMeta(label) + `</dt>\s*<dd>(?:<a [^>]*>)?([^<]*)`).FindStringSubmatch(page)
	if found == nil {
		return ""
	}
	return found[1]
}

// What cannot be read is a dash with what was last known, never a 0.
func TestTheFirstPageOfThePortalShowsDashesAndNoZero(t *testing.T) {
	h := newSigningHouse(t, ledgertest.New(t, "sqlite"))
	h.Endpoint(t, "acme", 8)
	h.send(t, ledgertest.NewEvent("acme", "topup_1", "Completed").Event, 200)
	eve := h.browse(t, h.portal)
	eve.signIn("/portal", "eve")
	eve.want(200, "GET", "/portal", nil, "Every endpoint accepts its notifications")
	for _, table := range []string{"rollups", "windows"} {
		if _, err := h.Raw.ExecContext(t.Context(), "ALTER TABLE "+table+" RENAME TO "+table+"_away"); err != nil {
			t.Fatal(err)
		}
	}
	page := eve.want(200, "GET", "/portal", nil, "not known just now", "Last known", "The state of your endpoints is not known just now.")
	if figureOn(page.text, "Delivered") != "" || !strings.Contains(page.text, `<span class="unknown">–</span>`) {
		t.Errorf("delivered is %q", figureOn(page.text, "Delivered"))
	}
}

// The catalogue holds all there is to know of every type, in each language.
func TestTheCatalogueDescribesEveryType(t *testing.T) {
	h := newSigningHouse(t, ledgertest.New(t, "sqlite"))
	eve := h.browse(t, h.portal)
	eve.signIn("/portal", "eve")
	page := unescape(eve.want(200, "GET", "/portal/catalogue", nil, "webhook-signature", "Within 15 s, the connection included", "up to 3 attempts in about 1 h", "1 h", "No order is promised").text)
	for _, e := range webhook.Catalog {
		for _, text := range append([]string{`href="#` + string(e.Type) + `"`, `id="` + string(e.Type) + `"`, e.Title, `"webhookType": "` + string(e.Type) + `"`, `"signature": "`}, e.Statuses...) {
			if !strings.Contains(page, text) {
				t.Errorf("%s: lacks %s", e.Type, text)
			}
		}
		for _, f := range e.Fields {
			for _, name := range f.Names() {
				if !strings.Contains(page, "<code>"+name+"</code>") {
					t.Errorf("%s: lacks the field %s", e.Type, name)
				}
			}
		}
	}
	if !strings.Contains(page, "<code>feeDetails[].feeType</code>") || !strings.Contains(page, "stands beside data here") {
		t.Error("lacks the members of a list, or where a signature stands")
	}
	for language, says := range map[string]string{"vi": "Một thẻ đã được tạo", "zh": "卡已创建"} {
		if a := eve.do("GET", "/portal/catalogue", nil, "Accept-Language", language); !strings.Contains(a.text, says) || strings.Contains(a.text, "A card was created") {
			t.Errorf("%s: it is in another language", language)
		}
	}
}
