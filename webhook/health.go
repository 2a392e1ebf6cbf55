package webhook

import (
	"cmp"
	"fmt"
	"time"
)

// Health is how an endpoint has been doing, for the decision to disable it.
type Health struct {
	LastSuccess    time.Time
	FailingSince   time.Time  // the first failure since the last success
	Failed         int        // deliveries that ended exhausted since the last success
	Gone           int        // 410 answers in a row
	Attempts       int        // that failed since the last success
	Alike          int        // the newest of these that came to the same
	Last           LastResult // what they came to; none: the last attempt succeeded
	Warned         time.Duration
	Pace           Pace   // of its successes
	DisabledReason string // why it was disabled by itself; stays until it is enabled, whatever was still in flight
}

// When an endpoint is disabled by itself ("Auto-disable" and "410" of the
// delivery rules).
const (
	DisableAfter     = 5 * 24 * time.Hour
	DisableMinFailed = 50
	GoneLimit        = 2
)

// warnings are the times without success at which the partner is told.
var warnings = []time.Duration{24 * time.Hour, 72 * time.Hour, 96 * time.Hour}

// Observe takes an attempt and what followed. It returns a warning to pass on,
// or why the endpoint must be disabled now; both are empty normally. A failure
// that now, the same for every process, has not come to yet counts from now.
func (h *Health) Observe(a Attempt, ended State, now time.Time) (warning, disable string) {
	if a.Outcome == OutcomeDelivered {
		h.Pace.observe(a.Phases.Total, now.Sub(h.LastSuccess), now)
		*h = Health{LastSuccess: now, Pace: h.Pace, DisabledReason: h.DisabledReason}
		return "", ""
	}
	if a.Outcome != OutcomeFailed || a.ErrorClass == ErrorInternal { // which is our fault
		return "", ""
	}
	if h.FailingSince.IsZero() || h.FailingSince.After(now) {
		h.FailingSince = now
	}
	if ended == Exhausted {
		h.Failed++
	}
	h.Attempts++
	if a.ErrorClass != h.Last.ErrorClass || a.StatusCode != h.Last.StatusCode {
		h.Alike = 0
	}
	h.Alike++
	h.Last = LastResult{Outcome: a.Outcome, ErrorClass: a.ErrorClass, StatusCode: a.StatusCode}
	if a.StatusCode == 410 {
		h.Gone++
	} else {
		h.Gone = 0
	}
	failing := now.Sub(h.FailingSince)
	switch {
	case h.Gone >= GoneLimit:
		disable = "the endpoint answered 410 Gone twice in a row"
	case failing >= DisableAfter && h.Failed >= DisableMinFailed:
		disable = fmt.Sprintf("no delivery has succeeded for 5 days and %d have failed", h.Failed)
	}
	h.DisabledReason = cmp.Or(h.DisabledReason, disable)
	for _, after := range warnings {
		if failing >= after && h.Warned < after {
			h.Warned = after
			warning = fmt.Sprintf("no delivery has succeeded for %d hours; after 120 hours and %d failed deliveries the endpoint is disabled", int(after.Hours()), DisableMinFailed)
		}
	}
	return warning, disable
}
