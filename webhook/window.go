package webhook

import (
	"fmt"
	"math"
	"time"
)

// StartWindow is how many deliveries a new endpoint may have in flight.
const StartWindow = 2

// DefaultMaxInFlight is what an endpoint's window grows to unless it says otherwise.
const DefaultMaxInFlight = 32

// How often an endpoint may be tested ("Endpoint changes" of the delivery rules).
const (
	MaxTests       = 2  // on their way to an endpoint at once
	TestsPerMinute = 10 // of a partner
)

// Window is how much of an endpoint's traffic may be on its way at once. It
// is one row of the ledger. Whether there is room is computed from it and
// stored nowhere, so pausing, breaking and growing cannot overwrite each other.
type Window struct {
	EndpointID      string
	MaxInFlight     int
	Grown           int   // where slow start has got to, StartWindow … MaxInFlight
	Used            int   // exactly the deliveries that are queued or sending
	Tests           int   // those of them that are tests, at most MaxTests
	WaitingFirst    int   // pending deliveries that never had an attempt
	WaitingAgain    int   // pending retries and replays, due or not
	WaitingBlocked  int   // pending deliveries behind an unfinished one with their ordering key
	Admissions      int64 // counts up with every admission, for fairness
	NextSequence    int64 // the number the next delivery takes
	Paused          bool
	Disabled        bool // the endpoint, by its failures
	PartnerDisabled bool
	Removed         bool
	WakeAt          time.Time // when the promoter must look; zero: no need

	Breaker   Breaker
	Health    Health
	NotBefore time.Time     // the receiver asked for this pause (Retry-After)
	RateEvery time.Duration // at most one delivery in this time, with a burst of one second's; 0: no limit
	RateNext  time.Time     // when the rate would be used up to, see RateRoom
	Ordered   bool          // one delivery per ordering key at a time, in sequence
	Unrouted  bool          // a waiting place: the partner's next endpoint takes it over
	Filtering bool          // what waits is still to be rid of types that the endpoint does not take
}

// Open reports whether deliveries may leave as far as people decide; none does
// without an endpoint.
func (w Window) Open() bool {
	return !w.Paused && !w.Disabled && !w.PartnerDisabled && !w.Removed && !w.Unrouted
}

// Resume lets deliveries leave again after a pause. An endpoint that disabled
// itself is enabled: whoever resumes it has looked at it.
func (w *Window) Resume() {
	w.Paused = false
	if w.Disabled {
		w.Disabled, w.Health = false, Health{LastSuccess: w.Health.LastSuccess}
	}
}

// MaxEndpointPause is for how long an endpoint is left alone at most because an
// answer asked for it; LongestRetryAfter for how long the delivery is that got
// the answer.
const (
	MaxEndpointPause  = 10 * time.Minute
	LongestRetryAfter = 24 * time.Hour
)

// ClockTolerance is by how much the clocks of hosts may differ before a stored
// time is taken for that of a clock that was ahead.
const ClockTolerance = 2 * time.Second

// Bound takes back what the window says of a time further ahead of now than
// its rules allow ("Stored times" of the delivery rules): a clock that was set
// back would hold deliveries up for as long as it had been ahead.
func (w *Window) Bound(now time.Time) {
	w.NotBefore = bounded(w.NotBefore, now, MaxEndpointPause)
	w.RateNext = bounded(w.RateNext, now, max(time.Second, w.RateEvery))
	w.Breaker.OpenUntil = bounded(w.Breaker.OpenUntil, now, breakerPause(w.Breaker.Opened-1))
}

// bounded is t, or most from now on if t is later than that.
func bounded(t, now time.Time, most time.Duration) time.Time {
	if t.After(now.Add(most + ClockTolerance)) {
		return now.Add(most)
	}
	return t
}

// Room is how many more deliveries may be admitted at now.
func (w Window) Room(now time.Time) int {
	if !w.Open() || w.Filtering || now.Before(w.NotBefore) {
		return 0
	}
	room := min(w.Grown, w.MaxInFlight) - w.Used
	if w.Breaker.State != BreakerClosed {
		room = w.Breaker.probes(now)
	}
	return max(0, min(room, w.RateRoom(now)))
}

// RateRoom is how many deliveries the endpoint's rate allows at now: one every
// RateEvery, and one second's worth at once after a pause (GCRA).
func (w Window) RateRoom(now time.Time) int {
	if w.RateEvery == 0 {
		return math.MaxInt
	}
	next := w.RateNext
	if next.Before(now) {
		next = now
	}
	return int((now.Add(max(time.Second, w.RateEvery)).Sub(next)) / w.RateEvery)
}

