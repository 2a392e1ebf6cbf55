package webhook_test

import (
	"strings"
	"testing"
	"time"

	"ledgerhook/webhook"
)

func failedWith(status int) webhook.Attempt {
	return webhook.Attempt{Outcome: webhook.OutcomeFailed, StatusCode: status}
}

var wentWell = webhook.Attempt{Outcome: webhook.OutcomeDelivered, StatusCode: 200}

func TestTwoAnswersOf410InARowDisable(t *testing.T) {
	tests := []struct {
		name     string
		attempts []webhook.Attempt
		disabled bool
	}{
		{"one", []webhook.Attempt{failedWith(410)}, false},
		{"two", []webhook.Attempt{failedWith(410), failedWith(410)}, true},
		{"another failure between", []webhook.Attempt{failedWith(410), failedWith(500), failedWith(410)}, false},
		{"a success between", []webhook.Attempt{failedWith(410), wentWell, failedWith(410)}, false},
		{"two after another failure", []webhook.Attempt{failedWith(500), failedWith(410), failedWith(410)}, true},
		{"one whose outcome is unknown tells nothing", []webhook.Attempt{failedWith(410), {Outcome: webhook.OutcomeUnknown}, failedWith(410)}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var h webhook.Health
			var disable string
			for _, a := range test.attempts {
				_, disable = h.Observe(a, webhook.Pending, noon)
			}
			if (disable != "") != test.disabled {
				t.Errorf("disabled because of %q, want %v", disable, test.disabled)
			}
		})
	}
}

func TestWhyAnEndpointIsDisabledStaysWhateverWasInFlight(t *testing.T) {
	var h webhook.Health
	h.Observe(failedWith(410), webhook.Pending, noon)
	h.Observe(failedWith(410), webhook.Pending, noon)
	for _, a := range []webhook.Attempt{failedWith(500), wentWell, failedWith(500)} {
		h.Observe(a, webhook.Pending, noon)
		if !strings.Contains(h.DisabledReason, "410") {
			t.Errorf("after %d the reason is %q", a.StatusCode, h.DisabledReason)
		}
	}
}

func TestFiveDaysWithoutSuccessAndFiftyFailedDeliveriesDisable(t *testing.T) {
	observe := func(failed int, span time.Duration, last webhook.Attempt, ended webhook.State) string {
		var h webhook.Health
		for range failed - 1 {
			h.Observe(failedWith(500), webhook.Exhausted, noon)
		}
		h.Observe(failedWith(500), webhook.Pending, noon)
		_, disable := h.Observe(last, ended, noon.Add(span))
		return disable
	}
	tests := []struct {
		name     string
		disable  string
		disabled bool
	}{
		{"50 in 5 days", observe(50, webhook.DisableAfter, failedWith(500), webhook.Exhausted), true},
		{"49 in 5 days", observe(49, webhook.DisableAfter, failedWith(500), webhook.Exhausted), false},
		{"attempts that more follow do not count", observe(50, webhook.DisableAfter, failedWith(500), webhook.Pending), false},
		{"50 in a moment less", observe(50, webhook.DisableAfter-1, failedWith(500), webhook.Exhausted), false},
		{"a delivery that ends well", observe(500, 30*24*time.Hour, wentWell, webhook.Delivered), false},
		{"an unknown outcome", observe(500, 30*24*time.Hour, webhook.Attempt{Outcome: webhook.OutcomeUnknown}, webhook.Pending), false},
	}
	for _, test := range tests {
		if (test.disable != "") != test.disabled {
			t.Errorf("%s: disabled because of %q, want %v", test.name, test.disable, test.disabled)
		}
	}
}

func TestAFailingEndpointIsWarnedOfOnceADayThreeTimes(t *testing.T) {
	var h webhook.Health
	run := func(hours int) (warned []int) {
		from := noon
		for hour := range hours {
			warning, disable := h.Observe(failedWith(500), webhook.Exhausted, from.Add(time.Duration(hour)*time.Hour))
			if disable != "" {
				break
			}
			if warning != "" {
				warned = append(warned, hour)
			}
		}
		return warned
	}
	want := [3]int{24, 72, 96}
	for _, round := range []string{"at first", "after a success"} {
		if got := run(200); len(got) != 3 || [3]int(got) != want {
			t.Errorf("%s: warned after %v hours, want %v", round, got, want)
		}
		h.Observe(wentWell, webhook.Delivered, noon)
	}
	h.Observe(failedWith(500), webhook.Pending, noon) // hardly used: nothing was heard for days
	if warning, _ := h.Observe(failedWith(500), webhook.Pending, noon.Add(100*time.Hour)); !strings.Contains(warning, "96 hours") {
		t.Errorf("the one warning is %q", warning)
	}
	if warning, _ := h.Observe(failedWith(500), webhook.Pending, noon.Add(101*time.Hour)); warning != "" {
		t.Errorf("and then again %q", warning)
	}
}

func TestWhatTheGatewayFailsAtIsNotTheEndpointsFailure(t *testing.T) {
	var h webhook.Health
	ours := webhook.Attempt{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorInternal}
	for day := range 30 {
		if warning, disable := h.Observe(ours, webhook.Exhausted, noon.AddDate(0, 0, day)); warning != "" || disable != "" {
			t.Fatalf("after %d days: %q %q", day, warning, disable)
		}
	}
	if h != (webhook.Health{}) {
		t.Errorf("the health is %+v", h)
	}
}
