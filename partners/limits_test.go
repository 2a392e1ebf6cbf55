package partners

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// numbers are those of testdata/limits.json that this package keeps.
type numbers struct {
	Code struct {
		Digits   int   `json:"digits"`
		Life     int   `json:"ttl_seconds"`
		Tries    int   `json:"max_attempts_per_code"`
		Resend   int   `json:"resend_min_interval_seconds"`
		Hour     int   `json:"sends_per_hour_per_email"`
		Day      int   `json:"sends_per_day_per_email"`
		Failures int   `json:"consecutive_failures_before_lock"`
		Locks    []int `json:"lock_seconds"`
	} `json:"one_time_code"`
	Tokens struct {
		Access int `json:"access_ttl_seconds"`
		Whole  int `json:"refresh_absolute_seconds"`
		Idle   int `json:"refresh_idle_seconds"`
		Bytes  int `json:"bytes_of_entropy"`
		Grace  int `json:"retry_grace_seconds"`
	} `json:"tokens"`
	Rates struct {
		PerSecond   int `json:"per_partner_requests_per_second"`
		Burst       int `json:"per_partner_burst"`
		Create      int `json:"create_per_partner_per_second"`
		CreateBurst int `json:"create_burst"`
	} `json:"rate_limits"`
}

func TestTheNumbersAreThoseOfTheInterface(t *testing.T) {
	text, err := os.ReadFile("testdata/limits.json")
	if err != nil {
		t.Fatal(err)
	}
	var want, got numbers
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	seconds := func(d time.Duration) int { return int(d / time.Second) }
	c := &got.Code
	c.Digits, c.Life, c.Tries, c.Resend = CodeDigits, seconds(CodeLife), CodeTries, seconds(ResendAfter)
	c.Hour, c.Day, c.Failures = SendsPerHour, SendsPerDay, FailuresBeforeLock
	for _, lock := range lockTimes {
		c.Locks = append(c.Locks, seconds(lock))
	}
	k := &got.Tokens
	k.Access, k.Whole, k.Idle, k.Bytes, k.Grace = seconds(AccessLife), seconds(RefreshLife), seconds(RefreshIdle), tokenSize, seconds(RefreshGrace)
	l := DefaultLimits
	got.Rates.PerSecond, got.Rates.Burst, got.Rates.Create, got.Rates.CreateBurst = l.PerSecond, l.Burst, l.CreatePerSecond, l.CreateBurst
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-interface +code):\n%s", diff)
	}
}

func TestTwoMailboxesAreNeverOneUser(t *testing.T) {
	if a, b := NewUser("acme", "Kate@Example.COM"), NewUser("acme", "kate@example.com"); a != b {
		t.Errorf("%+v and %+v are one mailbox", a, b)
	}
	for _, other := range []string{"\u212aate@example.com", "k\u0101te@example.com", "kate@example.com "} {
		if NewUser("acme", other) == NewUser("acme", "kate@example.com") {
			t.Errorf("%q counts as another's mailbox", other)
		}
	}
	if NewUser("acme", "É@x") == NewUser("acme", "é@x") {
		t.Error("two letters are one")
	}
}
