package queue

import (
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"ledgerhook/delivery"
)

// shares decide whose tickets a shard's slots are for: a partner holds at most
// a quarter of them while others want them, and leaves a quarter free while
// nobody else does. A ticket beyond that is set aside in the queue, without a
// slot, and brought back when its partner gives one up.
type shares struct {
	slots int
	free  *semaphore.Weighted // slots that nobody is at work in

	mu     sync.Mutex
	closed bool
	held   map[string]int                  // slots, by partner
	aside  map[string]map[string]time.Time // until when they are kept, by partner and task's id
	last   wish                            // the newest
	other  wish                            // the newest of another partner than the last one's
}

// wish is that a partner wanted a slot.
type wish struct {
	partner string
	at      time.Time
}

// keptFor is how long a ticket stays set aside while others want slots, unless
// its partner gives one up. Then another process may have one for it.
const keptFor = delivery.MaxTimeout

// wantedFor is how long a partner counts as wanting slots: what another takes
// meanwhile it may hold for as long as an attempt lasts.
const wantedFor = delivery.MaxTimeout

func newShares(slots int) *shares {
	return &shares{slots: slots, free: semaphore.NewWeighted(int64(slots)), held: map[string]int{}, aside: map[string]map[string]time.Time{}}
}

// take gives the partner a slot for a task. Else it says why not, and the task
// is set aside unless no more slots are given at all. A partner that is not
// known has no bound.
func (s *shares) take(partner, task string, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errStopping
	}
	s.wants(partner, now)
	if s.room(partner, now) < 1 {
		if s.aside[partner] == nil {
			s.aside[partner] = map[string]time.Time{}
		}
		if !s.othersWant(partner, now) {
			s.aside[partner][task] = now
			return errAlone
		}
		s.aside[partner][task] = now.Add(keptFor)
		return errAside
	}
	s.drop(partner, task)
	s.held[partner]++
	return nil
}

// takeFree gives the partner a slot for a ticket that is not in the queue, if
// one is free at once, and reports whether it did. Tickets from the queue that
// wait for a slot come first.
func (s *shares) takeFree(partner string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.wants(partner, now)
	if s.room(partner, now) < 1 || !s.free.TryAcquire(1) {
		return false
	}
	s.held[partner]++
	return true
}

// wants notes that the partner wants a slot.
func (s *shares) wants(partner string, now time.Time) {
	if s.last.partner != partner {
		s.other = s.last
	}
	s.last = wish{partner, now}
}

// busy is how many slots are given.
func (s *shares) busy() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, held := range s.held {
		n += held
	}
	return n
}

// room is how many more slots the partner may hold at now.
func (s *shares) room(partner string, now time.Time) int {
	if partner == "" {
		return s.slots
	}
	quarter := max(1, s.slots/4)
	most := max(quarter, s.slots-quarter)
	if s.othersWant(partner, now) {
		most = quarter
	}
	return most - s.held[partner]
}

func (s *shares) othersWant(partner string, now time.Time) bool {
	other := s.last
	if other.partner == partner {
		other = s.other
	}
	return !other.at.IsZero() && now.Sub(other.at) < wantedFor
}

// leave gives up a slot of the partner and returns which of its tasks may come
// back for it.
func (s *shares) leave(partner string, now time.Time) (again []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[partner]--; s.held[partner] == 0 {
		delete(s.held, partner)
	}
	for task := range s.aside[partner] {
		if len(again) >= s.room(partner, now) {
			break
		}
		again = append(again, task)
	}
	for _, task := range again {
		s.drop(partner, task)
	}
	return again
}

// kept returns the tasks that stay set aside at now.
func (s *shares) kept(now time.Time) (tasks []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, aside := range s.aside {
		for task, until := range aside {
			if now.Before(until) {
				tasks = append(tasks, task)
			}
		}
	}
	return tasks
}

// drop forgets that a task was set aside.
func (s *shares) drop(partner, task string) {
	if delete(s.aside[partner], task); len(s.aside[partner]) == 0 {
		delete(s.aside, partner)
	}
}

// close ends the giving of slots and returns all that is set aside.
func (s *shares) close() (aside []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, tasks := range s.aside {
		for task := range tasks {
			aside = append(aside, task)
		}
	}
	clear(s.aside)
	return aside
}
