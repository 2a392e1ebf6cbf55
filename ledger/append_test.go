package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ledgerhook/delivery"
	"ledgerhook/ledger"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// keyed is an event under an idempotency key of the caller's.
func keyed(key, object, status string) delivery.NewEvent {
	e := ledgertest.NewEvent("acme", object, status)
	e.IdempotencyKey = key
	return e
}

// keyless is an event whose key was derived from its data.
func keyless(key, object, status string) delivery.NewEvent {
	e := typed("acme", webhook.ProfileUpdated, object, status)
	e.IdempotencyKey, e.DefaultKey = key, true
	return e
}

func TestOneKeyFiftyTimesAtOnceIsOneEvent(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 32)
		ledgers := []*ledger.Ledger{b.Ledger, b.Ledger}
		if !b.DB.Embedded() {
			ledgers[1] = b.Another(t).Ledger
		}
		answers := make([]delivery.Appended, 50)
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() {
				var err error
				if answers[i], err = ledgers[i%2].Append(t.Context(), keyed("key", "tp_1", "Pending")); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		first := 0
		for i, a := range answers {
			if !a.Duplicate {
				first++
			}
			a.Duplicate = answers[0].Duplicate
			if diff := cmp.Diff(answers[0], a); diff != "" {
				t.Errorf("answer %d differs from answer 0:\n%s", i, diff)
			}
		}
		same(t, "callers that were first", first, 1)
		same(t, "deliveries answered", len(answers[0].DeliveryIDs), 1)
		same(t, "events", b.Count(t, "SELECT COUNT(*) FROM events"), 1)
		same(t, "deliveries", b.Count(t, "SELECT COUNT(*) FROM deliveries"), 1)
		b.CheckWindows(t)
	})
}

func TestARepeatedEventIsAnsweredAsTheFirstTime(t *testing.T) {
	t.Parallel()
	// One that is sent to two endpoints, one that nobody takes, one that comes as a surprise.
	events := map[string]delivery.NewEvent{
		"sent":       keyed("sent", "tp_1", "Completed"),
		"filtered":   typed("acme", webhook.CreateCard, "card_1", "Init"),
		"unexpected": typed("acme", webhook.ProfileUpdated, "acc_1", "VERIFIED"),
	}
	for name, e := range events {
		t.Run(name, func(t *testing.T) {
			ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
				b.Partner(t, "acme")
				b.Endpoint(t, "acme", 32, webhook.TopupCard, webhook.ProfileUpdated)
				b.Endpoint(t, "acme", 32, webhook.TopupCard)
				first := store(t, b, e)
				same(t, "filtered", first.Filtered, name == "filtered")
				same(t, "unexpected", first.Unexpected, name == "unexpected")
				again := e
				again.Event.ID = webhook.NewID(webhook.EventPrefix)
				want := first
				want.Duplicate = true
				if diff := cmp.Diff(want, store(t, b, again)); diff != "" {
					t.Errorf("a duplicate's answer (-first +again):\n%s", diff)
				}
				drain(t, b)
				if diff := cmp.Diff(want, store(t, b, again)); diff != "" {
					t.Errorf("a duplicate's answer after delivery (-first +again):\n%s", diff)
				}
				// The very same event is one whose first answer got lost.
				if diff := cmp.Diff(first, store(t, b, e)); diff != "" {
					t.Errorf("the answer that got lost (-first +again):\n%s", diff)
				}
				none(t, b)
			})
		})
	}
}

func TestOneKeyTwiceInABatchIsOneEvent(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 32)
		events := []delivery.NewEvent{keyed("a", "tp_1", "Pending"), keyed("b", "tp_2", "Pending"), keyed("a", "tp_1", "Pending"), keyed("a", "tp_1", "Completed")}
		var answers []delivery.Appended
		var errs []error
		var done sync.WaitGroup
		b.TogetherIn(len(events), func() { done.Go(func() { answers, errs = b.AppendAll(t.Context(), events) }) })
		done.Wait()
		same(t, "errors", errs[:3], []error{nil, nil, nil})
		wantKind(t, errs[3], webhook.KindConflict)
		same(t, "duplicates", []bool{answers[0].Duplicate, answers[1].Duplicate, answers[2].Duplicate}, []bool{false, false, true})
		same(t, "the second answer", answers[2].EventID, answers[0].EventID)
		same(t, "its deliveries", answers[2].DeliveryIDs, answers[0].DeliveryIDs)
		same(t, "events", b.Count(t, "SELECT COUNT(*) FROM events"), 2)
	})
}

