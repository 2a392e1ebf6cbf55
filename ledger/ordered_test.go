package ledger_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

func order(e *webhook.Endpoint)    { e.Window.Ordered = true }
func disorder(e *webhook.Endpoint) { e.Window.Ordered = false }

// ordered is an endpoint that keeps order and has room for everything.
func ordered(t *testing.T, b *ledgertest.Bench) webhook.Endpoint {
	t.Helper()
	b.Partner(t, "acme")
	e := b.Endpoint(t, "acme", 32)
	set(t, b, e.ID, order)
	change(t, b, "UPDATE windows SET grown = 32")
	return e
}

// about is an event with an ordering key.
func about(orderingKey, status string) delivery.NewEvent {
	e := typed("acme", webhook.ProfileUpdated, orderingKey, status)
	e.Event.OrderingKey = orderingKey
	return e
}

// tell appends events with these ordering keys, one after the other, and returns their deliveries.
func tell(t *testing.T, b *ledgertest.Bench, orderingKeys ...string) (deliveries []string) {
	t.Helper()
	for i, key := range orderingKeys {
		deliveries = append(deliveries, store(t, b, about(key, fmt.Sprint("status ", i))).DeliveryIDs...)
	}
	return deliveries
}

// tellMany appends n events with one ordering key at once.
func tellMany(t *testing.T, b *ledgertest.Bench, n int) []string {
	t.Helper()
	return tellAll(t, b, n, func(i int) delivery.NewEvent { return about("a", fmt.Sprint(i)) })
}

// tellCards appends n events about cards at once.
func tellCards(t *testing.T, b *ledgertest.Bench, n int) []string {
	t.Helper()
	return tellAll(t, b, n, func(i int) delivery.NewEvent {
		return typed("acme", webhook.CreateCard, fmt.Sprint("card_", i), "Init")
	})
}

func tellAll(t *testing.T, b *ledgertest.Bench, n int, event func(i int) delivery.NewEvent) (deliveries []string) {
	t.Helper()
	events := make([]delivery.NewEvent, n)
	for i := range events {
		events[i] = event(i)
	}
	answers, errs := b.AppendAll(t.Context(), events)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, a := range answers {
		deliveries = append(deliveries, a.DeliveryIDs...)
	}
	return deliveries
}

// given checks which deliveries got tickets, and returns these in that order.
func given(t *testing.T, b *ledgertest.Bench, want ...string) []delivery.Ticket {
	t.Helper()
	tickets := b.Tickets()
	byID := map[string]delivery.Ticket{}
	var got []string
	for _, ticket := range tickets {
		got = append(got, ticket.DeliveryID)
		byID[ticket.DeliveryID] = ticket
	}
	slices.Sort(got)
	if sorted := slices.Sorted(slices.Values(want)); !slices.Equal(got, sorted) {
		t.Fatalf("admitted:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(sorted, "\n"))
	}
	tickets = nil
	for _, id := range want {
		tickets = append(tickets, byID[id])
	}
	return tickets
}

// waitsFor checks what a delivery waits for.
func waitsFor(t *testing.T, b *ledgertest.Bench, id string, want webhook.WaitReason) {
	t.Helper()
	d := look(t, b, id)
	reason, _ := d.WaitingFor(d.Window, time.Now())
	same(t, "what "+id+" waits for", reason, want)
}

// Case 18 of the known ways to lose or double events.
func TestVerifiedNeverOvertakesUnderReview(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		ordered(t, b)
		review := store(t, b, about("account_1", "UNDER_REVIEW")).DeliveryIDs[0]
		verified := store(t, b, about("account_1", "VERIFIED")).DeliveryIDs[0]
		for try := range 3 {
			ticket := given(t, b, review)[0]
			job := take(t, b, ticket)
			waitsFor(t, b, verified, webhook.WaitOrder)
			other := store(t, b, about(fmt.Sprint("other_", try), "VERIFIED")).DeliveryIDs[0]
			send(t, b, given(t, b, other), ok, delivered)
			if try == 2 {
				record(t, b, job, ok, delivered)
				break
			}
			record(t, b, job, failed, retryAt(time.Now().Add(time.Hour)))
			given(t, b)
			allDue(t, b)
			promote(t, b)
		}
		job := take(t, b, given(t, b, verified)[0])
		same(t, "the trigger of what waited", job.Trigger, webhook.TriggerFirst)
		record(t, b, job, ok, delivered)
		b.CheckWindows(t)
		b.CheckAttempts(t)
	})
}

