package ingest

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"ledgerhook/partners"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

const (
	// tokensKnown is how long a process goes by the tokens that it read: a
	// revoked one is refused everywhere after that.
	tokensKnown = 5 * time.Second
	// tokensRest is after what time it reads them again for a token that it
	// does not know, or that it could not look up.
	tokensRest = time.Second
	// tokensTimeout is how long reading them may take.
	tokensTimeout = 2 * time.Second
	// tokenUseStep is how exact the newest use of a token is kept.
	tokenUseStep = time.Minute
	// tokenUseEvery is how often what is new of it is stored.
	tokenUseEvery = 10 * time.Second
)

// reasonScope is how ledgerhook_auth_failures_total counts a token without the
// scope that a request needs.
const reasonScope = "scope"

// TokenStore is the ledger as internal tokens are kept there.
type TokenStore interface {
	AddInternalToken(ctx context.Context, t partners.InternalToken, by ...partners.AuditEntry) error
	InternalTokens(ctx context.Context) ([]partners.InternalToken, error)
	ActiveInternalTokens(ctx context.Context, now time.Time) ([]partners.InternalToken, error)
	RevokeInternalToken(ctx context.Context, id string, now time.Time, by ...partners.AuditEntry) (partners.InternalToken, error)
	NoteTokenUse(ctx context.Context, id string, at time.Time) error
}

// Tokens knows the internal tokens of the ledger. It reads all active ones at
// once and goes by them for 5 s, so that no request waits for a look-up of its
// own and a flood of wrong tokens asks the ledger once a second.
type Tokens struct {
	store TokenStore
	log   *slog.Logger

	mu     sync.Mutex
	active []partners.InternalToken
	err    error     // why they could not be read
	readAt time.Time // zero: not yet
	used   map[string]time.Time
}

// NewTokens knows the tokens in store; Run stores when each was last used.
func NewTokens(store TokenStore, log *slog.Logger) *Tokens {
	return &Tokens{store: store, log: log, used: map[string]time.Time{}}
}

// find returns the token with a value, if it is active. An error says that
// nobody can tell now.
func (t *Tokens) find(ctx context.Context, value string) (found partners.InternalToken, ok bool, err error) {
	hash := partners.HashInternalToken(value)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.read(ctx, tokensKnown)
	if found, ok = t.among(hash); !ok {
		t.read(ctx, tokensRest)
		found, ok = t.among(hash)
	}
	if now := time.Now(); ok && now.Sub(found.LastUsedAt) >= tokenUseStep {
		t.used[found.ID] = now
	}
	if !ok {
		err = t.err
	}
	return found, ok, err
}

// read reads the active tokens unless what is known is younger than age.
func (t *Tokens) read(ctx context.Context, age time.Duration) {
	if t.err != nil {
		age = tokensRest
	}
	if !t.readAt.IsZero() && time.Since(t.readAt) < age {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tokensTimeout) // for all who wait
	defer cancel()
	t.active, t.err = t.store.ActiveInternalTokens(ctx, time.Now())
	t.err = web.InTime(t.err)
	t.readAt = time.Now()
}

// among compares with every token, so that the time says nothing of which one
// it was.
func (t *Tokens) among(hash []byte) (found partners.InternalToken, ok bool) {
	now := time.Now()
	for _, each := range t.active {
		if each.Is(hash) && each.State(now) == "active" {
			found, ok = each, true
		}
	}
	return found, ok
}

// forget makes the next request read the tokens again.
func (t *Tokens) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.readAt = time.Time{}
}

// Run stores every 10 s when tokens were last used, and the rest when ctx ends.
func (t *Tokens) Run(ctx context.Context) { repeat(ctx, tokenUseEvery, t.noteUse) }

func (t *Tokens) noteUse(ctx context.Context) {
	t.mu.Lock()
	used := t.used
	t.used = map[string]time.Time{}
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tokenUseEvery)
	defer cancel()
	for id, at := range used {
		if err := t.store.NoteTokenUse(ctx, id, at); err != nil {
			t.log.Warn("when a token was last used was not stored", "token", id, "error", err)
		}
	}
}

// caller is who a request's token stands for.
type caller struct {
	actor  string // as the audit log names them
	scopes []partners.TokenScope
}

type callerKey struct{}

// callerOf is who r comes from.
func callerOf(r *http.Request) caller {
	c, _ := r.Context().Value(callerKey{}).(caller)
	return c
}

// findToken tells the token of the configuration, which has every scope, and
// those of the ledger apart from all others.
func (a *Internal) findToken() web.TokenFinder {
	configured := sha256.Sum256([]byte(a.Token))
	return func(ctx context.Context, value string) (context.Context, bool, error) {
		have := sha256.Sum256([]byte(value))
		if a.Token != "" && subtle.ConstantTimeCompare(have[:], configured[:]) == 1 {
			return context.WithValue(ctx, callerKey{}, caller{"api", partners.TokenScopes}), true, nil
		}
		t, ok, err := a.Tokens.find(ctx, value)
		return context.WithValue(ctx, callerKey{}, caller{t.Actor(), t.Scopes}), ok, err
	}
}

// within lets in callers that have the scope of a route.
func (a *Internal) within(rt route) web.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		if c := callerOf(r); !slices.Contains(c.scopes, rt.scope) {
			a.Web.AuthFailed("internal", reasonScope)
			return &webhook.Error{Kind: webhook.KindForbidden, Message: "this needs a token with the scope " + string(rt.scope)}
		}
		return rt.handle(w, r)
	}
}