func TestAKeyWithOtherContentIsAConflictThatNamesTheEvent(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Partner(t, "other")
		first := store(t, b, keyed("key", "tp_1", "Pending"))
		_, err := b.Append(t.Context(), keyed("key", "tp_1", "Completed"))
		wantKind(t, err, webhook.KindConflict)
		if err != nil && !strings.Contains(err.Error(), first.EventID) {
			t.Errorf("the conflict does not name the event: %v", err)
		}
		// Keys belong to a partner.
		e := ledgertest.NewEvent("other", "tp_1", "Completed")
		e.IdempotencyKey = "key"
		if a := store(t, b, e); a.Duplicate {
			t.Error("another partner's key counts")
		}
	})
}

func TestAStatusIsToldOnceUnlessItsKeySaysOtherwise(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		events []delivery.NewEvent
		stored int
	}{
		{"the same status again without a key", []delivery.NewEvent{keyless("1", "acc", "SUBMITTED"), keyless("2", "acc", "SUBMITTED")}, 1},
		{"the same status with a key of its own", []delivery.NewEvent{keyless("1", "acc", "SUBMITTED"), keyed("2", "acc", "SUBMITTED")}, 2},
		{"REJECTED, SUBMITTED, REJECTED", []delivery.NewEvent{keyless("1", "acc", "REJECTED"), keyless("2", "acc", "SUBMITTED"), keyless("3", "acc", "REJECTED")}, 3},
		{"two accounts", []delivery.NewEvent{keyless("1", "acc", "REJECTED"), keyless("2", "acc2", "REJECTED")}, 2},
		{"the same key again after the status was repeated", []delivery.NewEvent{keyless("1", "acc", "NONE"), keyless("2", "acc", "NONE"), keyless("2", "acc", "NONE")}, 1},
	}
	for name, together := range map[string]bool{"one by one": false, "in one batch": true} {
		t.Run(name, func(t *testing.T) {
			ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
				for i, c := range cases {
					partner := fmt.Sprint("partner_", i)
					b.Partner(t, partner)
					b.Endpoint(t, partner, 32)
					events := slices.Clone(c.events)
					for i := range events {
						events[i].Event.ID = webhook.NewID(webhook.EventPrefix)
						events[i].Event.PartnerCode = partner
					}
					for i, a := range appendEach(t, b, events, together) {
						same(t, c.name+": duplicate", a.Duplicate, i >= c.stored)
						if _, err := b.Event(t.Context(), partners.Everything(), a.EventID); err != nil {
							t.Errorf("%s: the answer names an event that is not there: %v", c.name, err)
						}
						same(t, c.name+": deliveries", len(a.DeliveryIDs), 1)
					}
					same(t, c.name+": events", b.Count(t, "SELECT COUNT(*) FROM events WHERE partner_code = $1", partner), c.stored)
				}
			})
		})
	}
}

// appendEach appends events one by one or in one batch.
func appendEach(t *testing.T, b *ledgertest.Bench, events []delivery.NewEvent, together bool) (answers []delivery.Appended) {
	t.Helper()
	if !together {
		for _, e := range events {
			answers = append(answers, store(t, b, e))
		}
		return answers
	}
	var errs []error
	var done sync.WaitGroup
	b.TogetherIn(len(events), func() { done.Go(func() { answers, errs = b.AppendAll(t.Context(), events) }) })
	done.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return answers
}

func TestAnEventGoesToEveryEndpointThatTakesIt(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Partner(t, "other")
		all := b.Endpoint(t, "acme", 32)
		topups := b.Endpoint(t, "acme", 32, webhook.TopupCard, webhook.CardTransaction)
		cards := b.Endpoint(t, "acme", 32, webhook.CreateCard)
		removed := b.Endpoint(t, "acme", 32)
		b.Endpoint(t, "other", 32)
		if err := b.RemoveEndpoint(t.Context(), partners.Everything(), removed.ID); err != nil {
			t.Fatal(err)
		}
		receivers := func(a delivery.Appended) (ids []string) {
			for _, id := range a.DeliveryIDs {
				ids = append(ids, look(t, b, id).EndpointID)
			}
			return ids
		}
		topup := store(t, b, ledgertest.NewEvent("acme", "tp_1", "Pending"))
		same(t, "receivers of a top-up", receivers(topup), []string{all.ID, topups.ID})
		card := store(t, b, typed("acme", webhook.CreateCard, "card_1", "Init"))
		same(t, "receivers of a card", receivers(card), []string{all.ID, cards.ID})
		for _, id := range topup.DeliveryIDs {
			same(t, "sequence", look(t, b, id).Sequence, 1)
		}
		same(t, "sequence of the second event", look(t, b, card.DeliveryIDs[0]).Sequence, 2)
		e, err := b.Event(t.Context(), partners.Everything(), topup.EventID)
		if err != nil || e.Filtered || e.Unexpected || string(e.Data) != `{"id":"tp_1"}` || len(e.Signatures) != 2 {
			t.Errorf("event %+v (%v)", e, err)
		}
		deliveries, err := b.EventDeliveries(t.Context(), topup.EventID)
		if err != nil || len(deliveries) != 2 || deliveries[0].ID != topup.DeliveryIDs[0] {
			t.Errorf("deliveries of the event: %+v (%v)", deliveries, err)
		}
		b.CheckWindows(t)
	})
}

