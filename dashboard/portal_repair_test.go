package dashboard_test

import (
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// A warning leads to what repairs it: a refusal to the signature checker, which
// is filled with what was sent, and what was given up to a draft of a replay.
func TestAWarningLeadsToWhatRepairsIt(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		h, ops, eve, mallory := provingHouse(t, b)
		h.join(t, "acme", "dora", partners.RoleDeveloper)
		dora := h.browse(t, h.portal)
		dora.signIn("/portal", "dora")
		id := h.sentOnce(t, "acme", "tp_1", refused401, webhook.Exhausted)
		endpoint := h.look(t, id).EndpointID
		check, recover := `href="/portal/verify?delivery=`+id+`"`, `href="/portal/recover/new?q=`
		for path, links := range map[string][]string{"/portal": {check, recover}, "/portal/deliveries/" + id: {check, recover}, "/portal/endpoints/" + endpoint: {check}} {
			dora.want(200, "GET", path, nil, links...)
			if page := eve.want(200, "GET", path, nil, check); strings.Contains(page.text, recover) {
				t.Errorf("%s leads a viewer to what he may not do", path)
			}
		}
		draft := regexp.MustCompile(`href="(/portal/recover/new[^"]*)"`).FindStringSubmatch(dora.want(200, "GET", "/portal/deliveries/"+id, nil).text)
		dated := dora.want(303, "GET", html.UnescapeString(draft[1]), nil).Header.Get("Location")
		dora.want(200, "GET", dated, nil, "tp_1")
		if page := ops.want(200, "GET", "/ops/deliveries/"+id, nil); strings.Contains(page.text, "/portal/verify") {
			t.Error("an operator is led to a page of the portal")
		}

		body, err := h.composer.Body(t.Context(), eventOf(t, h, h.look(t, id).EventID))
		if err != nil {
			t.Fatal(err)
		}
		page := html.UnescapeString(eve.want(200, "GET", "/portal/verify?delivery="+id, nil, "It is genuine: the gateway sent it", "as the newest attempt sent it").text)
		for _, text := range []string{string(body) + "</textarea>", "Webhook-Signature: v1,", "Webhook-Timestamp: "} {
			if !strings.Contains(page, text) {
				t.Errorf("the checker is not filled with %q", text)
			}
		}
		mallory.want(404, "GET", "/portal/verify?delivery="+id, nil)

		fine := h.sentOnce(t, "globex", "tp_2", webhook.Attempt{Outcome: webhook.OutcomeDelivered, StatusCode: 200}, webhook.Delivered)
		for _, path := range []string{"/portal", "/portal/deliveries/" + fine} {
			if page := mallory.want(200, "GET", path, nil); strings.Contains(page.text, "/portal/verify?delivery=") || strings.Contains(page.text, recover) {
				t.Errorf("%s repairs what is not broken", path)
			}
		}
		waits, err := h.Append(t.Context(), ledgertest.NewEvent("globex", "tp_3", "Pending"))
		if err != nil {
			t.Fatal(err)
		}
		mallory.want(200, "GET", "/portal/verify?delivery="+waits.DeliveryIDs[0], nil, "There is nothing to check")
	})
}

// look is a delivery.
func (h *signingHouse) look(t *testing.T, id string) webhook.Delivery {
	t.Helper()
	d, err := h.Reports.Delivery(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return d.Delivery
}

var (
	actLiteral = regexp.MustCompile(`(?:Audit\(|Action: )"([a-z.-]+[a-z])"`)
	toldAct    = regexp.MustCompile(`<th scope="row" title="([^"]*)">([^<]*)</th>`)
)

// Whatever the people of a partner can do is told in words, in each language.
func TestTheActivityIsToldInWords(t *testing.T) {
	h, _, eve, _ := provingHouse(t, ledgertest.New(t, "sqlite"))
	acts := map[string]bool{"secret.activate": true, "secret.revoke": true, "replay.pause": true, "replay.resume": true, "replay.cancel": true,
		"endpoint.pause": true, "endpoint.resume": true, "endpoint.open-breaker": true, "endpoint.disable": true, "partner.disable": true, "login": true, "person.disable": true, "person.enable": true}
	for _, part := range []string{"portal", "deliveries", "shell"} {
		files, err := filepath.Glob(part + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", part, len(files), err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range actLiteral.FindAllStringSubmatch(string(source), -1) {
				acts[found[1]] = true
			}
		}
	}
	if len(acts) < 25 {
		t.Fatalf("only %d acts: %v", len(acts), acts)
	}
	for act := range acts {
		if err := h.Trail.Audit(t.Context(), partners.AuditEntry{At: time.Now(), Actor: "acme/eve", Action: act, PartnerCode: "acme", Target: "dlv_1"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, language := range []string{"en", "vi", "zh"} {
		told := map[string]bool{}
		for path := "/portal/activity"; path != ""; {
			a := eve.do("GET", path, nil, "Accept-Language", language)
			for _, row := range toldAct.FindAllStringSubmatch(a.text, -1) {
				if told[row[1]] = true; acts[row[1]] && (row[1] == html.UnescapeString(row[2]) || row[2] == "") {
					t.Errorf("%s: %s is told as %q", language, row[1], row[2])
				}
			}
			if !strings.Contains(a.text, `href="/portal/deliveries/dlv_1"`) && path == "/portal/activity" {
				t.Error("what was acted on is not linked")
			}
			next := regexp.MustCompile(`href="(\?[^"]*)" rel="next"`).FindStringSubmatch(a.text)
			if path = ""; next != nil {
				path = "/portal/activity" + html.UnescapeString(next[1])
			}
		}
		for act := range acts {
			if !told[act] {
				t.Errorf("%s: %s is not told", language, act)
			}
		}
	}
}
