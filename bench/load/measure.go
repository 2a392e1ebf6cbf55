package main

import (
	"time"

	"ledgerhook/bench/stage"
)

// Phase is what one kind of load came to.
type Phase struct {
	Name          string
	Asked         float64 `json:",omitempty"` // POSTs a second; 0: as many as got answers
	Events        int
	Accepted      float64 // events a second, from the first POST to the last answer
	Delivered     float64 // events a second, from the first POST to the last arrival
	P50, P95, P99 float64 // ms from when a POST was due to when its event arrived
	AcceptP99     float64 // ms from when a POST was due to its answer
	CPU           CPU
	Allocations   float64 // of the gateway, a delivery
	Statements    float64 // that PostgreSQL ran, a delivery; 0: it does not count them
	Commits       float64 // of PostgreSQL, a delivery
	RedisCommands float64 // a delivery, with those that scripts ran
	RedisScripts  float64 // a delivery
	Refused       int     // answers 503; the load generator posted again
	Doubled       int     // requests for events that had arrived before
}

// CPU is the processor time of a delivery by who used it, in ms.
type CPU struct {
	Signing  float64 // one RSA signature, at what it costs with all processors busy
	Gateway  float64 // beside signing
	Postgres float64
	Redis    float64
	Receiver float64
	Load     float64
	Bench    float64 // this program's own, which reads the gateway's log
}

// ours is what a gateway's operator pays for.
func (c CPU) ours() float64 { return c.Signing + c.Gateway + c.Postgres + c.Redis }

// measure has an errand done and waits until all of it has been delivered and
// recorded. Signing still counts as the gateway's.
func (w *world) measure(name string, e errand) Phase {
	before := w.meter.read()
	done := w.send(e)
	got := w.arrived(len(done.Events))
	w.meter.finished(before, len(done.Events))
	return w.phase(name, e.Rate, done, got, w.meter.read().minus(before))
}

// phase puts together what was sent, what arrived and what that took.
func (w *world) phase(name string, asked float64, done sent, got arrivals, used reading) Phase {
	p := Phase{Name: name, Asked: asked, Events: len(done.Events), Refused: done.Refused, Doubled: got.Again}
	var last int64
	var took, answers []time.Duration
	for _, event := range done.Events {
		at, ok := got.At[event.ID]
		if !ok {
			w.t.Fatalf("%s was accepted and did not arrive", event.ID)
		}
		last = max(last, at)
		took = append(took, time.Duration(at-event.Intended))
		answers = append(answers, time.Duration(event.Accepted-event.Intended))
	}
	p.P50, p.P95, p.P99 = ms(stage.Percentile(took, 50)), ms(stage.Percentile(took, 95)), ms(stage.Percentile(took, 99))
	p.AcceptP99 = ms(stage.Percentile(answers, 99))
	p.Accepted = rate(p.Events, done.Ended-done.Began)
	p.Delivered = rate(p.Events, last-done.Began)

	n := float64(p.Events)
	each := func(d time.Duration) float64 { return ms(d) / n }
	p.CPU = CPU{Gateway: each(used.gateway), Postgres: each(used.postgres), Redis: each(used.redis),
		Receiver: each(used.receiver), Load: each(done.CPU), Bench: each(used.bench)}
	p.Allocations, p.Statements, p.Commits = used.allocations/n, used.statements/n, used.commits/n
	p.RedisCommands, p.RedisScripts = used.commands/n, used.scripts/n
	return p
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// rate is n in so many nanoseconds, a second.
func rate(n int, nanoseconds int64) float64 {
	return float64(n) / max(time.Duration(nanoseconds), time.Microsecond).Seconds()
}

// idle measures what everything uses with nothing to do, in percent of a
// processor.
func (w *world) idle(lasts time.Duration) Idle {
	before, began := w.meter.read(), time.Now()
	w.pause(lasts)
	used, took := w.meter.read().minus(before), time.Since(began)
	of := func(d time.Duration) float64 { return 100 * d.Seconds() / took.Seconds() }
	return Idle{of(used.gateway), of(used.postgres), of(used.redis)}
}

// Idle is what the parts use with nothing to do, in percent of a processor.
type Idle struct{ Gateway, Postgres, Redis float64 }

// pause lets time pass, if nobody interrupts it.
func (w *world) pause(lasts time.Duration) {
	select {
	case <-time.After(lasts):
	case <-w.t.Context().Done():
		w.t.Fatal("interrupted")
	}
}
