package ledger_test

import (
	"testing"
	"time"

	"ledgerhook/ledger"
	"ledgerhook/ledger/ledgertest"
)

func TestAWorkerIsListedUntilItSaysFarewell(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		for _, id := range []string{"wrk_1", "wrk_2"} {
			if err := b.Heartbeat(t.Context(), id, "host/"+id); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Farewell(t.Context(), "wrk_1"); err != nil {
			t.Fatal(err)
		}
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
		canary := func() ledger.Canary {
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
		for _, want := range []ledger.Canary{{RoundTrip: time.Second, Failure: "the connection was refused"}, {RoundTrip: 14 * time.Millisecond}} {
			if err := b.RecordCanary(t.Context(), "wrk_1", want); err != nil {
				t.Fatal(err)
			}
			if c := canary(); c.RoundTrip != want.RoundTrip || c.Failure != want.Failure || c.At.IsZero() || c.Age > time.Minute {
				t.Errorf("%+v, want %+v", c, want)
			}
		}
		if err := b.RecordCanary(t.Context(), "wrk_gone", ledger.Canary{}); err != nil {
			t.Errorf("of a worker that is gone: %v", err)
		}
	})
}
