package main

import (
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"ledgerhook/bench/stage"
)

// Row is a measurement beside the tables.
type Row struct {
	Name, Title string
	Figures     []Figure
}

// Figure is one of a row's results.
type Figure struct {
	Name  string
	Value float64
	Unit  string
}

// first is the figure that runs of a row are compared by.
func (r Row) first() float64 { return r.Figures[0].Value }

// row is a measurement that is made when its name asks for it.
type row struct {
	name, title string
	setting     setting
	measure     func(*stage.Trial, setting, options) []Figure
}

func (r row) called() string     { return r.name }
func (s setting) called() string { return s.name }

var rows = []row{
	{"burst/rsa", "five times as many events at once, RSA + HMAC", settings[0], burst},
	{"burst/hmac", "five times as many events at once, HMAC only", settings[1], burst},
	{"roles/rsa", "api, worker and dashboard as processes of their own, RSA + HMAC", settings[0], rolesApart},
	{"roles/hmac", "api, worker and dashboard as processes of their own, HMAC only", settings[1], rolesApart},
	{"flushall", "Redis is emptied while it knows ten times as many deliveries", settings[1], flushed},
	{"endpoints", "idle with as many endpoints as events", settings[1], manyEndpoints},
	{"windows", "the overview in thirty windows of ten people at 100 events/s", settings[1], windows},
}

// burst posts many events as fast as the gateway takes them, singly and in
// batches, and looks at how it goes on delivering.
func burst(t *stage.Trial, s setting, o options) (all []Figure) {
	w := newWorld(t, s, o)
	w.measure("warm up", errand{Events: min(o.events, warmUp), Batch: 1, Senders: senders})
	for _, kind := range []struct {
		name  string
		batch int
	}{{"single POSTs", 1}, {"batches of 100", 100}} {
		memory := w.watchRedis()
		before := w.meter.read()
		done := w.send(errand{Events: 5 * o.events, Batch: kind.batch, Senders: senders})
		got := w.arrived(0) // which is what came while they were posted
		meanwhile := len(got.At)
		rest := w.arrived(len(done.Events) - meanwhile)
		for id, at := range rest.At {
			got.At[id] = at
		}
		w.meter.finished(before, len(done.Events))
		least, most := memory()
		p := w.phase(kind.name, 0, done, got, w.meter.read().minus(before))
		all = append(all,
			Figure{kind.name + ": accepted", p.Accepted, "/s"},
			Figure{kind.name + ": p99 of the answers", p.AcceptP99, "ms"},
			Figure{kind.name + ": delivered meanwhile", rate(meanwhile, done.Ended-done.Began), "/s"},
			Figure{kind.name + ": delivered in all", p.Delivered, "/s"},
			Figure{kind.name + ": Redis, least memory", mib(least), "MiB"},
			Figure{kind.name + ": Redis, most memory", mib(most), "MiB"},
			Figure{kind.name + ": gateway, most memory", mib(w.gateway.Process.PeakMemory()), "MiB"})
	}
	return all
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// watchRedis looks at what Redis holds until the returned function is called.
func (w *world) watchRedis() (stop func() (least, most int64)) {
	ended, stopped := make(chan struct{}), make(chan struct{})
	least := w.meter.redisMemory()
	most := least
	go func() {
		defer close(stopped)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				now := w.meter.redisMemory()
				least, most = min(least, now), max(most, now)
			case <-ended:
				return
			}
		}
	}()
	return func() (int64, int64) {
		close(ended)
		<-stopped
		return least, most
	}
}

