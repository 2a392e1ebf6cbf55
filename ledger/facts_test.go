package ledger_test

import (
	"sync"
	"testing"

	"ledgerhook/delivery"
	"ledgerhook/ledger"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/webhook"
)

// Every transaction of the delivery path counts. One process that stands still
// in the middle of its own must not stop the others, so each counts in rows of
// its own, and what is counted is the sum.
func TestProcessesThatRecordAtOnceDoNotWaitForEachOthersCounts(t *testing.T) {
	t.Parallel()
	b := ledgertest.New(t, "postgres")
	b.Partner(t, "acme")
	b.Endpoint(t, "acme", 32)
	change(t, b, "UPDATE windows SET grown = 32")
	processes := []*ledger.Ledger{b.Ledger, b.Another(t).Ledger, b.Another(t).Ledger}
	if a, b, c := processes[0].Stripe(), processes[1].Stripe(), processes[2].Stripe(); a == b && b == c {
		t.Errorf("three processes count in row %d", a)
	}
	processes[0].UseStripes(0) // a partner's rows are few, and two processes may meet in one
	processes[1].UseStripes(3)
	deliver := func(l *ledger.Ledger) {
		made, err := l.Append(t.Context(), ledgertest.NewEvent("acme", webhook.NewID("tp_"), "Pending"))
		if err != nil || len(made.DeliveryIDs) != 1 {
			t.Errorf("%+v, %v", made, err)
			return
		}
		job, claimed, err := l.Claim(t.Context(), delivery.Ticket{DeliveryID: made.DeliveryIDs[0], Generation: 1}, worker)
		if err != nil || !claimed {
			t.Errorf("claimed %t, %v", claimed, err)
			return
		}
		if err := tryRecord(t, l, result(job, ok, delivered)); err != nil {
			t.Error(err)
		}
	}

	deliver(processes[0])
	frozen, err := b.Raw.BeginTx(t.Context(), nil) // as the first one holds what it has counted, for as long as it takes
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = frozen.Rollback() }()
	for _, table := range []string{"rollups", "rollups_all"} {
		held, err := frozen.ExecContext(t.Context(), "UPDATE "+table+" SET n = n")
		if err != nil {
			t.Fatal(err)
		}
		if n, err := held.RowsAffected(); n != 5 || err != nil { // created, attempted so soon, answered so soon, delivered
			t.Errorf("%s: %d rows, %v", table, n, err)
		}
	}
	deliver(processes[1])
	if err := frozen.Rollback(); err != nil {
		t.Fatal(err)
	}

	const each = 20
	var all sync.WaitGroup
	for _, l := range processes {
		all.Go(func() {
			for range each {
				deliver(l)
			}
		})
	}
	all.Wait()
	const n = 2 + 3*each
	for _, fact := range []string{"created", "attempt_delivered", "delivered"} {
		of := func(table string) int { return b.Count(t, "SELECT SUM(n) FROM "+table+" WHERE fact = $1", fact) }
		same(t, fact+", of the partner and of all", []int{of("rollups"), of("rollups_all")}, []int{n, n})
	}
	if sum, err := b.Invariant(t.Context()); sum.Drift() != 0 || err != nil {
		t.Errorf("%+v, %v", sum, err)
	}
}
