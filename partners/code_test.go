package partners

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Whatever happens in whatever order, the limits hold.
func TestNoOrderOfSendsAndGuessesBreaksTheLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s CodeState
		now := start
		var sends []time.Time
		var compared, failures, locks int
		steps := rapid.IntRange(1, 300).Draw(t, "steps")
		for range steps {
			now = now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 20, 59, 60, 61, 300, 601, 3600, 90_000}).Draw(t, "seconds")) * time.Second)
			locked := now.Before(s.LockedUntil)
			if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
				if s.issue(now, []byte("salt"), []byte("digest")) {
					sends, compared = append(sends, now), 0
				}
				continue
			}
			open := s.open(now)
			right := rapid.IntRange(0, 30).Draw(t, "right") == 0
			before := s
			accepted := s.settle(now, open, right)
			if open {
				compared++
			}
			switch {
			case accepted != (open && right):
				t.Fatalf("a guess (compared %v, right %v) was accepted: %v", open, right, accepted)
			case locked && (open || fmt.Sprint(s) != fmt.Sprint(before)):
				t.Fatal("a locked user's guess was compared or counted")
			case compared > CodeTries:
				t.Fatalf("a code was compared with %d guesses", compared)
			case accepted:
				failures, locks = 0, 0
				if s.open(now) || s.Failures != 0 || s.VerifiedAt.IsZero() {
					t.Fatalf("after a success: %+v", s)
				}
			case !locked:
				if failures++; failures >= FailuresBeforeLock {
					want := lockTimes[min(locks, len(lockTimes)-1)]
					locks++
					if s.LockedUntil.Sub(now) != want {
						t.Fatalf("lock %d lasts %s, want %s", locks, s.LockedUntil.Sub(now), want)
					}
				}
			}
		}
		for i, at := range sends {
			hour, day := 0, 0
			for _, later := range sends[i:] {
				if later.Sub(at) < time.Hour {
					hour++
				}
				if later.Sub(at) < 24*time.Hour {
					day++
				}
			}
			if hour > SendsPerHour || day > SendsPerDay || i > 0 && at.Sub(sends[i-1]) < ResendAfter {
				t.Fatalf("codes went out at %v", sends)
			}
		}
	})
}

func TestLocksGrowAndOnlySuccessEndsThem(t *testing.T) {
	var s CodeState
	now := start
	fail := func(n int) {
		for range n {
			s.settle(now, s.open(now), false)
		}
	}
	fail(FailuresBeforeLock - 1)
	if !s.LockedUntil.IsZero() {
		t.Fatal("locked too early")
	}
	for i, want := range []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, time.Hour} {
		fail(1)
		if got := s.LockedUntil.Sub(now); got != want {
			t.Errorf("lock %d lasts %s, want %s", i+1, got, want)
		}
		fail(50) // while locked: neither compared nor counted
		s.issue(now, []byte("salt"), []byte("digest"))
		if s.open(now) {
			t.Error("a new code opened a lock")
		}
		now = s.LockedUntil
	}
	now = now.Add(2 * time.Hour)
	if !s.issue(now, []byte("salt"), []byte("digest")) || !s.settle(now, s.open(now), true) {
		t.Fatal("the right code was refused after the lock")
	}
	fail(FailuresBeforeLock - 1)
	if now.Before(s.LockedUntil) {
		t.Error("a success did not end the row of failures")
	}
}

func TestSendsAreSpaced(t *testing.T) {
	tests := []struct {
		name string
		past []time.Duration // ago
		want bool
	}{
		{"the first", nil, true},
		{"a second one within a minute", []time.Duration{59 * time.Second}, false},
		{"a second one after a minute", []time.Duration{60 * time.Second}, true},
		{"the fifth of an hour", []time.Duration{50 * time.Minute, 40 * time.Minute, 30 * time.Minute, 20 * time.Minute}, true},
		{"the sixth of an hour", []time.Duration{50 * time.Minute, 40 * time.Minute, 30 * time.Minute, 20 * time.Minute, 10 * time.Minute}, false},
		{"the sixth after an hour", []time.Duration{time.Hour, 40 * time.Minute, 30 * time.Minute, 20 * time.Minute, 10 * time.Minute}, true},
		{"the eleventh of a day", hoursAgo(23, 21, 19, 17, 15, 13, 11, 9, 7, 5), false},
		{"the eleventh after a day", hoursAgo(24, 21, 19, 17, 15, 13, 11, 9, 7, 5), true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var s CodeState
			for _, ago := range test.past {
				s.Sends = append(s.Sends, start.Add(-ago))
			}
			if got := s.issue(start, []byte("salt"), []byte("digest")); got != test.want {
				t.Errorf("allowed: %v, want %v", got, test.want)
			}
		})
	}
}

func hoursAgo(hours ...int) (all []time.Duration) {
	for _, h := range hours {
		all = append(all, time.Duration(h)*time.Hour)
	}
	return all
}