// Admit takes a place for a delivery at now.
func (w *Window) Admit(deliveryID string, now time.Time) {
	w.Used++
	w.Admissions++
	if w.RateEvery > 0 {
		if w.RateNext.Before(now) {
			w.RateNext = now
		}
		w.RateNext = w.RateNext.Add(w.RateEvery)
	}
	if w.Breaker.State != BreakerClosed {
		w.Breaker.State, w.Breaker.Probe = BreakerHalfOpen, deliveryID
	}
}

// GateAt is when the gate next opens by itself; zero if it is open now or
// opens only when somebody acts.
func (w Window) GateAt(now time.Time) time.Time {
	gate := w.NotBefore
	if w.Breaker.State == BreakerOpen && w.Breaker.OpenUntil.After(gate) {
		gate = w.Breaker.OpenUntil
	}
	if w.RateEvery > 0 && w.RateRoom(now) < 1 {
		if next := w.RateNext.Add(w.RateEvery - max(time.Second, w.RateEvery)); next.After(gate) {
			gate = next
		}
	}
	if !gate.After(now) {
		return time.Time{}
	}
	return gate
}

// Test takes a place for a test, past the gate: it asks whether the receiver is
// there. Beyond MaxTests it is RateLimited.
func (w *Window) Test() error {
	if err := w.RefusesTest(); err != nil {
		return err
	}
	w.Used++
	w.Tests++
	return nil
}

// RefusesTest is what Test would return.
func (w *Window) RefusesTest() error {
	if w.Tests < MaxTests {
		return nil
	}
	return &Error{Kind: KindRateLimited, RetryAfter: time.Second,
		Message: fmt.Sprintf("%d tests of this endpoint are on their way: wait until one has ended", w.Tests)}
}

// Grow widens the window by a success: at full use it doubles per round trip.
func (w *Window) Grow() { w.Grown = min(w.Grown+1, w.MaxInFlight) }

// Shrink halves the window after a timeout, a failed connection or an answer
// whose body did not end in time.
func (w *Window) Shrink() { w.Grown = max(min(StartWindow, w.MaxInFlight), w.Grown/2) }

// WaitReason is what an undelivered delivery waits for.
type WaitReason string

const (
	WaitQueue      WaitReason = "queue"       // a worker
	WaitSlot       WaitReason = "slot"        // room in its endpoint's window
	WaitRate       WaitReason = "rate"        // its endpoint's rate limit
	WaitRetry      WaitReason = "retry"       // the time of its next attempt
	WaitRetryAfter WaitReason = "retry_after" // the time that the receiver asked for
	WaitBreaker    WaitReason = "breaker"     // the circuit breaker to let a probe through, and the probe to pass
	WaitPaused     WaitReason = "paused"      // somebody to resume the endpoint
	WaitDisabled   WaitReason = "disabled"    // somebody to enable the endpoint or the partner
	WaitNoEndpoint WaitReason = "no_endpoint" // the partner to register an endpoint
	WaitOrder      WaitReason = "order"       // an earlier delivery with the same ordering key to end
)

// WaitingFor says what d waits for at now, and until when where that is known.
// Both are zero for a delivery that is being sent or has ended.
func (d Delivery) WaitingFor(w Window, now time.Time) (reason WaitReason, until time.Time) {
	switch {
	case d.State == Queued:
		return WaitQueue, time.Time{}
	case d.State != Pending:
		return "", time.Time{}
	case w.Unrouted:
		return WaitNoEndpoint, time.Time{}
	case w.Disabled || w.PartnerDisabled || w.Removed:
		return WaitDisabled, time.Time{}
	case w.Paused:
		return WaitPaused, time.Time{}
	case d.Blocked:
		return WaitOrder, time.Time{}
	case d.DueAt.After(now) && d.AskedByReceiver:
		return WaitRetryAfter, d.DueAt
	case d.DueAt.After(now):
		return WaitRetry, d.DueAt
	case w.Breaker.State != BreakerClosed:
		until = w.Breaker.OpenUntil
		if w.Breaker.State != BreakerOpen || !until.After(now) {
			until = time.Time{} // a probe passes now, or somebody must close it
		}
		return WaitBreaker, until
	case w.NotBefore.After(now):
		return WaitRetryAfter, w.NotBefore
	case w.RateRoom(now) < 1:
		return WaitRate, w.GateAt(now)
	default:
		return WaitSlot, time.Time{}
	}
}

// Shown is the state a reader sees: a pending delivery that cannot leave
// until somebody acts reads as held.
func (d Delivery) Shown(w Window) State {
	if d.State == Pending && !w.Open() {
		return Held
	}
	return d.State
}
