package ledger_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

const stressFor = 4 * time.Second

// Everything at once from two processes on one database: nobody waits for
// each other in a circle, nobody sees an error, nothing is lost or counted wrong.
func TestTwoProcessesGetAlongUnderLoad(t *testing.T) {
	b := ledgertest.New(t, "postgres")
	var again atomic.Int64
	b.At.Log = slog.New(&counter{n: &again})
	ledgers := []*ledger.Ledger{b.Another(t).Ledger, b.Another(t).Ledger}
	s := &storm{Bench: b, t: t}
	for _, code := range []string{"acme", "bolt"} {
		b.Partner(t, code)
		for range 3 {
			s.endpoints = append(s.endpoints, b.Endpoint(t, code, 16).ID)
		}
	}
	b.Partner(t, "comet") // has an endpoint now and then
	ctx, stop := context.WithTimeout(t.Context(), stressFor)
	defer stop()
	var wg sync.WaitGroup
	for _, l := range ledgers {
		for task, callers := range map[*func(*ledger.Ledger) error]int{
			ptr(s.append): 6, ptr(s.deliver): 10, ptr(s.changeEndpoint): 1, ptr(s.changePartner): 1, ptr(s.retryOrCancel): 2,
			ptr(s.promote): 1, ptr(s.requeue): 1, ptr(s.endpointComesAndGoes): 1,
		} {
			for range callers {
				wg.Go(func() {
					for ctx.Err() == nil {
						if err := (*task)(l); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
		}
	}
	wg.Wait()
	b.CheckWindows(t)
	s.finish()
	b.CheckWindows(t)
	b.CheckAttempts(t)
	told := 0
	for _, n := range b.Made() {
		told += n
	}
	same(t, "deliveries told of", told, b.Count(t, "SELECT COUNT(*) FROM deliveries"))
	same(t, "unfinished", b.Count(t, "SELECT COUNT(*) FROM deliveries WHERE finished_at = 0"), 0)
	t.Logf("%d deliveries, %d attempts; %d batches were run again item by item",
		b.Count(t, "SELECT COUNT(*) FROM deliveries"), b.Count(t, "SELECT COUNT(*) FROM attempts"), again.Load())
}

var stormPartners = []string{"acme", "bolt", "comet"}

func ptr[T any](v T) *T { return &v }

// counter counts the warnings of a ledger.
type counter struct {
	slog.Handler
	n *atomic.Int64
}

func (c *counter) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }
func (c *counter) Handle(context.Context, slog.Record) error    { c.n.Add(1); return nil }

type storm struct {
	*ledgertest.Bench
	t         *testing.T
	endpoints []string

	mu    sync.Mutex
	queue []delivery.Ticket
	ids   []string
}

// unless forgives errors of some kinds.
func unless(err error, kinds ...webhook.Kind) error {
	for _, kind := range kinds {
		if err != nil && webhook.KindOf(err) == kind {
			return nil
		}
	}
	return err
}

func (s *storm) append(l *ledger.Ledger) error {
	partner := stormPartners[rand.IntN(3)]
	e := ledgertest.NewEvent(partner, "tp_"+string(rune('a'+rand.IntN(20))), []string{"Pending", "Completed"}[rand.IntN(2)])
	if rand.IntN(4) == 0 {
		e.IdempotencyKey, e.DefaultKey = "key_"+string(rune('a'+rand.IntN(20)))+e.Event.ObjectID+e.Event.Status, true
	}
	a, err := l.Append(s.t.Context(), e)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ids) < 200 {
		s.ids = append(s.ids, a.DeliveryIDs...)
	} else if len(a.DeliveryIDs) > 0 {
		s.ids[rand.IntN(len(s.ids))] = a.DeliveryIDs[0]
	}
	return err
}

// next takes a ticket at random, so that batches lock in every order.
func (s *storm) next() (t delivery.Ticket, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, s.Tickets()...)
	if len(s.queue) == 0 {
		return t, false
	}
	i := rand.IntN(len(s.queue))
	t = s.queue[i]
	if rand.IntN(10) > 0 { // else it comes twice
		s.queue[i] = s.queue[len(s.queue)-1]
		s.queue = s.queue[:len(s.queue)-1]
	}
	return t, true
}

func (s *storm) deliver(l *ledger.Ledger) error {
	ticket, found := s.next()
	if !found {
		return s.append(l)
	}
	job, claimed, err := l.Claim(s.t.Context(), ticket, worker)
	if err != nil || !claimed {
		return err
	}
	switch rand.IntN(5) {
	case 0:
		return tryRecord(s.t, l, result(job, failed, retryAt(time.Now().Add(time.Duration(rand.IntN(2000))*time.Millisecond))))
	case 1:
		return tryRecord(s.t, l, result(job, webhook.Attempt{Outcome: webhook.OutcomeUnknown}, retryAt(time.Now())))
	}
	return tryRecord(s.t, l, result(job, ok, delivered))
}

func (s *storm) changeEndpoint(l *ledger.Ledger) error {
	_, err := l.UpdateEndpoint(s.t.Context(), partners.Everything(), s.endpoints[rand.IntN(len(s.endpoints))], func(e *webhook.Endpoint) error {
		e.Window.Paused, e.Window.MaxInFlight = rand.IntN(3) == 0, 1+rand.IntN(32)
		return nil
	})
	return err
}

func (s *storm) changePartner(l *ledger.Ledger) error {
	_, err := l.UpdatePartner(s.t.Context(), stormPartners[rand.IntN(3)], func(p *partners.Partner) error {
		p.Disabled = rand.IntN(4) == 0
		return nil
	})
	return err
}

func (s *storm) retryOrCancel(l *ledger.Ledger) (err error) {
	s.mu.Lock()
	id := ""
	if len(s.ids) > 0 {
		id = s.ids[rand.IntN(len(s.ids))]
	}
	s.mu.Unlock()
	if rand.IntN(2) == 0 {
		_, err = l.RetryDelivery(s.t.Context(), id)
	} else {
		err = l.CancelDelivery(s.t.Context(), id, "a mistake")
	}
	return unless(err, webhook.KindConflict, webhook.KindNotFound)
}

func (s *storm) promote(l *ledger.Ledger) error {
	_, err := l.Promote(s.t.Context(), 128)
	return err
}

func (s *storm) requeue(l *ledger.Ledger) error {
	queued, err := l.Queued(s.t.Context(), delivery.Queued{}, 20)
	var lost []delivery.Ticket
	for _, q := range queued {
		lost = append(lost, q.Ticket)
	}
	rand.Shuffle(len(lost), func(i, j int) { lost[i], lost[j] = lost[j], lost[i] })
	if err == nil {
		var again []delivery.Ticket
		again, err = l.Requeue(s.t.Context(), lost)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.queue = append(s.queue, again...)
	}
	return err
}

func (s *storm) endpointComesAndGoes(l *ledger.Ledger) error {
	e, err := l.CreateEndpoint(s.t.Context(), webhook.Endpoint{PartnerCode: []string{"acme", "comet"}[rand.IntN(2)],
		CreatedAt: time.Now(), Window: webhook.Window{MaxInFlight: 4}}, nil)
	if err != nil {
		return err
	}
	if err := l.TakeOver(s.t.Context()); err != nil {
		return err
	}
	return l.RemoveEndpoint(s.t.Context(), partners.Everything(), e.ID)
}

// finish opens everything and delivers what is left.
func (s *storm) finish() {
	s.Endpoint(s.t, "comet", 32)
	for _, code := range stormPartners {
		if _, err := s.UpdatePartner(s.t.Context(), code, func(p *partners.Partner) error { p.Disabled = false; return nil }); err != nil {
			s.t.Fatal(err)
		}
	}
	for _, id := range s.endpoints {
		set(s.t, s.Bench, id, func(e *webhook.Endpoint) { e.Window.Paused, e.Window.MaxInFlight = false, 32 })
	}
	if err := s.CancelRemoved(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	for idle := 0; idle < 3; idle++ {
		s.queue = append(s.queue, s.Tickets()...)
		var wg sync.WaitGroup
		slots := make(chan struct{}, 64)
		for _, ticket := range s.queue {
			idle = 0
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				job, claimed, err := s.Claim(s.t.Context(), ticket, worker)
				if err == nil && claimed {
					err = tryRecord(s.t, s.Ledger, result(job, ok, delivered))
				}
				if err != nil {
					s.t.Error(err)
				}
			})
		}
		wg.Wait()
		s.queue = nil
		s.Settle()
		if err := s.requeueAll(); err != nil {
			s.t.Fatal(err)
		}
		allDue(s.t, s.Bench)
		promote(s.t, s.Bench)
	}
}

// requeueAll replaces the tickets that went with their generation.
func (s *storm) requeueAll() error {
	s.queue = append(s.queue, s.Tickets()...)
	if len(s.queue) > 0 {
		return nil
	}
	queued, err := s.Queued(s.t.Context(), delivery.Queued{}, 10000)
	var lost []delivery.Ticket
	for _, q := range queued {
		lost = append(lost, q.Ticket)
	}
	if err == nil {
		s.queue, err = s.Requeue(s.t.Context(), lost)
	}
	return err
}
