package webhook

import (
	"testing"
	"time"
)

func TestAWindowTrustsNoTimeFurtherAheadThanItsRuleAllows(t *testing.T) {
	t.Parallel()
	now := time.Now()
	in := func(d time.Duration) time.Time { return now.Add(d) }
	for _, test := range []struct {
		name      string
		was, want Window
	}{
		{"nothing is stored", Window{}, Window{}},
		{"all as the rules allow",
			Window{NotBefore: in(10 * time.Minute), RateEvery: 100 * time.Millisecond, RateNext: in(time.Second), Breaker: Breaker{State: BreakerOpen, Opened: 1, OpenUntil: in(30 * time.Second)}},
			Window{NotBefore: in(10 * time.Minute), RateEvery: 100 * time.Millisecond, RateNext: in(time.Second), Breaker: Breaker{State: BreakerOpen, Opened: 1, OpenUntil: in(30 * time.Second)}}},
		{"clocks that differ a little", Window{RateEvery: time.Second, RateNext: in(2 * time.Second)}, Window{RateEvery: time.Second, RateNext: in(2 * time.Second)}},
		{"a pause", Window{NotBefore: in(1000 * time.Second)}, Window{NotBefore: in(10 * time.Minute)}},
		{"a rate", Window{RateEvery: 100 * time.Millisecond, RateNext: in(400 * time.Second)}, Window{RateEvery: 100 * time.Millisecond, RateNext: in(time.Second)}},
		{"a slow rate", Window{RateEvery: 4 * time.Second, RateNext: in(400 * time.Second)}, Window{RateEvery: 4 * time.Second, RateNext: in(4 * time.Second)}},
		{"a breaker that opened once", Window{Breaker: Breaker{Opened: 1, OpenUntil: in(430 * time.Second)}}, Window{Breaker: Breaker{Opened: 1, OpenUntil: in(30 * time.Second)}}},
		{"a breaker that opened three times", Window{Breaker: Breaker{Opened: 3, OpenUntil: in(520 * time.Second)}}, Window{Breaker: Breaker{Opened: 3, OpenUntil: in(2 * time.Minute)}}},
		{"a breaker that opened often", Window{Breaker: Breaker{Opened: 99, OpenUntil: in(1000 * time.Second)}}, Window{Breaker: Breaker{Opened: 99, OpenUntil: in(10 * time.Minute)}}},
		{"a breaker opened by hand", Window{Breaker: Breaker{State: BreakerOpen}}, Window{Breaker: Breaker{State: BreakerOpen}}},
	} {
		got := test.was
		got.Bound(now)
		if got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}
