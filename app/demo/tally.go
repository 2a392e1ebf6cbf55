package demo

import (
	"fmt"
	"sync"
	"time"

	"ledgerhook/webhook"
)

// tally knows, of every event, whether the gateway took it and whether it
// arrived as it should. Either may be known first.
type tally struct {
	mu       sync.Mutex
	fates    map[string]*fate // by event id
	sent     map[string]time.Time
	accepted int
	refused  int
	refusal  error // the newest one
	arrived  int   // accepted and verified
	again    int   // accepted and tried more than once
}

type fate struct {
	accepted, verified, spoiled, again bool
}

func newTally() *tally { return &tally{fates: map[string]*fate{}, sent: map[string]time.Time{}} }

// thing names what an event reports before it has an id.
func thing(kind webhook.Type, object, status string) string {
	return fmt.Sprint(kind, " ", object, " ", status)
}

// sending notes when an event is handed to the gateway.
func (t *tally) sending(partner string, e event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent[partner+" "+thing(e.kind, e.object, e.status)] = time.Now()
}

// took is how long ago an event was handed to the gateway; 0 if it was not
// made here. Final attempts forget it.
func (t *tally) took(partner, thing string, at time.Time, final bool) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := partner + " " + thing
	start, ok := t.sent[key]
	if !ok {
		return 0
	}
	if final {
		delete(t.sent, key)
	}
	return at.Sub(start)
}

// accept notes that the gateway took an event.
func (t *tally) accept(id string) { t.change(id, func(f *fate) { f.accepted = true }) }

// refuse notes that the gateway did not take an event.
func (t *tally) refuse(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refused, t.refusal = t.refused+1, err
}

// arrive notes a request: whether it verified with the same bytes as earlier
// ones of its event, and whether it is a repetition.
func (t *tally) arrive(id string, verified, same, again bool) {
	t.change(id, func(f *fate) {
		f.verified = f.verified || verified
		f.spoiled = f.spoiled || verified && !same
		f.again = f.again || again
	})
}

func (t *tally) change(id string, do func(*fate)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.fates[id]
	if f == nil {
		f = &fate{}
		t.fates[id] = f
	}
	t.count(*f, -1)
	do(f)
	t.count(*f, +1)
}

func (t *tally) count(f fate, by int) {
	if !f.accepted {
		return
	}
	t.accepted += by
	if f.verified && !f.spoiled {
		t.arrived += by
	}
	if f.again {
		t.again += by
	}
}

// standing is how things stand.
type standing struct {
	accepted, arrived, again, refused int
	refusal                           error
}

func (t *tally) standing() standing {
	t.mu.Lock()
	defer t.mu.Unlock()
	return standing{t.accepted, t.arrived, t.again, t.refused, t.refusal}
}

func (t *tally) isAccepted(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.fates[id]
	return f != nil && f.accepted
}
