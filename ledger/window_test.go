package ledger_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

func TestAWindowGrowsWithSuccessesAndHalvesWhenNobodyAnswers(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 8)
		grown := func() int { return windowOf(t, b, e.ID).Grown }
		same(t, "a new window", grown(), webhook.StartWindow)
		attempt := func(a webhook.Attempt) {
			storeMany(t, b, "acme", 1)
			record(t, b, take(t, b, one(t, b)), a, deliveredOrGone(a))
		}
		for range 10 {
			attempt(ok)
		}
		same(t, "after ten successes", grown(), 8)
		attempt(failed)
		same(t, "after an answer of 500", grown(), 8)
		attempt(webhook.Attempt{Outcome: webhook.OutcomeUnknown})
		same(t, "after an unknown outcome", grown(), 8)
		attempt(webhook.Attempt{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorTimeout})
		same(t, "after a timeout", grown(), 4)
		attempt(webhook.Attempt{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorConnect})
		attempt(webhook.Attempt{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorConnect})
		same(t, "never below the start", grown(), webhook.StartWindow)
		attempt(ok)
		attempt(ok)
		slow := ok
		slow.BodyCut = true
		attempt(slow)
		same(t, "after a success whose body did not end in time", grown(), webhook.StartWindow)
		attempt(ok)
		set(t, b, e.ID, func(e *webhook.Endpoint) { e.Window.Breaker.OpenByHand("maintenance") })
		same(t, "behind an open breaker", grown(), webhook.StartWindow+1)
		set(t, b, e.ID, func(e *webhook.Endpoint) { e.Window.Breaker.Close() })
		same(t, "after a breaker that was closed by hand", grown(), webhook.StartWindow)
		set(t, b, e.ID, func(e *webhook.Endpoint) { e.Window.MaxInFlight = 1 })
		same(t, "nor above the maximum", grown(), 1)
		b.CheckWindows(t)
	})
}

func TestAFullWindowLetsTheRestWaitUntilSlotsAreFree(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 32)
		ids := storeMany(t, b, "acme", 5)
		tickets := b.Tickets()
		same(t, "admitted at first", len(tickets), webhook.StartWindow)
		same(t, "window", windowOf(t, b, e.ID).WaitingFirst, 3)
		same(t, "what waits is due at once", look(t, b, ids[4]).DueAt, time.Time{})
		same(t, "looked at by the promoter", promote(t, b), 0)
		job := take(t, b, tickets[0])
		none(t, b)
		record(t, b, job, ok, delivered) // frees one slot and grows by one
		same(t, "admitted after a success", len(b.Tickets()), 2)
		b.CheckWindows(t)
	})
}

// The backlog of an endpoint that lets one delivery leave at a time.
func TestFirstAttemptsGoFirstButEveryFourthIsTheOldestDueAgain(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 8)
		names := map[string]string{}
		name := func(prefix string, ids ...string) {
			for i, id := range ids {
				names[id] = prefix + string(rune('1'+i))
			}
		}
		again := storeMany(t, b, "acme", 3)
		name("retry ", again...)
		for range 2 { // the window starts at two
			send(t, b, b.Tickets(), failed, retryAt(time.Now().Add(time.Hour)))
		}
		old := storeMany(t, b, "acme", 2)
		drain(t, b)
		set(t, b, e.ID, func(e *webhook.Endpoint) { e.Window.Paused, e.Window.MaxInFlight = true, 1 })
		for i, id := range old {
			replay, err := b.RetryDelivery(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			names[replay] = "replay " + string(rune('1'+i))
		}
		name("first ", storeMany(t, b, "acme", 9)...)
		for i, id := range again { // due in the order of their failing
			change(t, b, "UPDATE deliveries SET due_at = $1 WHERE id = $2", 10+i, id)
		}
		change(t, b, "UPDATE windows SET admissions = 0")
		none(t, b)
		set(t, b, e.ID, resume)
		var order []string
		for _, id := range drain(t, b) {
			order = append(order, names[id])
		}
		want := []string{"first 1", "first 2", "first 3", "retry 1", "first 4", "first 5", "first 6", "retry 2",
			"first 7", "first 8", "first 9", "retry 3", "replay 1", "replay 2"}
		same(t, "order", strings.Join(order, ", "), strings.Join(want, ", "))
		b.CheckWindows(t)
	})
}

