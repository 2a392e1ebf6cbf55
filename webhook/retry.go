package webhook

import (
	"math/rand/v2"
	"time"
)

// Jitter is how far a wait may stray from its configured value, both ways.
const Jitter = 0.2

// RetryPolicy is the schedule of a delivery: how long to wait before each
// attempt. The first wait is normally 0.
type RetryPolicy struct {
	Waits []time.Duration
}

// Attempts is how many attempts the schedule holds.
func (p RetryPolicy) Attempts() int { return len(p.Waits) }

// Wait returns how long to wait after attempt number made (from 1) failed,
// spread evenly over ±Jitter so that failures of one moment do not return as
// one; ok is false when the schedule is at its end.
func (p RetryPolicy) Wait(made int) (wait time.Duration, ok bool) {
	if made >= len(p.Waits) {
		return 0, false
	}
	return time.Duration(float64(p.Waits[made]) * (1 + Jitter*(2*rand.Float64()-1))), true
}
