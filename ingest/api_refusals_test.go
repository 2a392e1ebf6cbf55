package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/delivery"
	"ledgerhook/ingest"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// stored stores what the API keeps, as a stopping process does.
func (a *api) stored(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a.refusals.Run(ctx)
}

func (a *api) sent(t *testing.T, q reports.EventQuery) []reports.SentEvent {
	t.Helper()
	found, _, err := a.SentEvents(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestWhatWasRefusedOrCameAgainIsFoundLater(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		a.endpoint(t, "acme", nil)
		began := time.Now().Truncate(time.Microsecond)
		id, _ := a.event(t, "acme", "tp_1", "Pending")
		a.want(t, 200, "POST", "/events", topup("acme", "tp_1", "Pending"))
		a.want(t, 404, "POST", "/events", topup("nobody", "tp_2", "Pending"))
		a.want(t, 400, "POST", "/events", topup("acme", "tp_3", "Lost"))
		a.want(t, 400, "POST", "/events", topup("a b", "tp_4", "Pending"))
		a.want(t, 400, "POST", "/events", `{"partnerCode":"acme","webhookType":"Nothing","data":{}}`)
		a.want(t, 400, "POST", "/events", `x`)
		// What cannot be read of a batch is refused first.
		a.batch(t, []string{item(t, "acme", "tp_1", "Pending"), item(t, "nobody", "tp_5", "Pending"), item(t, "acme", "tp_6", "Lost"), `7`})
		a.want(t, 400, "POST", "/events/batch", `x`)
		a.stored(t)

		type row struct {
			Result                       delivery.IngestResult
			Partner                      string
			Type                         webhook.Type
			Reference, EventID, BeginsAs string
		}
		want := []row{ // newest first
			{delivery.Refused, "", "", "", "", "the body must be one object"},
			{delivery.Refused, "nobody", webhook.TopupCard, "tp_5", "", "there is no partner nobody"},
			{delivery.Duplicate, "acme", webhook.TopupCard, "tp_1", id, ""},
			{delivery.Refused, "", "", "", "", "the body must be an object"},
			{delivery.Refused, "acme", webhook.TopupCard, "tp_6", "", "/data/status must be"},
			{delivery.Refused, "", "", "", "", "the body is not valid JSON"},
			{delivery.Refused, "acme", "", "", "", "/webhookType must be one of"},
			{delivery.Refused, "", webhook.TopupCard, "tp_4", "", "/partnerCode must be"},
			{delivery.Refused, "acme", webhook.TopupCard, "tp_3", "", "/data/status must be"},
			{delivery.Refused, "nobody", webhook.TopupCard, "tp_2", "", "there is no partner nobody"},
			{delivery.Duplicate, "acme", webhook.TopupCard, "tp_1", id, ""},
			{delivery.Accepted, "acme", webhook.TopupCard, "tp_1", id, ""},
		}
		var got []row
		for i, e := range a.sent(t, reports.EventQuery{Scope: partners.Everything()}) {
			r := row{e.Result, e.PartnerCode, e.Type, e.Reference, e.EventID, e.Reason}
			if i < len(want) && strings.HasPrefix(r.BeginsAs, want[i].BeginsAs) && want[i].BeginsAs != "" {
				r.BeginsAs = want[i].BeginsAs
			}
			got = append(got, r)
			if e.At.Before(began) || e.At.After(time.Now()) {
				t.Errorf("%s came at %s", e.Reference, e.At)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
		for _, e := range a.sent(t, reports.EventQuery{Scope: partners.Only("acme")}) {
			if e.PartnerCode != "acme" {
				t.Errorf("a partner sees %+v", e)
			}
		}
		if n := len(a.sent(t, reports.EventQuery{Scope: partners.Only("acme"), Results: []delivery.IngestResult{delivery.Refused}, Reference: "tp_3"})); n != 1 {
			t.Errorf("by its reference %d are found, want 1", n)
		}
	})
}

// A card's number that was put where it does not belong is in nothing kept.
func TestNoCardNumberIsKeptOfWhatWasRefused(t *testing.T) {
	a := one(t)
	a.partner(t, "acme")
	const card = "4111111111111111"
	a.want(t, 404, "POST", "/events", topup(card, "tp_1", "Pending"))
	a.want(t, 400, "POST", "/events", topup("acme", "4111-1111-1111-1111", "Lost"))
	a.want(t, 400, "POST", "/events", `{"partnerCode":"acme","webhookType":"`+card+`","data":{}}`)
	a.want(t, 400, "POST", "/events", `{"partnerCode":"acme","`+card+`":1}`)
	a.want(t, 400, "POST", "/events", `{"partnerCode":"acme","webhookType":"TopupCard","data":{"id":"x`+card+`","`+card+`":"`+card+`"}}`)
	a.want(t, 400, "POST", "/events", `{"partnerCode":"acme","webhookType":"TopupCard","data":{"id":"`+strings.Repeat("x", 129)+`"}}`)
	a.stored(t)
	found := a.sent(t, reports.EventQuery{Scope: partners.Everything()})
	if len(found) != 6 {
		t.Errorf("%d are kept, want 6", len(found))
	}
	for _, e := range found {
		kept := fmt.Sprintf("%+v", e)
		if strings.Contains(strings.ReplaceAll(kept, "-", ""), card) {
			t.Errorf("kept: %s", kept)
		}
		if len(e.Reference) > 128 || len(e.Reason) > 500 || e.Reason == "" {
			t.Errorf("a reference of %d bytes, a reason of %d", len(e.Reference), len(e.Reason))
		}
	}
}

// However much is refused, what cannot be kept is dropped and counted, and the
// next event is accepted.
func TestMoreRefusalsThanFitAreDroppedAndCounted(t *testing.T) {
	a := one(t)
	a.partner(t, "acme")
	a.endpoint(t, "acme", nil)
	const dropped = "ledgerhook_ingest_refusals_dropped_total"
	if n := a.sample(t, dropped); n != 0 {
		t.Errorf("at first %v are dropped", n)
	}
	items := make([]string, 1000)
	for i := range items {
		items[i] = "{}"
	}
	a.batch(t, items)
	a.batch(t, items[:30])
	a.event(t, "acme", "tp_1", "Pending")
	if n := a.sample(t, dropped); n != 30 {
		t.Errorf("%v are dropped, want 30", n)
	}
	a.stored(t)
	if n := a.Count(t, "SELECT COUNT(*) FROM refusals"); n != 1000 {
		t.Errorf("%d are kept, want 1000", n)
	}
	a.want(t, 400, "POST", "/events", "{}")
	a.stored(t)
	if n := a.Count(t, "SELECT COUNT(*) FROM refusals"); n != 1001 {
		t.Errorf("%d are kept, want 1001", n)
	}
}

// shelf is a place for refusals that may be away.
type shelf struct {
	away atomic.Bool
	kept atomic.Int64
}

func (s *shelf) AddRefusals(_ context.Context, refusals []delivery.Refusal) error {
	if s.away.Load() {
		return errors.New("the ledger is away")
	}
	s.kept.Add(int64(len(refusals)))
	return nil
}

func TestRefusalsAreStoredEverySecondAndOnceMoreInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shelf
		registry, log := prometheus.NewRegistry(), slog.New(slog.DiscardHandler)
		metrics := ingest.NewMetrics(registry)
		refusals := ingest.NewRefusals(&s, metrics, log)
		handler := (&ingest.Internal{Token: token, Refusals: refusals, Metrics: metrics, Log: log}).Handler()
		refuse := func() {
			r := httptest.NewRequest(http.MethodPost, "/internal/v1/events", strings.NewReader("{}"))
			r.Header.Set("Authorization", "Bearer "+token)
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			if handler.ServeHTTP(w, r); w.Code != http.StatusBadRequest {
				t.Errorf("answer %d: %s", w.Code, w.Body)
			}
		}
		want := func(when string, kept int64) {
			t.Helper()
			synctest.Wait()
			if s.kept.Load() != kept {
				t.Errorf("%s %d are kept, want %d", when, s.kept.Load(), kept)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			refusals.Run(ctx)
		}()
		refuse()
		want("at once", 0)
		time.Sleep(time.Second)
		want("after a second", 1)
		s.away.Store(true)
		refuse()
		time.Sleep(time.Second)
		want("while the ledger is away", 1)
		s.away.Store(false)
		refuse()
		cancel()
		<-ended
		want("in the end", 2)
	})
}