func TestAnEventThatNoEndpointTakesIsKeptAndSaysSo(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 32, webhook.CreateCard)
		a := store(t, b, ledgertest.NewEvent("acme", "tp_1", "Pending"))
		e, err := b.Event(t.Context(), partners.Everything(), a.EventID)
		if err != nil || !a.Filtered || !e.Filtered || len(a.DeliveryIDs) != 0 {
			t.Errorf("answer %+v, event %+v (%v)", a, e, err)
		}
	})
}

// 1,400 deliveries are more values than one statement of SQLite takes.
func TestALargeBatchForTheMostEndpointsIsOneTransaction(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		var endpoints []webhook.Endpoint
		for range 20 {
			endpoints = append(endpoints, b.Endpoint(t, "acme", 32))
		}
		events := make([]delivery.NewEvent, 70)
		for i := range events {
			events[i] = ledgertest.NewEvent("acme", webhook.NewID("tp_"), "Pending")
		}
		appendEach(t, b, events, true)
		// Transactions are told apart by their time.
		same(t, "transactions", b.Count(t, "SELECT COUNT(DISTINCT created_at) FROM deliveries"), 1)
		same(t, "deliveries", b.Count(t, "SELECT COUNT(*) FROM deliveries"), 20*len(events))
		same(t, "next sequence", windowOf(t, b, endpoints[19].ID).NextSequence, len(events)+1)
		b.CheckWindows(t)
	})
}

// A repetition is answered even while its endpoints are busy elsewhere.
func TestARepeatedEventWaitsForNoWindow(t *testing.T) {
	b := ledgertest.New(t, "postgres")
	b.Partner(t, "acme")
	b.Endpoint(t, "acme", 8)
	first := store(t, b, keyed("key", "tp_1", "Pending"))
	tx, err := b.Raw.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "SELECT 1 FROM windows FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // the windows are held until it has come back
	defer cancel()
	again, err := b.Append(ctx, keyed("key", "tp_1", "Pending"))
	if err != nil || !again.Duplicate || !slices.Equal(again.DeliveryIDs, first.DeliveryIDs) {
		t.Errorf("answer %+v (%v), want that of %+v", again, err, first)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
}

func TestSequencesHaveNoGapsWhoeverAppends(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		for range 3 {
			b.Endpoint(t, "acme", 2)
		}
		ledgers := []*ledger.Ledger{b.Ledger, b.Ledger}
		if !b.DB.Embedded() {
			ledgers[1] = b.Another(t).Ledger
		}
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				for range 8 {
					e := ledgertest.NewEvent("acme", webhook.NewID("tp_"), "Pending")
					if _, err := ledgers[i%2].Append(t.Context(), e); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		same(t, "deliveries", b.Count(t, "SELECT COUNT(*) FROM deliveries"), 3*128)
		b.CheckWindows(t)
	})
}

// An event that is refused leaves its key to one that has the same beside it.
func TestARefusedEventTakesNobodysKey(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 8)
		refused, good := keyed("k", "tp_1", "Pending"), keyed("k", "tp_1", "Pending")
		refused.EndpointID = "ep_none"
		answers, errs := b.AppendAll(t.Context(), []delivery.NewEvent{refused, good, keyed("other", "tp_2", "Pending")})
		wantKind(t, errs[0], webhook.KindNotFound)
		same(t, "the others", errs[1:], make([]error, 2))
		same(t, "stored", []any{answers[1].EventID, answers[1].Duplicate, answers[2].Duplicate}, []any{good.Event.ID, false, false})
		same(t, "keys", b.Count(t, "SELECT COUNT(*) FROM idempotency_keys"), 2)
		again := keyed("k", "tp_1", "Pending")
		a := store(t, b, again)
		same(t, "said again", []any{a.EventID, a.Duplicate}, []any{good.Event.ID, true})
		b.CheckWindows(t)
	})
}
