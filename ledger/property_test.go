package ledger_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledgerhook/delivery"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// Whatever is done to deliveries in whatever order, windows count right, what
// is over stays as it is, and in the end everything is over.
func TestNoOrderOfThingsLosesADelivery(t *testing.T) {
	for driver, runs := range map[string]int{"sqlite": 8, "postgres": 2} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			b := ledgertest.New(t, driver)
			b.Partner(t, "acme")
			slots := b.WithSlots(t)
			fewer(t, runs, func(rt *rapid.T) {
				l := &life{Bench: b, slots: slots, over: map[string]webhook.Delivery{}}
				l.wipe(rt)
				rt.Repeat(l.actions())
				l.end(rt)
			})
		})
	}
}

// fewer checks a property in few runs, but shrinks a failure as long as it takes.
func fewer(t *testing.T, runs int, property func(*rapid.T)) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) {
		if runs--; runs < 0 {
			return
		}
		held := false
		defer func() {
			if !held {
				runs = math.MaxInt
			}
		}()
		property(rt)
		held = !rt.Failed()
	})
}

// life is what a run knows beside the ledger.
type life struct {
	*ledgertest.Bench
	slots     *ledgertest.Slots
	endpoints []string
	ids       []string          // of all deliveries
	queue     []delivery.Ticket // handed out, some of them for nothing
	jobs      []delivery.Job    // claimed and not recorded
	over      map[string]webhook.Delivery
	keys      int
}

// wipe empties the ledger but for its partner.
func (l *life) wipe(t *rapid.T) {
	for _, table := range []string{"attempts", "deliveries", "events", "windows", "endpoints", "idempotency_keys", "objects", "rollups", "rollups_all"} {
		if _, err := l.Raw.ExecContext(t.Context(), "DELETE FROM "+table); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Raw.ExecContext(t.Context(), "UPDATE partners SET unrouted = ''"); err != nil {
		t.Fatal(err)
	}
	l.slots.Open(0)
	l.Tickets()
}

func (l *life) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"":                 l.check,
		"append":           l.append,
		"append some more": l.append,
		"claim":            l.claim,
		"claim another":    l.claim,
		"record":           l.record,
		"record another":   l.record,
		"retry":            l.retry,
		"cancel":           l.cancel,
		"change endpoint":  l.changeEndpoint,
		"add endpoint":     l.addEndpoint,
		"remove endpoint":  l.removeEndpoint,
		"time passes":      l.timePasses,
		"requeue":          l.requeue,
		"crash":            l.crash,
		"flush":            l.flush,
		"breaker by hand":  l.breakerByHand,
		"free slots":       func(t *rapid.T) { l.slots.Open(rapid.IntRange(0, 3).Draw(t, "slots")) },
	}
}

// check holds after every step.
func (l *life) check(t *rapid.T) {
	l.queue = append(l.queue, l.Tickets()...)
	for _, job := range l.slots.Begun() {
		l.begins(t, job)
	}
	if n := l.slots.Held(); n > 0 {
		t.Errorf("%d slots are held for nothing", n)
	}
	l.CheckWindows(t)
	l.checkGates(t)
	l.checkOrder(t)
	i, err := l.Invariant(t.Context())
	must(t, err)
	if i.Drift() != 0 {
		t.Errorf("the ledger contradicts itself: %+v", i)
	}
	found, _, err := l.Deliveries(t.Context(), delivery.Filter{Limit: 1000})
	must(t, err)
	for _, d := range found {
		was, ended := l.over[d.ID]
		was.EndpointID = cmp.Or(was.EndpointID, d.EndpointID) // its place may have been taken over
		if d.State != webhook.Delivered {
			was.DeliveredBy = cmp.Or(was.DeliveredBy, d.DeliveredBy) // another one may have brought its event, once
		}
		if ended && was != d.Delivery {
			t.Errorf("a finished delivery changed from\n%+v to\n%+v", was, d.Delivery)
		}
		if d.State.Final() {
			l.over[d.ID] = d.Delivery
		}
	}
}

// checkGates finds endpoints that sleep although they have room, an open gate
// and due work, and probes that nobody makes.
func (l *life) checkGates(t *rapid.T) {
	for _, id := range l.endpoints {
		e, err := l.Ledger.Endpoint(t.Context(), partners.Everything(), id)
		must(t, err)
		w, now := e.Window, time.Now()
		due := l.Count(t, "SELECT COUNT(*) FROM deliveries WHERE endpoint_id = $1 AND due_at <= $2 AND lane <> 3", id, now.UnixMicro())
		if due > 0 && w.Room(now) > 0 && (w.WakeAt.IsZero() || w.WakeAt.After(now.Add(time.Second))) {
			t.Errorf("an endpoint sleeps beside %d due deliveries: %+v", due, w)
		}
		byHand := w.Breaker.State == webhook.BreakerOpen && w.Breaker.OpenUntil.IsZero()
		if gate := w.GateAt(now); due > 0 && w.Open() && !byHand && !gate.IsZero() && (w.WakeAt.IsZero() || w.WakeAt.After(gate.Add(time.Second))) {
			t.Errorf("an endpoint oversleeps its gate beside %d due deliveries: %+v", due, w)
		}
		if p := w.Breaker.Probe; p != "" && l.Count(t, "SELECT COUNT(*) FROM deliveries WHERE id = $1 AND endpoint_id = $2 AND state IN ('queued', 'sending')", p, id) != 1 {
			t.Errorf("nobody makes the probe of %+v", w)
		}
	}
}

