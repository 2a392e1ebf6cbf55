package partners

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"ledgerhook/signer"
	"ledgerhook/webhook"
)

// The lives of tokens.
const (
	AccessLife   = time.Hour
	RefreshLife  = 30 * 24 * time.Hour // of a family, however often it is refreshed
	RefreshIdle  = 7 * 24 * time.Hour  // of a refresh token that is not used
	RefreshGrace = 30 * time.Second    // in which a used refresh token answers again
)

const (
	tokenSize    = 32 // random bytes of a token
	familyPrefix = "fam_"
)

// Pair is what a partner gets: two opaque tokens of 256 bits, base64url. The
// ends have whole seconds.
type Pair struct {
	Access, Refresh string
	AccessExpires   time.Time
	RefreshExpires  time.Time // with its family; a refresh token ends sooner when it is left unused for RefreshIdle
}

// Family is one sign-in: the refresh tokens that follow from each other. Of
// every token only the SHA-256 is known.
type Family struct {
	ID           string // fam_…
	User         User
	ExpiresAt    time.Time // the end of all its refresh tokens
	RevokedAt    time.Time // zero: never
	Current      []byte    // the newest refresh token
	CurrentUntil time.Time // when it ends unused
	Previous     []byte    // the one it came from; empty: it is the first
	RotatedAt    time.Time // when it took that one's place
	SealedPair   []byte    // the newest pair, while the one before may ask for it again
}

// Issued are the hashes of a new pair, to be stored with its family.
type Issued struct {
	Access, Refresh []byte
	AccessExpires   time.Time
}

// SealPurpose binds a sealed pair to its family.
func (f Family) SealPurpose() string { return "token-pair/" + f.ID }

// EndsAt is when nothing of the family is good for anything any more.
func (f Family) EndsAt() time.Time { return f.CurrentUntil.Add(AccessLife) }

// verdict is what is to be done about a refresh token.
type verdict int

const (
	refuse verdict = iota
	rotate         // give the next pair
	repeat         // give the newest pair again
	revoke         // a token was used twice: one of the two holders is a thief
)

// decide says what becomes of a refresh token of the family.
func (f *Family) decide(hash []byte, now time.Time) verdict {
	switch {
	case !f.RevokedAt.IsZero():
		return refuse
	case bytes.Equal(hash, f.Current):
		if now.Before(f.CurrentUntil) {
			return rotate
		}
		return refuse
	case bytes.Equal(hash, f.Previous) && now.Before(f.RotatedAt.Add(RefreshGrace)):
		return repeat
	default:
		return revoke
	}
}

// next gives the family a new pair.
func (f *Family) next(now time.Time) (Pair, Issued) {
	now = now.UTC().Truncate(time.Second)
	pair := Pair{Access: newToken(), Refresh: newToken(), AccessExpires: now.Add(AccessLife), RefreshExpires: f.ExpiresAt}
	issued := Issued{Access: hashToken(pair.Access), Refresh: hashToken(pair.Refresh), AccessExpires: pair.AccessExpires}
	f.Previous, f.Current = f.Current, issued.Refresh
	f.CurrentUntil = now.Add(RefreshIdle)
	if f.ExpiresAt.Before(f.CurrentUntil) {
		f.CurrentUntil = f.ExpiresAt
	}
	return pair, issued
}

// AccessToken is what is remembered of an access token.
type AccessToken struct {
	User      User
	ExpiresAt time.Time
	RevokedAt time.Time // when its family was revoked; zero: never
}

// TokenStore remembers tokens by their hashes.
type TokenStore interface {
	// AddFamily stores a family with its first pair.
	AddFamily(ctx context.Context, f Family, first Issued) error
	// AlterFamily runs change on the family of a refresh token under its lock
	// and stores what it left and issued, nothing if it fails. It reports
	// whether there is such a token.
	AlterFamily(ctx context.Context, refresh []byte, change func(*Family) (*Issued, error)) (found bool, err error)
	// AccessToken finds an access token.
	AccessToken(ctx context.Context, access []byte) (t AccessToken, found bool, err error)
}

