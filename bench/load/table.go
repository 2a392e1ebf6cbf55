package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"ledgerhook/bench/stage"
)

// senders is how many POSTs are under way at once where no rate is given.
const senders = 32

// warmUp is what windows need to grow and sessions to know their statements.
const warmUp = 1000

// Result is everything that was measured of one setting.
type Result struct {
	Setting, Title  string
	Partners        int
	Rows            int  `json:",omitempty"` // deliveries that the ledger had before
	Waiting         int  `json:",omitempty"` // deliveries for an endpoint that refuses connections
	OpenTransaction bool `json:",omitempty"`
	Phases          []Phase
	Idle            Idle
	PeakMemory      int64 // of the gateway, in bytes
	LedgerBytes     int   // that a delivery adds to the ledger
	Limits          Limits
}

// delivered is what was delivered a second without a rate.
func (r Result) delivered() float64 { return r.Phases[0].Delivered }

// table measures everything of one setting.
func table(t *stage.Trial, s setting, o options) Result {
	w := newWorld(t, s, o)
	defer w.leaveOpen(o)()
	r := Result{Setting: s.name, Title: s.title, Partners: o.partners, Rows: o.rows, Waiting: o.waiting, OpenTransaction: o.openTransaction && !s.embedded}
	w.measure("warm up", errand{Events: min(o.events, warmUp), Batch: 1, Senders: senders})
	add := func(name string, e errand) {
		p := w.measure(name, e)
		t.Logf("%s: %.0f accepted/s, %.0f delivered/s, p50 %.1f ms, p99 %.1f ms, %.2f ms of gateway and stores", name, p.Accepted, p.Delivered, p.P50, p.P99, p.CPU.ours())
		r.Phases = append(r.Phases, p)
	}
	single := errand{Events: o.events, Batch: 1, Senders: senders}
	bytes := w.meter.bytes()
	add("single POSTs", single)
	r.LedgerBytes = int(w.meter.bytes()-bytes) / o.events
	add("batches of 100", errand{Events: o.events, Batch: 100, Senders: senders})
	steps, _ := o.steps() // which run has looked at
	for _, step := range steps {
		perSecond := step.of(r.delivered())
		add(step.name(perSecond), errand{Events: max(1, int(perSecond*o.lasts.Seconds())), Batch: 1, Rate: perSecond})
	}
	if o.openTransaction {
		add("single POSTs again", single)
	}
	r.Idle = w.idle(o.lasts / 2)
	r.PeakMemory = w.gateway.Process.PeakMemory()
	for _, g := range w.gateways {
		g.Terminate(time.Minute) // it would take from the limits
	}
	r.Limits = w.limits(o, r.LedgerBytes)
	if s.signs() {
		r.split()
	}
	return r
}

// split takes signing out of what the gateway used.
func (r *Result) split() {
	for i := range r.Phases {
		r.Phases[i].CPU.Signing = r.Limits.Signature
		r.Phases[i].CPU.Gateway -= r.Limits.Signature
	}
}

// step is a rate to hold.
type step struct {
	value   float64
	percent bool // of what is delivered without a rate
}

func (s step) of(most float64) float64 {
	if s.percent {
		return s.value / 100 * most
	}
	return s.value
}

func (s step) name(perSecond float64) string {
	if s.percent {
		return fmt.Sprintf("%.0f %% = %.0f/s", s.value, perSecond)
	}
	return fmt.Sprintf("%.0f/s", perSecond)
}

// steps reads the rates.
func (o options) steps() (all []step, err error) {
	if o.rates == "" {
		return nil, nil
	}
	for text := range strings.SplitSeq(o.rates, ",") {
		number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
		value, err := strconv.ParseFloat(number, 64)
		if err != nil || !(value > 0 && value <= 1e6) {
			return nil, fmt.Errorf("-rates: %q is no rate: want POSTs a second, or a percentage, such as 2,300,70%%", text)
		}
		all = append(all, step{value, percent})
	}
	return all, nil
}
