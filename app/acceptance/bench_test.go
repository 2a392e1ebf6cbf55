package acceptance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ledgerhook/app/receiver"
	"ledgerhook/bench/stage"
	"ledgerhook/ledger/ledgertest"
)

// measured runs a benchmark in both worlds.
func measured(b *testing.B, run func(b *testing.B, g *stage.Gateway)) {
	b.Run("embedded", func(b *testing.B) { run(b, stage.Embedded(b)) })
	b.Run("postgres and redis", func(b *testing.B) { run(b, stage.Served(b, ledgertest.Schema(b), stage.StartRedis(b))) })
}

// BenchmarkThroughput is how long b.N events take from the first post of a
// batch to the last delivery, with ten partners whose receivers are fast. Run
// it with -benchtime 2000x.
func BenchmarkThroughput(b *testing.B) {
	measured(b, func(b *testing.B, g *stage.Gateway) {
		g.Start()
		var all []*stage.Partner
		for i := range 10 {
			all = append(all, stage.NewPartner(g, fmt.Sprint("acme-", i), stage.TakeAll))
		}
		b.ResetTimer()
		want := 0
		for i, p := range all {
			n := (b.N + i) / len(all)
			stage.PostAll(g, p.Code, n)
			want += n
		}
		accepted := b.Elapsed()
		stage.Eventually(b, 5*time.Minute, "everything has arrived", func() bool {
			got := 0
			for _, p := range all {
				got += p.Has()
			}
			return got >= want
		})
		b.StopTimer()
		b.ReportMetric(float64(want)/accepted.Seconds(), "accepted/s")
		b.ReportMetric(float64(want)/b.Elapsed().Seconds(), "delivered/s")
		g.Terminate(30 * time.Second)
		spent := g.Process.Cmd.ProcessState.UserTime() + g.Process.Cmd.ProcessState.SystemTime()
		b.ReportMetric(float64(spent.Microseconds())/1000/float64(want), "cpu-ms/event")
	})
}

// BenchmarkIdle is the time from the answer to a post to the request at the
// partner, when nothing else happens.
func BenchmarkIdle(b *testing.B) {
	measured(b, func(b *testing.B, g *stage.Gateway) {
		g.Start()
		arrived := make(chan time.Time, 1)
		p := stage.NewPartner(g, "acme", func(got receiver.Received) receiver.Answer {
			arrived <- got.At
			return receiver.OK
		})
		var delays []time.Duration
		b.ResetTimer()
		for i := range b.N {
			a, err := g.Call("POST", "/internal/v1/events", stage.Event(p.Code, i))
			accepted := time.Now()
			if err != nil || a.Status != 202 {
				b.Fatalf("%d %s, %v", a.Status, a.Body, err)
			}
			delays = append(delays, (<-arrived).Sub(accepted))
			<-time.After(rand.N(100 * time.Millisecond)) // out of step with what polls
		}
		b.StopTimer()
		slices.Sort(delays)
		b.ReportMetric(float64(delays[len(delays)/2].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(delays[len(delays)*99/100].Microseconds())/1000, "p99-ms")
	})
}
