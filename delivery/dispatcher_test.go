package delivery

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// slowQueue takes nothing until it is opened.
type slowQueue struct {
	open chan struct{}

	mu    sync.Mutex
	taken []Ticket
}

func (q *slowQueue) Enqueue(ctx context.Context, t Ticket) error {
	select {
	case <-q.open:
	case <-ctx.Done():
		return ctx.Err()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken = append(q.taken, t)
	return nil
}

func TestAStopHandsOverWhatWasAdmitted(t *testing.T) {
	t.Parallel()
	q := &slowQueue{open: make(chan struct{})}
	a := StartDispatcher(q, NewMetrics(prometheus.NewRegistry()), slog.New(slog.DiscardHandler))
	const many = 20 * dispatchWorkers
	a.Dispatch(make([]Ticket, many))
	stopped := make(chan struct{})
	go func() { a.Stop(); close(stopped) }()
	<-a.stopping
	close(q.open)
	<-stopped
	if len(q.taken) != many {
		t.Errorf("%d of %d admitted tickets were handed over before the process went", len(q.taken), many)
	}
}