func TestAnAccountThatIsRejectedTwiceTellsSoTwice(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		ordered(t, b)
		var want []string
		for i, status := range []string{"REJECTED", "SUBMITTED", "REJECTED"} {
			e := about("account_1", status)
			e.DefaultKey, e.IdempotencyKey, e.Digest = true, fmt.Sprint(status, i), []byte(fmt.Sprint(status, i))
			a := store(t, b, e)
			same(t, "duplicate", a.Duplicate, false)
			want = append(want, a.DeliveryIDs...)
		}
		same(t, "sent", strings.Join(drain(t, b), " "), strings.Join(want, " "))
		for i, id := range want {
			same(t, "sequence", look(t, b, id).Sequence, i+1)
		}
		b.CheckWindows(t)
	})
}

func TestWhatEndsFreesItsOrderingKey(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		e := ordered(t, b)
		ids := tell(t, b, "a", "a", "a", "a", "a", "a")
		send(t, b, given(t, b, ids[0]), failed, exhausted)
		cancel := func(id string) {
			t.Helper()
			if err := b.CancelDelivery(t.Context(), id, "a mistake"); err != nil {
				t.Fatal(err)
			}
		}
		cancel(ids[2]) // blocked: nothing moves
		job := take(t, b, given(t, b, ids[1])[0])
		record(t, b, job, failed, retryAt(time.Now().Add(time.Hour)))
		given(t, b)
		cancel(ids[1]) // waits for its retry
		given(t, b, ids[3])
		cancel(ids[3]) // queued
		ticket := given(t, b, ids[4])[0]
		set(t, b, e.ID, pause)
		refused(t, b, ticket) // handed back, which ends nothing
		b.Settle()
		waitsFor(t, b, ids[4], webhook.WaitPaused)
		set(t, b, e.ID, resume)
		send(t, b, given(t, b, ids[4]), webhook.Attempt{Outcome: webhook.OutcomeUnknown}, retryAt(time.Now()))
		send(t, b, given(t, b, ids[4]), ok, delivered)
		send(t, b, given(t, b, ids[5]), ok, delivered)
		b.CheckWindows(t)
	})
}

// Everything of one batch: what ends, what comes and what waited.
func TestDeliveriesOfOneBatchAndOrderingKeyKeepTheirOrder(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		ordered(t, b)
		before := tell(t, b, "a", "b")
		jobs := []delivery.Job{}
		for _, ticket := range given(t, b, before...) {
			jobs = append(jobs, take(t, b, ticket))
		}
		var events []delivery.NewEvent
		for i := range 90 {
			events = append(events, about([]string{"a", "b", "c"}[i%3], fmt.Sprint(i)))
		}
		var answers []delivery.Appended
		b.TogetherIn(len(events)+2, func() {
			go func() { answers, _ = b.AppendAll(t.Context(), events) }()
			for _, job := range jobs {
				go func() { _ = tryRecord(t, b.Ledger, result(job, ok, delivered)) }()
			}
		})
		b.Settle()
		sequence := map[string]int64{}
		sent := 0
		for tickets := b.Tickets(); len(tickets) > 0; tickets = b.Tickets() {
			busy := map[string]bool{}
			for _, ticket := range tickets {
				job := take(t, b, ticket)
				key := job.Event.OrderingKey
				if busy[key] || job.Delivery.Sequence <= sequence[key] {
					t.Errorf("%d with ordering key %s is sent beside or after %d", job.Delivery.Sequence, key, sequence[key])
				}
				busy[key], sequence[key] = true, job.Delivery.Sequence
				record(t, b, job, ok, delivered)
				sent++
			}
		}
		same(t, "sent", sent, len(events))
		same(t, "answered", len(answers), len(events))
		b.CheckWindows(t)
	})
}

