package ledger_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ledgerhook/delivery"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/webhook"
)

// begun returns the only delivery that has begun.
func begun(t *testing.T, s *ledgertest.Slots) delivery.Job {
	t.Helper()
	jobs := s.Begun()
	if len(jobs) != 1 {
		t.Fatalf("%d deliveries have begun, want one", len(jobs))
	}
	return jobs[0]
}

// What is claimed with its admission is what a claim of its ticket would have
// brought: by an event that finds room, and by a record that makes room.
func TestADeliveryThatHasAFreeSlotIsClaimedWithItsAdmission(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		endpoint := b.Endpoint(t, "acme", 1)
		slots := b.WithSlots(t)
		claimed := func(e delivery.NewEvent, sequence int64) delivery.Job {
			t.Helper()
			job := begun(t, slots)
			same(t, "tickets", len(b.Tickets()), 0)
			stored := look(t, b, job.Delivery.ID)
			if diff := cmp.Diff(stored.Delivery, job.Delivery); diff != "" {
				t.Errorf("delivery (-stored +begun):\n%s", diff)
			}
			carries(t, job, e, endpoint, sequence)
			b.CheckWindows(t)
			return job
		}
		first, second := ledgertest.NewEvent("acme", "tp_1", "Pending"), ledgertest.NewEvent("acme", "tp_2", "Pending")
		slots.Open(1)
		store(t, b, first)
		job := claimed(first, 1)
		store(t, b, second)
		same(t, "begun beyond the window", len(slots.Begun()), 0)
		slots.Open(1)
		record(t, b, job, ok, delivered)
		record(t, b, claimed(second, 2), ok, delivered)
		b.CheckAttempts(t)

		store(t, b, ledgertest.NewEvent("acme", "tp_3", "Pending"))
		record(t, b, take(t, b, one(t, b)), ok, delivered) // no slot is free: the queue has it
		b.CheckWindows(t)
		b.CheckAttempts(t)
		same(t, "slots held", slots.Held(), 0)
	})
}

// A claim of its own would take two more, and a commit.
func TestALoneDeliveryInASlotTakesFewRoundTrips(t *testing.T) {
	t.Parallel()
	b := ledgertest.New(t, "postgres")
	b.Partner(t, "acme")
	b.Endpoint(t, "acme", 8)
	slots := b.WithSlots(t)
	var trips atomic.Int32
	if err := b.CountTrips(b.At.DatabaseURL, func() { trips.Add(1) }); err != nil {
		t.Fatal(err)
	}
	deliver := func() int32 {
		trips.Store(0)
		slots.Open(1)
		store(t, b, ledgertest.NewEvent("acme", webhook.NewID("tp_"), "Pending"))
		record(t, b, begun(t, slots), ok, delivered)
		return trips.Load()
	}
	for range 8 { // each connection prepares its statements once
		deliver()
	}
	n := deliver()
	for range 8 { // one may find a connection that is not back yet, and make another prepare
		n = min(n, deliver())
	}
	t.Logf("a delivery took %d", n)
	if n > 5 {
		t.Errorf("a delivery took %d round trips, of at most 5", n)
	}
}

// Of a transaction that is rolled back the slots hear at once; of one that may
// have been committed they hear that too.
func TestATransactionThatFailsGivesItsSlotsBack(t *testing.T) {
	t.Parallel()
	b := ledgertest.NewFresh(t, "postgres")
	b.Partner(t, "acme")
	endpoint := b.Endpoint(t, "acme", 4)
	slots := b.WithSlots(t)
	slots.Open(4)
	spoil := func(body string) (restore func()) {
		t.Helper()
		for _, statement := range []string{
			"CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS $f$ BEGIN " + body + " RETURN NULL; END $f$",
			"CREATE CONSTRAINT TRIGGER spoils AFTER INSERT ON deliveries DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION spoil()",
		} {
			if _, err := b.Raw.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		return func() {
			if _, err := b.Raw.ExecContext(context.WithoutCancel(t.Context()), "DROP FUNCTION spoil CASCADE"); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		body  string
		doubt bool
	}{
		{"RAISE 'no';", false},
		{"PERFORM pg_terminate_backend(pg_backend_pid());", true},
	} {
		restore := spoil(c.body)
		if _, err := b.Append(t.Context(), ledgertest.NewEvent("acme", "tp_1", "Pending")); err == nil {
			t.Fatalf("%s: the event was stored", c.body)
		}
		restore()
		left := slots.Left()
		if len(left) == 0 || left[len(left)-1].Doubt != c.doubt {
			t.Errorf("%s: the slots heard %+v, want doubt %t in the end", c.body, left, c.doubt)
		}
		same(t, "begun and held", []int{len(slots.Begun()), slots.Held()}, []int{0, 0})
	}
	same(t, "deliveries", b.Count(t, "SELECT COUNT(*) FROM deliveries WHERE endpoint_id = $1", endpoint.ID), 0)
	store(t, b, ledgertest.NewEvent("acme", "tp_1", "Pending"))
	record(t, b, begun(t, slots), ok, delivered)
	b.CheckWindows(t)
}
