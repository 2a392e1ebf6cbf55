package ledger_test

import (
	"sync/atomic"
	"testing"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/webhook"
)

// A delivery for which nothing gathers waits for each round trip. What each
// costs was 26 of them.
func TestALoneDeliveryTakesFewRoundTrips(t *testing.T) {
	t.Parallel()
	b := ledgertest.New(t, "postgres")
	b.Partner(t, "acme")
	b.Endpoint(t, "acme", 8)
	var trips atomic.Int32
	if err := b.CountTrips(b.Options.DatabaseURL, func() { trips.Add(1) }); err != nil {
		t.Fatal(err)
	}
	took := func(what string, most int32, do func()) {
		t.Helper()
		trips.Store(0)
		do()
		t.Logf("%s took %d", what, trips.Load())
		if n := trips.Load(); n > most {
			t.Errorf("%s took %d round trips, of at most %d", what, n, most)
		}
	}
	deliver := func(most int32) {
		t.Helper()
		took("a delivery", most, func() {
			store(t, b, ledgertest.NewEvent("acme", webhook.NewID("tp_"), "Pending"))
			job := take(t, b, one(t, b))
			record(t, b, job, ok, delivered)
		})
	}
	for range 8 { // each connection prepares its statements once
		deliver(1000)
	}
	deliver(11)
}

// Planning a statement takes PostgreSQL as long as running it.
func TestTheDeliveryPathPlansAStatementOnceASession(t *testing.T) {
	t.Parallel()
	b := ledgertest.New(t, "postgres")
	b.Partner(t, "acme")
	b.Endpoint(t, "acme", 8)
	for range 8 {
		store(t, b, ledgertest.NewEvent("acme", webhook.NewID("tp_"), "Pending"))
		record(t, b, take(t, b, one(t, b)), ok, delivered)
	}
	statements, planned, unplanned, err := b.Prepared(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d statements ran %d times", statements, unplanned)
	if planned > 0 || statements < 10 || unplanned < 2*statements {
		t.Errorf("of %d prepared statements, %d runs were planned with their values and %d were not", statements, planned, unplanned)
	}
}