func TestRetriesWaitForTheirTime(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 8)
		id := storeMany(t, b, "acme", 1)[0]
		due := time.Now().Add(time.Hour).Truncate(time.Microsecond)
		record(t, b, take(t, b, one(t, b)), failed, retryAt(due))
		d := look(t, b, id)
		if d.State != webhook.Pending || !d.DueAt.Equal(due) || d.Attempts != 1 || d.Last.StatusCode != 500 {
			t.Errorf("delivery %+v, due %v", d, due)
		}
		if w := windowOf(t, b, e.ID); w.WaitingAgain != 1 || !w.WakeAt.Equal(due) {
			t.Errorf("window %+v", w)
		}
		same(t, "promoted before its time", promote(t, b), 0)
		storeMany(t, b, "acme", 1) // a first attempt does not wait behind it
		drain(t, b)
		none(t, b)
		allDue(t, b)
		same(t, "promoted when due", promote(t, b), 1)
		job := take(t, b, one(t, b))
		if job.Trigger != webhook.TriggerRetry || job.Delivery.Attempts != 2 || job.Delivery.Trigger != webhook.TriggerFirst {
			t.Errorf("job %+v", job)
		}
		record(t, b, job, ok, delivered)
		same(t, "promoted afterwards", promote(t, b), 0)
		if wake := windowOf(t, b, e.ID).WakeAt; !wake.IsZero() {
			t.Errorf("an empty window is woken at %v", wake)
		}
		b.CheckWindows(t)
	})
}

func TestWhatIsDueInAMomentTakesASlotOnlyWhileAnotherIsFree(t *testing.T) {
	t.Parallel()
	for _, free := range []int{1, 2} {
		t.Run(map[int]string{1: "the last slot", 2: "two slots"}[free], func(t *testing.T) {
			ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
				b.Partner(t, "acme")
				b.Endpoint(t, "acme", free)
				storeMany(t, b, "acme", 1)
				job := take(t, b, one(t, b))
				due := time.Now().Add(990 * time.Millisecond)
				record(t, b, job, failed, retryAt(due))
				promote(t, b)
				tickets := b.Tickets()
				if free == 1 {
					same(t, "admitted before its time", len(tickets), 0)
					allDue(t, b)
					promote(t, b)
					one(t, b)
					return
				}
				if len(tickets) != 1 || tickets[0].DueAt.UnixMicro() != due.UnixMicro() {
					t.Errorf("tickets %+v, want one for %v", tickets, due)
				}
				b.CheckWindows(t)
			})
		})
	}
}

func TestADueRetryGetsTheSlotThatIsFreedFirst(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 1)
		storeMany(t, b, "acme", 2)
		record(t, b, take(t, b, one(t, b)), failed, retryAt(time.Now().Add(time.Hour)))
		ticket := one(t, b) // the other one
		allDue(t, b)
		same(t, "full windows promoted", promote(t, b), 0)
		record(t, b, take(t, b, ticket), ok, delivered)
		if retry := one(t, b); retry.DeliveryID == ticket.DeliveryID || retry.Generation != 2 {
			t.Errorf("ticket %+v", retry)
		}
		same(t, "used", windowOf(t, b, e.ID).Used, 1)
		b.CheckWindows(t)
	})
}

