package webhook

import "time"

// StartWindow is how many deliveries a new endpoint may have in flight.
const StartWindow = 2

// DefaultMaxInFlight is what an endpoint's window grows to unless it says otherwise.
const DefaultMaxInFlight = 32

// Window is how much of an endpoint's traffic may be on its way at once. It
// is one row of the ledger. Whether there is room is computed from it and
// stored nowhere, so pausing and growing cannot overwrite each other.
type Window struct {
	EndpointID      string
	MaxInFlight     int
	Grown           int   // where slow start has got to, StartWindow … MaxInFlight
	Used            int   // exactly the deliveries that are queued or sending
	WaitingFirst    int   // pending deliveries that never had an attempt
	WaitingAgain    int   // pending retries and replays, due or not
	Admissions      int64 // counts up with every admission, for fairness
	NextSequence    int64 // the number the next delivery takes
	Paused          bool
	Disabled        bool // the endpoint, by an operator or by its failures
	PartnerDisabled bool
	Removed         bool
	WakeAt          time.Time // when the promoter must look; zero: no need
}

// Open reports whether deliveries may leave.
func (w Window) Open() bool {
	return !w.Paused && !w.Disabled && !w.PartnerDisabled && !w.Removed
}

// Room is how many more deliveries may be admitted now.
func (w Window) Room() int {
	if !w.Open() {
		return 0
	}
	return max(0, min(w.Grown, w.MaxInFlight)-w.Used)
}

// Grow widens the window by a success: at full use it doubles per round trip.
func (w *Window) Grow() { w.Grown = min(w.Grown+1, w.MaxInFlight) }

// Shrink halves the window after a timeout or a failed connection.
func (w *Window) Shrink() { w.Grown = max(min(StartWindow, w.MaxInFlight), w.Grown/2) }

// WaitReason is what an undelivered delivery waits for.
type WaitReason string

const (
	WaitQueue      WaitReason = "queue"       // a worker
	WaitSlot       WaitReason = "slot"        // room in its endpoint's window
	WaitRetry      WaitReason = "retry"       // the time of its next attempt
	WaitPaused     WaitReason = "paused"      // somebody to resume the endpoint
	WaitDisabled   WaitReason = "disabled"    // somebody to enable the endpoint or the partner
	WaitNoEndpoint WaitReason = "no_endpoint" // the partner to register an endpoint
)

// WaitingFor says what d waits for at now, and until when where that is known.
// Both are zero for a delivery that is being sent or has ended.
func (d Delivery) WaitingFor(w Window, now time.Time) (reason WaitReason, until time.Time) {
	switch {
	case d.State == Queued:
		return WaitQueue, time.Time{}
	case d.State != Pending:
		return "", time.Time{}
	case d.EndpointID == "":
		return WaitNoEndpoint, time.Time{}
	case w.Disabled || w.PartnerDisabled || w.Removed:
		return WaitDisabled, time.Time{}
	case w.Paused:
		return WaitPaused, time.Time{}
	case d.DueAt.After(now):
		return WaitRetry, d.DueAt
	default:
		return WaitSlot, time.Time{}
	}
}

// Shown is the state a reader sees: a pending delivery that cannot leave
// until somebody acts reads as held.
func (d Delivery) Shown(w Window) State {
	if d.State == Pending && (d.EndpointID == "" || !w.Open()) {
		return Held
	}
	return d.State
}
