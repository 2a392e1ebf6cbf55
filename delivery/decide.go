package delivery

import (
	"fmt"
	"time"

	"ledgerhook/webhook"
)

// Verdict is what follows from an attempt.
type Verdict struct {
	State  webhook.State // Delivered, Exhausted, or Pending with NextAt
	NextAt time.Time
	Reason string // why then, or why no more, in words
}

// Decide says what follows from an attempt that ended at now. It is the only
// authority on retries.
func Decide(p webhook.RetryPolicy, job Job, a webhook.Attempt, now time.Time) Verdict {
	switch {
	case a.Outcome == webhook.OutcomeDelivered:
		return Verdict{State: webhook.Delivered}
	case job.Event.Test:
		return Verdict{State: webhook.Exhausted, Reason: "a test is sent once"}
	case a.Outcome == webhook.OutcomeUnknown:
		// Nobody knows whether the partner got it, so it can never be the last word.
		return Verdict{State: webhook.Pending, NextAt: now, Reason: "the attempt's outcome is unknown: sent again at once"}
	}
	wait, ok := p.Wait(a.Number)
	if !ok {
		return Verdict{State: webhook.Exhausted, Reason: fmt.Sprintf("all %d attempts of the schedule are used", p.Attempts())}
	}
	return Verdict{State: webhook.Pending, NextAt: now.Add(wait),
		Reason: fmt.Sprintf("attempt %d of %d, %s after the last", a.Number+1, p.Attempts(), wait.Round(100*time.Millisecond))}
}