func TestWhatIsClosedIsHeldAndLeavesInOrderWhenItOpens(t *testing.T) {
	t.Parallel()
	type closing struct {
		name        string
		close, open func(t *testing.T, b *ledgertest.Bench, endpoint string)
	}
	partner := func(disabled bool) func(*testing.T, *ledgertest.Bench, string) {
		return func(t *testing.T, b *ledgertest.Bench, _ string) {
			_, err := b.UpdatePartner(t.Context(), "acme", func(p *partners.Partner) error { p.Disabled = disabled; return nil })
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	endpoint := func(change func(*webhook.Endpoint)) func(*testing.T, *ledgertest.Bench, string) {
		return func(t *testing.T, b *ledgertest.Bench, id string) { set(t, b, id, change) }
	}
	for _, c := range []closing{
		{"paused", endpoint(pause), endpoint(resume)},
		{"disabled", endpoint(func(e *webhook.Endpoint) { e.Window.Disabled = true }), endpoint(func(e *webhook.Endpoint) { e.Window.Disabled = false })},
		{"partner disabled", partner(true), partner(false)},
	} {
		t.Run(c.name, func(t *testing.T) {
			ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
				b.Partner(t, "acme")
				e := b.Endpoint(t, "acme", 4)
				early := storeMany(t, b, "acme", 2) // both on their way
				tickets := b.Tickets()
				sending := take(t, b, tickets[0])
				c.close(t, b, e.ID)
				ids := append(early[1:], storeMany(t, b, "acme", 10)...)

				refused(t, b, tickets[1]) // handed back without using its attempt
				record(t, b, sending, ok, delivered)
				b.Settle()
				none(t, b)
				for _, id := range ids {
					d := look(t, b, id)
					if d.State != webhook.Pending || d.Window.Open() || d.Attempts != 0 {
						t.Errorf("%s is %s after %d attempts, its window %+v", id, d.State, d.Attempts, d.Window)
					}
				}
				held, _, err := b.Deliveries(t.Context(), filter(webhook.Held))
				same(t, "held deliveries", []any{len(held), err}, []any{len(ids), error(nil)})
				same(t, "promoted while closed", promote(t, b), 0)
				b.CheckWindows(t)

				c.open(t, b, e.ID)
				sent := drain(t, b)
				if !slices.Equal(sent, ids) {
					t.Errorf("sent in order\n%v, want\n%v", sent, ids)
				}
				for _, id := range ids {
					same(t, "attempts", look(t, b, id).Attempts, 1)
				}
				same(t, "stored attempts", b.Count(t, "SELECT COUNT(*) FROM attempts"), 12)
				b.CheckWindows(t)
			})
		})
	}
}

// An endpoint that is created while its partner is being disabled is closed, too.
func TestANewEndpointOfADisabledPartnerIsClosed(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		done := make(chan error, 1)
		go func() {
			_, err := b.UpdatePartner(t.Context(), "acme", func(p *partners.Partner) error { p.Disabled = true; return nil })
			done <- err
		}()
		for range 5 {
			b.Endpoint(t, "acme", 4)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		same(t, "open windows", b.Count(t, "SELECT COUNT(*) FROM windows WHERE NOT partner_disabled"), 0)
		_, err := b.UpdatePartner(t.Context(), "nobody", func(*partners.Partner) error { return nil })
		wantKind(t, err, webhook.KindNotFound)
	})
}

func TestATestIsSentAtOnceOutsideSequenceAndWindow(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Partner(t, "other")
		e := b.Endpoint(t, "acme", 1, webhook.CreateCard)
		b.Endpoint(t, "acme", 1)
		set(t, b, e.ID, pause)
		probe := ledgertest.NewEvent("acme", "test", "Pending")
		probe.Event.Test, probe.EndpointID = true, e.ID
		a := store(t, b, probe)
		same(t, "deliveries", len(a.DeliveryIDs), 1)
		d := look(t, b, a.DeliveryIDs[0])
		if d.State != webhook.Queued || d.Sequence != 0 || d.Trigger != webhook.TriggerTest || d.EndpointID != e.ID {
			t.Errorf("delivery %+v", d)
		}
		if w := windowOf(t, b, e.ID); w.Used != 1 || w.NextSequence != 1 {
			t.Errorf("window %+v", w)
		}
		job := take(t, b, one(t, b))
		same(t, "trigger and event", []any{job.Trigger, job.Event.Test}, []any{webhook.TriggerTest, true})
		b.CheckWindows(t)
		timeout := webhook.Attempt{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorTimeout}
		record(t, b, job, timeout, exhausted)
		if w := windowOf(t, b, e.ID); w.Used != 0 || w.Grown != 1 {
			t.Errorf("window after the test %+v", w)
		}
		same(t, "objects", b.Count(t, "SELECT COUNT(*) FROM objects"), 0)

		theirs := ledgertest.NewEvent("other", "test", "Pending")
		theirs.Event.Test, theirs.EndpointID = true, e.ID
		_, err := b.Append(t.Context(), theirs)
		wantKind(t, err, webhook.KindNotFound)
		b.CheckWindows(t)
	})
}

