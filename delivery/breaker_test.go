package delivery_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/webhook"
)

// attempts are the answers of a receiver, in short: . well, x 503, b 400, u 401, i never sent.
// B is 400 to the first event once more; all others are to an event of their own.
func observe(j *delivery.BreakerMonitor, epoch int64, attempts string) (trip string, at int) {
	event := 0
	for i, c := range attempts {
		event++
		a := webhook.Attempt{Outcome: webhook.OutcomeFailed, Trigger: webhook.TriggerFirst}
		switch c {
		case '.':
			a.Outcome, a.StatusCode = webhook.OutcomeDelivered, 200
		case 'x':
			a.ErrorClass, a.StatusCode = webhook.ErrorHTTP5xx, 503
		case 'b':
			a.ErrorClass, a.StatusCode = webhook.ErrorHTTP4xx, 400
		case 'B': // the same event again and again
			a.ErrorClass, a.StatusCode = webhook.ErrorHTTP4xx, 400
			event = 1
		case 'u':
			a.ErrorClass, a.StatusCode = webhook.ErrorHTTP4xx, 401
		case 'i':
			a.ErrorClass = webhook.ErrorInternal
		}
		if trip, _ = j.Observe("ep_1", fmt.Sprint("evt_", event), epoch, a); trip != "" {
			return trip, i + 1
		}
	}
	return "", 0
}

func TestWhenAJudgeOpensABreaker(t *testing.T) {
	for _, test := range []struct {
		name, attempts string
		at             int // the attempt that trips it; 0: none
		reason         string
	}{
		{"always 503", "xxxxxxxxxx", 5, "5 attempts in a row"},
		{"half of ten", ".x.x.x.x.x", 10, "5 of 10 attempts"},
		{"half of ten, with the next failure", "x.x.x.x.x..x", 12, "6 of 12 attempts"},
		{"less than half of ten", "x.x.x.x...", 0, ""},
		{"all of nine but never five in a row", "xxxx.xxxx", 0, ""},
		{"half of more", "..........xxxx.xxxx.xxxx", 24, "12 of 24"},
		{"one bad event among good ones", "....b.....b....bbbbbbbbbb....", 0, ""},
		{"everything is refused", strings.Repeat("u", 30), 20, "20 attempts in a row, of different events, were answered 401"},
		{"everything is refused now and then not", strings.Repeat("u", 19) + "." + strings.Repeat("u", 19), 0, ""},
		{"refused in different ways", strings.Repeat("ub", 30), 0, ""},
		{"a failure between refusals", strings.Repeat("u", 19) + "x" + strings.Repeat("u", 19), 0, ""},
		{"one bad event for ever", strings.Repeat("B", 100), 0, ""},
		{"nine bad events for ever", "bbbbbbbb" + strings.Repeat("B", 100), 0, ""},
		{"ten bad events, most of them once", strings.Repeat("B", 50) + "bbbbbbbbb", 59, "answered 400"},
		{"what was never sent is no refusal and ends none", strings.Repeat("u", 10) + "iiii" + strings.Repeat("u", 10), 24, "answered 401"},
		{"a bad event ends the row", "xxxxbxxxx", 0, ""},
		{"what was never sent says nothing", "xixixixix", 9, "5 attempts in a row"},
	} {
		t.Run(test.name, func(t *testing.T) {
			trip, at := observe(&delivery.BreakerMonitor{}, 0, test.attempts)
			if at != test.at || !strings.Contains(trip, test.reason) {
				t.Errorf("attempt %d trips it because %q, want %d because of %q", at, trip, test.at, test.reason)
			}
		})
	}
}

func TestAJudgeForgetsWhatIsOlderThanAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j delivery.BreakerMonitor
		if trip, _ := observe(&j, 0, "xx.xx"); trip != "" {
			t.Fatal(trip)
		}
		time.Sleep(66 * time.Second) // a minute in steps of five seconds
		if trip, _ := observe(&j, 0, "......x."); trip != "" {
			t.Error(trip)
		}
	})
}

func TestAJudgeSpeaksForItsEpochOnly(t *testing.T) {
	var j delivery.BreakerMonitor
	if trip, _ := observe(&j, 1, "xxxxx"); trip == "" {
		t.Fatal("five failures in a row do not trip it")
	}
	if trip, _ := observe(&j, 1, "."); trip != "" {
		t.Error("a success trips it")
	}
	// The record that carried its word may have come too late to count.
	if trip, at := observe(&j, 1, "x"); trip == "" || at != 1 {
		t.Error("having spoken once, it does not speak again")
	}
	if trip, _ := observe(&j, 0, "xxxxxxxxxxxx"); trip != "" {
		t.Error("attempts of an older epoch are heard")
	}
	if trip, at := observe(&j, 2, "xxxxx"); trip == "" || at != 5 {
		t.Errorf("in the next epoch attempt %d trips it", at)
	}
}

func TestProbesTestsAndUnknownOutcomesAreNotJudged(t *testing.T) {
	var j delivery.BreakerMonitor
	for range 20 {
		for _, a := range []webhook.Attempt{
			{Outcome: webhook.OutcomeUnknown, Trigger: webhook.TriggerFirst},
			{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorTimeout, Trigger: webhook.TriggerTest},
			{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorTimeout, Trigger: webhook.TriggerProbe},
		} {
			if trip, _ := j.Observe("ep_1", "evt_1", 0, a); trip != "" {
				t.Fatalf("%s %s: %s", a.Trigger, a.Outcome, trip)
			}
		}
	}
}