func TestOrderTakesHoldOfWhatIsUnfinished(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 32)
		change(t, b, "UPDATE windows SET grown = 6")
		ids := tell(t, b, "a", "a", "a", "b", "b", "c", "a", "b", "d", "d")
		tickets := given(t, b, ids[:6]...)
		retried := take(t, b, tickets[0])
		record(t, b, retried, failed, retryAt(time.Now().Add(time.Hour)))
		tickets = append(tickets, given(t, b, ids[6])...)
		sending := take(t, b, tickets[1])
		done := take(t, b, tickets[3])
		set(t, b, e.ID, order)
		waitsFor(t, b, ids[0], webhook.WaitRetry)
		for _, i := range []int{2, 4, 6, 7, 9} {
			waitsFor(t, b, ids[i], webhook.WaitOrder)
		}
		for _, i := range []int{2, 4, 6} { // were queued
			refused(t, b, tickets[i])
			same(t, "attempts used", look(t, b, ids[i]).Attempts, 0)
		}
		b.CheckWindows(t)
		given(t, b, ids[8]) // for d, the first with its ordering key

		record(t, b, sending, failed, retryAt(time.Now())) // behind the retry of the one before it
		waitsFor(t, b, ids[1], webhook.WaitOrder)
		given(t, b)
		record(t, b, done, ok, delivered)
		given(t, b, ids[4])
		allDue(t, b)
		promote(t, b)
		again := given(t, b, ids[0])
		for _, id := range []string{ids[1], ids[2], ids[6]} {
			send(t, b, again, ok, delivered)
			again = given(t, b, id)
		}
		b.CheckWindows(t)
		b.CheckAttempts(t)
	})
}

func TestADeliveryInFlightWhenOrderBeginsIsFreedLikeOthers(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 32)
		ids := tell(t, b, "a", "a")
		tickets := given(t, b, ids...)
		first, second := take(t, b, tickets[0]), take(t, b, tickets[1])
		set(t, b, e.ID, order)
		record(t, b, first, ok, delivered)
		record(t, b, second, failed, retryAt(time.Now())) // not behind anything any more
		send(t, b, given(t, b, ids[1]), ok, delivered)

		ids = tell(t, b, "a")
		tickets = given(t, b, ids...)
		first = take(t, b, tickets[0])
		ids = append(ids, tell(t, b, "a")...)
		set(t, b, e.ID, disorder)
		second = take(t, b, given(t, b, ids[1])[0])
		set(t, b, e.ID, order)
		set(t, b, e.ID, disorder)
		record(t, b, second, failed, retryAt(time.Now()))
		send(t, b, given(t, b, ids[1]), ok, delivered)
		record(t, b, first, ok, delivered)
		b.CheckWindows(t)
		b.CheckAttempts(t)
	})
}

// A retry may be admitted before its time, which its receiver may have asked for.
func TestWhatOrderCallsBackIsNotSentBeforeItsTime(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 32)
		change(t, b, "UPDATE windows SET grown = 32")
		ids := tell(t, b, "a", "a")
		tickets := given(t, b, ids...)
		first := take(t, b, tickets[0])
		record(t, b, take(t, b, tickets[1]), failed, retryAt(time.Now().Add(900*time.Millisecond)))
		early := given(t, b, ids[1])[0]
		due := time.Now().Add(time.Hour).Truncate(time.Microsecond) // so that it is early for as long as the test takes
		change(t, b, "UPDATE deliveries SET queued_at = $1 WHERE id = $2", due.UnixMicro(), ids[1])
		set(t, b, e.ID, order)
		refused(t, b, early)
		waitsFor(t, b, ids[1], webhook.WaitOrder)
		record(t, b, first, ok, delivered)
		given(t, b)
		waitsFor(t, b, ids[1], webhook.WaitRetry)
		same(t, "due", look(t, b, ids[1]).DueAt.Equal(due), true)
		allDue(t, b)
		promote(t, b)
		send(t, b, given(t, b, ids[1]), ok, delivered)
		b.CheckWindows(t)
		b.CheckAttempts(t)
	})
}

