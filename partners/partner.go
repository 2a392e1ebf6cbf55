// Package partners holds the accounts of the payment company's partners: their
// keys, secrets and settings, and the rules these obey.
//
// The people who sign in, with their passwords, sessions and roles, are here as
// well: a person belongs to one partner or, as an operator, to none, and Scope
// and AuditEntry, which name both, stand between them. What letters are is said
// here, how they travel in partners/mail.
package partners

import (
	"bytes"
	"fmt"
	"regexp"
	"time"

	"ledgerhook/webhook"
)

// Partner is one account. Sealed fields are encrypted under the master key.
type Partner struct {
	Code         string // 1 to 32 of A-Z a-z 0-9 _ -
	Name         string
	Disabled     bool
	PublicKey    []byte   // PEM; verifies the partner's requests
	OldKeys      []OldKey // those before, the newest first
	SealedSecret []byte   // secretKey, only ever inside signing strings
	Settings     Settings
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

// OldKey is a public key that was replaced.
type OldKey struct {
	PEM   []byte
	Until time.Time // from when on it verifies no more
}

// KeyOverlap is how long a replaced public key still verifies.
const KeyOverlap = 24 * time.Hour

// MaxKeys is how many public keys verify a partner's requests at most.
const MaxKeys = 4

// ReplaceKey makes pem the public key; the one before verifies for KeyOverlap
// more, whatever replaces pem meanwhile. The error is a Conflict if pem is the
// public key already, or if MaxKeys verify.
func (p *Partner) ReplaceKey(pem []byte, now time.Time) error {
	if bytes.Equal(p.PublicKey, pem) {
		return webhook.Conflict("this is the partner's current key already")
	}
	old := p.ValidOldKeys(now)
	if len(old) == MaxKeys-1 {
		return webhook.Conflict(fmt.Sprintf("the key was replaced %d times within a day: wait until %s", len(old),
			old[len(old)-1].Until.UTC().Format(time.RFC3339)))
	}
	p.OldKeys = append([]OldKey{{p.PublicKey, now.Add(KeyOverlap)}}, old...)
	p.PublicKey = pem
	return nil
}

// ValidOldKeys are the replaced keys that still verify at now, the newest first.
func (p Partner) ValidOldKeys(now time.Time) (valid []OldKey) {
	for _, k := range p.OldKeys {
		if now.Before(k.Until) {
			valid = append(valid, k)
		}
	}
	return valid
}

var codePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// CheckCode returns an Invalid error unless code can be a partnerCode
// ("Signed text" of the interface decisions).
func CheckCode(code string) error {
	if !codePattern.MatchString(code) {
		return webhook.Invalid("/partnerCode", "must be 1 to 32 letters, digits, _ or -")
	}
	return nil
}

// MaxEndpoints is how many endpoints a partner may have at once.
const MaxEndpoints = 20
