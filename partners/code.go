package partners

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"math/big"
	"time"
)

// The numbers of one-time codes.
const (
	CodeDigits   = 6                // leading zeros count
	CodeLife     = 10 * time.Minute // from issue to expiry
	CodeTries    = 5                // guesses that a code is compared with
	ResendAfter  = time.Minute      // between two codes of a user
	SendsPerHour = 5                // codes of a user
	SendsPerDay  = 10
	// FailuresBeforeLock is how many failures in a row lock a user. Only a
	// success ends the row: every failure after it locks again, for longer.
	FailuresBeforeLock = 20
)

// lockTimes is how long the first lock of a row lasts, the second, and so on;
// all further ones last as long as the last.
var lockTimes = []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour}

const saltSize = 16

// CodeState is what is remembered of one user's codes. The zero value is a
// user that nothing is known of.
type CodeState struct {
	VerifiedAt  time.Time // when a code was first right; zero: never
	Salt        []byte    // of the active code
	Digest      []byte    // of the active code; empty: there is none
	ExpiresAt   time.Time // the active code's end
	Tries       int       // guesses that the newest code was compared with
	Failures    int       // in a row, over all codes
	LockedUntil time.Time
	Sends       []time.Time // of the last day, oldest first
}

// active reports whether there is a code that can still be right.
func (s *CodeState) active(now time.Time) bool {
	return len(s.Digest) > 0 && now.Before(s.ExpiresAt) && s.Tries < CodeTries
}

// open reports whether a guess may be compared with the active code.
func (s *CodeState) open(now time.Time) bool { return s.active(now) && !now.Before(s.LockedUntil) }

// bound takes back what lies further ahead of now than the rules allow: a clock
// that was set back would lock a user for as long as it had been ahead.
func (s *CodeState) bound(now time.Time) {
	if most := now.Add(CodeLife); s.ExpiresAt.After(most) {
		s.ExpiresAt = most
	}
	if again := s.Failures - FailuresBeforeLock; again >= 0 {
		if most := now.Add(lockTimes[min(again, len(lockTimes)-1)]); s.LockedUntil.After(most) {
			s.LockedUntil = most
		}
	}
	for i, at := range s.Sends {
		if at.After(now) {
			s.Sends[i] = now
		}
	}
}

// issue makes digest the active code, unless one was sent too shortly before
// or too many were.
func (s *CodeState) issue(now time.Time, salt, digest []byte) bool {
	s.forgetSends(now.Add(-24 * time.Hour))
	hour := 0
	for _, at := range s.Sends {
		if now.Sub(at) < ResendAfter {
			return false
		}
		if now.Sub(at) < time.Hour {
			hour++
		}
	}
	if hour >= SendsPerHour || len(s.Sends) >= SendsPerDay {
		return false
	}
	s.Salt, s.Digest, s.ExpiresAt, s.Tries = salt, digest, now.Add(CodeLife), 0
	s.Sends = append(s.Sends, now)
	return true
}

func (s *CodeState) forgetSends(before time.Time) {
	for len(s.Sends) > 0 && !s.Sends[0].After(before) {
		s.Sends = s.Sends[1:]
	}
}

// settle books a guess: open tells whether it was compared, right what came
// of it. A locked user's guesses are neither compared nor counted.
func (s *CodeState) settle(now time.Time, open, right bool) (accepted bool) {
	switch {
	case now.Before(s.LockedUntil):
		return false
	case open && right:
		s.drop()
		s.Failures, s.LockedUntil = 0, time.Time{}
		if s.VerifiedAt.IsZero() {
			s.VerifiedAt = now
		}
		return true
	case open:
		if s.Tries++; s.Tries == CodeTries {
			s.drop()
		}
	}
	s.Failures++
	if again := s.Failures - FailuresBeforeLock; again >= 0 {
		s.LockedUntil = now.Add(lockTimes[min(again, len(lockTimes)-1)])
	}
	return false
}

// drop forgets the active code.
func (s *CodeState) drop() { s.Salt, s.Digest, s.ExpiresAt = nil, nil, time.Time{} }

// CodeStore remembers code states.
type CodeStore interface {
	// AlterCode runs change on a user's state under its lock and stores what
	// it left. It takes the same steps for a user it knows nothing of.
	AlterCode(ctx context.Context, u User, change func(*CodeState)) error
	// Verified reports whether one of the user's codes was ever right.
	Verified(ctx context.Context, u User) (bool, error)
}

