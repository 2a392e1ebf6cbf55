package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ledgerhook/app"
	"ledgerhook/signer"
)

// start runs an embedded gateway on dir whose stop waits only shortly.
func start(t *testing.T, dir string) *app.App {
	t.Helper()
	cfg := settings(t, dir, "LEDGERHOOK_DELIVERY_ALLOW_CIDRS=127.0.0.0/8")
	a, err := app.Start(t.Context(), cfg, app.Options{Log: slog.New(slog.DiscardHandler), Version: "test", Drain: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// call makes a request of the internal API that must succeed.
func call(t *testing.T, a *app.App, method, path string, body, into any) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, a.InternalURL()+"/internal/v1"+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+a.Token())
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	said, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= 300 {
		t.Fatalf("%s %s: %d %s (%v)", method, path, response.StatusCode, said, err)
	}
	if err := json.Unmarshal(said, into); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsCutOffByAStopIsUnknownAndSentAgainAtOnce(t *testing.T) {
	t.Parallel()
	key, err := signer.GenerateKey(2048)
	if err != nil {
		t.Fatal(err)
	}
	var requests atomic.Int32
	stopped := make(chan struct{})
	partner := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if requests.Add(1) == 1 {
			_, _ = io.Copy(io.Discard, r.Body) // only then a client that gives up is noticed
			<-stopped
		}
	}))
	defer partner.Close()

	dir := t.TempDir()
	a := start(t, dir)
	var ignored json.RawMessage
	call(t, a, "POST", "/partners", map[string]string{"partnerCode": "acme", "name": "Acme", "publicKey": string(key.PublicPEM())}, &ignored)
	call(t, a, "POST", "/partners/acme/endpoints", map[string]string{"url": partner.URL}, &ignored)
	var posted struct{ DeliveryIDs []string }
	call(t, a, "POST", "/events", map[string]any{"partnerCode": "acme", "webhookType": "TopupCard", "data": map[string]any{
		"id": "top_1", "cardId": "card_1", "amount": 1, "fee": 0, "status": "Pending", "createdAt": 1767225600}}, &posted)
	until(t, "the request is made", func() bool { return requests.Load() == 1 })
	if err := a.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	close(stopped)

	a = start(t, dir)
	defer func() {
		if err := a.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	var d struct {
		State    string
		Attempts []struct{ Outcome, Trigger, NextAttemptReason string }
	}
	until(t, "it is delivered", func() bool {
		call(t, a, "GET", "/deliveries/"+posted.DeliveryIDs[0], nil, &d)
		return d.State == "delivered"
	})
	if len(d.Attempts) != 2 || d.Attempts[0].Outcome != "unknown" || d.Attempts[1].Outcome != "delivered" || requests.Load() != 2 {
		t.Errorf("%d requests, attempts %+v: want one unknown and one delivered", requests.Load(), d.Attempts)
	}
	if reason := fmt.Sprint(d.Attempts[0].NextAttemptReason); !strings.Contains(reason, "at once") {
		t.Errorf("the attempt that was cut off is followed by: %s", reason)
	}
}

// until waits until condition holds.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	untilWithin(t, 2*time.Minute, what, condition)
}

// untilWithin is until with a limit of its own.
func untilWithin(t *testing.T, limit time.Duration, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	end := time.After(limit)
	for !condition() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("not within %s: %s", limit, what)
		}
	}
}
