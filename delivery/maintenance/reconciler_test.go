package maintenance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/delivery"
)

// shelf is store and queue of a gateway where very much waits.
type shelf struct {
	Store
	Holder
	queued   []delivery.Queued // longest first
	read     int               // how often they were read
	asked    int               // deliveries that the queue was asked for
	lost     map[string]bool
	requeued []string
	known    map[string]string // epochs
	promoted int

	mu       sync.Mutex
	enqueued []string
	full     int // tickets that the queue takes before it is away; 0: any number
}

func (s *shelf) Queued(_ context.Context, behind delivery.Queued, limit int) ([]delivery.Queued, error) {
	s.read++
	from := slices.IndexFunc(s.queued, func(q delivery.Queued) bool { return q.At.After(behind.At) })
	if from < 0 {
		return nil, nil
	}
	return slices.Clone(s.queued[from:min(from+limit, len(s.queued))]), nil
}

func (s *shelf) Requeue(_ context.Context, lost []delivery.Ticket) ([]delivery.Ticket, error) {
	for _, t := range lost {
		s.requeued = append(s.requeued, t.DeliveryID)
	}
	return lost, nil
}

func (s *shelf) Enqueue(_ context.Context, t delivery.Ticket) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full > 0 && len(s.enqueued) >= s.full {
		return errShardAway
	}
	s.enqueued = append(s.enqueued, t.DeliveryID)
	return nil
}

func (s *shelf) reconciler() *reconciler {
	return &reconciler{store: s, epochs: s, queue: s, metrics: uncounted(), succeed: func() {}}
}

// uncounted are metrics that nobody reads.
func uncounted() *Metrics {
	reg := prometheus.NewRegistry()
	return NewMetrics(reg, delivery.NewMetrics(reg))
}

func (s *shelf) Rewind(context.Context) error              { return nil }
func (s *shelf) Promote(context.Context, int) (int, error) { s.promoted++; return 0, nil }

// Abandoned hangs, as a store does whose connections have died without a word.
func (s *shelf) Abandoned(ctx context.Context, _ string, _ int) ([]delivery.InFlight, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (s *shelf) Claimed(ctx context.Context, _ string, _ time.Time, _ int) ([]delivery.InFlight, error) {
	return s.Abandoned(ctx, "", 0)
}

// The shelf's endpoints have the name of their shard, and one of those is away.
func (s *shelf) Shards() []string                 { return []string{"away", "one", "two"} }
func (s *shelf) ShardOf(endpointID string) string { return endpointID }

var errShardAway = errors.New("the shard is away")

func (s *shelf) Epoch(_ context.Context, shard string) (string, error) {
	if shard == "away" {
		return "", errShardAway
	}
	return "new", nil
}

func (s *shelf) QueueEpoch(_ context.Context, shard string) (string, error) {
	return s.known[shard], nil
}

func (s *shelf) SetQueueEpoch(_ context.Context, shard, epoch string) error {
	s.known[shard] = epoch
	return nil
}

func (s *shelf) Lost(_ context.Context, queued []delivery.Queued) (lost []delivery.Ticket, err error) {
	s.asked += len(queued)
	for _, q := range queued {
		switch {
		case q.EndpointID == "away":
			err = errShardAway
		case s.lost[q.DeliveryID]:
			lost = append(lost, q.Ticket)
		}
	}
	return lost, err
}

func TestALostTicketIsFoundBehindManyThatWait(t *testing.T) {
	const many = 2*reconcileRows + 500
	s := &shelf{lost: map[string]bool{}}
	begin := time.Now().Add(-time.Hour)
	for i := range many {
		s.queued = append(s.queued, delivery.Queued{Ticket: delivery.Ticket{DeliveryID: fmt.Sprint(i), EndpointID: "one"}, At: begin.Add(time.Duration(i) * time.Millisecond)})
	}
	last := s.queued[many-1].DeliveryID
	s.lost[last] = true
	s.queued = append(s.queued, delivery.Queued{Ticket: delivery.Ticket{DeliveryID: "fresh"}, At: time.Now()})
	s.lost["fresh"] = true // on its way to the queue
	r := s.reconciler()
	for turn := 1; turn <= 6; turn++ {
		before := s.asked
		if _, err := r.requeueLost(t.Context()); err != nil {
			t.Fatal(err)
		}
		if asked := s.asked - before; asked > reconcileRows {
			t.Errorf("turn %d asked for %d deliveries", turn, asked)
		}
		if found := turn / 3; len(s.requeued) != found || found > 0 && s.requeued[found-1] != last {
			t.Errorf("after %d turns %v are handed over again, want %s %d times", turn, s.requeued, last, found)
		}
	}
	if s.asked != 2*many {
		t.Errorf("two rounds asked for %d deliveries, want each of %d twice", s.asked, many)
	}
}

// queuedOn is a shelf with one old delivery on each of its shards.
func queuedOn() *shelf {
	s := &shelf{lost: map[string]bool{}, known: map[string]string{"away": "old", "one": "old", "two": "new"}}
	for i, shard := range s.Shards() {
		at := time.Now().Add(time.Duration(i-10) * time.Minute)
		s.queued = append(s.queued, delivery.Queued{Ticket: delivery.Ticket{DeliveryID: "on " + shard, EndpointID: shard}, At: at})
		s.lost["on "+shard] = true
	}
	return s
}

func TestAShardThatIsAwayLeavesTheOthersRepaired(t *testing.T) {
	for _, test := range []struct {
		name   string
		repair func(*reconciler, context.Context) (int, error)
		want   []string
		known  map[string]string
	}{
		{"lost tickets", (*reconciler).requeueLost, []string{"on one", "on two"}, map[string]string{"away": "old", "one": "old", "two": "new"}},
		{"an emptied shard", (*reconciler).refillEmptied, []string{"on one"}, map[string]string{"away": "old", "one": "new", "two": "new"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := queuedOn()
			r := s.reconciler()
			n, err := test.repair(r, t.Context())
			slices.Sort(s.enqueued)
			if n != len(test.want) || !slices.Equal(s.enqueued, test.want) || !maps.Equal(s.known, test.known) {
				t.Errorf("%d are repaired: %q, epochs %v; want %q, %v", n, s.enqueued, s.known, test.want, test.known)
			}
			if !errors.Is(err, errShardAway) {
				t.Errorf("of the shard that is away is said: %v", err)
			}
		})
	}
}

// crowd is a shelf with many deliveries that have long been queued in one shard.
func crowd(many int) *shelf {
	s := &shelf{lost: map[string]bool{}, known: map[string]string{"one": "old", "two": "new", "away": "old"}}
	begin := time.Now().Add(-time.Hour)
	for i := range many {
		s.queued = append(s.queued, delivery.Queued{Ticket: delivery.Ticket{DeliveryID: fmt.Sprint(i), EndpointID: "one"}, At: begin.Add(time.Duration(i) * time.Millisecond)})
	}
	return s
}

// TestEverythingThatAnEmptiedQueueHeldIsEnqueuedAtOnce: in one turn, each
// delivery read and handed over once, and the ledger is written to once.
func TestEverythingThatAnEmptiedQueueHeldIsEnqueuedAtOnce(t *testing.T) {
	t.Parallel()
	const many = 20*reconcileRows + 1
	s := crowd(many)
	r := s.reconciler()
	n, err := r.refillEmptied(t.Context())
	if !errors.Is(err, errShardAway) {
		t.Errorf("of the shard that is away is said: %v", err)
	}
	if len(s.requeued) > 0 || n != many || len(s.enqueued) != many || s.read != 21 || s.known["one"] != "new" {
		t.Errorf("%d enqueued (%d counted) with %d reads and %d rows written, epoch %q; want %d with 21 and none",
			len(s.enqueued), n, s.read, len(s.requeued), s.known["one"], many)
	}
}

func TestAnEnqueueingThatWasBrokenOffGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	s := crowd(3 * reconcileRows)
	s.known["away"] = ""
	r := s.reconciler()
	ctx, cut := context.WithCancel(t.Context())
	s.full = 2*reconcileRows + 100
	r.store = cutting{s, 3, cut} // its time is up as it reads the third page
	if _, err := r.refillEmptied(ctx); err == nil || s.known["one"] != "old" {
		t.Errorf("broken off: %v, epoch %q", err, s.known["one"])
	}
	first := len(s.enqueued)
	s.full, r.store = 0, s
	if _, err := r.refillEmptied(t.Context()); !errors.Is(err, errShardAway) || s.known["one"] != "new" {
		t.Errorf("gone on: %v, epoch %q", err, s.known["one"])
	}
	if again := len(s.enqueued) - first; again != reconcileRows {
		t.Errorf("%d were enqueued the second time, want the last %d", again, reconcileRows)
	}
}