// Tokens issues, refreshes and checks tokens.
type Tokens struct {
	store TokenStore
	box   *signer.Box
	log   *slog.Logger
}

// NewTokens returns tokens that are remembered in store. What must be told
// again within RefreshGrace is sealed in box until then.
func NewTokens(store TokenStore, box *signer.Box, log *slog.Logger) *Tokens {
	return &Tokens{store, box, log}
}

// Issue starts a new family for the user.
func (t *Tokens) Issue(ctx context.Context, u User) (Pair, error) {
	now := time.Now()
	f := Family{ID: webhook.NewID(familyPrefix), User: u, ExpiresAt: now.UTC().Truncate(time.Second).Add(RefreshLife)}
	pair, issued := f.next(now)
	if err := t.store.AddFamily(ctx, f, issued); err != nil {
		return Pair{}, fmt.Errorf("issue tokens: %w", err)
	}
	return pair, nil
}

// Refresh gives the pair that follows a refresh token of the partner; ok is
// false where the token is not good. Within RefreshGrace the token gives the
// same pair again, since an answer may be lost. Any later use of it, or of an
// older one, revokes the whole family.
func (t *Tokens) Refresh(ctx context.Context, partnerCode, token string) (pair Pair, ok bool, err error) {
	hash := hashToken(token)
	_, err = t.store.AlterFamily(ctx, hash, func(f *Family) (issued *Issued, err error) {
		if f.User.PartnerCode != partnerCode {
			return nil, nil
		}
		now := time.Now()
		switch f.decide(hash, now) {
		case rotate:
			var next Issued
			pair, next = f.next(now)
			f.RotatedAt, f.SealedPair = now, t.seal(*f, pair)
			ok, issued = true, &next
		case repeat:
			if len(f.SealedPair) > 0 { // else a process whose clock is ahead has swept it away
				pair, err = t.open(*f)
				ok = err == nil
			}
		case revoke:
			f.RevokedAt, f.SealedPair = now, nil
			t.log.Warn("a refresh token was reused: its family is revoked", "partner", partnerCode, "family", f.ID)
		}
		return issued, err
	})
	if err != nil {
		return Pair{}, false, fmt.Errorf("refresh tokens: %w", err)
	}
	return pair, ok, nil
}

// Holder returns whose access token this is; ok is false where it is not good.
func (t *Tokens) Holder(ctx context.Context, token string) (u User, ok bool, err error) {
	known, found, err := t.store.AccessToken(ctx, hashToken(token))
	if err != nil {
		return User{}, false, fmt.Errorf("check an access token: %w", err)
	}
	return known.User, found && known.RevokedAt.IsZero() && time.Now().Before(known.ExpiresAt), nil
}

func newToken() string { return base64.RawURLEncoding.EncodeToString(randomBytes(tokenSize)) }

func hashToken(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// keptPair is the form of a pair inside its seal.
type keptPair struct {
	Access, Refresh               string
	AccessExpires, RefreshExpires int64 // seconds since 1970
}

func (t *Tokens) seal(f Family, p Pair) []byte {
	plain, err := json.Marshal(keptPair{p.Access, p.Refresh, p.AccessExpires.Unix(), p.RefreshExpires.Unix()})
	if err != nil {
		panic(err) // strings and numbers always have a JSON form
	}
	return t.box.Seal(f.SealPurpose(), plain)
}

// open opens the pair that the family keeps.
func (t *Tokens) open(f Family) (Pair, error) {
	plain, err := t.box.Open(f.SealPurpose(), f.SealedPair)
	if err != nil {
		return Pair{}, fmt.Errorf("open the pair of %s: %w", f.ID, err)
	}
	var k keptPair
	if err := json.Unmarshal(plain, &k); err != nil {
		return Pair{}, fmt.Errorf("read the pair of %s: %w", f.ID, err)
	}
	return Pair{k.Access, k.Refresh, time.Unix(k.AccessExpires, 0).UTC(), time.Unix(k.RefreshExpires, 0).UTC()}, nil
}
