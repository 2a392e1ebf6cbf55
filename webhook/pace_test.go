package webhook_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledgerhook/webhook"
)

// answers has an endpoint answer n times, one every gap, and says when.
func answers(h *webhook.Health, from time.Time, n int, gap, took time.Duration) time.Time {
	a := webhook.Attempt{Outcome: webhook.OutcomeDelivered, StatusCode: 200, Phases: webhook.Phases{Total: took}}
	for range n {
		from = from.Add(gap)
		h.Observe(a, webhook.Delivered, from)
	}
	return from
}

func TestAnEndpointIsSlowWhenItTakesManyTimesAsLongAsUsual(t *testing.T) {
	var h webhook.Health
	now := answers(&h, noon, 2000, time.Second, 330*time.Millisecond)
	if p := h.Pace; p.Took != 330*time.Millisecond || p.Usual != p.Took || !p.SlowSince.IsZero() {
		t.Fatalf("as always: %+v", p)
	}
	answers(&h, now, 1, time.Second, 15*time.Second)
	if p := h.Pace; !p.SlowSince.IsZero() || p.Times() > 2 {
		t.Errorf("one long answer makes it slow: %+v", p)
	}
	before := answers(&h, now, 50, time.Second, 330*time.Millisecond)
	now = answers(&h, before, 60, time.Second, 6600*time.Millisecond)
	slow := h.Pace
	if since := slow.SlowSince.Sub(before); since <= 0 || since > 10*time.Second {
		t.Errorf("slow since %s after its answers became long", since)
	}
	if times := slow.Times(); times < 19 || times > 21 || slow.Took < 6500*time.Millisecond || slow.Took > 6700*time.Millisecond {
		t.Errorf("%s, %.1f times the usual", slow.Took, times)
	}
	h.Observe(failedWith(503), webhook.Pending, now)
	if h.Pace != slow {
		t.Errorf("a failure changed the pace to %+v", h.Pace)
	}
	now = answers(&h, now, 20, time.Second, 900*time.Millisecond)
	if h.Pace.SlowSince.IsZero() {
		t.Errorf("half as slow is not slow: %+v", h.Pace)
	}
	answers(&h, now, 20, time.Second, 400*time.Millisecond)
	if !h.Pace.SlowSince.IsZero() {
		t.Errorf("slow after it has recovered: %+v", h.Pace)
	}
}

func TestWhatLastsBecomesUsual(t *testing.T) {
	var h webhook.Health
	now := answers(&h, noon, 10, time.Minute, 300*time.Millisecond)
	now = answers(&h, now, 8*60, time.Minute, 6*time.Second)
	if h.Pace.SlowSince.IsZero() {
		t.Errorf("no longer slow after 8 hours: %+v", h.Pace)
	}
	now = answers(&h, now, 1, 30*24*time.Hour, 6*time.Second)
	if h.Pace.SlowSince.IsZero() {
		t.Errorf("a month without deliveries made long answers usual: %+v", h.Pace)
	}
	now = answers(&h, now, 2*24*60, time.Minute, 6*time.Second)
	if p := h.Pace; !p.SlowSince.IsZero() || p.Usual < 5*time.Second {
		t.Errorf("after two days: %+v", p)
	}
	answers(&h, now, 6*60, time.Minute, 300*time.Millisecond)
	if p := h.Pace; p.Usual > 350*time.Millisecond {
		t.Errorf("six hours of short answers: %+v", p)
	}
}

// A ledger keeps whole microseconds, and of quick answers each moves what is
// usual by less.
func TestWhatLastsBecomesUsualByManySmallSteps(t *testing.T) {
	var h webhook.Health
	now := answers(&h, noon, 10, time.Second, 50*time.Millisecond)
	for range 12 * 60 * 60 * 10 {
		now = answers(&h, now, 1, 100*time.Millisecond, time.Second)
		h.Pace.Took, h.Pace.Usual = h.Pace.Took.Truncate(time.Microsecond), h.Pace.Usual.Truncate(time.Microsecond)
	}
	if p := h.Pace; p.Usual < 200*time.Millisecond || p.Usual > 250*time.Millisecond {
		t.Errorf("after half a day it is not halfway: %+v", p)
	}
}

func TestShortAnswersAreNeverSlow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h webhook.Health
		now := noon
		for range rapid.IntRange(1, 200).Draw(t, "answers") {
			took := time.Duration(rapid.Int64Range(0, int64(webhook.SlowLeast)-1).Draw(t, "took"))
			gap := time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "gap")) // a clock may go back
			now = answers(&h, now, 1, gap, took)
			if p := h.Pace; p.Took <= 0 || p.Usual <= 0 || p.Took >= webhook.SlowLeast || p.Usual >= webhook.SlowLeast || !p.SlowSince.IsZero() {
				t.Fatalf("%s after answers below a second: %+v", now, p)
			}
		}
	})
}
