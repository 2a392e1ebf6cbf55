package main

import (
	"slices"
	"time"
)

// Phase is what one kind of load came to.
type Phase struct {
	Name             string
	Asked            float64 `json:",omitempty"` // POSTs a second; 0: as many as got answers
	Events           int
	Accepted         float64 // events a second, from the first POST to the last answer
	Delivered        float64 // events a second, from the first POST to the last arrival
	P50, P95, P99    float64 // ms from when a POST was due to when its event arrived
	AcceptP99        float64 // ms from when a POST was due to its answer
	CPU              CPU
	Allocations      float64 // of the gateway, a delivery
	Statements       float64 // that PostgreSQL ran, a delivery
	Commits          float64 // of PostgreSQL, a delivery
	RedisCommands    float64 // a delivery, with those of scripts
	RedisScripts     float64 // a delivery
	Refused, Doubled int     // answers 503, events that came twice
}

// CPU is the processor time of a delivery by who used it, in ms.
type CPU struct {
	Signing  float64 // as many signatures as deliveries, each at what one costs with all processors busy
	Gateway  float64 // beside signing
	Postgres float64
	Redis    float64
	Receiver float64
	Load     float64
}

// ours is what a gateway's operator pays for.
func (c CPU) ours() float64 { return c.Signing + c.Gateway + c.Postgres + c.Redis }

// measure has an errand done and waits until all of it has been delivered and
// recorded.
func (w *world) measure(name string, e errand, signature time.Duration) Phase {
	before := w.meter.read()
	done := w.send(e)
	got := w.arrived(len(done.Events))
	w.meter.finished(before, len(done.Events))
	used := w.meter.read().minus(before)

	p := Phase{Name: name, Asked: e.Rate, Events: len(done.Events), Refused: done.Refused, Doubled: got.Again}
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
	p.P50, p.P95, p.P99 = percentile(took, 50), percentile(took, 95), percentile(took, 99)
	p.AcceptP99 = percentile(answers, 99)
	p.Accepted = rate(p.Events, done.Ended-done.Began)
	p.Delivered = rate(p.Events, last-done.Began)

	n := float64(p.Events)
	each := func(d time.Duration) float64 { return ms(d) / n }
	p.CPU = CPU{Gateway: each(used.gateway), Postgres: each(used.postgres), Redis: each(used.redis), Receiver: each(used.receiver), Load: each(done.CPU)}
	if w.signs() {
		p.CPU.Signing = ms(signature)
		p.CPU.Gateway -= p.CPU.Signing
	}
	p.Allocations, p.Statements, p.Commits = used.allocations/n, used.statements/n, used.commits/n
	p.RedisCommands, p.RedisScripts = used.commands/n, used.scripts/n
	return p
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// rate is n in so many nanoseconds, a second.
func rate(n int, nanoseconds int64) float64 { return float64(n) / time.Duration(nanoseconds).Seconds() }

// percentile sorts times and returns the one that so many of a hundred do not
// exceed, in ms.
func percentile(times []time.Duration, of int) float64 {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return ms(times[(len(times)*of+99)/100-1])
}
