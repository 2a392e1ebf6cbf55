package delivery_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/webhook"
)

func TestRetryAfterIsFollowedWhereItMakesSense(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	in := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	const none = time.Duration(0)
	tests := []struct {
		status   int
		value    string
		own      time.Duration // the delivery itself; none: its schedule
		endpoint time.Duration
	}{
		{429, "120", 2 * time.Minute, 2 * time.Minute},
		{503, "120", 2 * time.Minute, 2 * time.Minute},
		{503, " 120 ", 2 * time.Minute, 2 * time.Minute},
		{503, "1", none, time.Second}, // sooner than the schedule: never before it either
		{503, "0", none, none},
		{503, "3600", time.Hour, 10 * time.Minute},
		{503, "86400", day, 10 * time.Minute},
		{503, "86401", day, 10 * time.Minute},
		{503, "99999999999", day, 10 * time.Minute},
		{503, strings.Repeat("9", 400), day, 10 * time.Minute},
		{429, in(time.Hour), time.Hour, 10 * time.Minute},
		{429, in(30 * day), day, 10 * time.Minute},
		{429, in(-time.Hour), none, none},
		{429, in(0), none, none},
		{503, "-1", none, none},
		{503, "+60", none, none},
		{503, "60.5", none, none},
		{503, "6e1", none, none},
		{503, "0x60", none, none},
		{503, "60, 120", none, none},
		{503, "soon", none, none},
		{503, "", none, none},
		{503, "٦٠", none, none},
		{500, "120", none, none},
		{502, "120", none, none},
		{404, "120", none, none},
		{408, "120", none, none},
		{301, "120", none, none},
	}
	for _, test := range tests {
		a := webhook.Attempt{Outcome: webhook.OutcomeFailed, Number: 1, StatusCode: test.status,
			ResponseHeaders: http.Header{"Retry-After": {test.value}}}
		v := delivery.Decide(schedule, delivery.Job{}, a, now)
		if v.EndpointPause != test.endpoint || v.AskedByReceiver != (test.own > 0) {
			t.Errorf("%d %q: the endpoint rests for %s (asked: %v), want %s", test.status, test.value, v.EndpointPause, v.AskedByReceiver, test.endpoint)
		}
		if wait := v.NextAt.Sub(now); test.own > 0 && wait != test.own || test.own == 0 && !about(wait, schedule.Waits[1]) {
			t.Errorf("%d %q: next after %s, want %s", test.status, test.value, wait, test.own)
		}
		a.Number = 14 // it is used up, but the others wait
		if v := delivery.Decide(schedule, delivery.Job{}, a, now); v.State != webhook.Exhausted || v.EndpointPause != test.endpoint {
			t.Errorf("%d %q to the last attempt: %+v", test.status, test.value, v)
		}
	}
}

const day = 24 * time.Hour
