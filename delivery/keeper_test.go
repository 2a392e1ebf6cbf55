package delivery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// shelf is books and queue of a gateway where very much waits.
type shelf struct {
	Books
	Holder
	queued   []Queued // longest first
	asked    int      // deliveries that the queue was asked for
	lost     map[string]bool
	requeued []string
	known    map[string]string // epochs
	promoted int
}

func (s *shelf) Queued(_ context.Context, behind Queued, limit int) ([]Queued, error) {
	from := slices.IndexFunc(s.queued, func(q Queued) bool { return q.At.After(behind.At) })
	if from < 0 {
		return nil, nil
	}
	return slices.Clone(s.queued[from:min(from+limit, len(s.queued))]), nil
}

func (s *shelf) Requeue(_ context.Context, lost []Ticket) (int, error) {
	for _, t := range lost {
		s.requeued = append(s.requeued, t.DeliveryID)
	}
	return len(lost), nil
}

func (s *shelf) Rewind(context.Context) error              { return nil }
func (s *shelf) Promote(context.Context, int) (int, error) { s.promoted++; return 0, nil }

// Abandoned hangs, as a store does whose connections have died without a word.
func (s *shelf) Abandoned(ctx context.Context, _ string, _ time.Time, _ int) ([]InFlight, error) {
	<-ctx.Done()
	return nil, ctx.Err()
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

func (s *shelf) Lost(_ context.Context, queued []Queued) (lost []Ticket, err error) {
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
		s.queued = append(s.queued, Queued{Ticket{DeliveryID: fmt.Sprint(i), EndpointID: "one"}, begin.Add(time.Duration(i) * time.Millisecond)})
	}
	last := s.queued[many-1].DeliveryID
	s.lost[last] = true
	s.queued = append(s.queued, Queued{Ticket{DeliveryID: "fresh"}, time.Now()})
	s.lost["fresh"] = true // on its way to the queue
	k := &Keeper{Books: s, Queue: s, Metrics: NewMetrics(prometheus.NewRegistry())}
	for turn := 1; turn <= 6; turn++ {
		before := s.asked
		if _, err := k.requeueLost(t.Context()); err != nil {
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
		s.queued = append(s.queued, Queued{Ticket{DeliveryID: "on " + shard, EndpointID: shard}, at})
		s.lost["on "+shard] = true
	}
	return s
}

func TestAShardThatIsAwayLeavesTheOthersRepaired(t *testing.T) {
	for _, test := range []struct {
		name   string
		repair func(*Keeper, context.Context) (int, error)
		want   []string
		known  map[string]string
	}{
		{"lost tickets", (*Keeper).requeueLost, []string{"on one", "on two"}, map[string]string{"away": "old", "one": "old", "two": "new"}},
		{"an emptied shard", (*Keeper).refillEmptied, []string{"on one"}, map[string]string{"away": "old", "one": "new", "two": "new"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := queuedOn()
			k := &Keeper{Books: s, Epochs: s, Queue: s, Metrics: NewMetrics(prometheus.NewRegistry())}
			n, err := test.repair(k, t.Context())
			if n != len(test.want) || !slices.Equal(s.requeued, test.want) || !maps.Equal(s.known, test.known) {
				t.Errorf("%d are repaired: %q, epochs %v; want %q, %v", n, s.requeued, s.known, test.want, test.known)
			}
			if !errors.Is(err, errShardAway) {
				t.Errorf("of the shard that is away is said: %v", err)
			}
		})
	}
}

func TestARepairThatHangsHoldsUpNoPromotion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := queuedOn()
		k := &Keeper{Books: s, Epochs: s, Queue: s, Worker: NewWorker(WorkerOptions{}), Metrics: NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler)}
		ctx, stop := context.WithTimeout(t.Context(), stepTimeout)
		defer stop()
		k.Run(ctx)
		if want := int(stepTimeout / promoteEvery); s.promoted < want {
			t.Errorf("promoted %d times, want %d", s.promoted, want)
		}
	})
}