// rolesApart compares one process with one for each role.
func rolesApart(t *stage.Trial, s setting, o options) []Figure {
	single := errand{Events: o.events, Batch: 1, Senders: senders}
	warm := errand{Events: min(o.events, warmUp), Batch: 1, Senders: senders}
	var phases []Phase
	for _, roles := range [][]string{{allRoles}, {"api", "worker", "dashboard"}} {
		err := stage.Try(t.Context(), fmt.Sprintf("%s with %d processes", s.name, len(roles)), func(part *stage.Trial) {
			w := newWorld(part, s, o, roles...)
			w.measure("warm up", warm)
			phases = append(phases, w.measure("single POSTs", single))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	together, apart := phases[0], phases[1]
	return []Figure{
		{"delivered, apart", apart.Delivered, "/s"},
		{"delivered, one process", together.Delivered, "/s"},
		{"apart against together", 100 * apart.Delivered / together.Delivered, "%"},
		{"accepted, apart", apart.Accepted, "/s"},
		{"accepted, one process", together.Accepted, "/s"},
		{"processor time a delivery, apart", apart.CPU.ours(), "ms"},
		{"processor time a delivery, one process", together.CPU.ours(), "ms"},
	}
}

// flushed empties Redis while it has many deliveries to hand out, and measures
// how long it takes until it has them all again.
func flushed(t *stage.Trial, s setting, o options) []Figure {
	const slots = 4 // so that they stay queued
	o.env = map[string]string{"LEDGERHOOK_WORKER_CONCURRENCY": strconv.Itoa(slots)}
	w := newWorld(t, s, o)
	n := 10 * o.events
	if _, err := w.meter.db.Exec(t.Context(), "UPDATE windows SET max_in_flight = $1, grown = $1", n); err != nil {
		t.Fatal(err)
	}
	w.slowDown()
	posted := w.send(errand{Events: n, Batch: 100, Senders: senders})
	w.knows(n, 10*time.Minute)
	before := w.meter.read()
	w.cache.Flush()
	began := time.Now()
	w.knows(n-slots, 10*time.Minute) // the others are being sent
	took := time.Since(began)
	used := w.meter.read().minus(before)
	return []Figure{
		{"until all are admitted again", took.Seconds(), "s"},
		{"deliveries", float64(n), ""},
		{"accepted before, in batches of 100", rate(n, posted.Ended-posted.Began), "/s"},
		{"gateway, processor time", used.gateway.Seconds(), "s"},
		{"PostgreSQL, processor time", used.postgres.Seconds(), "s"},
		{"Redis, processor time", used.redis.Seconds(), "s"},
		{"gateway, most memory", mib(w.gateway.Process.PeakMemory()), "MiB"},
	}
}

// depthMetric counts the tasks that the queue knows, whatever their state.
const depthMetric = "ledgerhook_queue_depth"

// knows waits until the queue knows n deliveries that have not ended.
func (w *world) knows(n int, limit time.Duration) {
	stage.Asking(w.t, limit, fmt.Sprintf("the queue knows all of %d deliveries that have not ended", n), func() bool {
		shown := w.meter.shown()
		return shown[depthMetric]+shown[finishedMetric] >= float64(n)
	})
}

// manyEndpoints measures what a gateway with many endpoints does with nothing
// to do.
func manyEndpoints(t *stage.Trial, s setting, o options) []Figure {
	const each = 20 // as many as a partner may have
	n := max(1, o.events/each)
	o.partners = n
	w := newWorld(t, s, o)
	var makers errgroup.Group
	makers.SetLimit(senders)
	for i, code := range w.partners {
		makers.Go(func() error {
			for j := range each - 1 {
				w.addEndpoint(code, w.url(i+j+1))
			}
			return nil
		})
	}
	_ = makers.Wait()
	if t.Failed() {
		t.Fatal("an endpoint could not be made")
	}
	w.pause(o.lasts / 4) // for what follows their making
	idle := w.idle(o.lasts)
	return []Figure{
		{"gateway", idle.Gateway, "% of a processor"},
		{"PostgreSQL", idle.Postgres, "% of a processor"},
		{"Redis", idle.Redis, "% of a processor"},
		{"endpoints", float64(n * each), ""},
		{"gateway, most memory", mib(w.gateway.Process.PeakMemory()), "MiB"},
	}
}