// checkOrder finds, at ordered endpoints, ordering keys of which not exactly the
// first unfinished delivery may leave, and deliveries without their key.
// What was being sent when order began may end beside it.
func (l *life) checkOrder(t *rapid.T) {
	unfinished := "FROM deliveries d JOIN windows w ON w.endpoint_id = d.endpoint_id JOIN events e ON e.id = d.event_id " +
		"WHERE w.ordered AND d.finished_at = 0 AND d.replay_of = '' AND d.sequence > 0"
	if n := l.Count(t, "SELECT COUNT(*) "+unfinished+" AND d.subject <> e.subject"); n != 0 {
		t.Errorf("%d deliveries of ordered endpoints do not name their ordering key", n)
	}
	n := l.Count(t, "SELECT COUNT(*) "+unfinished+` AND NOT w.removed AND (d.lane = 3) <> EXISTS (SELECT 1 FROM deliveries o
		WHERE o.endpoint_id = d.endpoint_id AND o.subject = d.subject AND o.sequence < d.sequence AND o.finished_at = 0)`)
	if n != 0 {
		t.Errorf("%d deliveries of ordered endpoints are blocked although they are the first with their ordering key, or are not although they are not", n)
	}
}

func must(t *rapid.T, err error, unless ...webhook.Kind) {
	t.Helper()
	if err != nil && !slices.Contains(unless, webhook.KindOf(err)) {
		t.Fatal(err)
	}
}

func (l *life) append(t *rapid.T) {
	typ := rapid.SampledFrom([]webhook.Type{webhook.TopupCard, webhook.CreateCard}).Draw(t, "type")
	e := typed("acme", typ, fmt.Sprint("object_", rapid.IntRange(1, 3).Draw(t, "object")), rapid.SampledFrom([]string{"Pending", "Completed"}).Draw(t, "status"))
	l.keys++
	e.IdempotencyKey = fmt.Sprint("key_", max(1, l.keys-rapid.IntRange(0, 3).Draw(t, "key's age")))
	e.DefaultKey = rapid.Bool().Draw(t, "default key")
	e.Event.OrderingKey = e.Event.ObjectID
	a, err := l.Append(t.Context(), e)
	must(t, err, webhook.KindConflict)
	if !a.Duplicate {
		l.ids = append(l.ids, a.DeliveryIDs...)
	}
}

// claim comes for a ticket, which may be there a second time.
func (l *life) claim(t *rapid.T) {
	if len(l.queue) == 0 {
		t.Skip("nothing is queued")
	}
	i := rapid.IntRange(0, len(l.queue)-1).Draw(t, "ticket")
	job, claimed, err := l.Claim(t.Context(), l.queue[i], worker)
	must(t, err)
	if claimed {
		l.begins(t, job)
	}
	if !rapid.Bool().Draw(t, "twice") {
		l.queue = slices.Delete(l.queue, i, i+1)
	}
	l.Settle()
}

// begins notes what is claimed, by a ticket or with its admission.
func (l *life) begins(t *rapid.T, job delivery.Job) {
	l.jobs = append(l.jobs, job)
	if d := job.Delivery; l.Count(t, `SELECT COUNT(*) FROM deliveries d JOIN windows w ON w.endpoint_id = d.endpoint_id JOIN events e ON e.id = d.event_id
		WHERE w.ordered AND d.endpoint_id = $1 AND e.subject = $2 AND d.sequence < $3 AND d.finished_at = 0 AND d.replay_of = '' AND d.sequence > 0`,
		d.EndpointID, job.Event.OrderingKey, d.Sequence) > 0 && d.ReplayOf == "" {
		t.Errorf("%s is sent before its turn", d.ID)
	}
}

func (l *life) record(t *rapid.T) {
	if len(l.jobs) == 0 {
		t.Skip("nothing is in flight")
	}
	i := rapid.IntRange(0, len(l.jobs)-1).Draw(t, "job")
	r := l.outcome(t, l.jobs[i])
	for range rapid.IntRange(1, 2).Draw(t, "times") {
		must(t, tryRecord(t, l.Ledger, r))
	}
	l.jobs = slices.Delete(l.jobs, i, i+1)
}

