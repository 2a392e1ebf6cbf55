package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"ledgerhook/app/receiver"
	"ledgerhook/bench/stage"
)

const (
	healthyRate = 50  // events a second of the healthy partner
	holeRate    = 200 // of all others together
	// farFrom is how many times its p99 alone a healthy partner's may be.
	farFrom = 2
)

// latency is how long events took from their 202 to the partner.
type latency struct{ p50, p99 time.Duration }

// fairness measures a healthy partner alone and beside partners that never
// answer and other nuisances, then what a long outage of one endpoint costs.
func (b bench) fairness(ctx context.Context, o options) error {
	runs := nuisanceRuns
	if o.short {
		o.healthy, o.parked, runs = 5*time.Second, 2000, 1
	}
	if o.only != "" {
		return b.disturbed(ctx, o.only, min(o.healthy, nuisanceTime), runs)
	}
	// The second row is no promise: it tells what the load alone does from what
	// hanging does.
	names, results := []string{"alone", "beside 1 that answers", "beside 1 black hole", "beside 20 black holes"}, []latency{}
	for i, neighbours := range []int{0, 1, 1, 20} {
		err := stage.Try(ctx, names[i], func(t *stage.Trial) { results = append(results, b.healthy(t, neighbours, i > 1, o.healthy)) })
		if err != nil {
			return err
		}
	}
	fmt.Printf("a partner at %d/s for %s, the others at %d/s in all\n", healthyRate, o.healthy, holeRate)
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\tp50 ms\tp99 ms\tp99 against alone\t")
	for i, l := range results {
		fmt.Fprintf(table, "%s\t%d\t%d\t%.2f\t\n", names[i], l.p50.Milliseconds(), l.p99.Milliseconds(), float64(l.p99)/float64(results[0].p99))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	var unfair error
	if worst := max(results[2].p99, results[3].p99); worst > farFrom*results[0].p99 {
		unfair = fmt.Errorf("the healthy partner's p99 rose from %s to %s", results[0].p99, worst)
	}
	unfair = errors.Join(unfair, b.disturbed(ctx, "", min(o.healthy, nuisanceTime), runs))
	return errors.Join(unfair, stage.Try(ctx, "parked", func(t *stage.Trial) {
		b.inject(t, fault{play: func(s *scene, _ fault) { parked(s, o.parked) }})
	}))
}

// healthy measures a partner beside others, which never answer if they hang.
func (b bench) healthy(t stage.T, holes int, hang bool, lasts time.Duration) (l latency) {
	b.inject(t, fault{play: func(s *scene, _ fault) {
		p := s.partner(32, stage.TakeAll)
		end := make(chan struct{})
		var swallowed []*stage.Producer
		for range holes {
			hole := s.partner(32, func(receiver.Received) receiver.Answer {
				if hang {
					select {
					case <-end:
					case <-s.Context().Done():
					}
				}
				return receiver.OK
			})
			rate := max(1, holeRate/holes)
			swallowed = append(swallowed, stage.Produce(s.api(), hole.Code, rate*int(lasts/time.Second), rate))
		}
		s.Cleanup(func() { close(end) }) // before the partners' servers close, which wait for their requests
		load := stage.Produce(s.api(), p.Code, healthyRate*int(lasts/time.Second), healthyRate)
		load.Finish()
		stage.Eventually(s, time.Minute, "the healthy partner has taken everything", func() bool { return p.Has() == load.Has() })
		for _, hole := range swallowed {
			hole.Finish()
		}
		l = latencies(load.Times(), p.Taken())
	}})
	return l
}

func latencies(accepted, taken map[string]time.Time) latency {
	var took []time.Duration
	for id, at := range accepted {
		took = append(took, taken[id].Sub(at))
	}
	return spread(took)
}

// parked lets n deliveries wait for an endpoint that refuses connections, looks
// at what they cost Redis, and counts them when it is back.
func parked(s *scene, n int) {
	address := fmt.Sprint("127.0.0.1:", stage.FreePort(s))
	p := s.partner(32, stage.TakeAll)
	s.patch(p, map[string]any{"url": "http://" + address + "/hooks"})
	const first = 100
	ids := stage.PostFrom(s.api(), p.Code, 0, first)
	stage.Asking(s, limit, "the breaker is open", func() bool {
		e := s.endpoint(p)
		return e.Breaker.State == "open" && e.InFlight == 0
	})
	before := s.redisSize()
	began := time.Now()
	ids = append(ids, stage.PostFrom(s.api(), p.Code, first, n-first)...)
	posted := time.Since(began)
	after := s.redisSize()
	fmt.Printf("\n%d deliveries wait for a dead endpoint, accepted at %.0f/s\nRedis with %6d waiting: %s\nRedis with %6d waiting: %s\n",
		n, float64(n-first)/posted.Seconds(), first, before, s.endpoint(p).Waiting, after)
	if after.keys > before.keys+10 || after.memory > before.memory+4<<20 {
		s.Error("what waits fills Redis")
	}

	var requests atomic.Int64
	counts := receiver.New(receiver.Options{PublicKey: p.Key, Secrets: []string{p.Secret}, Observe: func(receiver.Received) { requests.Add(1) }})
	listener, err := net.Listen("tcp", address)
	if err != nil {
		s.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: counts, ReadHeaderTimeout: time.Minute}}
	server.Start()
	s.Cleanup(server.Close)
	s.Logf("the endpoint is back; its breaker is %s", s.endpoint(p).Breaker.State)
	if !s.full {
		s.closeBreaker(p)
	}
	var grew []string
	window, drains := 0, time.Time{}
	stage.Asking(s, 20*time.Minute, "all parked deliveries have been taken", func() bool {
		seen := counts.Seen()
		if drains.IsZero() && seen > 0 {
			drains = time.Now()
		}
		if e := s.endpoint(p); e.Window != window {
			window = e.Window
			grew = append(grew, fmt.Sprint(window))
		}
		return seen >= len(ids)
	})
	fmt.Printf("back: %d of %d taken within %.1f s of the first, at most once each: %t; the window went %s\n",
		counts.Seen(), n, time.Since(drains).Seconds(), int(requests.Load()) == counts.Seen(), strings.Join(grew, " "))
	for _, id := range ids {
		s.posted[id] = true
	}
}

// holding is what Redis holds.
type holding struct{ keys, memory int64 }

func (h holding) String() string {
	return fmt.Sprintf("DBSIZE %d, used_memory %d", h.keys, h.memory)
}

func (s *scene) redisSize() (h holding) {
	s.Helper()
	redis := s.cache.Redis()
	keys, err := redis.DBSize(s.Context()).Result()
	if err != nil {
		s.Fatal(err)
	}
	info, err := redis.Info(s.Context(), "memory").Result()
	if err != nil {
		s.Fatal(err)
	}
	_, memory, _ := strings.Cut(info, "used_memory:")
	if _, err := fmt.Sscan(memory, &h.memory); err != nil {
		s.Fatal(err)
	}
	h.keys = keys
	return h
}
