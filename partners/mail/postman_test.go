package mail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ledgerhook/partners"
)

// road is a carrier that behaves as told.
type road struct {
	mu       sync.Mutex
	attempts int
	carry    func(ctx context.Context, attempt int) error
}

func (r *road) Carry(ctx context.Context, _ partners.Letter) error {
	r.mu.Lock()
	r.attempts++
	attempt := r.attempts
	r.mu.Unlock()
	return r.carry(ctx, attempt)
}

func (r *road) tries() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.attempts
}

var ann = partners.Addressee{PartnerCode: "acme", Email: "Ann@Example.com", Lang: "vi"}

var letter = partners.Letter{To: ann, Code: "012345"}

func TestALetterIsTriedAFewTimes(t *testing.T) {
	tests := []struct {
		name     string
		carry    func(ctx context.Context, attempt int) error
		attempts int
		lost     bool
	}{
		{"at once", func(context.Context, int) error { return nil }, 1, false},
		{"the third time", func(_ context.Context, n int) error {
			if n < 3 {
				return errors.New("busy")
			}
			return nil
		}, 3, false},
		{"never", func(context.Context, int) error { return errors.New("busy") }, 1 + len(retryWaits), true},
		{"refused for good", func(context.Context, int) error { return fmt.Errorf("%w: no such box", ErrUndeliverable) }, 1, true},
		{"a server that hangs", func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() }, 1 + len(retryWaits), true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				r := &road{carry: test.carry}
				p := NewPostman(r, slog.New(slog.NewTextHandler(&log, nil)))
				before := time.Now()
				p.Send(letter)
				if waited := time.Since(before); waited != 0 {
					t.Errorf("Send waited %s", waited)
				}
				time.Sleep(partners.CodeLife / 2)
				if r.tries() != test.attempts {
					t.Errorf("%d attempts, want %d", r.tries(), test.attempts)
				}
				if err := p.Close(t.Context()); err != nil {
					t.Error(err)
				}
				if lost := strings.Contains(log.String(), "was not sent"); lost != test.lost {
					t.Errorf("log: %s", &log)
				}
				if strings.Contains(log.String(), letter.Code) {
					t.Error("the code stands in the log")
				}
			})
		})
	}
}

// Who waits for a code complains within a minute: the log says at the first
// failure that mail cannot be sent, and each result is counted.
func TestTheFirstFailureOfMailIsLoggedAndCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var counted []Result
		r := &road{carry: func(_ context.Context, n int) error {
			if n == 1 {
				return errors.New("tls: failed to verify certificate")
			}
			return nil
		}}
		p := NewPostman(r, slog.New(slog.NewTextHandler(&log, nil)))
		p.count = func(result Result) { counted = append(counted, result) }
		p.Send(letter)
		synctest.Wait()
		if !strings.Contains(log.String(), "mail cannot be sent") || !strings.Contains(log.String(), "failed to verify certificate") {
			t.Errorf("after the first failure the log says %q", log.String())
		}
		time.Sleep(retryWaits[0])
		synctest.Wait()
		if fmt.Sprint(counted) != "[failed sent]" {
			t.Errorf("counted %v", counted)
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestClosingCarriesWhatIsLeftWithoutWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &road{carry: func(_ context.Context, n int) error {
			if n <= 2 {
				return errors.New("busy")
			}
			return nil
		}}
		p := NewPostman(r, slog.New(slog.DiscardHandler))
		p.Send(letter)
		synctest.Wait()
		before := time.Now()
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(before); waited != 0 || r.tries() != 3 {
			t.Errorf("closed after %s and %d attempts", waited, r.tries())
		}
		p.Send(letter)
		synctest.Wait()
		if r.tries() != 3 {
			t.Error("a closed postman took a letter")
		}
	})
}

func TestClosingGivesUpInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &road{carry: func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() }}
		p := NewPostman(r, slog.New(slog.DiscardHandler))
		for range 3 * maxCarriers {
			p.Send(letter)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		before := time.Now()
		if err := p.Close(ctx); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(before); waited != time.Second {
			t.Errorf("closed after %s", waited)
		}
	})
}

func TestAFloodOfLettersIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := &road{carry: func(context.Context, int) error { <-release; return nil }}
		p := NewPostman(r, slog.New(slog.DiscardHandler))
		for range maxLetters + 100 {
			p.Send(letter)
		}
		synctest.Wait()
		if r.tries() != maxCarriers {
			t.Errorf("%d attempts at a time, want %d", r.tries(), maxCarriers)
		}
		close(release)
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r.tries() != maxLetters {
			t.Errorf("%d letters carried, want %d", r.tries(), maxLetters)
		}
	})
}

func TestLettersSpeakTheAddresseesLanguage(t *testing.T) {
	for lang, want := range map[string]string{
		"en": "Your verification code is 012345", "cn": "您的验证码是 012345", "vi": "Mã xác minh của bạn là 012345", "fr": "Your verification code is 012345",
	} {
		subject, body := partners.Letter{To: partners.Addressee{PartnerCode: "acme", Email: "ann@example.com", Lang: lang}, Code: "012345"}.Text()
		if subject == "" || strings.Contains(subject, "012345") || !strings.Contains(body, want) || !strings.Contains(body, "10") {
			t.Errorf("%s: %q\n%s", lang, subject, body)
		}
	}
}