// Codes sends one-time codes and checks guesses ("One-time code" of the
// interface decisions). Every call does the same work whatever comes of it,
// so that neither an answer nor its time tells what is known of an e-mail.
type Codes struct {
	store   CodeStore
	mail    Mailer
	peppers func() [][]byte
	mac     func(pepper, salt []byte, u User, code string) []byte
}

// PepperLabel names the derived keys that NewCodes takes.
const PepperLabel = "one-time codes"

// NewCodes returns codes that are remembered in store, under the first of the
// secret peppers, and go out through mail. A guess may be right under any of them.
func NewCodes(store CodeStore, peppers func() [][]byte, mail Mailer) *Codes {
	return &Codes{store, mail, peppers, macOfCode}
}

func macOfCode(pepper, salt []byte, u User, code string) []byte {
	h := hmac.New(sha256.New, pepper)
	h.Write(salt)
	h.Write([]byte(u.PartnerCode + u.Email + code))
	return h.Sum(nil)
}

// Addressee is whom a code goes to, as the request named them.
type Addressee struct {
	PartnerCode string
	Email       string
	Lang        string // en, cn or vi; any other is en
}

// Send sends a new code, which takes the place of the one before. Nothing is
// sent, and nobody is told, where the limits do not allow it.
func (c *Codes) Send(ctx context.Context, to Addressee) error {
	return c.send(ctx, to, func(*CodeState, time.Time) bool { return true })
}

// SendUnverified is Send for an e-mail that was never verified and has no
// active code. For any other it does nothing, in the same time.
func (c *Codes) SendUnverified(ctx context.Context, to Addressee) error {
	return c.send(ctx, to, func(s *CodeState, now time.Time) bool { return s.VerifiedAt.IsZero() && !s.active(now) })
}

func (c *Codes) send(ctx context.Context, to Addressee, wanted func(*CodeState, time.Time) bool) error {
	u := NewUser(to.PartnerCode, to.Email)
	code, salt, pepper := newCode(), randomBytes(saltSize), c.peppers()[0]
	var sent bool
	err := c.store.AlterCode(ctx, u, func(s *CodeState) {
		now := time.Now()
		s.bound(now)
		digest := c.mac(pepper, salt, u, code)
		sent = wanted(s, now) && s.issue(now, salt, digest)
	})
	if err != nil {
		return fmt.Errorf("issue a code: %w", err)
	}
	if sent {
		c.mail.Send(Letter{to, code})
	}
	return nil
}

var (
	decoySalt   = make([]byte, saltSize)
	decoyDigest = make([]byte, sha256.Size)
)

// noGuess stands for a guess that is too long or too short to be a code.
const noGuess = "------"

// Verify reports whether guess is the user's active code, and uses the code
// up if so. Without a code, or with an expired, used up or locked one, all is
// done as for a wrong guess.
func (c *Codes) Verify(ctx context.Context, u User, guess string) (right bool, err error) {
	if len(guess) != CodeDigits {
		guess = noGuess
	}
	peppers := c.peppers()
	err = c.store.AlterCode(ctx, u, func(s *CodeState) {
		now := time.Now()
		s.bound(now)
		open, salt, digest := s.open(now), s.Salt, s.Digest
		if !open {
			salt, digest = decoySalt, decoyDigest
		}
		same := false
		for _, pepper := range peppers {
			same = hmac.Equal(c.mac(pepper, salt, u, guess), digest) || same
		}
		right = s.settle(now, open, same)
	})
	if err != nil {
		return false, fmt.Errorf("check a code: %w", err)
	}
	return right, nil
}

// Verified reports whether the user's e-mail was ever verified.
func (c *Codes) Verified(ctx context.Context, u User) (bool, error) {
	return c.store.Verified(ctx, u)
}

var codeSpace = big.NewInt(1_000_000)

// newCode returns one of all codes, each as likely as any other.
func newCode() string {
	n, err := rand.Int(rand.Reader, codeSpace)
	if err != nil {
		panic(err) // the system's random source does not fail
	}
	return fmt.Sprintf("%0*d", CodeDigits, n)
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}
