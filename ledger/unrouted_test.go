package ledger_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// placeOf is the id of a partner's waiting place; empty: it has none.
func placeOf(t *testing.T, b *ledgertest.Bench, partner string) (id string) {
	t.Helper()
	if err := b.Raw.QueryRowContext(t.Context(), "SELECT unrouted FROM partners WHERE code = $1", partner).Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

// A partner's events that came before its first endpoint wait for it.
func TestTheFirstEndpointGetsWhatItTakesOfWhatWaited(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Partner(t, "other")
		topups := storeMany(t, b, "acme", 3)
		card := store(t, b, typed("acme", webhook.CreateCard, "card_1", "Init")).DeliveryIDs[0]
		topups = append(topups, storeMany(t, b, "acme", 2)...)
		theirs := storeMany(t, b, "other", 1)[0]
		d := look(t, b, card)
		same(t, "what waits", []any{d.State, d.Shown(d.Window), d.EndpointID, d.Sequence}, []any{webhook.Pending, webhook.Held, "", 4})
		waitsFor(t, b, card, webhook.WaitNoEndpoint)
		waitsFor(t, b, topups[4], webhook.WaitNoEndpoint) // behind others with its ordering key, too
		found, err := b.Endpoints(t.Context(), "acme")
		same(t, "endpoints", []any{len(found), err}, []any{0, error(nil)})
		place := placeOf(t, b, "acme")
		promote(t, b)
		none(t, b)
		b.CheckWindows(t)

		e := b.Endpoint(t, "acme", 8, webhook.TopupCard)
		same(t, "the endpoint's id", e.ID, place)
		same(t, "the place", placeOf(t, b, "acme"), "")
		for i, id := range topups {
			d := look(t, b, id)
			same(t, "endpoint and sequence", []any{d.EndpointID, d.Sequence}, []any{e.ID, []int{1, 2, 3, 5, 6}[i]})
		}
		d = look(t, b, card)
		same(t, "what it does not take", []any{d.State, d.Reason, d.EndpointID, d.Sequence}, []any{webhook.Cancelled, "filtered", e.ID, 4})
		if sent := drain(t, b); !slices.Equal(sent, topups) {
			t.Errorf("sent %v, want %v", sent, topups)
		}
		same(t, "next sequence", windowOf(t, b, e.ID).NextSequence, 7)
		same(t, "another partner's", look(t, b, theirs).EndpointID, "")

		again, err := b.RetryDelivery(t.Context(), card)
		same(t, "a retry", err, error(nil))
		same(t, "sent again", drain(t, b), []string{again})
		same(t, "its sequence", look(t, b, again).Sequence, 4)
		b.CheckWindows(t)
	})
}

func TestWhatAnEndpointDidNotTakeIsReplayed(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		cards := tellCards(t, b, 4)
		if err := b.CancelDelivery(t.Context(), cards[3], "a mistake"); err != nil {
			t.Fatal(err)
		}
		preview, err := b.PreviewReplay(t.Context(), partners.Everything(), delivery.Filter{PartnerCode: "acme"})
		same(t, "replayable without endpoint", []any{preview.Count, err}, []any{0, error(nil)})
		e := b.Endpoint(t, "acme", 8, webhook.TopupCard)
		none(t, b)
		set(t, b, e.ID, func(e *webhook.Endpoint) { e.Types = nil })
		none(t, b) // what was filtered stays so
		same(t, "state", look(t, b, cards[0]).State, webhook.Cancelled)
		r, err := b.StartReplay(t.Context(), partners.Everything(), delivery.Replay{ID: webhook.NewID(webhook.ReplayPrefix), State: delivery.ReplayRunning,
			Reason: "test", Filter: delivery.Filter{State: webhook.Cancelled}, Rate: delivery.MaxReplayRate, CreatedAt: time.Now()})
		same(t, "replayable by now", []any{r.Total, err}, []any{4, error(nil)})
		admitted, _ := step(t, b)
		same(t, "admitted", admitted, webhook.StartWindow) // there is no more room
		b.CheckWindows(t)
	})
}

func TestAnyNumberOfDeliveriesIsTakenOver(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		for code, takes := range map[string]webhook.Type{"takes": webhook.TopupCard, "takes-none": webhook.CreateCard} {
			b.Partner(t, code)
			ids := storeMany(t, b, code, 1020)
			e := b.Endpoint(t, code, 256, takes)
			w := windowOf(t, b, e.ID)
			left := w.Used + w.WaitingFirst + w.WaitingBlocked
			same(t, code, []any{w.NextSequence, left, w.Filtering}, []any{1021, map[string]int{"takes": 1020}[code], false})
			same(t, "last sequence", look(t, b, ids[1019]).Sequence, 1020)
		}
		b.CheckWindows(t)
	})
}

