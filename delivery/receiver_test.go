package delivery_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"ledgerhook/webhook"
)

// deadline bounds every wait of these tests; a busy machine is slow.
const deadline = 2 * time.Minute

// request is a notification as it reached the partner.
type request struct {
	at     time.Time
	path   string
	header http.Header
	body   []byte
}

func (r request) id() string { return r.header.Get("webhook-id") }

// receiver is the partner's side.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	got     []request
	changed chan struct{} // holds one value after a change
}

// receive starts a receiver. Its answer gets the request's number from 1 and a
// context that ends with the connection.
func receive(t *testing.T, answer func(ctx context.Context, n int) (status int)) *receiver {
	t.Helper()
	r := &receiver{changed: make(chan struct{}, 1)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		body, err := io.ReadAll(in.Body)
		if err != nil {
			return
		}
		r.mu.Lock()
		r.got = append(r.got, request{time.Now(), in.URL.Path, in.Header.Clone(), body})
		n := len(r.got)
		r.mu.Unlock()
		select {
		case r.changed <- struct{}{}:
		default:
		}
		w.WriteHeader(answer(in.Context(), n))
	}))
	t.Cleanup(func() {
		r.CloseClientConnections()
		r.Close()
	})
	return r
}

func accept(context.Context, int) int { return http.StatusNoContent }

// requests returns what has come so far.
func (r *receiver) requests() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// wait waits until n requests have come.
func (r *receiver) wait(t *testing.T, n int) []request {
	t.Helper()
	timeout := time.After(deadline)
	for {
		if got := r.requests(); len(got) >= n {
			return got
		}
		select {
		case <-r.changed:
		case <-timeout:
			t.Fatalf("%d of %d notifications came within %s", len(r.requests()), n, deadline)
		}
	}
}

// duplicates counts the notifications that came to one URL more than once.
func (r *receiver) duplicates() (n int) {
	seen := map[string]bool{}
	for _, got := range r.requests() {
		key := got.path + " " + got.id()
		if seen[key] {
			n++
		}
		seen[key] = true
	}
	return n
}

// eventually waits until condition holds, looking again and again.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(deadline)
	for !condition() {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("not within %s: %s", deadline, what)
		}
	}
}

// waitAll waits until n deliveries have ended, all of them well.
func (g *gateway) waitAll(t *testing.T, n int) {
	t.Helper()
	eventually(t, "everything is delivered", func() bool {
		return g.Count(t, "SELECT COUNT(*) FROM deliveries WHERE state = 'delivered'") == n
	})
	if all := g.Count(t, "SELECT COUNT(*) FROM deliveries"); all != n {
		t.Errorf("there are %d deliveries, want %d", all, n)
	}
	g.CheckWindows(t)
}

// waitState waits until a delivery is in a state and returns it with its attempts.
func (g *gateway) waitState(t *testing.T, id string, state webhook.State) (webhook.Delivery, []webhook.Attempt) {
	t.Helper()
	var d webhook.Delivery
	eventually(t, id+" is "+string(state), func() bool {
		placed, err := g.Delivery(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		d = placed.Delivery
		return d.State == state
	})
	attempts, err := g.Attempts(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range attempts {
		if a.Number != i+1 {
			t.Errorf("attempt %d has the number %d", i+1, a.Number)
		}
	}
	if d.Attempts != len(attempts) {
		t.Errorf("%d attempts were begun and %d recorded", d.Attempts, len(attempts))
	}
	return d, attempts
}

// metric is the value of a counter, summed over those of its series whose
// labels' values are all of these.
func (g *gateway) metric(t *testing.T, name string, values ...string) float64 {
	t.Helper()
	families, err := g.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			var have []string
			for _, l := range m.GetLabel() {
				have = append(have, l.GetValue())
			}
			if !slices.ContainsFunc(values, func(v string) bool { return !slices.Contains(have, v) }) {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}