func TestAFirstWaitIsKeptWhenOrderComesAndGoes(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 32)
		reopenWaiting(t, b, time.Hour)
		ids := tell(t, b, "a", "a", "b")
		for _, change := range []func(*webhook.Endpoint){order, disorder, order, disorder} {
			set(t, b, e.ID, change)
			same(t, "that want a slot", windowOf(t, b, e.ID).WaitingFirst, 0)
			same(t, "windows looked at before anything is due", promote(t, b), 0)
			b.CheckWindows(t)
		}
		for _, id := range ids {
			waitsFor(t, b, id, webhook.WaitRetry)
		}
		allDue(t, b)
		promote(t, b)
		for _, ticket := range given(t, b, ids[:2]...) { // its window is 2 wide
			same(t, "trigger", take(t, b, ticket).Trigger, webhook.TriggerFirst)
		}
	})
}

// The probe of a half-open breaker may be called back: it waits for the retry of
// the one before it, and another probe must follow.
func TestAProbeThatOrderCallsBackMakesWayForAnother(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 32)
		ids := tell(t, b, "a", "a")
		tickets := given(t, b, ids...)
		if _, err := b.Record(t.Context(), trip(take(t, b, tickets[0]))); err != nil {
			t.Fatal(err)
		}
		refused(t, b, tickets[1])
		b.Settle()
		probe := probeTime(t, b)
		same(t, "the probe", probe.DeliveryID, ids[1])
		set(t, b, e.ID, order)
		refused(t, b, probe)
		waitsFor(t, b, ids[1], webhook.WaitOrder)
		same(t, "the probe once it is called back", breakerOf(t, b, e.ID).Probe, "")
		given(t, b)
		allDue(t, b)
		promote(t, b)
		job := take(t, b, given(t, b, ids[0])[0])
		same(t, "trigger", job.Trigger, webhook.TriggerProbe)
		record(t, b, job, ok, delivered)
		send(t, b, given(t, b, ids[1]), ok, delivered)
		b.CheckWindows(t)
		b.CheckAttempts(t)
	})
}

func TestWithoutOrderWhatWasBlockedIsReleasedInSteps(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		e := ordered(t, b)
		const n = 601
		tellMany(t, b, n)
		first := take(t, b, one(t, b))
		set(t, b, e.ID, disorder)
		same(t, "blocked after a step", windowOf(t, b, e.ID).WaitingBlocked, 100)
		b.CheckWindows(t)
		found, _, err := b.Deliveries(t.Context(), delivery.Filter{Limit: n})
		if err != nil || slices.ContainsFunc(found, func(d delivery.DeliveryWithWindow) bool { return d.Blocked }) {
			t.Errorf("some say that they wait for their order (%v)", err)
		}
		record(t, b, first, ok, delivered)
		w := windowOf(t, b, e.ID)
		same(t, "blocked after another", w.WaitingBlocked, 0)
		same(t, "admitted", w.Used, 32)
		b.CheckWindows(t)
	})
}

func TestOrderIsRefusedForTooMuchAtOnce(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 32)
		change(t, b, "UPDATE windows SET waiting_first = 20001")
		_, err := b.UpdateEndpoint(t.Context(), partners.Everything(), e.ID, func(e *webhook.Endpoint) error { order(e); return nil })
		wantKind(t, err, webhook.KindConflict)
		same(t, "ordered", windowOf(t, b, e.ID).Ordered, false)
	})
}

func TestAnOrderedEndpointTakesOverInOrder(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		ids := tell(t, b, "a", "b", "a", "a", "b")
		e, err := b.CreateEndpoint(t.Context(), webhook.Endpoint{PartnerCode: "acme",
			URL: "https://partner.example.com/hook", CreatedAt: time.Now(), Window: webhook.Window{MaxInFlight: 32, Ordered: true}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, tell(t, b, "a", "c")...)
		tickets := given(t, b, ids[0], ids[1])
		same(t, "blocked", windowOf(t, b, e.ID).WaitingBlocked, 4)
		send(t, b, tickets[:1], failed, exhausted)
		given(t, b, ids[2])
		send(t, b, tickets[1:], ok, delivered)
		tickets = given(t, b, ids[4], ids[6]) // the window has grown
		send(t, b, tickets, ok, delivered)
		given(t, b)
		for i, id := range ids {
			same(t, "sequence", look(t, b, id).Sequence, i+1)
		}
		b.CheckWindows(t)
	})
}

