package webhook_test

import (
	"testing"
	"time"

	"ledgerhook/webhook"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func TestABreakerStaysOpenTwiceAsLongEachTimeUpToTenMinutes(t *testing.T) {
	var b webhook.Breaker
	for i, want := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 10 * time.Minute, 10 * time.Minute} {
		if i == 0 {
			b.Trip(noon, "5 attempts in a row failed")
		} else {
			b.Probe, b.State = "dlv_1", webhook.BreakerHalfOpen
			if b.Probed(false, noon) {
				t.Fatal("a failed probe closed the breaker")
			}
		}
		if pause := b.OpenUntil.Sub(noon); b.State != webhook.BreakerOpen || pause != want || b.Epoch != int64(i+1) {
			t.Errorf("opened %d times: %s for %s in epoch %d, want open for %s", i+1, b.State, pause, b.Epoch, want)
		}
	}
	for range 1000 { // nor does it ever overflow
		b.Trip(noon, "again")
	}
	if pause := b.OpenUntil.Sub(noon); pause != webhook.BreakerLongest {
		t.Errorf("opened 1,000 times it stays open for %s", pause)
	}
	b.Close()
	b.Trip(noon, "afresh")
	if pause := b.OpenUntil.Sub(noon); pause != webhook.BreakerFirstPause {
		t.Errorf("opened after it was closed, for %s", pause)
	}
}

func TestOneProbeAtATimePassesAndThreeCloseTheBreaker(t *testing.T) {
	w := webhook.Window{MaxInFlight: 32, Grown: 32}
	w.Breaker.Trip(noon, "5 attempts in a row failed")
	room := func(when string, now time.Time, want int) {
		t.Helper()
		if got := w.Room(now); got != want {
			t.Errorf("%s: room for %d, want %d", when, got, want)
		}
	}
	room("just before its time", noon.Add(webhook.BreakerFirstPause-1), 0)
	now := noon.Add(webhook.BreakerFirstPause)
	for n := range webhook.BreakerProbes {
		room("a probe's time", now, 1)
		w.Admit("dlv_1", now)
		room("while it is on its way", now.Add(time.Hour), 0)
		if closed := w.Breaker.Probed(true, now); closed != (n == webhook.BreakerProbes-1) {
			t.Errorf("probe %d closed: %v", n+1, closed)
		}
		w.Used--
	}
	room("closed", now, 32)
	w.Breaker.OpenByHand("maintenance")
	room("opened by hand", now.AddDate(1, 0, 0), 0)
	if gate := w.GateAt(now); !gate.IsZero() {
		t.Errorf("a breaker opened by hand opens by itself at %s", gate)
	}
}

func TestWhatSpeaksAgainstAReceiver(t *testing.T) {
	tests := []struct {
		class  webhook.ErrorClass
		status int
		counts bool
	}{
		{webhook.ErrorDNS, 0, true}, {webhook.ErrorConnect, 0, true}, {webhook.ErrorTLS, 0, true}, {webhook.ErrorTimeout, 0, true},
		{webhook.ErrorReset, 0, true}, {webhook.ErrorProtocol, 0, true},
		{webhook.ErrorHTTP5xx, 500, true}, {webhook.ErrorHTTP5xx, 503, true}, {webhook.ErrorHTTP5xx, 599, true},
		{webhook.ErrorHTTP4xx, 408, true}, {webhook.ErrorHTTP4xx, 425, true}, {webhook.ErrorHTTP4xx, 429, true},
		{webhook.ErrorHTTP4xx, 400, false}, {webhook.ErrorHTTP4xx, 401, false}, {webhook.ErrorHTTP4xx, 404, false},
		{webhook.ErrorHTTP4xx, 409, false}, {webhook.ErrorHTTP4xx, 410, false}, {webhook.ErrorHTTP4xx, 422, false},
		{webhook.ErrorRedirect, 302, false}, {webhook.ErrorBadAck, 200, false},
		{webhook.ErrorBlocked, 0, false}, {webhook.ErrorInternal, 0, false},
		{"", 200, false}, {"", 204, false},
	}
	for _, test := range tests {
		a := webhook.Attempt{Outcome: webhook.OutcomeFailed, ErrorClass: test.class, StatusCode: test.status}
		if got := a.CountsAsFailure(); got != test.counts {
			t.Errorf("%s %d counts: %v, want %v", test.class, test.status, got, test.counts)
		}
	}
}
