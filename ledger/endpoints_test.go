package ledger_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

func TestEndpointsAreCreatedChangedListedAndRemoved(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 8, webhook.TopupCard)
		if w := e.Window; w.MaxInFlight != 8 || w.Grown != webhook.StartWindow || w.NextSequence != 1 || !w.Open() {
			t.Errorf("window %+v", w)
		}
		other := b.Endpoint(t, "acme", 1)
		same(t, "grown", other.Window.Grown, 1)
		changed, err := b.UpdateEndpoint(t.Context(), partners.Everything(), e.ID, func(e *webhook.Endpoint) error {
			e.URL, e.Types, e.Description, e.Window.MaxInFlight = "https://new.example.com/", nil, "new", 4
			return nil
		})
		if err != nil || !changed.UpdatedAt.After(e.UpdatedAt) {
			t.Errorf("changed at %v (%v)", changed.UpdatedAt, err)
		}
		got, err := b.Ledger.Endpoint(t.Context(), partners.Everything(), e.ID)
		if err != nil || got.URL != "https://new.example.com/" || got.Types != nil || got.Description != "new" || got.Window.MaxInFlight != 4 {
			t.Errorf("endpoint %+v (%v)", got, err)
		}
		refusal := webhook.Invalid("/url", "must be better")
		_, err = b.UpdateEndpoint(t.Context(), partners.Everything(), e.ID, func(e *webhook.Endpoint) error { e.URL = "worse"; return refusal })
		if !errors.Is(err, refusal) {
			t.Errorf("refusal %v", err)
		}
		list := func() (ids []string) {
			found, err := b.Endpoints(t.Context(), "acme")
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range found {
				ids = append(ids, e.ID)
			}
			return ids
		}
		same(t, "endpoints", list(), []string{e.ID, other.ID})
		urls, err := b.EndpointURLs(t.Context(), 10)
		same(t, "URLs", []any{urls, err}, []any{[]string{"https://new.example.com/", other.URL}, error(nil)})

		if err := b.RemoveEndpoint(t.Context(), partners.Everything(), e.ID); err != nil {
			t.Fatal(err)
		}
		same(t, "endpoints", list(), []string{other.ID})
		wantKind(t, b.RemoveEndpoint(t.Context(), partners.Everything(), e.ID), webhook.KindNotFound)
		_, err = b.Ledger.Endpoint(t.Context(), partners.Everything(), e.ID)
		wantKind(t, err, webhook.KindNotFound)
		_, err = b.UpdateEndpoint(t.Context(), partners.Everything(), e.ID, func(*webhook.Endpoint) error { return nil })
		wantKind(t, err, webhook.KindNotFound)
		_, err = b.Endpoints(t.Context(), "nobody")
		wantKind(t, err, webhook.KindNotFound)
		_, err = b.CreateEndpoint(t.Context(), webhook.Endpoint{PartnerCode: "nobody"}, nil)
		wantKind(t, err, webhook.KindNotFound)
	})
}

func TestAPartnerHasTwentyEndpointsAtMost(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Partner(t, "other")
		created := make(chan error, partners.MaxEndpoints+4)
		for range cap(created) { // however many ask at once
			go func() {
				_, err := b.CreateEndpoint(t.Context(), webhook.Endpoint{PartnerCode: "acme",
					CreatedAt: time.Now(), Window: webhook.Window{MaxInFlight: 1}}, nil)
				created <- err
			}()
		}
		refused := 0
		for range cap(created) {
			if err := <-created; err != nil {
				wantKind(t, err, webhook.KindConflict)
				refused++
			}
		}
		same(t, "refused", refused, 4)
		b.Endpoint(t, "other", 1)
		found, err := b.Endpoints(t.Context(), "acme")
		if err != nil || len(found) != partners.MaxEndpoints {
			t.Fatalf("%d endpoints (%v)", len(found), err)
		}
		if err := b.RemoveEndpoint(t.Context(), partners.Everything(), found[0].ID); err != nil {
			t.Fatal(err)
		}
		b.Endpoint(t, "acme", 1)
	})
}

func TestWhatWaitsForARemovedEndpointEndsCancelled(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 3)
		retry := storeMany(t, b, "acme", 1)[0]
		send(t, b, b.Tickets(), failed, retryAt(time.Now().Add(time.Hour)))
		begun := storeMany(t, b, "acme", 2)
		tickets := b.Tickets()
		first, second := take(t, b, tickets[0]), take(t, b, tickets[1])
		waiting := storeMany(t, b, "acme", 620)
		set(t, b, e.ID, pause)
		set(t, b, e.ID, resume) // hands out what fits
		queued := b.Tickets()
		if err := b.RemoveEndpoint(t.Context(), partners.Everything(), e.ID); err != nil {
			t.Fatal(err)
		}
		none(t, b)
		b.CheckWindows(t)
		for _, id := range append(waiting[1:], retry) {
			d := look(t, b, id)
			if d.State != webhook.Cancelled && !slices.ContainsFunc(queued, func(q ticket) bool { return q.DeliveryID == id }) {
				t.Fatalf("%s is %s", id, d.State)
			}
		}
		same(t, "reason", look(t, b, retry).Reason, "its endpoint was removed")

		// In flight: one fails and is not tried again, one ends well.
		record(t, b, first, failed, retryAt(time.Now()))
		record(t, b, second, ok, delivered)
		same(t, "in flight", []any{look(t, b, begun[0]).State, look(t, b, begun[1]).State}, []any{webhook.Cancelled, webhook.Delivered})
		// Queued: cancelled when a worker comes for it, unsent.
		for _, q := range queued {
			refused(t, b, q)
		}
		b.Settle()
		none(t, b)
		same(t, "unfinished", b.Count(t, "SELECT COUNT(*) FROM deliveries WHERE finished_at = 0"), 0)
		same(t, "attempts", b.Count(t, "SELECT COUNT(*) FROM attempts"), 3)
		b.CheckWindows(t)
	})
}

// An event may be on its way into the ledger while its endpoint is removed.
func TestWhatCrossedARemovalIsCancelledLater(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 8)
		set(t, b, e.ID, pause)
		ids := storeMany(t, b, "acme", 2)
		change(t, b, "UPDATE windows SET removed = $1", true)
		change(t, b, "UPDATE endpoints SET removed_at = 1")
		if err := b.CancelRemoved(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			same(t, "state", look(t, b, id).State, webhook.Cancelled)
		}
		b.CheckWindows(t)
	})
}

func TestAnEndpointIsFoundChangedAndRemovedInItsScopeAlone(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Partner(t, "other")
		e := b.Endpoint(t, "acme", 8)
		for _, s := range []partners.Scope{partners.Only("other"), partners.Only("")} {
			_, err := b.Ledger.Endpoint(t.Context(), s, e.ID)
			wantKind(t, err, webhook.KindNotFound)
			_, err = b.UpdateEndpoint(t.Context(), s, e.ID, func(e *webhook.Endpoint) error { e.URL = "https://evil.example/"; return nil })
			wantKind(t, err, webhook.KindNotFound)
			wantKind(t, b.RemoveEndpoint(t.Context(), s, e.ID), webhook.KindNotFound)
		}
		got, err := b.Ledger.Endpoint(t.Context(), partners.Only("acme"), e.ID)
		if err != nil || got.URL != e.URL || got.Window.Removed {
			t.Errorf("%+v (%v)", got, err)
		}
		if err := b.RemoveEndpoint(t.Context(), partners.Only("acme"), e.ID); err != nil {
			t.Error(err)
		}
	})
}
