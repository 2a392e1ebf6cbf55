package shell

import (
	"context"
	"sync"
	"time"

	"ledgerhook/partners"
)

const (
	// doorPlaces is how many sign-ins of a surface are under way in a process.
	// Whoever comes meanwhile is told so at once and costs nothing else: a
	// thousand that wait would hold as many connections for as long.
	doorPlaces = 16
	// lockMemory is how long a process knows of a lock without asking again. It
	// may have been lifted by then, in a process where somebody signed in.
	lockMemory = 10 * time.Second
	// doorPauses is how many times as long as a password took to check no other
	// one is: sign-ins take at most a tenth of one core from everything else. With a
	// quarter, a flood of them trebled the 99th percentile of accepting events.
	doorPauses = 9
	// maxLocks bounds the memory of locks.
	maxLocks = 10_000
)

// door is what signing in at a surface, which anybody can try, may take of a
// process. The operators have one of their own, so that nobody at the public
// portal keeps them out.
type door struct {
	places    chan struct{}
	passwords *partners.Passwords

	mu     sync.Mutex
	locked map[string]time.Time // subjects, until when they are known to be locked
}

func newDoor() *door {
	return &door{places: make(chan struct{}, doorPlaces), passwords: partners.NewPasswords(1, doorPauses), locked: map[string]time.Time{}}
}

// enter takes a place for a sign-in. ok is false when there is none.
func (d *door) enter() (leave func(), ok bool) {
	select {
	case d.places <- struct{}{}:
		return func() { <-d.places }, true
	default:
		return nil, false
	}
}

// crowded reports whether there is no place, before a form is read for it.
func (d *door) crowded() bool { return len(d.places) == cap(d.places) }

// try counts a try to sign in at the door, or says for how long it is refused.
// What is refused writes nothing, and asks the ledger only now and then.
func (s *Surface) try(ctx context.Context, t tries, now time.Time) (wait time.Duration, err error) {
	door, subjects := s.door(), t.all()
	for _, subject := range subjects {
		wait = max(wait, door.wait(subject, now))
	}
	if wait > 0 {
		return wait, nil
	}
	subject, wait, err := s.Accounts.LockedLogin(ctx, subjects, now)
	if err != nil || wait > 0 {
		door.remember(subject, now, wait)
		return wait, err
	}
	return s.Accounts.TryLogin(ctx, subjects, now)
}

// door is the surface's own.
func (s *Surface) door() *door {
	if s.Name == Ops {
		return s.opsDoor
	}
	return s.portalDoor
}

// remember keeps in mind that a subject is locked for wait.
func (d *door) remember(subject string, now time.Time, wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.locked) >= maxLocks {
		clear(d.locked)
	}
	d.locked[subject] = now.Add(min(wait, lockMemory))
}

// wait is how long a subject is known to be locked; 0: it may not be.
func (d *door) wait(subject string, now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return max(0, d.locked[subject].Sub(now))
}
