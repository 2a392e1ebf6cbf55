package ingest_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ledgerhook/ingest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// drawer is a store of tokens that counts how often it is read and may be away.
type drawer struct {
	ingest.TokenStore
	mu    sync.Mutex
	away  bool
	kept  []partners.InternalToken
	reads int
	used  map[string]time.Time
}

func (d *drawer) set(away bool, kept ...partners.InternalToken) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.away, d.kept = away, kept
}

func (d *drawer) ActiveInternalTokens(context.Context, time.Time) ([]partners.InternalToken, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reads++
	if d.away {
		return nil, &webhook.Error{Kind: webhook.KindUnavailable, Message: "the ledger is away"}
	}
	return d.kept, nil
}

func (d *drawer) NoteTokenUse(_ context.Context, id string, at time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.used[id] = at
	return nil
}

// Tokens are read every 5 s at most, for unknown ones every second, and a
// revoked one is refused after 5 s.
func TestTokensAreReadNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &drawer{used: map[string]time.Time{}}
		known, value, err := partners.NewInternalToken("a", partners.TokenScopes, time.Now().Add(8*time.Second), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		tokens := ingest.NewTokens(d, slog.New(slog.DiscardHandler))
		handler := (&ingest.Internal{Token: token, Tokens: tokens, Log: slog.New(slog.DiscardHandler)}).Handler()
		want := func(when, value string, status, reads int) {
			t.Helper()
			r := httptest.NewRequest(http.MethodGet, "/internal/v1/nothing", nil)
			r.Header.Set("Authorization", "Bearer "+value)
			w := httptest.NewRecorder()
			if handler.ServeHTTP(w, r); w.Code != status || d.reads != reads {
				t.Errorf("%s: %d after %d reads, want %d after %d", when, w.Code, d.reads, status, reads)
			}
		}
		d.set(true)
		want("the token of the configuration", token, 404, 0)
		want("nobody can tell", value, 503, 1)
		want("and is not asked at once", value, 503, 1)
		d.set(false, known)
		time.Sleep(time.Second)
		want("a second later", value, 404, 2)
		want("known", value, 404, 2)
		want("unknown", "x", 401, 2)
		time.Sleep(time.Second)
		want("unknown a second later", "x", 401, 3)
		want("unknown again", "y", 401, 3)
		d.set(false)
		time.Sleep(5*time.Second - time.Nanosecond)
		want("revoked just now", value, 404, 3)
		time.Sleep(time.Nanosecond)
		want("revoked", value, 401, 4)
		d.set(false, known)
		time.Sleep(time.Second - time.Nanosecond)
		want("not read again", value, 401, 4)
		time.Sleep(time.Nanosecond)
		want("expired, though the store has it", value, 401, 5)
	})
}

func TestWhenATokenWasUsedIsStoredToTheMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &drawer{used: map[string]time.Time{}}
		known, value, err := partners.NewInternalToken("a", partners.TokenScopes, time.Now().Add(time.Hour), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		d.set(false, known)
		tokens := ingest.NewTokens(d, slog.New(slog.DiscardHandler))
		handler := (&ingest.Internal{Token: token, Tokens: tokens, Log: slog.New(slog.DiscardHandler)}).Handler()
		use := func() {
			r := httptest.NewRequest(http.MethodGet, "/internal/v1/nothing", nil)
			r.Header.Set("Authorization", "Bearer "+value)
			handler.ServeHTTP(httptest.NewRecorder(), r)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			tokens.Run(ctx)
		}()
		use()
		first := time.Now()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if !d.used[known.ID].Equal(first) {
			t.Errorf("after 10 s it was used at %v, want %v", d.used, first)
		}
		known.LastUsedAt = first
		d.set(false, known)
		use()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if !d.used[known.ID].Equal(first) {
			t.Errorf("within a minute it is stored again: %v", d.used)
		}
		time.Sleep(time.Minute)
		use()
		second := time.Now()
		cancel()
		<-ended
		if !d.used[known.ID].Equal(second) {
			t.Errorf("in the end it was used at %v, want %v", d.used, second)
		}
	})
}
