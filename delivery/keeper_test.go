package delivery

import (
	"context"
	"fmt"
	"slices"
	"testing"
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

func (s *shelf) Shards() []string                 { return []string{"one"} }
func (s *shelf) ShardOf(endpointID string) string { return "one" }

func (s *shelf) Lost(_ context.Context, queued []Queued) (lost []Ticket, err error) {
	s.asked += len(queued)
	for _, q := range queued {
		if s.lost[q.DeliveryID] {
			lost = append(lost, q.Ticket)
		}
	}
	return lost, nil
}

func TestALostTicketIsFoundBehindManyThatWait(t *testing.T) {
	const many = 2*reconcileRows + 500
	s := &shelf{lost: map[string]bool{}}
	begin := time.Now().Add(-time.Hour)
	for i := range many {
		s.queued = append(s.queued, Queued{Ticket{DeliveryID: fmt.Sprint(i)}, begin.Add(time.Duration(i) * time.Millisecond)})
	}
	last := s.queued[many-1].DeliveryID
	s.lost[last] = true
	s.queued = append(s.queued, Queued{Ticket{DeliveryID: "fresh"}, time.Now().Add(time.Hour)})
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
