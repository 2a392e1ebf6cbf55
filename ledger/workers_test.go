package ledger_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/ledger/reports"
)

func TestAWorkerIsListedUntilItDeregisters(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		for _, id := range []string{"wrk_1", "wrk_2"} {
			if err := b.Heartbeat(t.Context(), id, "host/"+id); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Deregister(t.Context(), "wrk_1"); err != nil {
			t.Fatal(err)
		}
		change(t, b, "UPDATE workers SET seen_at = seen_at + 3600000000") // lives for an hour, however long this takes
		found, err := b.Workers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(found) != 1 || found[0].ID != "wrk_2" || found[0].Host != "host/wrk_2" || !found[0].Alive || found[0].StartedAt.IsZero() {
			t.Errorf("%+v", found)
		}
	})
}

func TestTheNewestCanaryOfEachWorkerIsKept(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		if err := b.Heartbeat(t.Context(), "wrk_1", "host/1"); err != nil {
			t.Fatal(err)
		}
		canary := func() reports.Canary {
			t.Helper()
			found, err := b.Workers(t.Context())
			if err != nil || len(found) != 1 {
				t.Fatalf("%+v %v", found, err)
			}
			return found[0].Canary
		}
		if c := canary(); !c.At.IsZero() || c.Failure != "" {
			t.Errorf("before the first: %+v", c)
		}
		for _, want := range []reports.Canary{{RoundTrip: time.Second, Failure: "the connection was refused"}, {RoundTrip: 14 * time.Millisecond}} {
			if err := b.RecordCanary(t.Context(), "wrk_1", want.RoundTrip, want.Failure); err != nil {
				t.Fatal(err)
			}
			if c := canary(); c.RoundTrip != want.RoundTrip || c.Failure != want.Failure || c.At.IsZero() || c.Age > time.Minute {
				t.Errorf("%+v, want %+v", c, want)
			}
		}
		if err := b.RecordCanary(t.Context(), "wrk_gone", 0, ""); err != nil {
			t.Errorf("of a worker that is gone: %v", err)
		}
	})
}

func TestAWorkerThatBrokeOffIsForgottenAfterADay(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 4)
		for _, id := range []string{worker, "wrk_idle", "wrk_recent", "wrk_alive"} {
			if err := b.Heartbeat(t.Context(), id, "host/"+id); err != nil {
				t.Fatal(err)
			}
		}
		storeMany(t, b, "acme", 1)
		job := take(t, b, one(t, b))
		change(t, b, "UPDATE workers SET seen_at = seen_at - $1 WHERE id IN ($2, 'wrk_idle')", (25 * time.Hour).Microseconds(), worker)
		change(t, b, "UPDATE workers SET seen_at = seen_at - $1 WHERE id = 'wrk_recent'", (23 * time.Hour).Microseconds())
		left := func() (ids []string) {
			t.Helper()
			retain(t, b, 0)
			found, err := b.Workers(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range found {
				ids = append(ids, w.ID)
			}
			slices.Sort(ids)
			return ids
		}
		same(t, "while a delivery of it is unfinished", left(), []string{"wrk_alive", "wrk_recent", worker})
		record(t, b, job, ok, delivered)
		same(t, "afterwards", left(), []string{"wrk_alive", "wrk_recent"})
	})
}

func TestReadersHoldUpNothingOfTheDeliveryPath(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 4)
		release, err := b.HoldReaders(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // readers are held until the test ends
		defer cancel()
		if _, err := b.Append(ctx, ledgertest.NewEvent("acme", "tp_1", "Pending")); err != nil {
			t.Errorf("append: %v", err)
		}
		if _, _, err := b.Claim(ctx, one(t, b), worker); err != nil {
			t.Errorf("claim: %v", err)
		}
		if err := b.Heartbeat(ctx, worker, "host/1"); err != nil {
			t.Errorf("heartbeat: %v", err)
		}
		if _, err := b.Promote(ctx, 10); err != nil {
			t.Errorf("promote: %v", err)
		}
		if _, err := b.Queued(ctx, delivery.Queued{}, 10); err != nil {
			t.Errorf("queued: %v", err)
		}
		if _, err := b.Abandoned(ctx, worker, 10); err != nil {
			t.Errorf("abandoned: %v", err)
		}
		if _, err := b.Claimed(ctx, worker, time.Now(), 10); err != nil {
			t.Errorf("claimed: %v", err)
		}
		if _, err := b.Lead(ctx, worker); err != nil {
			t.Errorf("lead: %v", err)
		}
		if _, err := b.QueueEpoch(ctx, "deliver-0"); err != nil {
			t.Errorf("epoch: %v", err)
		}
	})
}