func TestAtMostTwoTestsAreOnTheirWayToAnEndpoint(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e, other := b.Endpoint(t, "acme", 32), b.Endpoint(t, "acme", 32)
		test := func(endpointID string) error {
			probe := ledgertest.NewEvent("acme", "test", "Pending")
			probe.Event.Test, probe.EndpointID = true, endpointID
			_, err := b.Append(t.Context(), probe)
			return err
		}
		var sent sync.WaitGroup
		var refused atomic.Int32
		for range 20 {
			sent.Go(func() {
				if err := test(e.ID); webhook.KindOf(err) == webhook.KindRateLimited {
					refused.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			})
		}
		sent.Wait()
		same(t, "of 20 tests at once are refused", refused.Load(), int32(18))
		same(t, "stored", b.Count(t, "SELECT COUNT(*) FROM events"), 2)
		same(t, "window", windowOf(t, b, e.ID).Used, 2)
		if err := test(other.ID); err != nil {
			t.Errorf("a test of another endpoint: %v", err)
		}
		tickets := b.Tickets()
		same(t, "tickets", len(tickets), 3)
		for _, ticket := range tickets {
			record(t, b, take(t, b, ticket), failed, exhausted)
		}
		if err := test(e.ID); err != nil {
			t.Errorf("a test after the others have ended: %v", err)
		}
		same(t, "tests on their way", windowOf(t, b, e.ID).Tests, 1)
		b.CheckWindows(t)
	})
}

// Many full windows with a backlog give the promoter nothing to do.
func TestFullWindowsAreNotPromotedAgainAndAgain(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		for range 20 {
			b.Endpoint(t, "acme", 1)
		}
		storeMany(t, b, "acme", 3)
		same(t, "on their way", len(b.Tickets()), 20)
		change(t, b, "UPDATE windows SET wake_at = 1")
		same(t, "promoted", promote(t, b), 0)
		none(t, b)
	})
}

func TestTheFirstWaitIsTheOneBeforeTheFirstAttempt(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		e := ordered(t, b)
		reopenWaiting(t, b, time.Hour, time.Minute)
		began := time.Now()
		ids := tell(t, b, "a", "a", "b")
		none(t, b)
		for i, reason := range []webhook.WaitReason{webhook.WaitRetry, webhook.WaitOrder, webhook.WaitRetry} {
			d := look(t, b, ids[i])
			got, until := d.WaitingFor(d.Window, time.Now())
			same(t, fmt.Sprint("what number ", i, " waits for"), got, reason)
			if wait := until.Sub(began); reason == webhook.WaitRetry && (wait < 48*time.Minute || wait > 73*time.Minute) {
				t.Errorf("it waits %v, want an hour within 20 %%", wait)
			}
		}
		same(t, "promoted before their time", promote(t, b), 0)
		b.CheckWindows(t)

		probe := ledgertest.NewEvent("acme", "test", "Pending")
		probe.Event.Test, probe.EndpointID = true, e.ID
		store(t, b, probe) // waits for nothing
		record(t, b, take(t, b, one(t, b)), ok, delivered)

		allDue(t, b)
		same(t, "promoted when due", promote(t, b), 1)
		for _, ticket := range b.Tickets() {
			job := take(t, b, ticket)
			if job.Trigger != webhook.TriggerFirst || job.Delivery.Attempts != 1 || job.Delivery.ID == ids[1] {
				t.Errorf("job %+v", job)
			}
			record(t, b, job, ok, delivered)
		}
		job := take(t, b, one(t, b)) // behind its predecessor it has waited enough
		if job.Delivery.ID != ids[1] || job.Trigger != webhook.TriggerFirst {
			t.Errorf("job %+v", job)
		}
		b.CheckWindows(t)
	})
}
