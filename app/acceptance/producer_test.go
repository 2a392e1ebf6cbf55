package acceptance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// event is the n-th event of a producer, as the API takes it.
func event(partner string, n int) map[string]any {
	return map[string]any{
		"partnerCode": partner, "webhookType": "TopupCard", "idempotencyKey": fmt.Sprintf("%s-%d", partner, n),
		"data": map[string]any{"id": fmt.Sprintf("top_%d", n), "cardId": "card_1", "amount": 250000 + n, "fee": 0.5, "status": "Pending", "createdAt": 1767225600},
	}
}

// producer is an internal system that posts events at a steady rate, each as
// often as it takes to get it accepted.
type producer struct {
	g    *gateway
	done sync.WaitGroup

	mu       sync.Mutex
	accepted map[string]string // event ids by idempotency key
	posts    int               // answered by the gateway
	away     []answer          // answers 503
	wrong    []string          // what should not have been
}

const posters = 32

// produce posts n events of a partner at perSecond.
func produce(g *gateway, partner string, n, perSecond int) *producer {
	p := &producer{g: g, accepted: map[string]string{}}
	turns := make(chan int, n)
	p.done.Go(func() {
		tick := time.NewTicker(time.Second / time.Duration(perSecond))
		defer tick.Stop()
		defer close(turns)
		for i := range n {
			turns <- i
			<-tick.C
		}
	})
	for range posters {
		p.done.Go(func() {
			for i := range turns {
				p.post(event(partner, i))
			}
		})
	}
	return p
}

// post posts an event until it is accepted, at most for two minutes.
func (p *producer) post(e map[string]any) {
	pause := time.NewTicker(100 * time.Millisecond)
	defer pause.Stop()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); <-pause.C {
		a, err := p.g.call("POST", "/internal/v1/events", e)
		if err == nil && p.took(e, a) {
			return
		}
	}
	p.blame("%s was not accepted in two minutes", e["idempotencyKey"])
}

// took notes an answer and reports whether the event is done with.
func (p *producer) took(e map[string]any, a answer) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.posts++
	switch a.status {
	case http.StatusAccepted, http.StatusOK:
	case http.StatusServiceUnavailable:
		p.away = append(p.away, a)
		return false
	default:
		p.wrong = append(p.wrong, fmt.Sprintf("%s: %d %s", e["idempotencyKey"], a.status, a.body))
		return true
	}
	var said struct {
		EventID     string
		DeliveryIDs []string
	}
	if err := json.Unmarshal(a.body, &said); err != nil || len(said.DeliveryIDs) != 1 {
		p.wrong = append(p.wrong, fmt.Sprintf("%s: %s", e["idempotencyKey"], a.body))
	}
	p.accepted[e["idempotencyKey"].(string)] = said.EventID
	return true
}

func (p *producer) blame(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wrong = append(p.wrong, fmt.Sprintf(format, args...))
}

// has is how many events have been accepted.
func (p *producer) has() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.accepted)
}

// refused is how many posts have been answered 503.
func (p *producer) refused() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.away)
}

// reach waits until n events have been accepted.
func (p *producer) reach(n int) {
	p.g.tb.Helper()
	eventually(p.g.tb, time.Minute, fmt.Sprintf("%d events are accepted", n), func() bool { return p.has() >= n })
}

// finish waits until everything is posted, and returns the events' ids.
func (p *producer) finish() []string {
	p.g.tb.Helper()
	p.done.Wait()
	for _, wrong := range p.wrong {
		p.g.tb.Error(wrong)
	}
	var ids []string
	for _, id := range p.accepted {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	if unique := slices.Compact(slices.Clone(ids)); len(unique) != len(ids) {
		p.g.tb.Errorf("%d events share their ids with others", len(ids)-len(unique))
	}
	return ids
}

// inFlight is the most that an endpoint may have on its way at once: as many
// requests may come twice when a process dies.
const inFlight = 32

// settle waits until the partner has taken every event and the gateway knows
// it, and holds what is promised of each: one delivery, delivered, one record
// per attempt number, no request without a record, the same bytes each time.
func settle(g *gateway, p *partner, events []string, limit time.Duration) []shown {
	g.tb.Helper()
	began := time.Now()
	eventually(g.tb, limit, fmt.Sprintf("the partner has taken %d events", len(events)), func() bool { return p.has() >= len(events) })
	all := g.await(p.code, limit)
	g.tb.Logf("%d events delivered %s after the last was accepted; %d requests, %d came again", len(events),
		time.Since(began).Round(10*time.Millisecond), p.asked(), p.duplicates())
	p.checkRequests()
	var delivered []string
	for _, d := range all {
		delivered = append(delivered, d.EventID)
		if d.State != "delivered" {
			g.tb.Errorf("delivery %s is %s", d.DeliveryID, d.State)
		}
	}
	slices.Sort(delivered)
	if !slices.Equal(delivered, events) {
		g.tb.Errorf("%d deliveries of %d accepted events, or of others", len(delivered), len(events))
	}
	checkAttempts(g.tb, g, p, all)
	return all
}

// checkAttempts compares the records of attempts with the requests that came.
func checkAttempts(tb testing.TB, g *gateway, p *partner, all []shown) {
	tb.Helper()
	came := map[string]int{}
	p.mu.Lock()
	for _, r := range p.requests {
		came[r.ID]++
	}
	p.mu.Unlock()
	for i, d := range all {
		d = g.delivery(d.DeliveryID)
		all[i] = d // with its attempts
		if len(d.Attempts) != d.AttemptCount {
			tb.Errorf("%s has %d attempts and %d records of them", d.DeliveryID, d.AttemptCount, len(d.Attempts))
		}
		for n, a := range d.Attempts {
			if a.Number != n+1 {
				tb.Errorf("%s: record %d is of attempt %d", d.DeliveryID, n+1, a.Number)
			}
		}
		if came[d.EventID] > len(d.Attempts) {
			tb.Errorf("%s: %d requests and only %d records", d.DeliveryID, came[d.EventID], len(d.Attempts))
		}
	}
}
