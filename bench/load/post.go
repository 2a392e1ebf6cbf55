package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"ledgerhook/bench/stage"
)

// errand is what a load generator is to do.
type errand struct {
	URL, Token string   // of the internal API
	Bare       []string // instead of it, URLs that take any POST
	Partners   []string
	Name       string  // that no other errand on the same gateway has
	Events     int     // spread evenly over the partners
	Batch      int     // events a POST; 1: single ones
	Rate       float64 // POSTs a second, evenly spaced whatever the answers take; 0: as fast as the senders get answers
	Senders    int     // without a rate
}

// sent is what came of an errand.
type sent struct {
	Began, Ended int64 // in nanoseconds since 1970: the first POST and the last answer
	CPU          time.Duration
	Events       []sentEvent
	Refused      int // answers 503, each of them posted again
	Wrong        []string
}

// sentEvent is an accepted event.
type sentEvent struct {
	ID                 string
	Intended, Accepted int64 // in nanoseconds since 1970
}

// mostUnanswered bounds the POSTs that wait for their answers at a given rate.
const mostUnanswered = 4096

// post is the process that plays the internal systems: it reads an errand from
// stdin and writes what came of it to stdout.
func post() error {
	var e errand
	if err := json.NewDecoder(os.Stdin).Decode(&e); err != nil {
		return fmt.Errorf("read the errand: %w", err)
	}
	done, err := e.run()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(done)
}

// posting is an errand under way.
type posting struct {
	errand
	lines  []*lines
	bodies [][]byte

	mu   sync.Mutex
	done sent
}

func (e errand) run() (sent, error) {
	p := &posting{errand: e, bodies: e.bodies()}
	for _, to := range e.urls() {
		l, err := newLines(to, e.Token)
		if err != nil {
			return sent{}, err
		}
		p.lines = append(p.lines, l)
	}
	used, began := ownCPU(), time.Now()
	if e.Rate > 0 {
		p.steadily(began)
	} else {
		p.atOnce()
	}
	p.done.Began, p.done.Ended, p.done.CPU = began.UnixNano(), time.Now().UnixNano(), ownCPU()-used
	return p.done, nil
}

// bodies are the requests' bodies, made before the clock runs.
func (e errand) bodies() (all [][]byte) {
	for from := 0; from < e.Events; from += e.Batch {
		var events []any
		for i := from; i < min(e.Events, from+e.Batch); i++ {
			event := stage.Event(e.Partners[i%len(e.Partners)], i)
			event["idempotencyKey"] = fmt.Sprintf("%s-%d", e.Name, i)
			event["data"].(map[string]any)["id"] = fmt.Sprintf("top_%s_%d", e.Name, i)
			events = append(events, event)
		}
		var body any = map[string]any{"events": events}
		if e.Batch == 1 {
			body = events[0]
		}
		text, err := json.Marshal(body)
		if err != nil {
			panic(err) // of maps, texts and numbers
		}
		all = append(all, text)
	}
	return all
}

// atOnce posts one after the other from each sender.
func (p *posting) atOnce() {
	var next atomic.Int64
	var senders sync.WaitGroup
	for range p.Senders {
		senders.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(p.bodies)); i = next.Add(1) - 1 {
				p.one(int(i), time.Now())
			}
		})
	}
	senders.Wait()
}

// steadily posts each when its time has come, whether or not the ones before
// have been answered.
func (p *posting) steadily(began time.Time) {
	unanswered := make(chan struct{}, mostUnanswered)
	var posts sync.WaitGroup
	for i := range p.bodies {
		intended := began.Add(time.Duration(float64(i) / p.Rate * float64(time.Second)))
		time.Sleep(time.Until(intended))
		unanswered <- struct{}{}
		posts.Go(func() {
			p.one(i, intended)
			<-unanswered
		})
	}
	posts.Wait()
}

// urls are where the POSTs go, in turn.
func (e errand) urls() []string {
	switch {
	case len(e.Bare) > 0:
		return e.Bare
	case e.Batch > 1:
		return []string{e.URL + "/internal/v1/events/batch"}
	}
	return []string{e.URL + "/internal/v1/events"}
}

// one posts the i-th body until it is accepted.
func (p *posting) one(i int, intended time.Time) {
	for range 200 {
		status, said, err := p.lines[i%len(p.lines)].post(p.bodies[i])
		if err == nil && status != http.StatusServiceUnavailable {
			p.took(status, said, intended)
			return
		}
		p.mu.Lock()
		p.done.Refused++
		p.mu.Unlock()
		time.Sleep(100 * time.Millisecond)
	}
	p.blame("a POST was not accepted in 200 tries")
}

// took notes what an answered POST has made.
func (p *posting) took(status int, said []byte, intended time.Time) {
	accepted := time.Now().UnixNano()
	if len(p.Bare) > 0 {
		if status != http.StatusOK {
			p.blame("%d: %s", status, said)
		}
		return
	}
	type result struct {
		Status  int
		EventID string
	}
	var answer struct {
		result
		Results []result
	}
	err := json.Unmarshal(said, &answer)
	results := answer.Results
	if p.Batch == 1 {
		results = []result{{status, answer.EventID}}
	}
	if err != nil || len(results) == 0 {
		p.blame("%d: %s", status, said)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range results {
		if r.Status != http.StatusAccepted && r.Status != http.StatusOK { // which it is the second time
			p.done.Wrong = append(p.done.Wrong, fmt.Sprintf("%d: %s", r.Status, said))
			return
		}
		p.done.Events = append(p.done.Events, sentEvent{r.EventID, intended.UnixNano(), accepted})
	}
}

func (p *posting) blame(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done.Wrong = append(p.done.Wrong, fmt.Sprintf(format, args...))
}