func TestCodesAreSixDigitsAndUniform(t *testing.T) {
	const n = 20_000
	var counts [CodeDigits][10]int
	for range n {
		code := newCode()
		if len(code) != CodeDigits {
			t.Fatalf("code %q", code)
		}
		for i, c := range code {
			counts[i][c-'0']++
		}
	}
	for i, digits := range counts {
		for digit, count := range digits {
			// 8 standard deviations from the mean: never by chance.
			if count < n/10-340 || count > n/10+340 {
				t.Errorf("digit %d is %d in %d of %d codes", i, digit, count, n)
			}
		}
	}
}

// While one master key takes another's place there are the peppers of both.
func TestACodeIsRightUnderThePepperThatItWasSentUnder(t *testing.T) {
	d, c := newDesk()
	old, next, third := []byte("old"), []byte("next"), []byte("third")
	ann := Addressee{PartnerCode: "acme", Email: "ann@example.com"}
	for _, test := range []struct {
		sent, checked [][]byte
		right         bool
	}{
		{[][]byte{old}, [][]byte{next, old}, true},
		{[][]byte{next, old}, [][]byte{old, next}, true},
		{[][]byte{next, old}, [][]byte{next}, true},
		{[][]byte{next, old}, [][]byte{old}, false},
		{[][]byte{old}, [][]byte{next, third}, false},
	} {
		clear(d.states)
		c.peppers = func() [][]byte { return test.sent }
		if err := c.Send(t.Context(), ann); err != nil {
			t.Fatal(err)
		}
		c.peppers = func() [][]byte { return test.checked }
		right, err := c.Verify(t.Context(), NewUser(ann.PartnerCode, ann.Email), d.letters[len(d.letters)-1].Code)
		if err != nil || right != test.right {
			t.Errorf("sent under %q, checked under %q: right %v, %v", test.sent, test.checked, right, err)
		}
	}
}

// desk is a store of code states in memory, a mailbox, and a count of the work.
type desk struct {
	mu      sync.Mutex
	states  map[User]*CodeState
	letters []Letter
	alters  int
	macs    int
	down    error
}

func newDesk() (*desk, *Codes) {
	d := &desk{states: map[User]*CodeState{}}
	c := NewCodes(d, func() [][]byte { return [][]byte{[]byte("pepper")} }, d)
	mac := c.mac
	c.mac = func(pepper, salt []byte, u User, code string) []byte {
		if len(salt) != saltSize || len(code) != CodeDigits {
			d.macs += 1000 // not the same work as for others
		}
		d.macs++
		return mac(pepper, salt, u, code)
	}
	return d, c
}

func (d *desk) AlterCode(_ context.Context, u User, change func(*CodeState)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down != nil {
		return d.down
	}
	if d.states[u] == nil {
		d.states[u] = &CodeState{}
	}
	d.alters++
	change(d.states[u])
	return nil
}

func (d *desk) Verified(_ context.Context, u User) (bool, error) {
	return d.states[u] != nil && !d.states[u].VerifiedAt.IsZero(), nil
}

func (d *desk) Send(l Letter) { d.letters = append(d.letters, l) }

// wrong is a code that is not code.
func wrong(code string) string {
	if code == "000000" {
		return "000001"
	}
	return "000000"
}

var ann = Addressee{"acme", "Ann@Example.com", "vi"}

func TestEveryRefusalTakesTheSameWork(t *testing.T) {
	causes := []struct {
		name    string
		prepare func(t *testing.T, d *desk, c *Codes) (guess string)
	}{
		{"unknown user", func(*testing.T, *desk, *Codes) string { return "123456" }},
		{"no code", func(t *testing.T, d *desk, c *Codes) string { return use(t, d, c) }},
		{"wrong code", func(t *testing.T, d *desk, c *Codes) string { return wrong(send(t, d, c)) }},
		{"wrong length", func(t *testing.T, d *desk, c *Codes) string { return send(t, d, c) + "0" }},
		{"empty", func(t *testing.T, d *desk, c *Codes) string { send(t, d, c); return "" }},
		{"expired", func(t *testing.T, d *desk, c *Codes) string { code := send(t, d, c); time.Sleep(CodeLife); return code }},
		{"used", func(t *testing.T, d *desk, c *Codes) string { return use(t, d, c) }},
		{"used up", func(t *testing.T, d *desk, c *Codes) string {
			code := send(t, d, c)
			guess(t, c, wrong(code), CodeTries)
			return code
		}},
		{"locked", func(t *testing.T, d *desk, c *Codes) string {
			guess(t, c, "123456", FailuresBeforeLock)
			return send(t, d, c)
		}},
		{"replaced", func(t *testing.T, d *desk, c *Codes) string {
			first := send(t, d, c)
			time.Sleep(ResendAfter)
			if send(t, d, c) == first {
				return wrong(first)
			}
			return first
		}},
	}
	for _, cause := range causes {
		t.Run(cause.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, c := newDesk()
				text := cause.prepare(t, d, c)
				d.alters, d.macs = 0, 0
				if right, err := c.Verify(t.Context(), NewUser("acme", "ANN@example.com"), text); right || err != nil {
					t.Errorf("accepted: %v, %v", right, err)
				}
				if d.alters != 1 || d.macs != 1 {
					t.Errorf("took %d steps and %d HMACs, want 1 of each", d.alters, d.macs)
				}
			})
		})
	}
}

