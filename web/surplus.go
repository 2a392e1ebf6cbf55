package web

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// surplusEvery is how often surplus requests are told of.
const surplusEvery = time.Second

// Surplus says of the request that it is refused since there are too many like
// it. Such requests get no event each, which would cost more than the refusal
// does: they are counted, and told of together, in one event a second for each
// route and status. Call it from the goroutine that serves the request.
func Surplus(ctx context.Context) {
	if r := requestOf(ctx); r != nil {
		r.surplus = true
	}
}

// surplus counts the refused requests of a listener until they are told of.
type surplus struct {
	log    *slog.Logger
	mu     sync.Mutex
	counts map[refusal]*refused // empty: nobody is going to tell
}

// refusal is what refused requests are counted by.
type refusal struct {
	method, route string
	status        int
}

type refused struct {
	requests int
	remote   string // of the last one
}

func newSurplus(log *slog.Logger) *surplus {
	return &surplus{log: log, counts: map[refusal]*refused{}}
}

func (s *surplus) count(r refusal, remote string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.counts) == 0 {
		time.AfterFunc(surplusEvery, s.tell)
	}
	of := s.counts[r]
	if of == nil {
		of = &refused{}
		s.counts[r] = of
	}
	of.requests++
	of.remote = remote
}

func (s *surplus) tell() {
	s.mu.Lock()
	counts := s.counts
	s.counts = map[refusal]*refused{}
	s.mu.Unlock()
	for r, of := range counts {
		s.log.Info("too many requests: some were refused", "method", r.method, "route", r.route, "status", r.status, "requests", of.requests, "last_remote", of.remote)
	}
}
