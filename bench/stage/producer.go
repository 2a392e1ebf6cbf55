package stage

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Event is the n-th Event of a producer, as the API takes it.
func Event(partner string, n int) map[string]any {
	return map[string]any{
		"partnerCode": partner, "webhookType": "TopupCard", "idempotencyKey": fmt.Sprintf("%s-%d", partner, n),
		"data": map[string]any{"id": fmt.Sprintf("top_%d", n), "cardId": "card_1", "amount": 250000 + n, "fee": 0.5, "status": "Pending", "createdAt": 1767225600},
	}
}

// Producer is an internal system that posts events at a steady rate, each as
// often as it takes to get it accepted.
type Producer struct {
	g    *Gateway
	done sync.WaitGroup

	mu       sync.Mutex
	accepted map[string]string    // event ids by idempotency key
	at       map[string]time.Time // when each event id was accepted
	due      map[string]time.Time // when each event id was to be posted first
	posting  []time.Duration      // how long each event took from its first post to its acceptance
	Posts    int                  // answered by the gateway
	Away     []Answer             // answers 503
	wrong    []string             // what should not have been
}

const posters = 32

// turn is an event that is due.
type turn struct {
	n  int
	at time.Time
}

// Produce posts n events of a partner at perSecond, until the test is over.
func Produce(g *Gateway, partner string, n, perSecond int) *Producer {
	p := &Producer{g: g, accepted: map[string]string{}, at: map[string]time.Time{}, due: map[string]time.Time{}}
	turns := make(chan turn, n)
	p.done.Go(func() {
		tick := time.NewTicker(time.Second / time.Duration(perSecond))
		defer tick.Stop()
		defer close(turns)
		for i := range n {
			turns <- turn{i, time.Now()}
			select {
			case <-tick.C:
			case <-g.tb.Context().Done():
				p.blame("interrupted after %d of %d events", i+1, n)
				return
			}
		}
	})
	for range posters {
		p.done.Go(func() {
			for t := range turns {
				p.post(Event(partner, t.n), t.at)
			}
		})
	}
	return p
}

// post posts an event that was due until it is accepted, at most for two minutes
// and until the test is over.
func (p *Producer) post(e map[string]any, due time.Time) {
	pause := time.NewTicker(100 * time.Millisecond)
	defer pause.Stop()
	began := time.Now()
	for end := began.Add(2 * time.Minute); time.Now().Before(end); <-pause.C {
		a, err := p.g.Call("POST", "/internal/v1/events", e)
		if err == nil && p.took(e, a, due, began) || p.g.tb.Context().Err() != nil {
			return
		}
	}
	p.blame("%s was not accepted in two minutes", e["idempotencyKey"])
}

// took notes an answer to an event that was due and was posted first at began, and
// reports whether the event is done with.
func (p *Producer) took(e map[string]any, a Answer, due, began time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Posts++
	switch a.Status {
	case http.StatusAccepted, http.StatusOK:
	case http.StatusServiceUnavailable:
		p.Away = append(p.Away, a)
		return false
	default:
		p.wrong = append(p.wrong, fmt.Sprintf("%s: %d %s", e["idempotencyKey"], a.Status, a.Body))
		return true
	}
	var said struct {
		EventID     string
		DeliveryIDs []string
	}
	if err := json.Unmarshal(a.Body, &said); err != nil || len(said.DeliveryIDs) != 1 {
		p.wrong = append(p.wrong, fmt.Sprintf("%s: %s", e["idempotencyKey"], a.Body))
	}
	p.accepted[e["idempotencyKey"].(string)] = said.EventID
	p.at[said.EventID], p.due[said.EventID] = time.Now(), due
	p.posting = append(p.posting, time.Since(began))
	return true
}

func (p *Producer) blame(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wrong = append(p.wrong, fmt.Sprintf(format, args...))
}

// Has is how many events have been accepted.
func (p *Producer) Has() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.accepted)
}

// Refused is how many posts have been answered 503.
func (p *Producer) Refused() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.Away)
}

// Reach waits until n events have been accepted.
func (p *Producer) Reach(n int) {
	p.g.tb.Helper()
	Eventually(p.g.tb, time.Minute, fmt.Sprintf("%d events are accepted", n), func() bool { return p.Has() >= n })
}

// Finish waits until everything is posted, and returns the events' ids.
func (p *Producer) Finish() []string {
	p.g.tb.Helper()
	p.done.Wait()
	for _, wrong := range p.wrong {
		p.g.tb.Error(wrong)
	}
	ids := slices.Sorted(maps.Values(p.accepted))
	if unique := slices.Compact(slices.Clone(ids)); len(unique) != len(ids) {
		p.g.tb.Errorf("%d events share their ids with others", len(ids)-len(unique))
	}
	return ids
}

// InFlight is the most that an endpoint may have on its way at once: as many
// requests may come twice when a process dies.
const InFlight = 32

// Settle waits until the partner has taken every event and the gateway knows
// it, and holds what is promised of each: one delivery, delivered, one record
// per attempt number, no request without a record, the same bytes each time.
func Settle(g *Gateway, p *Partner, events []string, limit time.Duration) []Shown {
	g.tb.Helper()
	began := time.Now()
	Eventually(g.tb, limit, fmt.Sprintf("the partner has taken %d events", len(events)), func() bool { return p.Has() >= len(events) })
	all := g.Await(p.Code, limit)
	g.tb.Logf("%d events delivered %s after the last was accepted; %d requests, %d came again", len(events),
		time.Since(began).Round(10*time.Millisecond), p.Asked(), p.Duplicates())
	p.CheckRequests()
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
	CheckAttempts(g.tb, g, p, all)
	return all
}

// CheckAttempts compares the records of attempts with the requests that came.
func CheckAttempts(tb T, g *Gateway, p *Partner, all []Shown) {
	tb.Helper()
	came := map[string]int{}
	p.mu.Lock()
	for _, r := range p.requests {
		came[r.ID]++
	}
	p.mu.Unlock()
	for i, d := range all {
		d = g.Delivery(d.DeliveryID)
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

// PostAll posts the first n events of a partner in batches and returns their ids.
func PostAll(g *Gateway, partner string, n int) []string { return PostFrom(g, partner, 0, n) }

// PostFrom posts n events of a partner from its first-th on, in batches, and
// returns their ids.
func PostFrom(g *Gateway, partner string, first, n int) (ids []string) {
	g.tb.Helper()
	for from := first; from < first+n; from += 1000 {
		var batch []any
		for i := from; i < min(first+n, from+1000); i++ {
			batch = append(batch, Event(partner, i))
		}
		var said struct {
			Results []struct {
				Status  int
				EventID string
			}
		}
		g.Must("POST", "/internal/v1/events/batch", map[string]any{"events": batch}, http.StatusOK, &said)
		for _, r := range said.Results {
			if r.Status != http.StatusAccepted {
				g.tb.Fatalf("an event of a batch got %d", r.Status)
			}
			ids = append(ids, r.EventID)
		}
	}
	slices.Sort(ids)
	return ids
}

// Accepted lists the ids of the events that have been accepted so far.
func (p *Producer) Accepted() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Values(p.accepted))
}

// Times returns when each event was accepted.
func (p *Producer) Times() map[string]time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.at)
}

// Due returns when each accepted event was to be posted first, which it may have
// been later: while the gateway takes nothing, events wait for their posters.
func (p *Producer) Due() map[string]time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.due)
}

// Posting returns how long each accepted event took from its first post to its
// acceptance.
func (p *Producer) Posting() []time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.posting)
}
