package delivery_test

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"ledgerhook/delivery"
	"ledgerhook/webhook"
)

// schedule is the default one, 14 attempts in 75.9 hours.
var schedule = webhook.RetryPolicy{Waits: []time.Duration{
	0, 5 * time.Second, 30 * time.Second, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 12 * time.Hour, 24 * time.Hour, 24 * time.Hour,
}}

func TestWhatFollowsFromAnAttempt(t *testing.T) {
	tests := []struct {
		name    string
		outcome webhook.Outcome
		number  int
		test    bool
		state   webhook.State
		wait    time.Duration // ±20 %
		reason  string
	}{
		{"the first is delivered", webhook.OutcomeDelivered, 1, false, webhook.Delivered, 0, ""},
		{"the last is delivered", webhook.OutcomeDelivered, 14, false, webhook.Delivered, 0, ""},
		{"a test is delivered", webhook.OutcomeDelivered, 1, true, webhook.Delivered, 0, ""},
		{"the first fails", webhook.OutcomeFailed, 1, false, webhook.Pending, 5 * time.Second, "attempt 2 of 14"},
		{"the second fails", webhook.OutcomeFailed, 2, false, webhook.Pending, 30 * time.Second, "attempt 3 of 14"},
		{"the last but one fails", webhook.OutcomeFailed, 13, false, webhook.Pending, 24 * time.Hour, "attempt 14 of 14"},
		{"the last fails", webhook.OutcomeFailed, 14, false, webhook.Exhausted, 0, "all 14 attempts"},
		{"one more than the schedule holds fails", webhook.OutcomeFailed, 15, false, webhook.Exhausted, 0, "all 14 attempts"},
		{"a test fails", webhook.OutcomeFailed, 1, true, webhook.Exhausted, 0, "once"},
		{"the first is unknown", webhook.OutcomeUnknown, 1, false, webhook.Pending, 0, "unknown"},
		{"the last is unknown", webhook.OutcomeUnknown, 14, false, webhook.Pending, 0, "unknown"},
		{"a test is unknown", webhook.OutcomeUnknown, 1, true, webhook.Exhausted, 0, "once"},
	}
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			job := delivery.Job{Event: webhook.Event{Test: test.test}}
			v := delivery.Decide(schedule, job, webhook.Attempt{Outcome: test.outcome, Number: test.number}, now)
			if v.State != test.state || !strings.Contains(v.Reason, test.reason) {
				t.Errorf("%s because %q, want %s because of %q", v.State, v.Reason, test.state, test.reason)
			}
			if v.NextAt.IsZero() != test.state.Final() {
				t.Fatalf("%s, and next at %s", v.State, v.NextAt)
			}
			if !test.state.Final() && !about(v.NextAt.Sub(now), test.wait) {
				t.Errorf("next after %s, want about %s", v.NextAt.Sub(now), test.wait)
			}
		})
	}
}

// What a reused connection lost is no step of the schedule.
func TestARepeatIsNoStepOfTheSchedule(t *testing.T) {
	now := time.Now()
	job := delivery.Job{Delivery: webhook.Delivery{Repeats: 2}}
	v := delivery.Decide(schedule, job, webhook.Attempt{Outcome: webhook.OutcomeFailed, Number: 3}, now)
	if v.State != webhook.Pending || !strings.HasPrefix(v.Reason, "attempt 2 of 14") || !about(v.NextAt.Sub(now), 5*time.Second) {
		t.Errorf("%s after %s: %s", v.State, v.NextAt.Sub(now), v.Reason)
	}
	if v = delivery.Decide(schedule, job, webhook.Attempt{Outcome: webhook.OutcomeFailed, Number: 16}, now); v.State != webhook.Exhausted {
		t.Errorf("after the last step: %+v", v)
	}
}

// about reports whether a wait is within the jitter of what it should be.
func about(wait, want time.Duration) bool {
	return math.Abs(float64(wait-want)) <= webhook.Jitter*float64(want)+1
}

func TestAFailingDeliveryIsTried14TimesInThreeDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, planned := time.Now(), time.Duration(0)
		attempts := 0
		for {
			attempts++
			v := delivery.Decide(schedule, delivery.Job{}, webhook.Attempt{Outcome: webhook.OutcomeFailed, Number: attempts}, time.Now())
			if v.State == webhook.Exhausted {
				break
			}
			wait := time.Until(v.NextAt)
			if !about(wait, schedule.Waits[attempts]) {
				t.Errorf("the wait before attempt %d is %s, want about %s", attempts+1, wait, schedule.Waits[attempts])
			}
			planned += schedule.Waits[attempts]
			time.Sleep(wait)
		}
		if attempts != 14 {
			t.Errorf("%d attempts were made", attempts)
		}
		if hours := planned.Hours(); math.Abs(hours-75.9) > 0.05 {
			t.Errorf("the schedule spans %.2f hours without jitter", hours)
		}
		if !about(time.Since(began), planned) {
			t.Errorf("the last attempt came after %s", time.Since(began))
		}
	})
}

func TestFailuresOfOneMomentDoNotReturnAsOne(t *testing.T) {
	now := time.Now()
	earliest, latest := now.Add(time.Hour), now
	for range 1000 {
		v := delivery.Decide(schedule, delivery.Job{}, webhook.Attempt{Outcome: webhook.OutcomeFailed, Number: 2}, now)
		if v.NextAt.Before(earliest) {
			earliest = v.NextAt
		}
		if v.NextAt.After(latest) {
			latest = v.NextAt
		}
	}
	if spread := latest.Sub(earliest); spread < 10*time.Second {
		t.Errorf("1,000 retries of one moment, 30 s later, are spread over %s", spread)
	}
}

func TestEveryVerdictEndsOrNamesATime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p webhook.RetryPolicy
		for range rapid.IntRange(1, 50).Draw(t, "attempts") {
			p.Waits = append(p.Waits, time.Duration(rapid.Int64Range(0, int64(720*time.Hour)).Draw(t, "wait")))
		}
		a := webhook.Attempt{Number: rapid.IntRange(1, 60).Draw(t, "number"),
			Outcome: rapid.SampledFrom([]webhook.Outcome{webhook.OutcomeDelivered, webhook.OutcomeFailed, webhook.OutcomeUnknown}).Draw(t, "outcome")}
		job := delivery.Job{Event: webhook.Event{Test: rapid.Bool().Draw(t, "test")}}
		now := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "now"), 0)
		v := delivery.Decide(p, job, a, now)
		switch {
		case v.State == webhook.Pending && (v.NextAt.Before(now) || job.Event.Test || a.Outcome == webhook.OutcomeDelivered):
			t.Fatalf("pending until %s", v.NextAt)
		case v.State == webhook.Exhausted && (a.Outcome == webhook.OutcomeDelivered || !job.Event.Test && (a.Outcome == webhook.OutcomeUnknown || a.Number < p.Attempts())):
			t.Fatalf("exhausted by attempt %d of %d, which was %s", a.Number, p.Attempts(), a.Outcome)
		case v.State.Final() && !v.NextAt.IsZero():
			t.Fatalf("%s, but next at %s", v.State, v.NextAt)
		case v.State != webhook.Delivered && v.Reason == "":
			t.Fatalf("%s for no reason", v.State)
		}
	})
}
