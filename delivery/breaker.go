package delivery

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

	"ledgerhook/webhook"
)

// When a judge says that an endpoint's breaker must open ("Breaker" of the
// delivery rules).
const (
	judgeWindow      = 60 * time.Second
	judgeBucket      = 5 * time.Second
	judgeMinAttempts = 10
	judgeMaxFailures = 0.5 // of the attempts in the window
	judgeInARow      = 5

	// A uniform refusal, such as 401 to everything: so many attempts in a row of
	// so many events. One event that is refused closes nobody's way.
	judgeRefusals = 20
	judgeRefused  = 10
)

// BreakerMonitor watches the endpoints that this process sends to, each by a
// judge. A judge only says when to open: the endpoint's window row is the gate,
// and opens and closes for all processes. A judge belongs to one epoch of that
// row; with the next one it starts afresh. It never gets to half-open itself.
type BreakerMonitor struct {
	mu     sync.Mutex
	judges map[string]*judge // by endpoint
}

type judge struct {
	epoch   int64
	verdict string // once it has spoken
	breaker *gobreaker.TwoStepCircuitBreaker[struct{}]
	row     refusals
}

// refusals are the newest attempts of an endpoint as far as they have the same
// refusal in common.
type refusals struct {
	status   int
	attempts int
	events   map[string]bool // of them, at most judgeRefused
}

// observe takes an attempt at an event and reports whether there have been
// enough.
func (r *refusals) observe(eventID string, a webhook.Attempt) bool {
	if !a.Refused() {
		*r = refusals{}
		return false
	}
	if r.status != a.StatusCode {
		*r = refusals{status: a.StatusCode, events: map[string]bool{}}
	}
	r.attempts++
	if len(r.events) < judgeRefused {
		r.events[eventID] = true
	}
	return r.attempts >= judgeRefusals && len(r.events) >= judgeRefused
}

// maxJudges bounds the memory, at about 0.5 KB each.
const maxJudges = 20_000

var errCounted = errors.New("counts as a failure")

// Observe takes an attempt to send an event to an endpoint in an epoch of its
// breaker and returns why the breaker must open now, if it must, with the
// status if that is a uniform refusal.
func (m *BreakerMonitor) Observe(endpointID, eventID string, epoch int64, a webhook.Attempt) (trip string, refused int) {
	if a.Outcome == webhook.OutcomeUnknown || a.NotSent() || a.Trigger == webhook.TriggerTest || a.Trigger == webhook.TriggerProbe {
		return "", 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	current := m.judges[endpointID]
	if current == nil || current.epoch < epoch {
		if len(m.judges) >= maxJudges || m.judges == nil {
			m.judges = map[string]*judge{}
		}
		current = &judge{epoch: epoch, breaker: newJudge()}
		m.judges[endpointID] = current
	}
	if current.epoch > epoch {
		return "", 0 // sent before the breaker last changed
	}
	if current.row.observe(eventID, a) {
		return fmt.Sprintf("%d attempts in a row, of different events, were answered %d", current.row.attempts, a.StatusCode), a.StatusCode
	}
	return current.failed(a), 0
}

// failed takes an attempt and returns why failures must open the breaker now.
func (current *judge) failed(a webhook.Attempt) (trip string) {
	var failure error
	if a.CountsAsFailure() {
		failure = errCounted
	}
	done, err := current.breaker.Allow()
	if err != nil { // it has spoken; the row's next epoch brings another
		if failure == nil {
			return ""
		}
		return current.verdict // again: the record that carried it may not have counted
	}
	counts := current.breaker.Counts()
	done(failure)
	if current.breaker.State() != gobreaker.StateOpen {
		return ""
	}
	if counts.ConsecutiveFailures+1 >= judgeInARow {
		current.verdict = fmt.Sprintf("%d attempts in a row failed", counts.ConsecutiveFailures+1)
	} else {
		current.verdict = fmt.Sprintf("%d of %d attempts within %s failed", counts.TotalFailures+1, counts.Requests, judgeWindow)
	}
	return current.verdict
}

func newJudge() *gobreaker.TwoStepCircuitBreaker[struct{}] {
	return gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Interval:     judgeWindow,
		BucketPeriod: judgeBucket,
		Timeout:      365 * 24 * time.Hour, // its own half-open is never used
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return c.ConsecutiveFailures >= judgeInARow ||
				c.Requests >= judgeMinAttempts && float64(c.TotalFailures) >= judgeMaxFailures*float64(c.Requests)
		},
	})
}