// What waited was kept in order; an endpoint that keeps none sends it as it has room.
func TestAnEndpointWithoutOrderIsHeldUpByNoOrderingKey(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		ids := tellMany(t, b, 1020) // with one ordering key
		same(t, "without endpoint", b.Count(t, "SELECT waiting_blocked FROM windows WHERE unrouted"), 1019)
		e := b.Endpoint(t, "acme", 32)
		change(t, b, "UPDATE windows SET grown = 32")
		first := given(t, b, ids[:2]...)
		send(t, b, first, failed, retryAt(time.Now().Add(time.Hour)))
		sent := append(ids[:2:2], drain(t, b)...)
		if !slices.Equal(sent, ids) {
			t.Errorf("%d of %d were sent, or not in order", len(sent), len(ids))
		}
		w := windowOf(t, b, e.ID)
		same(t, "left", []any{w.Used, w.WaitingFirst, w.WaitingAgain, w.WaitingBlocked}, []any{0, 0, 2, 0})
		b.CheckWindows(t)
	})
}

// A process may fail, or die, while it takes over.
func TestATakeOverThatBreaksOffIsCarriedOn(t *testing.T) {
	ledgertest.EachFresh(t, func(t *testing.T, b *ledgertest.Bench) {
		refuse, accept := "ALTER TABLE deliveries ADD CONSTRAINT refuse CHECK (state <> 'cancelled' OR object_id <> 'card_700')", "ALTER TABLE deliveries DROP CONSTRAINT refuse"
		if b.DB.Embedded() {
			refuse = "CREATE TRIGGER refuse BEFORE UPDATE ON deliveries WHEN NEW.state = 'cancelled' AND NEW.object_id = 'card_700' BEGIN SELECT RAISE(ABORT, 'bad'); END"
			accept = "DROP TRIGGER refuse"
		}
		b.Partner(t, "acme")
		cards := tellCards(t, b, 1200)
		topups := storeMany(t, b, "acme", 1)
		change(t, b, refuse)
		e := b.Endpoint(t, "acme", 8, webhook.TopupCard)
		ended := func() int { return b.Count(t, "SELECT COUNT(*) FROM deliveries WHERE reason = 'filtered'") }
		same(t, "filtered before it broke off", ended(), 500)
		topups = append(topups, storeMany(t, b, "acme", 1)...)
		promote(t, b)
		none(t, b)
		b.CheckWindows(t)
		change(t, b, accept)
		takeOver(t, b)
		same(t, "filtered in the end", ended(), len(cards))
		given(t, b, topups...)
		same(t, "next sequence", windowOf(t, b, e.ID).NextSequence, 1203)
		b.CheckWindows(t)
	})
}

// Types that are added meanwhile count.
func TestWhatAnEndpointTakesByNowIsNotFiltered(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		ids := tell(t, b, "a")
		e := unfiltered(t, b, webhook.CreateCard)
		set(t, b, e.ID, func(e *webhook.Endpoint) { e.Types = nil })
		takeOver(t, b)
		given(t, b, ids...)
		b.CheckWindows(t)
	})
}

func TestAPartnerWithoutEndpointAgainGetsANewPlace(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		early := storeMany(t, b, "acme", 1)[0]
		first := b.Endpoint(t, "acme", 8)
		given(t, b, early)
		set(t, b, first.ID, pause)
		cancelled := storeMany(t, b, "acme", 1)[0]
		if err := b.RemoveEndpoint(t.Context(), partners.Everything(), first.ID); err != nil {
			t.Fatal(err)
		}
		same(t, "what waited for the one removed", look(t, b, cancelled).State, webhook.Cancelled)
		waiting := storeMany(t, b, "acme", 2)
		waitsFor(t, b, waiting[0], webhook.WaitNoEndpoint)
		second := b.Endpoint(t, "acme", 8)
		same(t, "another endpoint", second.ID != first.ID, true)
		given(t, b, waiting...)
		third := b.Endpoint(t, "acme", 8)
		same(t, "one more", windowOf(t, b, third.ID).NextSequence, 1)
		b.CheckWindows(t)
	})
}

func TestADisabledPartnersPlaceWaitsForBoth(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		disable := func(code string, disabled bool) {
			t.Helper()
			_, err := b.UpdatePartner(t.Context(), code, func(p *partners.Partner) error { p.Disabled = disabled; return nil })
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, before := range []bool{true, false} {
			code := fmt.Sprint("disabled-before-", before)
			b.Partner(t, code)
			if before {
				disable(code, true)
			}
			id := storeMany(t, b, code, 1)[0]
			disable(code, true)
			waitsFor(t, b, id, webhook.WaitNoEndpoint)
			b.Endpoint(t, code, 8)
			waitsFor(t, b, id, webhook.WaitDisabled)
			none(t, b)
			disable(code, false)
			given(t, b, id)
		}
		b.CheckWindows(t)
	})
}

