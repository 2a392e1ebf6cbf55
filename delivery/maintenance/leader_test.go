package maintenance

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ledgerhook/delivery"
)

// throne is the ledger as those who want to lead find it.
type throne struct {
	mu     sync.Mutex
	holder string
	seen   time.Time
	mute   map[string]bool // whose connections died without a word
}

func (t *throne) Lead(ctx context.Context, id string) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mute[id] {
		t.mu.Unlock()
		<-ctx.Done()
		t.mu.Lock()
		return false, ctx.Err()
	}
	if t.holder != id && t.holder != "" && time.Since(t.seen) <= LeadTime {
		return false, nil
	}
	t.holder, t.seen = id, time.Now()
	return true, nil
}

func (t *throne) Resign(ctx context.Context, id string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.holder == id && !t.mute[id] {
		t.holder = ""
	}
	return nil
}

// heir is a process that may lead.
type heir struct {
	leader
	stop  func()
	ended chan struct{}
}

// realm is some processes of which one is to lead.
type realm struct {
	*throne
	t     *testing.T
	heirs map[string]*heir

	mu      sync.Mutex
	leading map[string]bool
	top     int // how many led at once
}

// reign starts the processes of the given names; those fail are not fit to lead.
func reign(t *testing.T, unfit string, names ...string) *realm {
	r := &realm{throne: &throne{mute: map[string]bool{}}, t: t, heirs: map[string]*heir{}, leading: map[string]bool{}}
	for _, name := range names {
		ctx, stop := context.WithCancel(t.Context())
		h := &heir{leader{id: name, election: r.throne, log: slog.New(slog.DiscardHandler)}, stop, make(chan struct{})}
		r.heirs[name] = h
		go func() {
			h.run(ctx, func(ctx context.Context) { r.rule(ctx, h, name != unfit) })
			close(h.ended)
		}()
		synctest.Wait() // the first one leads
	}
	return r
}

func (r *realm) rule(ctx context.Context, h *heir, fit bool) {
	r.set(h.id, true)
	defer r.set(h.id, false)
	again(ctx, time.Second, func(context.Context) {
		if fit {
			h.succeed()
		}
	})
}

func (r *realm) set(name string, leads bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.leading, name)
	if leads {
		r.leading[name] = true
	}
	r.top = max(r.top, len(r.leading))
}

// is checks who leads, empty for nobody.
func (r *realm) is(when, want string) {
	r.t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if leads := len(r.leading); want == "" && leads > 0 || want != "" && (leads != 1 || !r.leading[want]) {
		r.t.Errorf("%s %v lead, want %q", when, r.leading, want)
	}
}

// end stops all.
func (r *realm) end() {
	for _, h := range r.heirs {
		h.stop()
		<-h.ended
	}
	if r.top != 1 {
		r.t.Errorf("%d led at once", r.top)
	}
}

func TestALeaderThatFallsSilentIsReplacedWithinTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := reign(t, "", "a", "b")
		defer r.end()
		r.is("at first", "a")
		time.Sleep(time.Minute + 900*time.Millisecond)
		r.is("after a minute", "a")
		silent := func(name string, is bool) {
			r.throne.mu.Lock()
			defer r.throne.mu.Unlock()
			r.throne.mute[name] = is
		}
		silent("a", true)
		time.Sleep(delivery.LeaseTime)
		r.is("after 5 s of silence", "b")
		silent("a", false)
		time.Sleep(time.Minute)
		r.is("when it is heard again", "b")
		silent("b", true)
		silent("a", true)
		time.Sleep(LeadTime)
		r.is("without the ledger", "")
	})
}

func TestALeaderThatStopsGivesTheLeadUpAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := reign(t, "", "a", "b", "c")
		defer r.end()
		time.Sleep(time.Minute)
		r.heirs["a"].stop()
		time.Sleep(delivery.LeaseRenewal)
		synctest.Wait()
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.leading) != 1 || r.leading["a"] {
			t.Errorf("a second later %v lead", r.leading)
		}
	})
}

func TestALeaderWhoseWorkFailsLetsAnotherTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := reign(t, "a", "a", "b")
		defer r.end()
		r.is("at first", "a")
		time.Sleep(unfitAfter + 2*delivery.LeaseRenewal)
		r.is("when its work has failed for long", "b")
		time.Sleep(time.Minute)
		r.is("for the other's goes well", "b")
		r.heirs["b"].stop()
		time.Sleep(delivery.LeaseRenewal)
		r.is("alone", "a")
		time.Sleep(unfitAfter + restFor + 2*delivery.LeaseRenewal)
		r.is("alone, after a rest", "a")
	})
}

// TestOneProcessOfAllPromotes: the others do nothing that is done for all.
func TestOneProcessOfAllPromotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := &throne{}
		var shelves [3]*shelf
		var stops [3]context.CancelFunc
		var all sync.WaitGroup
		for i := range shelves {
			s := queuedOn()
			s.known, s.queued = map[string]string{"one": "new", "two": "new"}, nil
			shelves[i] = s
			m := &Maintainer{Store: s, Claims: s, Epochs: s, Election: one, Queue: present{s}, Worker: delivery.NewWorker(delivery.WorkerOptions{ID: string(rune('a' + i))}),
				Metrics: uncounted(), Log: slog.New(slog.DiscardHandler)}
			var ctx context.Context
			ctx, stops[i] = context.WithCancel(t.Context())
			all.Go(func() { m.Run(ctx) })
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if a, b, c := shelves[0], shelves[1], shelves[2]; a.promoted < 300 || a.read < 60 || b.promoted+b.read+c.promoted+c.read > 0 {
			t.Errorf("promoted %d, %d and %d times, read %d, %d and %d times", a.promoted, b.promoted, c.promoted, a.read, b.read, c.read)
		}
		stops[0]()
		time.Sleep(2 * delivery.LeaseRenewal)
		synctest.Wait()
		if b, c := shelves[1].promoted, shelves[2].promoted; (b > 0) == (c > 0) {
			t.Errorf("after the leader's end the others promoted %d and %d times", b, c)
		}
		stops[1]()
		stops[2]()
		all.Wait()
	})
}

// present is a shelf none of whose shards is away.
type present struct{ *shelf }

func (present) Shards() []string { return []string{"one", "two"} }