// unfiltered is an ordered endpoint whose process died before it let go what waited.
func unfiltered(t *testing.T, b *ledgertest.Bench, types ...webhook.Type) webhook.Endpoint {
	t.Helper()
	e, err := b.CreateAndDie(t.Context(), webhook.Endpoint{PartnerCode: "acme", Types: types,
		URL: "https://partner.example.com/hook", CreatedAt: time.Now(), Window: webhook.Window{MaxInFlight: 32, Ordered: true}})
	if err != nil {
		t.Fatal(err)
	}
	change(t, b, "UPDATE windows SET grown = 32 WHERE endpoint_id = $1", e.ID)
	same(t, "filtering", windowOf(t, b, e.ID).Filtering, true)
	return e
}

func takeOver(t *testing.T, b *ledgertest.Bench) {
	t.Helper()
	if err := b.TakeOver(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, "windows that still filter", b.Count(t, "SELECT COUNT(*) FROM windows WHERE filtering"), 0)
}

func TestEventsStayBehindWhatIsStillToBeFiltered(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		ids := tell(t, b, "a", "a")
		unfiltered(t, b)
		ids = append(ids, tell(t, b, "a", "b")...)
		promote(t, b)
		given(t, b)
		takeOver(t, b)
		ids = append(ids, tell(t, b, "a", "c")...)
		given(t, b, ids[0], ids[3], ids[5])
		for i, id := range ids {
			same(t, "sequence", look(t, b, id).Sequence, i+1)
		}
		b.CheckWindows(t)
	})
}

// However much there is to filter, nobody is refused meanwhile.
func TestAnEventForSeveralEndpointsWaitsBehindWhatIsFiltered(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		const waiting = 501 // more than one step ends
		tellMany(t, b, waiting)
		e := unfiltered(t, b, webhook.CreateCard)
		other := b.Endpoint(t, "acme", 8)
		card := typed("acme", webhook.CreateCard, "card_1", "Init")
		card.Event.OrderingKey = "a"
		both := store(t, b, card).DeliveryIDs
		same(t, "deliveries", len(both), 2)
		mine := ""
		for _, id := range both {
			d := look(t, b, id)
			want := map[string]int64{e.ID: waiting + 1, other.ID: 1}[d.EndpointID]
			same(t, "sequence", d.Sequence, want)
			same(t, "blocked", d.Blocked, d.EndpointID == e.ID)
			if d.EndpointID == e.ID {
				mine = id
			}
		}
		b.Tickets()
		takeOver(t, b)
		given(t, b, mine)
		same(t, "filtered", b.Count(t, "SELECT COUNT(*) FROM deliveries WHERE state = 'cancelled' AND reason = 'filtered'"), waiting)
		b.CheckWindows(t)
	})
}

