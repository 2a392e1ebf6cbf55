package webhook_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledgerhook/webhook"
)

// TestARateIsNeitherExceededNorWasted: whoever takes all the room there is
// gets one second's worth at once and exactly the rate from then on.
func TestARateIsNeitherExceededNorWasted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.IntRange(2, 1000).Draw(t, "rate")
		w := webhook.Window{MaxInFlight: 1 << 20, Grown: 1 << 20, RateEvery: (time.Second / time.Duration(rate)).Truncate(time.Microsecond),
			Breaker: webhook.Breaker{State: webhook.BreakerClosed}}
		burst := int(time.Second / w.RateEvery)
		now, admitted := noon, 0
		for range rapid.IntRange(1, 50).Draw(t, "looks") {
			for w.Room(now) > 0 {
				w.Admit("dlv_1", now)
				admitted++
			}
			if allowed := int((now.Sub(noon) + time.Second) / w.RateEvery); admitted != allowed {
				t.Fatalf("%d admitted within %s at %d a second, want %d", admitted, now.Sub(noon), rate, allowed)
			}
			gate := w.GateAt(now)
			if before := gate.Add(-time.Microsecond); !gate.After(now) || w.Room(gate) != 1 || before.After(now) && w.Room(before) != 0 {
				t.Fatalf("at %s the gate is said to open at %s, where the room is %d", now, gate, w.Room(gate))
			}
			// never so long that what is not used is lost
			now = now.Add(time.Duration(rapid.Int64Range(1, int64(time.Second-w.RateEvery)/1000).Draw(t, "pause")) * time.Microsecond)
		}
		now = now.Add(time.Hour)
		if got := w.Room(now); got != burst {
			t.Fatalf("after an hour there is room for %d, want one second's %d", got, burst)
		}
	})
}