// atOnce runs calls at the same time and returns what they came to.
func atOnce(calls ...func() error) error {
	errs := make([]error, len(calls))
	var wg sync.WaitGroup
	for i, call := range calls {
		wg.Go(func() { errs[i] = call() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func processes(t *testing.T, b *ledgertest.Bench) [2]*ledger.Ledger {
	t.Helper()
	if b.DB.Embedded() {
		return [2]*ledger.Ledger{b.Ledger, b.Ledger}
	}
	return [2]*ledger.Ledger{b.Ledger, b.Another(t).Ledger}
}

func TestTheFirstEventsOfAPartnerMakeOnePlace(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		ledgers := processes(t, b)
		const rounds = 20
		for i := range rounds {
			code := fmt.Sprint("partner-", i)
			b.Partner(t, code)
			var calls []func() error
			for n, l := range ledgers {
				calls = append(calls, func() error {
					_, err := l.Append(t.Context(), ledgertest.NewEvent(code, fmt.Sprint("tp_", n), "Pending"))
					return err
				})
			}
			same(t, "errors", atOnce(calls...), error(nil))
		}
		same(t, "places", b.Count(t, "SELECT COUNT(*) FROM windows WHERE unrouted AND next_sequence = 3"), rounds)
		b.CheckWindows(t)
	})
}

func TestEventsAndTheFirstEndpointMayComeAtOnce(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		ledgers := processes(t, b)
		for i := range 20 {
			code := fmt.Sprint("partner-", i)
			b.Partner(t, code)
			if i%2 == 0 {
				storeMany(t, b, code, 2)
			}
			store := func(l *ledger.Ledger) func() error {
				return func() error {
					_, err := l.Append(t.Context(), ledgertest.NewEvent(code, webhook.NewID("tp_"), "Pending"))
					return err
				}
			}
			create := func() error {
				_, err := ledgers[1].CreateEndpoint(t.Context(), webhook.Endpoint{PartnerCode: code, CreatedAt: time.Now(),
					Window: webhook.Window{MaxInFlight: 8, Ordered: i%3 == 0}}, nil)
				return err
			}
			same(t, "errors", atOnce(store(ledgers[0]), create, store(ledgers[1])), error(nil))
		}
		same(t, "places", b.Count(t, "SELECT COUNT(*) FROM windows WHERE unrouted"), 0)
		same(t, "windows", b.Count(t, "SELECT COUNT(*) FROM windows"), 20)
		same(t, "deliveries", b.Count(t, "SELECT COUNT(*) FROM deliveries d JOIN endpoints e ON e.id = d.endpoint_id"), 60)
		b.CheckWindows(t)
	})
}

// An event reads where it goes before it locks the window there. Others that
// stand at that lock before it may have changed what it has read.
func TestAnEventGoesWhereItBelongsOnceItsWindowIsLocked(t *testing.T) {
	for name, test := range map[string]struct {
		before func(*testing.T, *ledgertest.Bench) (window string)
		act    func(other *ledger.Ledger, t *testing.T, window string) error
		after  func(t *testing.T, b *ledgertest.Bench, window string, d delivery.DeliveryWithWindow)
	}{
		"a place that is taken over": {
			func(t *testing.T, b *ledgertest.Bench) string { tell(t, b, "a"); return placeOf(t, b, "acme") },
			func(other *ledger.Ledger, t *testing.T, _ string) error {
				_, err := other.CreateAndDie(t.Context(), webhook.Endpoint{PartnerCode: "acme", CreatedAt: time.Now(), Window: webhook.Window{MaxInFlight: 2}})
				return err
			},
			func(t *testing.T, b *ledgertest.Bench, window string, d delivery.DeliveryWithWindow) {
				same(t, "endpoint and sequence", []any{d.EndpointID, d.Sequence}, []any{window, 2})
			},
		},
		"the last endpoint that is removed": {
			func(t *testing.T, b *ledgertest.Bench) string { return b.Endpoint(t, "acme", 2).ID },
			func(other *ledger.Ledger, t *testing.T, window string) error {
				return other.RemoveEndpoint(t.Context(), partners.Everything(), window)
			},
			func(t *testing.T, b *ledgertest.Bench, window string, d delivery.DeliveryWithWindow) {
				same(t, "state", d.State, webhook.Pending)
				waitsFor(t, b, d.ID, webhook.WaitNoEndpoint)
				same(t, "a new place", d.Window.EndpointID, placeOf(t, b, "acme"))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := ledgertest.New(t, "postgres")
			other := b.Another(t).Ledger
			b.Partner(t, "acme")
			window := test.before(t, b)
			tx, err := b.Raw.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.ExecContext(t.Context(), "SELECT 1 FROM windows FOR UPDATE"); err != nil {
				t.Fatal(err)
			}
			var calls sync.WaitGroup
			var acted, appended error
			var answer delivery.Appended
			for i, call := range []func(){
				func() { acted = test.act(other, t, window) },
				func() { answer, appended = b.Append(t.Context(), about("a", "later")) },
			} {
				calls.Go(call)
				for waiting := 0; waiting <= i; { // the first for tx, the next for the first
					err := tx.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND
						(transactionid = pg_current_xact_id()::xid OR locktype = 'tuple' AND relation = 'windows'::regclass)`).Scan(&waiting)
					if err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
			calls.Wait()
			same(t, "errors", []any{acted, appended}, make([]any, 2))
			test.after(t, b, window, look(t, b, answer.DeliveryIDs[0]))
			b.CheckWindows(t)
		})
	}
}