func TestEverySendTakesTheSameWork(t *testing.T) {
	causes := []struct {
		name    string
		prepare func(t *testing.T, d *desk, c *Codes)
		send    func(*Codes, context.Context, Addressee) error
		sent    int
	}{
		{"first", func(*testing.T, *desk, *Codes) {}, (*Codes).Send, 1},
		{"too soon", func(t *testing.T, d *desk, c *Codes) { send(t, d, c) }, (*Codes).Send, 0},
		{"unverified", func(*testing.T, *desk, *Codes) {}, (*Codes).SendUnverified, 1},
		{"unverified with a code", func(t *testing.T, d *desk, c *Codes) { send(t, d, c); time.Sleep(ResendAfter) }, (*Codes).SendUnverified, 0},
		{"unverified whose code has expired", func(t *testing.T, d *desk, c *Codes) { send(t, d, c); time.Sleep(CodeLife) }, (*Codes).SendUnverified, 1},
		{"verified", func(t *testing.T, d *desk, c *Codes) { use(t, d, c); time.Sleep(time.Hour) }, (*Codes).SendUnverified, 0},
		{"verified, asked for", func(t *testing.T, d *desk, c *Codes) { use(t, d, c); time.Sleep(time.Hour) }, (*Codes).Send, 1},
	}
	for _, cause := range causes {
		t.Run(cause.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, c := newDesk()
				cause.prepare(t, d, c)
				d.alters, d.macs, d.letters = 0, 0, nil
				if err := cause.send(c, t.Context(), ann); err != nil {
					t.Fatal(err)
				}
				if d.alters != 1 || d.macs != 1 || len(d.letters) != cause.sent {
					t.Errorf("took %d steps and %d HMACs and sent %d letters, want 1, 1 and %d", d.alters, d.macs, len(d.letters), cause.sent)
				}
			})
		})
	}
}

func TestACodeProvesTheEmailOnceInAnyCase(t *testing.T) {
	d, c := newDesk()
	code := send(t, d, c)
	if to := d.letters[0].To; to != ann {
		t.Errorf("sent to %+v, want the e-mail as the request spelled it", to)
	}
	for _, other := range []User{NewUser("other", ann.Email), NewUser("acme", "bob@example.com")} {
		if right, err := c.Verify(t.Context(), other, code); right || err != nil {
			t.Errorf("%+v took another's code: %v", other, err)
		}
	}
	u := NewUser("acme", "aNN@EXAMPLE.com")
	if verified, _ := c.Verified(t.Context(), u); verified {
		t.Error("verified before the code")
	}
	if right, err := c.Verify(t.Context(), u, code); !right || err != nil {
		t.Errorf("the right code: %v, %v", right, err)
	}
	if verified, _ := c.Verified(t.Context(), u); !verified {
		t.Error("not verified after the code")
	}
	if right, _ := c.Verify(t.Context(), u, code); right {
		t.Error("the code was good twice")
	}
}

func TestNoCodeIsSentThatIsNotRemembered(t *testing.T) {
	d, c := newDesk()
	d.down = errors.New("down")
	if err := c.Send(t.Context(), ann); !errors.Is(err, d.down) || len(d.letters) != 0 {
		t.Errorf("%d letters, error %v", len(d.letters), err)
	}
	if right, err := c.Verify(t.Context(), NewUser("acme", ann.Email), "123456"); right || !errors.Is(err, d.down) {
		t.Errorf("right %v, error %v", right, err)
	}
}

// send has a code sent to ann and returns it.
func send(t *testing.T, d *desk, c *Codes) string {
	t.Helper()
	had := len(d.letters)
	if err := c.Send(t.Context(), ann); err != nil || len(d.letters) != had+1 {
		t.Fatalf("sent %d letters: %v", len(d.letters)-had, err)
	}
	return d.letters[had].Code
}

// use has a code sent to ann, uses it and returns it.
func use(t *testing.T, d *desk, c *Codes) string {
	t.Helper()
	code := send(t, d, c)
	if right, err := c.Verify(t.Context(), NewUser("acme", ann.Email), code); !right || err != nil {
		t.Fatalf("the right code: %v, %v", right, err)
	}
	return code
}

func guess(t *testing.T, c *Codes, text string, times int) {
	t.Helper()
	for range times {
		if right, err := c.Verify(t.Context(), NewUser("acme", ann.Email), text); right || err != nil {
			t.Fatalf("guess: %v, %v", right, err)
		}
	}
}
