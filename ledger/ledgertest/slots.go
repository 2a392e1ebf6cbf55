package ledgertest

import (
	"sync"
	"testing"

	"ledgerhook/delivery"
	"ledgerhook/webhook"
)

// Slots are those of a process whose worker only remembers what was claimed
// for it. There are none until some are opened.
type Slots struct {
	mu     sync.Mutex
	worker string
	free   int
	held   map[delivery.Ticket]bool
	begun  []delivery.Job
	left   []Left
}

// Left is a slot that was given up.
type Left struct {
	Ticket delivery.Ticket
	Doubt  bool
}

// WithSlots opens the ledger again as a process with slots.
func (b *Bench) WithSlots(t *testing.T) *Slots {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	s := &Slots{worker: webhook.NewID(webhook.WorkerPrefix), held: map[delivery.Ticket]bool{}}
	b.Options.Slots = s
	b.Reopen(t)
	return s
}

// Open makes n slots free.
func (s *Slots) Open(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = n
}

// Hold implements delivery.Slots.
func (s *Slots) Hold(t delivery.Ticket) (workerID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free == 0 {
		return ""
	}
	s.free--
	s.held[t] = true
	return s.worker
}

// Begin implements delivery.Slots. The slot stays taken.
func (s *Slots) Begin(t delivery.Ticket, job delivery.Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, t)
	s.begun = append(s.begun, job)
}

// Leave implements delivery.Slots.
func (s *Slots) Leave(t delivery.Ticket, doubt bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[t] {
		delete(s.held, t)
		s.free++
	}
	s.left = append(s.left, Left{t, doubt})
}

// Begun returns what has begun since the last call.
func (s *Slots) Begun() []delivery.Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	begun := s.begun
	s.begun = nil
	return begun
}

// Left returns the slots that have been given up since the last call.
func (s *Slots) Left() []Left {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.left
	s.left = nil
	return left
}

// Held is how many slots wait to be told what becomes of their delivery.
func (s *Slots) Held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.held)
}
