// Package partners holds the accounts of the payment company's partners: their
// keys, secrets and settings, and the rules these obey.
package partners

import (
	"regexp"
	"time"

	"ledgerhook/webhook"
)

// Partner is one account. Sealed fields are encrypted under the master key.
type Partner struct {
	Code         string // 1 to 32 of A-Z a-z 0-9 _ -
	Name         string
	Disabled     bool
	PublicKey    []byte // PEM; verifies the partner's requests
	OldPublicKey []byte // the one before, valid until OldKeyUntil
	OldKeyUntil  time.Time
	SealedSecret []byte // secretKey, only ever inside signing strings
	Settings     Settings
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

// KeyOverlap is how long a replaced public key still verifies.
const KeyOverlap = 24 * time.Hour

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
