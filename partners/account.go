package partners

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"ledgerhook/signer"
	"ledgerhook/webhook"
)

// maxText is how long names, descriptions and reasons may be, in characters.
const maxText = 200

// CheckText checks a name, a description or a reason: at most 200 characters,
// none of them a control character. field is named in the error.
func CheckText(field, s string) error {
	if utf8.RuneCountInString(s) > maxText {
		return webhook.Invalid(field, fmt.Sprintf("must be at most %d characters", maxText))
	}
	if !utf8.ValidString(s) {
		return webhook.Invalid(field, "must be text in UTF-8")
	}
	for _, c := range s {
		if c < 0x20 || c == 0x7f {
			return webhook.Invalid(field, "must not hold control characters")
		}
	}
	return nil
}

// CheckReason is CheckText for a reason that has to be given: a blank one is
// none.
func CheckReason(field, s string) error {
	if strings.TrimSpace(s) == "" {
		return webhook.Invalid(field, "is required: say why, for the audit log")
	}
	return CheckText(field, s)
}

// ReadPublicKey checks a partner's public key and returns it in its one PEM
// form; an error is Invalid and names the field /publicKey.
func ReadPublicKey(pem string) ([]byte, error) {
	if pem == "" {
		return nil, webhook.Invalid("/publicKey", "is required: the partner's RSA public key in PEM")
	}
	key, err := signer.ParsePublicKey([]byte(pem))
	if wrong, ok := errors.AsType[*signer.FieldError](err); ok {
		return nil, webhook.Invalid("/publicKey", wrong.Detail)
	}
	if err != nil {
		return nil, webhook.Invalid("/publicKey", err.Error())
	}
	return signer.PublicPEM(key), nil
}

// Account is a new partner with its first webhook secret, and the values that
// are shown once and kept sealed only.
type Account struct {
	Partner       Partner
	First         Secret // active
	SecretKey     string
	WebhookSecret string
}

// NewAccount makes an account with the default settings, to be stored. The
// code, the name (empty: the code) and the public key in PEM are checked; what
// is wrong is Invalid.
func NewAccount(box *signer.Box, code, name, publicKey string, now time.Time) (a Account, err error) {
	if err := CheckCode(code); err != nil {
		return a, err
	}
	if err := CheckText("/name", name); err != nil {
		return a, err
	}
	pem, err := ReadPublicKey(publicKey)
	if err != nil {
		return a, err
	}
	a.Partner = Partner{Code: code, Name: cmp.Or(name, code), PublicKey: pem, Settings: DefaultSettings(), CreatedAt: now}
	a.SecretKey = rand.Text() + rand.Text()
	a.Partner.SealedSecret = box.Seal(a.Partner.SealPurpose(), []byte(a.SecretKey))
	a.First, a.WebhookSecret = NewSecret(box, code, now)
	a.First.State, a.First.ActivatedAt = SecretActive, now
	return a, nil
}

// NewSecret makes a pending webhook secret of a partner and returns its value
// beside, which is kept nowhere else.
func NewSecret(box *signer.Box, code string, now time.Time) (Secret, string) {
	value := signer.NewWebhookSecret()
	s := Secret{ID: webhook.NewID(webhook.SecretPrefix), PartnerCode: code, State: SecretPending, CreatedAt: now}
	s.Sealed = box.Seal(s.SealPurpose(), []byte(value))
	return s, value
}
