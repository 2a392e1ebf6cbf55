package partners

import (
	"crypto/subtle"
	"fmt"
	"slices"
	"strings"
	"time"

	"ledgerhook/webhook"
)

// TokenScope is a part of the internal API that a token opens. None includes
// another.
type TokenScope string

const (
	ScopeIngest     TokenScope = "ingest"     // report events and what became of orders
	ScopeRead       TokenScope = "read"       // see everything that is no secret
	ScopeAdminister TokenScope = "administer" // change everything else, and make tokens of any scope
)

// TokenScopes are all scopes, in the order in which they are shown.
var TokenScopes = []TokenScope{ScopeIngest, ScopeRead, ScopeAdminister}

const (
	// InternalTokenPrefix begins the ids of internal tokens.
	InternalTokenPrefix = "tok_"
	// InternalTokenLife is how far in the future the end of a token may lie.
	InternalTokenLife = 366 * 24 * time.Hour
	// MaxInternalTokens is how many tokens may be active at a time.
	MaxInternalTokens = 100

	tokenMark    = "lht_" // begins every token, so that whoever finds one knows what it is
	shownOfToken = len(tokenMark) + 6
	maxTokenName = 64
)

// InternalToken is a bearer of the internal API beside LEDGERHOOK_TOKEN. Its
// value is shown when it is made and known by its hash alone.
type InternalToken struct {
	ID         string // tok_…
	Name       string // never given twice, so that the audit log stays unambiguous
	Shown      string // the first characters of the value
	Hash       []byte // SHA-256 of the value
	Scopes     []TokenScope
	CreatedBy  string // as the audit log names them
	CreatedAt  time.Time
	ExpiresAt  time.Time
	LastUsedAt time.Time // to the minute; zero: never
	RevokedAt  time.Time // zero: never
}

// NewInternalToken makes a token and its value, which is kept nowhere. What is
// wrong with the request is Invalid.
func NewInternalToken(name string, scopes []TokenScope, expiresAt, now time.Time) (t InternalToken, value string, err error) {
	if err := checkTokenName(name); err != nil {
		return t, "", err
	}
	if len(scopes) == 0 {
		return t, "", webhook.Invalid("/scopes", fmt.Sprintf("must name at least one of %v", TokenScopes))
	}
	for i, scope := range scopes {
		if !slices.Contains(TokenScopes, scope) {
			return t, "", webhook.Invalid(fmt.Sprintf("/scopes/%d", i), fmt.Sprintf("must be one of %v", TokenScopes))
		}
		if !slices.Contains(t.Scopes, scope) {
			t.Scopes = append(t.Scopes, scope)
		}
	}
	if !expiresAt.After(now) || expiresAt.After(now.Add(InternalTokenLife)) {
		return t, "", webhook.Invalid("/expiresAt", fmt.Sprintf("must lie in the future, at most %d days from now", InternalTokenLife/(24*time.Hour)))
	}
	value = tokenMark + newToken()
	t.ID, t.Name, t.Shown, t.Hash = webhook.NewID(InternalTokenPrefix), name, value[:shownOfToken], hashToken(value)
	t.CreatedAt, t.ExpiresAt = now, expiresAt
	return t, value, nil
}

func checkTokenName(name string) error {
	wrong := strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r))
	})
	if wrong || name == "" || len(name) > maxTokenName {
		return webhook.Invalid("/name", fmt.Sprintf("must be 1 to %d of a-z, 0-9, dot, underscore and hyphen", maxTokenName))
	}
	return nil
}

// HashInternalToken is the hash of a token that came back.
func HashInternalToken(value string) []byte { return hashToken(value) }

// Is reports whether hash is that of the token's value, in the same time for
// every hash.
func (t InternalToken) Is(hash []byte) bool { return subtle.ConstantTimeCompare(hash, t.Hash) == 1 }

// State is "active", "expired" or "revoked" at now.
func (t InternalToken) State(now time.Time) string {
	switch {
	case !t.RevokedAt.IsZero():
		return "revoked"
	case !now.Before(t.ExpiresAt):
		return "expired"
	}
	return "active"
}

// Actor is how the audit log names whoever shows the token.
func (t InternalToken) Actor() string { return TokenActor + t.Name }

// TokenActor begins the name of every internal token in the audit log.
const TokenActor = "token:"