// cutting is a store that end a context when it is read for the nth time.
type cutting struct {
	*shelf
	n   int
	cut func()
}

func (c cutting) Queued(ctx context.Context, behind delivery.Queued, limit int) ([]delivery.Queued, error) {
	found, err := c.shelf.Queued(ctx, behind, limit)
	if c.read == c.n {
		c.cut()
	}
	return found, err
}

// TestManyLostTicketsComeBackInOneTurn: however many there are, and at the
// queue's own speed.
func TestManyLostTicketsComeBackInOneTurn(t *testing.T) {
	t.Parallel()
	const many = 10*reconcileRows + 1
	s := crowd(many)
	for _, q := range s.queued {
		s.lost[q.DeliveryID] = true
	}
	r := s.reconciler()
	if n, err := r.requeueLost(t.Context()); n != many || err != nil {
		t.Errorf("%d came back (%v), want %d", n, err, many)
	}
	if len(s.requeued) != many || len(s.enqueued) != many || s.read != 11 {
		t.Errorf("%d requeued and %d enqueued with %d reads, want %d with 11", len(s.requeued), len(s.enqueued), s.read, many)
	}
}

func TestAQueueThatTakesNoMoreEndsTheTurn(t *testing.T) {
	t.Parallel()
	s := crowd(5 * reconcileRows)
	for _, q := range s.queued {
		s.lost[q.DeliveryID] = true
	}
	s.full = 100
	r := s.reconciler()
	if _, err := r.requeueLost(t.Context()); !errors.Is(err, errShardAway) || len(s.enqueued) != 100 || s.read != 1 {
		t.Errorf("%d enqueued with %d reads: %v", len(s.enqueued), s.read, err)
	}
}

func TestARepairThatHangsHoldsUpNoPromotion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := queuedOn()
		m := &Maintainer{Store: s, Claims: s, Epochs: s, Queue: s, Worker: delivery.NewWorker(delivery.WorkerOptions{Alone: true}), Metrics: uncounted(), Log: slog.New(slog.DiscardHandler)}
		ctx, stop := context.WithTimeout(t.Context(), stepTimeout)
		defer stop()
		m.Run(ctx)
		if want := int(stepTimeout / promoteEvery); s.promoted < want {
			t.Errorf("promoted %d times, want %d", s.promoted, want)
		}
	})
}
