package delivery

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"ledgerhook/webhook"
)

// Verdict is what follows from an attempt.
type Verdict struct {
	State  webhook.State // Delivered, Exhausted, or Pending with NextAt
	NextAt time.Time
	Reason string // why then, or why no more, in words
	// AskedByReceiver: NextAt is the time that the answer asked for.
	AskedByReceiver bool
	// EndpointPause is for how long the answer asked to leave the endpoint alone.
	EndpointPause time.Duration
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
	asked := retryAfter(a, now)
	v := Verdict{State: webhook.Exhausted, EndpointPause: min(asked, webhook.MaxEndpointPause)}
	step := a.Number - job.Delivery.Repeats // of the schedule
	wait, ok := p.Wait(step)
	if !ok {
		v.Reason = fmt.Sprintf("all %d attempts of the schedule are used", p.Attempts())
		return v
	}
	v.State, v.NextAt = webhook.Pending, now.Add(wait)
	v.Reason = fmt.Sprintf("attempt %d of %d, %s after the last", step+1, p.Attempts(), wait.Round(100*time.Millisecond))
	if asked > wait {
		v.NextAt, v.AskedByReceiver = now.Add(asked), true
		v.Reason = fmt.Sprintf("attempt %d of %d, the answer asked to wait %s", step+1, p.Attempts(), asked.Round(time.Second))
	}
	return v
}

// retryAfter is for how long an answer 429 or 503 asks to wait, at most
// webhook.LongestRetryAfter: seconds or a date; 0 for what is past or makes no sense.
func retryAfter(a webhook.Attempt, now time.Time) time.Duration {
	if a.StatusCode != http.StatusTooManyRequests && a.StatusCode != http.StatusServiceUnavailable {
		return 0
	}
	value := strings.TrimSpace(http.Header(a.ResponseHeaders).Get("Retry-After"))
	var wait time.Duration
	if isDigits(value) {
		seconds, _ := strconv.ParseFloat(value, 64) // too many digits are infinitely many seconds
		wait = time.Duration(min(seconds, webhook.LongestRetryAfter.Seconds())) * time.Second
	} else if date, err := http.ParseTime(value); err == nil {
		wait = date.Sub(now)
	}
	return max(0, min(wait, webhook.LongestRetryAfter))
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
