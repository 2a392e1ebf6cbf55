package ledger_test

import (
	"sync"
	"testing"
	"time"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// inState brings a new delivery of an endpoint into a state.
func inState(t *testing.T, b *ledgertest.Bench, endpoint webhook.Endpoint, s webhook.State) (id string) {
	t.Helper()
	if s == webhook.Held {
		set(t, b, endpoint.ID, pause)
	}
	id = storeMany(t, b, "acme", 1)[0]
	if s == webhook.Queued || s == webhook.Held {
		return id
	}
	job := take(t, b, one(t, b))
	switch s {
	case webhook.Delivered:
		record(t, b, job, ok, delivered)
	case webhook.Exhausted:
		record(t, b, job, failed, exhausted)
	case webhook.Pending, webhook.Cancelled:
		record(t, b, job, failed, retryAt(time.Now().Add(time.Hour)))
	}
	if s == webhook.Cancelled {
		if err := b.CancelDelivery(t.Context(), id, "by an operator"); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "state", look(t, b, id).State, s)
	return id
}

func TestARetryOfAnUnfinishedDeliveryMakesItDueNow(t *testing.T) {
	t.Parallel()
	for _, s := range []webhook.State{webhook.Pending, webhook.Held, webhook.Queued, webhook.Sending} {
		t.Run(string(s), func(t *testing.T) {
			ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
				b.Partner(t, "acme")
				e := b.Endpoint(t, "acme", 4)
				id := inState(t, b, e, s)
				before := look(t, b, id)
				had := b.Tickets()
				newID, err := b.RetryDelivery(t.Context(), id)
				if err != nil || newID != "" {
					t.Fatalf("answer %q (%v)", newID, err)
				}
				b.CheckWindows(t)
				if s != webhook.Pending {
					none(t, b)
					same(t, "generation", look(t, b, id).Generation, before.Generation)
					same(t, "state", look(t, b, id).State, before.State)
					if s == webhook.Queued { // the ticket it has is still good
						same(t, "trigger", take(t, b, had[0]).Trigger, webhook.TriggerFirst)
					}
					return
				}
				job := take(t, b, one(t, b))
				same(t, "trigger", job.Trigger, webhook.TriggerManual)
				record(t, b, job, failed, retryAt(time.Now().Add(time.Hour)))
				allDue(t, b)
				promote(t, b)
				same(t, "the next trigger", take(t, b, one(t, b)).Trigger, webhook.TriggerRetry)
			})
		})
	}
}

func TestARetryOfAFinishedDeliveryIsANewOneOfTheSameEvent(t *testing.T) {
	t.Parallel()
	for _, s := range []webhook.State{webhook.Delivered, webhook.Exhausted, webhook.Cancelled} {
		t.Run(string(s), func(t *testing.T) {
			ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
				b.Partner(t, "acme")
				e := b.Endpoint(t, "acme", 4)
				storeMany(t, b, "acme", 1)
				drain(t, b)
				id := inState(t, b, e, s)
				before := look(t, b, id)
				newID, err := b.RetryDelivery(t.Context(), id)
				if err != nil || newID == "" {
					t.Fatalf("answer %q (%v)", newID, err)
				}
				job := take(t, b, one(t, b))
				d := job.Delivery
				if d.ID != newID || d.ReplayOf != id || d.EventID != before.EventID || d.Sequence != 2 || d.Trigger != webhook.TriggerManual ||
					d.Attempts != 1 || job.Trigger != webhook.TriggerManual || job.Event.ID != before.EventID {
					t.Errorf("job %+v", job)
				}
				record(t, b, job, ok, delivered)
				if s != webhook.Delivered { // the new one has brought what this one did not
					before.DeliveredBy = newID
				}
				same(t, "the finished one", look(t, b, id), before)
				same(t, "next sequence", windowOf(t, b, e.ID).NextSequence, 3)
				b.CheckWindows(t)
			})
		})
	}
}

// A button that is pressed ten times asks for one delivery.
func TestRetriesAtOnceMakeOneDelivery(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 4)
		storeMany(t, b, "acme", 1)
		drain(t, b)
		id := inState(t, b, e, webhook.Exhausted)
		var all sync.WaitGroup
		made := make([]string, 10)
		for i := range made {
			all.Go(func() {
				var err error
				if made[i], err = b.RetryDelivery(t.Context(), id); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for _, each := range made {
			same(t, "made", each, made[0])
		}
		same(t, "repetitions", b.Count(t, "SELECT COUNT(*) FROM deliveries WHERE replay_of = $1", id), 1)
		record(t, b, take(t, b, one(t, b)), ok, delivered)
		later, err := b.RetryDelivery(t.Context(), id)
		if err != nil || later == "" || later == made[0] {
			t.Errorf("once it has ended: %q, %v", later, err)
		}
		b.CheckWindows(t)
	})
}