// lifePolicy ends a delivery with its fifth failure.
var lifePolicy = webhook.RetryPolicy{Waits: []time.Duration{0, 0, time.Hour, 0, time.Hour}}

// outcome is what a worker would make of an answer, which may be one too many
// for its judge.
func (l *life) outcome(t *rapid.T, job delivery.Job) delivery.Result {
	a := rapid.SampledFrom([]webhook.Attempt{
		ok, ok, failed, {Outcome: webhook.OutcomeUnknown},
		{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorTimeout},
		{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorConnect},
		{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorInternal},
		{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorHTTP4xx, StatusCode: 400},
		{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorHTTP4xx, StatusCode: 410},
		{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorHTTP5xx, StatusCode: 503, ResponseHeaders: map[string][]string{"Retry-After": {"1800"}}},
	}).Draw(t, "outcome")
	a.Number = job.Delivery.Attempts
	r := result(job, a, delivery.Decide(lifePolicy, job, a, time.Now()))
	if a.CountsAsFailure() && rapid.Bool().Draw(t, "trip") {
		r.Trip, r.BreakerEpoch = "too much fails", job.BreakerEpoch
	}
	return r
}

func (l *life) any(t *rapid.T) string {
	if len(l.ids) == 0 {
		t.Skip("there is no delivery")
	}
	return rapid.SampledFrom(l.ids).Draw(t, "delivery")
}

func (l *life) retry(t *rapid.T) {
	newID, err := l.RetryDelivery(t.Context(), l.any(t))
	must(t, err, webhook.KindConflict)
	if newID != "" {
		l.ids = append(l.ids, newID)
	}
}

func (l *life) cancel(t *rapid.T) {
	must(t, l.CancelDelivery(t.Context(), l.any(t), "a mistake"), webhook.KindConflict)
}

func (l *life) addEndpoint(t *rapid.T) {
	if len(l.endpoints) == 3 {
		t.Skip("there are enough")
	}
	e := webhook.Endpoint{PartnerCode: "acme", CreatedAt: time.Now(),
		Window: webhook.Window{MaxInFlight: rapid.IntRange(1, 4).Draw(t, "max in flight"), Ordered: rapid.Bool().Draw(t, "ordered")}}
	if rapid.Bool().Draw(t, "one type") {
		e.Types = []webhook.Type{webhook.CreateCard}
	}
	var err error
	if rapid.Bool().Draw(t, "dies") {
		e, err = l.CreateAndDie(t.Context(), e)
	} else {
		e, err = l.CreateEndpoint(t.Context(), e, nil)
	}
	must(t, err)
	l.endpoints = append(l.endpoints, e.ID)
}

func (l *life) removeEndpoint(t *rapid.T) {
	if len(l.endpoints) == 0 {
		t.Skip("there is no endpoint")
	}
	must(t, l.RemoveEndpoint(t.Context(), partners.Everything(), l.endpoints[0]))
	l.endpoints = l.endpoints[1:]
}

func (l *life) changeEndpoint(t *rapid.T) {
	if len(l.endpoints) == 0 {
		t.Skip("there is no endpoint")
	}
	_, err := l.UpdateEndpoint(t.Context(), partners.Everything(), rapid.SampledFrom(l.endpoints).Draw(t, "endpoint"), func(e *webhook.Endpoint) error {
		switch rapid.SampledFrom([]string{"pause", "resume", "disable", "enable", "size", "order", "order", "disorder", "rate"}).Draw(t, "change") {
		case "pause":
			e.Window.Paused = true
		case "resume":
			e.Window.Paused = false
		case "disable":
			e.Window.Disabled = true
		case "enable":
			e.Window.Disabled, e.Window.Health = false, webhook.Health{}
		case "order":
			e.Window.Ordered = true
		case "disorder":
			e.Window.Ordered = false
		case "rate":
			e.Window.RateEvery = rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute}).Draw(t, "rate")
		case "size":
			e.Window.MaxInFlight = rapid.IntRange(1, 4).Draw(t, "max in flight")
		}
		return nil
	})
	must(t, err)
}

// breakerByHand opens or closes a breaker.
func (l *life) breakerByHand(t *rapid.T) {
	if len(l.endpoints) == 0 {
		t.Skip("there is no endpoint")
	}
	_, err := l.UpdateEndpoint(t.Context(), partners.Everything(), rapid.SampledFrom(l.endpoints).Draw(t, "endpoint"), func(e *webhook.Endpoint) error {
		if rapid.Bool().Draw(t, "open") {
			e.Window.Breaker.OpenByHand("maintenance")
		} else {
			e.Window.Breaker.Close()
		}
		return nil
	})
	must(t, err)
}

