package webhook

import "time"

// BreakerState is where an endpoint's circuit breaker stands.
type BreakerState string

const (
	BreakerClosed   BreakerState = "closed"    // deliveries pass
	BreakerOpen     BreakerState = "open"      // none passes
	BreakerHalfOpen BreakerState = "half_open" // one probe at a time passes
)

// The breaker's times and counts ("Breaker" of the delivery rules).
const (
	BreakerFirstPause = 30 * time.Second
	BreakerLongest    = 10 * time.Minute
	BreakerProbes     = 3 // that must pass one after the other to close it
)

// Breaker is the gate in an endpoint's window. Workers judge when it trips;
// the row alone knows whether it is open.
type Breaker struct {
	State     BreakerState
	OpenUntil time.Time // while open: when a probe may go; zero: opened by hand, until closed by hand
	Epoch     int64     // counts up with every change; judges of an older epoch are not heard
	Opened    int       // times in a row that it opened, for the length of the pause
	Probe     string    // the delivery that probes just now
	Passed    int       // probes that passed in a row
	Reason    string    // why it is open, in words
	Refused   int       // the status of the uniform refusal that opened it; 0: something else did
}

// probes is how many probes may be admitted to a breaker that is not closed.
func (b Breaker) probes(now time.Time) int {
	if b.Probe != "" || b.State == BreakerOpen && (b.OpenUntil.IsZero() || now.Before(b.OpenUntil)) {
		return 0
	}
	return 1
}

// breakerPause is for how long a breaker opens that has opened so many times
// in a row before.
func breakerPause(before int) time.Duration {
	if before < 0 || before >= 10 {
		return BreakerLongest
	}
	return min(BreakerLongest, BreakerFirstPause<<before)
}

// Trip opens the breaker at now for a pause that doubles each time in a row.
func (b *Breaker) Trip(now time.Time, reason string) {
	*b = Breaker{State: BreakerOpen, OpenUntil: now.Add(breakerPause(b.Opened)), Epoch: b.Epoch + 1, Opened: b.Opened + 1, Reason: reason}
}

// Refuse opens the breaker at now, as Trip does, since whatever is sent is
// answered with status.
func (b *Breaker) Refuse(now time.Time, status int, reason string) {
	b.Trip(now, reason)
	b.Refused = status
}

// OpenByHand opens the breaker until it is closed by hand.
func (b *Breaker) OpenByHand(reason string) {
	*b = Breaker{State: BreakerOpen, Epoch: b.Epoch + 1, Opened: b.Opened, Reason: reason}
}

// Close closes the breaker and forgets what was before.
func (b *Breaker) Close() { *b = Breaker{State: BreakerClosed, Epoch: b.Epoch + 1} }

// Probed takes the outcome of the probe and reports whether it closed the breaker.
func (b *Breaker) Probed(passed bool, now time.Time) (closed bool) {
	b.Probe = ""
	if !passed {
		b.Trip(now, "the probe failed")
		return false
	}
	b.Passed++
	if b.Passed < BreakerProbes {
		return false
	}
	b.Close()
	return true
}

// CountsAsFailure reports whether an attempt speaks against its receiver as a
// whole: network errors, 408, 425, 429 and 5xx do; other 4xx are about the one
// message.
func (a Attempt) CountsAsFailure() bool {
	switch a.ErrorClass {
	case ErrorDNS, ErrorConnect, ErrorTLS, ErrorTimeout, ErrorReset, ErrorProtocol, ErrorHTTP5xx:
		return true
	}
	switch a.StatusCode {
	case 408, 425, 429:
		return true
	}
	return false
}

// Refused reports whether the receiver refused the message and is well
// otherwise: a 4xx that does not count as a failure.
func (a Attempt) Refused() bool {
	return a.Outcome == OutcomeFailed && a.StatusCode/100 == 4 && !a.CountsAsFailure()
}

// NotSent reports whether an attempt failed before it could reach its
// receiver, by a fault of the gateway or because the address is forbidden.
func (a Attempt) NotSent() bool {
	return a.ErrorClass == ErrorInternal || a.ErrorClass == ErrorBlocked
}