// Another process goes on appending while an endpoint is made that takes over.
func TestNoEventIsRefusedOrOvertakesAnEarlierOneWhileItsEndpointIsMade(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		other := b.Ledger
		if !b.DB.Embedded() {
			other = b.Another(t).Ledger
		}
		var ids []string // in the order in which they were acknowledged
		appendSome := func(n int) {
			for range n {
				a, err := other.Append(t.Context(), about("a", fmt.Sprint(len(ids))))
				if err != nil {
					t.Error(err)
					return
				}
				ids = append(ids, a.DeliveryIDs...)
			}
		}
		for _, waited := range [][]string{tellMany(t, b, 1000), tellCards(t, b, 1000)} {
			ids = append(ids, waited...)
		}
		started, made := make(chan struct{}), make(chan struct{})
		var appender sync.WaitGroup
		appender.Go(func() {
			appendSome(10)
			close(started)
			for waiting := true; waiting; {
				appendSome(1)
				select {
				case <-made:
					waiting = false
				default:
				}
			}
			appendSome(20)
		})
		<-started
		e, err := b.CreateEndpoint(t.Context(), webhook.Endpoint{PartnerCode: "acme", Types: []webhook.Type{webhook.ProfileUpdated},
			URL: "https://partner.example.com/hook", CreatedAt: time.Now(), Window: webhook.Window{MaxInFlight: 32, Ordered: true}}, nil)
		close(made)
		appender.Wait()
		if err != nil {
			t.Fatal(err)
		}
		same(t, "answered", len(ids), b.Count(t, "SELECT COUNT(*) FROM deliveries"))
		for i, id := range ids {
			d := look(t, b, id)
			same(t, "endpoint and sequence", []any{d.EndpointID, d.Sequence}, []any{e.ID, i + 1})
		}
		same(t, "filtered", b.Count(t, "SELECT COUNT(*) FROM deliveries WHERE reason = 'filtered' AND webhook_type = 'CreateCard'"), 1000)
		same(t, "filtering", windowOf(t, b, e.ID).Filtering, false)
		b.CheckWindows(t)
	})
}

func TestRepetitionsGoPastTheOrder(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		ordered(t, b)
		ids := tell(t, b, "a", "a", "a")
		send(t, b, given(t, b, ids[0]), failed, exhausted)
		second := given(t, b, ids[1])
		repeated, err := b.RetryDelivery(t.Context(), ids[0])
		if err != nil {
			t.Fatal(err)
		}
		repetition := take(t, b, given(t, b, repeated)[0])
		same(t, "sequence of the repetition", repetition.Delivery.Sequence, 1)
		record(t, b, repetition, failed, retryAt(time.Now().Add(time.Hour)))
		send(t, b, second, ok, delivered) // does not wait for the repetition
		given(t, b, ids[2])
		b.CheckWindows(t)

		r, err := b.StartReplay(t.Context(), partners.Everything(), delivery.Replay{ID: webhook.NewID(webhook.ReplayPrefix), State: delivery.ReplayRunning, Reason: "test",
			Filter: delivery.Filter{State: webhook.Delivered}, Rate: 1000, CreatedAt: time.Now()})
		if err != nil || r.Total != 1 {
			t.Fatalf("%+v (%v)", r, err)
		}
		if _, _, err := b.StepReplays(t.Context()); err != nil {
			t.Fatal(err)
		}
		replay := take(t, b, one(t, b))
		same(t, "what is replayed", replay.Delivery.ReplayOf, ids[1])
		same(t, "its sequence", replay.Delivery.Sequence, 2)
		b.CheckWindows(t)
	})
}

func TestARetryByHandDoesNotJumpTheOrder(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		ordered(t, b)
		ids := tell(t, b, "a", "a")
		record(t, b, take(t, b, given(t, b, ids[0])[0]), failed, retryAt(time.Now().Add(time.Hour)))
		retry := func(id string) {
			t.Helper()
			if newID, err := b.RetryDelivery(t.Context(), id); err != nil || newID != "" {
				t.Fatal(newID, err)
			}
		}
		retry(ids[1])
		given(t, b)
		waitsFor(t, b, ids[1], webhook.WaitOrder)
		retry(ids[0])
		job := take(t, b, given(t, b, ids[0])[0])
		same(t, "trigger", job.Trigger, webhook.TriggerManual)
		record(t, b, job, ok, delivered)
		send(t, b, given(t, b, ids[1]), ok, delivered)
		b.CheckWindows(t)
		b.CheckAttempts(t)
	})
}

// It is one transaction, which everybody else's events wait for.
func TestOrderIsNotSwitchedOnBehindALongBacklog(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 8)
		if _, err := b.Raw.ExecContext(t.Context(), "UPDATE windows SET waiting_first = 2001"); err != nil {
			t.Fatal(err)
		}
		_, err := b.UpdateEndpoint(t.Context(), partners.Everything(), e.ID, func(e *webhook.Endpoint) error { e.Window.Ordered = true; return nil })
		wantKind(t, err, webhook.KindConflict)
	})
}