func TestWhatCannotBeRetriedSaysWhy(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		_, err := b.RetryDelivery(t.Context(), "dlv_none")
		wantKind(t, err, webhook.KindNotFound)

		unrouted := storeMany(t, b, "acme", 1)[0]
		newID, err := b.RetryDelivery(t.Context(), unrouted)
		same(t, "a delivery that waits for an endpoint", []any{newID, err}, []any{"", error(nil)})
		if err := b.CancelDelivery(t.Context(), unrouted, "no endpoint will come"); err != nil {
			t.Fatal(err)
		}
		_, err = b.RetryDelivery(t.Context(), unrouted)
		wantKind(t, err, webhook.KindConflict)

		e := b.Endpoint(t, "acme", 4)
		gone := storeMany(t, b, "acme", 1)[0]
		drain(t, b)
		change(t, b, "DELETE FROM events WHERE id = $1", look(t, b, gone).EventID)
		_, err = b.RetryDelivery(t.Context(), gone)
		wantKind(t, err, webhook.KindConflict)

		test := ledgertest.NewEvent("acme", "test", "Pending")
		test.Event.Test, test.EndpointID = true, e.ID
		tested := store(t, b, test).DeliveryIDs[0]
		newID, err = b.RetryDelivery(t.Context(), tested)
		same(t, "a test on its way", []any{newID, err}, []any{"", error(nil)})
		record(t, b, take(t, b, one(t, b)), failed, exhausted)
		before := windowOf(t, b, e.ID)
		_, err = b.RetryDelivery(t.Context(), tested)
		wantKind(t, err, webhook.KindConflict)
		none(t, b)
		same(t, "the window", windowOf(t, b, e.ID), before)

		id := storeMany(t, b, "acme", 1)[0]
		drain(t, b)
		if err := b.RemoveEndpoint(t.Context(), partners.Everything(), e.ID); err != nil {
			t.Fatal(err)
		}
		_, err = b.RetryDelivery(t.Context(), id)
		wantKind(t, err, webhook.KindConflict)
		b.CheckWindows(t)
	})
}

func TestADeliveryIsCancelledUnlessItIsBeingSentOrOver(t *testing.T) {
	for s, kind := range map[webhook.State]webhook.Kind{
		webhook.Pending: 0, webhook.Held: 0, webhook.Queued: 0,
		webhook.Sending: webhook.KindConflict, webhook.Delivered: webhook.KindConflict, webhook.Exhausted: webhook.KindConflict, webhook.Cancelled: webhook.KindConflict,
	} {
		t.Run(string(s), func(t *testing.T) {
			ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
				b.Partner(t, "acme")
				e := b.Endpoint(t, "acme", 4)
				id := inState(t, b, e, s)
				before := look(t, b, id)
				tickets := b.Tickets()
				err := b.CancelDelivery(t.Context(), id, "a mistake")
				after := look(t, b, id)
				b.CheckWindows(t)
				if kind != 0 {
					wantKind(t, err, kind)
					same(t, "delivery", after, before)
					return
				}
				if err != nil || after.State != webhook.Cancelled || after.Reason != "a mistake" || after.FinishedAt.IsZero() {
					t.Errorf("delivery %+v (%v)", after, err)
				}
				for _, ticket := range tickets {
					refused(t, b, ticket)
				}
			})
		})
	}
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		wantKind(t, b.CancelDelivery(t.Context(), "dlv_none", ""), webhook.KindNotFound)
	})
}

func TestACancelledDeliveryGivesItsSlotToTheNext(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 1)
		ids := storeMany(t, b, "acme", 2)
		one(t, b)
		if err := b.CancelDelivery(t.Context(), ids[0], "a mistake"); err != nil {
			t.Fatal(err)
		}
		same(t, "next", one(t, b).DeliveryID, ids[1])
		b.CheckWindows(t)
	})
}

// An endpoint takes the place over after an operator looked at a delivery in it
// and before that is cancelled.
func TestADeliveryIsCancelledWhileItsPlaceIsTakenOver(t *testing.T) {
	b := ledgertest.New(t, "postgres")
	other := b.Another(t).Ledger
	b.Partner(t, "acme")
	id := storeMany(t, b, "acme", 1)[0]
	var e webhook.Endpoint
	var cancelled, created error
	var done sync.WaitGroup
	b.TogetherIn(1, func() {
		done.Go(func() { cancelled = b.CancelDelivery(t.Context(), id, "a mistake") })
	}, func() {
		e, created = other.CreateAndDie(t.Context(), webhook.Endpoint{PartnerCode: "acme", CreatedAt: time.Now(), Window: webhook.Window{MaxInFlight: 2}})
	})
	done.Wait()
	same(t, "errors", []any{cancelled, created}, make([]any, 2))
	d := look(t, b, id)
	same(t, "the delivery", []any{d.State, d.Reason, d.EndpointID}, []any{webhook.Cancelled, "a mistake", e.ID})
	b.CheckWindows(t)
}
