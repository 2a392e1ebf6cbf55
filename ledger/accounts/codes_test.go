package accounts_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
)

// tray is a mailer that keeps what it is given.
type tray chan partners.Letter

func (m tray) Send(l partners.Letter) { m <- l }

// compared counts the guesses that were compared with a code.
type compared struct {
	*ledgertest.Bench
	guesses atomic.Int64
}

func (c *compared) AlterCode(ctx context.Context, u partners.User, change func(*partners.CodeState)) error {
	return c.Bench.AlterCode(ctx, u, func(s *partners.CodeState) {
		before := *s
		change(s)
		if s.Tries > before.Tries || before.VerifiedAt.IsZero() && !s.VerifiedAt.IsZero() {
			c.guesses.Add(1)
		}
	})
}

var (
	annAddress = partners.Addressee{PartnerCode: "acme", Email: "Ann@Example.com", Lang: "en"}
	annUser    = partners.NewUser("acme", "ann@example.com")
)

func newCodes(store partners.CodeStore) (*partners.Codes, tray) {
	mail := make(tray, 100)
	return partners.NewCodes(store, func() [][]byte { return [][]byte{[]byte("pepper")} }, mail), mail
}

// notCode is a guess that is wrong for sure.
func notCode(code string) string {
	if code == "999999" {
		return "999998"
	}
	return "999999"
}

// verify checks a guess and fails the test on an error.
func verify(t *testing.T, c *partners.Codes, guess string) bool {
	t.Helper()
	right, err := c.Verify(t.Context(), annUser, guess)
	if err != nil {
		t.Fatal(err)
	}
	return right
}

func TestOfAHundredParallelGuessesFiveReachTheCode(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		store := &compared{Bench: b}
		codes, mail := newCodes(store)
		if err := codes.Send(t.Context(), annAddress); err != nil {
			t.Fatal(err)
		}
		code := (<-mail).Code
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if right, err := codes.Verify(t.Context(), annUser, notCode(code)); right || err != nil {
					t.Errorf("a wrong guess: %v, %v", right, err)
				}
			})
		}
		wg.Wait()
		if n := store.guesses.Load(); n != partners.CodeTries {
			t.Errorf("%d guesses were compared, want %d", n, partners.CodeTries)
		}
		if verify(t, codes, code) {
			t.Error("the right code is good although its tries are used up")
		}
		var s partners.CodeState
		if err := b.AlterCode(t.Context(), annUser, func(now *partners.CodeState) {
			s = *now
			now.Sends = nil // as if it was long ago: only the lock stands in the way
		}); err != nil {
			t.Fatal(err)
		}
		if s.Failures != partners.FailuresBeforeLock || time.Until(s.LockedUntil) <= 0 || time.Until(s.LockedUntil) > time.Minute {
			t.Errorf("after 100 wrong guesses: %d failures counted, locked for %s", s.Failures, time.Until(s.LockedUntil))
		}
		if err := codes.Send(t.Context(), annAddress); err != nil {
			t.Fatal(err)
		}
		code = (<-mail).Code
		if verify(t, codes, code) {
			t.Error("a new code opened the lock")
		}
		if err := b.AlterCode(t.Context(), annUser, func(s *partners.CodeState) { s.LockedUntil = time.Now() }); err != nil {
			t.Fatal(err)
		}
		if !verify(t, codes, code) {
			t.Error("the right code is refused after the lock")
		}
	})
}

func TestParallelRightGuessesUseACodeOnce(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		codes, mail := newCodes(b)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if err := codes.Send(t.Context(), annAddress); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(mail) != 1 {
			t.Fatalf("20 parallel requests sent %d codes", len(mail))
		}
		code := (<-mail).Code
		var accepted atomic.Int64
		for range 20 {
			wg.Go(func() {
				right, err := codes.Verify(t.Context(), annUser, code)
				if err != nil {
					t.Error(err)
				}
				if right {
					accepted.Add(1)
				}
			})
		}
		wg.Wait()
		if accepted.Load() != 1 {
			t.Errorf("the code was good %d times", accepted.Load())
		}
		if verified, err := codes.Verified(t.Context(), annUser); !verified || err != nil {
			t.Errorf("verified %v, %v", verified, err)
		}
		for _, other := range []partners.User{partners.NewUser("other", "ann@example.com"), partners.NewUser("acme", "bob@example.com")} {
			if verified, err := codes.Verified(t.Context(), other); verified || err != nil {
				t.Errorf("%v verified %v, %v", other, verified, err)
			}
		}
	})
}

func TestTheLedgerKeepsCodeStatesWhole(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		now := time.Now().UTC().Truncate(time.Microsecond)
		want := partners.CodeState{
			VerifiedAt: now, Salt: []byte{0, 1, 2}, Digest: []byte{3, 0, 4}, ExpiresAt: now.Add(time.Minute), Tries: 3, Failures: 21,
			LockedUntil: now.Add(time.Hour), Sends: []time.Time{now.Add(-time.Hour), now},
		}
		if err := b.AlterCode(t.Context(), annUser, func(s *partners.CodeState) {
			if !s.VerifiedAt.IsZero() || len(s.Digest) != 0 || len(s.Sends) != 0 || s.Failures != 0 {
				t.Errorf("an unknown user is %+v", s)
			}
			*s = want
		}); err != nil {
			t.Fatal(err)
		}
		if err := b.AlterCode(t.Context(), annUser, func(s *partners.CodeState) {
			if fmt.Sprint(*s) != fmt.Sprint(want) {
				t.Errorf("got  %v\nwant %v", *s, want)
			}
		}); err != nil {
			t.Fatal(err)
		}
	})
}

// That every refusal takes the same statements and one HMAC is held in
// partners; here are the times that come of it.
func TestTheTimeOfARefusalTellsNoCause(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		codes, mail := newCodes(b)
		set := func(change func(*partners.CodeState)) {
			if err := b.AlterCode(t.Context(), annUser, change); err != nil {
				t.Fatal(err)
			}
		}
		fresh := func() string {
			set(func(s *partners.CodeState) { *s = partners.CodeState{} })
			if err := codes.Send(t.Context(), annAddress); err != nil {
				t.Fatal(err)
			}
			return (<-mail).Code
		}
		causes := []struct {
			name    string
			prepare func() (guess string)
		}{
			{"wrong", func() string { return notCode(fresh()) }},
			{"no code", func() string { set(func(s *partners.CodeState) { *s = partners.CodeState{} }); return "123456" }},
			{"expired", func() string {
				code := fresh()
				set(func(s *partners.CodeState) { s.ExpiresAt = time.Now() })
				return code
			}},
			{"locked", func() string {
				code := fresh()
				set(func(s *partners.CodeState) { s.LockedUntil = time.Now().Add(time.Hour) })
				return code
			}},
		}
		times := make([][]time.Duration, len(causes))
		for range 30 {
			for i, cause := range causes {
				guess := cause.prepare()
				before := time.Now()
				if verify(t, codes, guess) {
					t.Fatalf("%s: accepted", cause.name)
				}
				times[i] = append(times[i], time.Since(before))
			}
		}
		var report bytes.Buffer
		for i, cause := range causes {
			slices.Sort(times[i])
			fmt.Fprintf(&report, "%s %s, ", cause.name, times[i][len(times[i])/2])
		}
		t.Logf("medians: %s", &report)
	})
}