// timePasses makes retries due, perhaps, and runs the promoter.
func (l *life) timePasses(t *rapid.T) {
	if rapid.Bool().Draw(t, "an hour") {
		l.hourLater(t)
	}
	_, err := l.Promote(t.Context(), 128)
	must(t, err)
	must(t, l.TakeOver(t.Context()))
}

func (l *life) hourLater(t *rapid.T) {
	for _, statement := range []string{
		"UPDATE deliveries SET due_at = due_at - 3600000000 WHERE due_at > 3600000000",
		"UPDATE windows SET wake_at = wake_at - 3600000000 WHERE wake_at IS NOT NULL",
		"UPDATE windows SET open_until = open_until - 3600000000 WHERE open_until > 3600000000",
		"UPDATE windows SET not_before = not_before - 3600000000 WHERE not_before > 3600000000",
		"UPDATE windows SET rate_next = rate_next - 3600000000 WHERE rate_next > 3600000000",
	} {
		_, err := l.Raw.ExecContext(t.Context(), statement)
		must(t, err)
	}
}

// requeue replaces some tickets, lost or not.
func (l *life) requeue(t *rapid.T) {
	queued, err := l.Queued(t.Context(), delivery.Queued{}, rapid.IntRange(1, 5).Draw(t, "limit"))
	must(t, err)
	var lost []delivery.Ticket
	for _, q := range queued {
		lost = append(lost, q.Ticket)
	}
	again, err := l.Requeue(t.Context(), lost)
	must(t, err)
	l.queue = append(l.queue, again...)
}

// flush empties the queue, and with it every ticket; the reconciler notices.
func (l *life) flush(t *rapid.T) {
	l.queue = nil
	l.Tickets()
	l.requeueAll(t)
}

// crash forgets all that only processes knew, and reconciles.
func (l *life) crash(t *rapid.T) {
	l.queue, l.jobs = nil, nil
	l.slots.Open(0)
	l.slots.Begun()
	l.Tickets()
	abandoned, err := l.Abandoned(t.Context(), "wrk_next", 1000)
	must(t, err)
	for _, f := range abandoned {
		must(t, tryRecord(t, l.Ledger, result(f.Job, webhook.Attempt{Outcome: webhook.OutcomeUnknown}, retryAt(time.Now()))))
	}
	l.requeueAll(t)
}

// requeueAll replaces the tickets of all that is queued.
func (l *life) requeueAll(t *rapid.T) {
	queued, err := l.Queued(t.Context(), delivery.Queued{}, 1000)
	must(t, err)
	var lost []delivery.Ticket
	for _, q := range queued {
		lost = append(lost, q.Ticket)
	}
	again, err := l.Requeue(t.Context(), lost)
	must(t, err)
	if len(again) != len(lost) {
		t.Fatalf("%d of %d lost tickets were replaced", len(again), len(lost))
	}
	l.queue = append(l.queue, again...)
}

// end opens everything, reconciles once and delivers until nothing comes any more.
func (l *life) end(t *rapid.T) {
	if len(l.endpoints) == 0 {
		l.addEndpoint(t)
	}
	for _, id := range l.endpoints {
		_, err := l.UpdateEndpoint(t.Context(), partners.Everything(), id, func(e *webhook.Endpoint) error {
			e.Types, e.Window.Paused, e.Window.Disabled = nil, false, false
			if e.Window.Breaker.State == webhook.BreakerOpen && e.Window.Breaker.OpenUntil.IsZero() {
				e.Window.Breaker.Close()
			}
			return nil
		})
		must(t, err)
	}
	must(t, l.TakeOver(t.Context()))
	l.crash(t)
	for idle := 0; idle < 3; idle++ {
		for tickets := append(l.queue, l.Tickets()...); len(tickets) > 0; tickets = l.Tickets() {
			l.queue, idle = nil, 0
			for _, ticket := range tickets {
				job, claimed, err := l.Claim(t.Context(), ticket, worker)
				must(t, err)
				if claimed {
					must(t, tryRecord(t, l.Ledger, result(job, ok, delivered)))
				}
			}
			l.Settle()
		}
		l.hourLater(t)
		_, err := l.Promote(t.Context(), 128)
		must(t, err)
	}
	l.check(t)
	l.CheckAttempts(t)
	found, _, err := l.Deliveries(t.Context(), delivery.Filter{Limit: 1000})
	must(t, err)
	for _, d := range found {
		if !d.State.Final() {
			t.Errorf("a delivery got lost: %+v", d)
		}
	}
	same := map[string]bool{}
	for _, id := range l.ids {
		same[id] = true
	}
	if len(found) != len(same) {
		t.Errorf("%d deliveries, %d were answered: %v", len(found), len(same), slices.Sorted(maps.Keys(same)))
	}
}
