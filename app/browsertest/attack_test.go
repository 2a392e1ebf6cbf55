package browsertest

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"ledgerhook/app/receiver"
	"ledgerhook/dashboard"
	"ledgerhook/webhook"
)

// boom is what an attacker writes wherever a text is taken. Read as markup it
// opens a dialog.
const boom = `"'><script>alert(1)</script><img src=x onerror=alert(2)>{{7*7}}`

// Whatever partners, their receivers and their people write is text on every
// page, and never part of it: 16 KB of it, and of bytes that are no text.
func TestWhatOthersWriteIsNeverMarkup(t *testing.T) {
	t.Parallel()
	g := start(t)
	w := &world{Gateway: g, t: t}
	w.acme = onboard(t, g, "acme", boom)
	noise := make([]byte, 16<<10)
	dice := rand.NewChaCha8([32]byte{7})
	if _, err := dice.Read(noise); err != nil {
		t.Fatal(err)
	}
	bodies := []string{boom, string(noise), strings.Repeat(boom, 16<<10/len(boom))}
	server := httptest.NewServer(w.acme.receiver(func(got receiver.Received) receiver.Answer {
		return receiver.Answer{Status: http.StatusInternalServerError, Header: http.Header{"Content-Type": {"text/html"}, "X-Note": {boom}}, Body: bodies[got.Nth%len(bodies)]}
	}))
	t.Cleanup(server.Close)
	var added struct{ EndpointID string }
	g.Must("POST", "/internal/v1/partners/acme/endpoints", map[string]any{"url": server.URL + "/?a=" + url.QueryEscape(boom), "description": boom, "headers": map[string]string{"X-Note": boom}},
		http.StatusCreated, &added)
	w.endpoint = added.EndpointID
	for i := range len(bodies) {
		g.Must("POST", "/internal/v1/events", map[string]any{"partnerCode": "acme", "webhookType": "ProfileApplication.Updated",
			"data": map[string]any{"accountId": "acc_" + string(rune('a'+i)), "status": "REJECTED", "rejectReason": boom, "createdAt": 1767225600}}, http.StatusAccepted, nil)
	}
	g.Await("acme", patience)
	failed := g.Deliveries("acme", "")
	w.event, w.exhausted = failed[0].EventID, failed[0].DeliveryID
	var made struct{ ReplayID string }
	g.Must("POST", "/internal/v1/replays", map[string]any{"filter": map[string]any{"partnerCode": "acme"}, "reason": boom}, http.StatusCreated, &made)
	w.replay = made.ReplayID
	admin := firstAdmin(t, g)
	newVisitor(t, g.Public).post("/portal/login", url.Values{"username": {boom}, "password": {boom}})
	portal := newVisitor(t, g.Public).join(admin.invite("acme", "admin"), "eve")
	w.operatorLink, w.partnerLink = admin.invite("", "viewer"), admin.invite("acme", "viewer")
	look := func(v *visitor, path string) {
		t.Helper()
		status, page := v.get(path)
		if status >= http.StatusInternalServerError {
			t.Errorf("%s is answered with %d", path, status)
		}
		for _, part := range []string{"<script>alert", "<img src=x"} {
			if i := strings.Index(page, part); i >= 0 {
				t.Errorf("%s holds %s as markup: …%s", path, part, page[max(0, i-200):min(len(page), i+60)])
			}
		}
		if i := bytes.IndexByte([]byte(page), 0); i >= 0 {
			t.Errorf("%s holds a byte that is no text", path)
		}
	}
	for _, pattern := range pages(t) {
		path, ok := w.path(pattern)
		if !ok {
			continue // the page of an order: nothing of it is written by partners but what is checked
		}
		v := portal
		if strings.HasPrefix(path, "/ops") {
			v = admin
		}
		look(v, path)
		look(v, strings.Split(path, "?")[0]+"?"+url.Values{"q": {boom}, "partner": {boom}, "cursor": {boom}, "after": {boom}, "span": {boom}, "state": {boom}, "next": {boom}}.Encode())
	}
	for _, d := range failed {
		look(admin, "/ops/deliveries/"+d.DeliveryID)
		look(portal, "/portal/deliveries/"+d.DeliveryID)
	}
}

// A form that another site sends is refused on every route, and so is one
// without a session.
func TestFormsOfOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	g := start(t)
	onboard(t, g, "acme", "Acme Pay")
	admin := firstAdmin(t, g)
	portal := newVisitor(t, g.Public).join(admin.invite("acme", "admin"), "ann")
	for _, pattern := range dashboard.Patterns() {
		path, ok := strings.CutPrefix(pattern, "POST ")
		if !ok {
			continue
		}
		for _, wildcard := range []string{"{id}", "{code}", "{token}", "{type}"} {
			path = strings.ReplaceAll(path, wildcard, "something")
		}
		v := portal
		if strings.HasPrefix(path, "/ops") {
			v = admin
		}
		for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://elsewhere.example"}} {
			if status, page := v.post(path, url.Values{}, headers...); status != http.StatusForbidden || !strings.Contains(page, "another site") {
				t.Errorf("%s with %q is answered with %d: %.300s", path, headers, status, page)
			}
		}
	}
}

// Every thing of another partner is not found, by every route of the portal.
func TestNothingOfAnotherPartnerIsFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people(firstAdmin(t, w.Gateway))
	globex := newVisitor(t, w.Public).join(w.partnerLink, "hank")
	acme := newVisitor(t, w.Public).signIn("/portal", "acme-admin", goodPassword)
	secret := webhook.SecretPrefix
	var secrets struct{ Items []struct{ SecretID string } }
	w.Must("GET", "/internal/v1/partners/acme/secrets", nil, http.StatusOK, &secrets)
	if len(secrets.Items) == 0 || !strings.HasPrefix(secrets.Items[0].SecretID, secret) {
		t.Fatalf("secrets %+v", secrets)
	}
	checked := 0
	for _, pattern := range dashboard.Patterns() {
		method, path, _ := strings.Cut(pattern, " ")
		if !strings.HasPrefix(path, "/portal/") || !strings.Contains(path, "{id}") {
			continue
		}
		for _, id := range []string{w.exhausted, w.event, w.endpoint, w.order, w.replay, secrets.Items[0].SecretID} {
			at := strings.ReplaceAll(path, "{id}", id)
			status, page := globex.send(method, at, url.Values{"reason": {"x"}, "form": {"x"}})
			if status == http.StatusForbidden && method == http.MethodPost {
				continue // a right is asked for first, whatever the id
			}
			if status != http.StatusNotFound {
				t.Errorf("%s %s is answered with %d: %.300s", method, at, status, page)
			}
			checked++
		}
	}
	if checked < 6 {
		t.Errorf("only %d requests were made", checked)
	}
	acme.must(acme.get("/portal/deliveries/" + w.exhausted))
}
