package partners

import (
	"testing"
	"time"
)

func TestALockOfAClockThatWasAheadIsNoLongerThanALock(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := CodeState{Failures: FailuresBeforeLock, LockedUntil: now.Add(400 * time.Second), ExpiresAt: now.Add(time.Hour), Sends: []time.Time{now.Add(400 * time.Second)}}
	s.bound(now)
	if s.LockedUntil != now.Add(time.Minute) || s.ExpiresAt != now.Add(CodeLife) || s.Sends[0] != now {
		t.Errorf("a first lock lasts %s, a code %s, and a code was sent %s from now", s.LockedUntil.Sub(now), s.ExpiresAt.Sub(now), s.Sends[0].Sub(now))
	}
}
