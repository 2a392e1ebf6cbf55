package partners

import (
	"crypto/hmac"
	"crypto/sha1" // what RFC 6238 and every authenticator mean by default
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"
	"time"
)

const (
	totpSize   = 20 // bytes of a secret
	totpStep   = 30 * time.Second
	totpDigits = 6
	totpSkew   = 1 // steps that a clock may be off either way
)

var secretText = base32.StdEncoding.WithPadding(base32.NoPadding)

// TOTPSecret is shared with somebody's authenticator app (RFC 6238: SHA-1,
// 30 seconds, 6 digits).
type TOTPSecret []byte

// NewTOTPSecret returns a new secret of 160 bits.
func NewTOTPSecret() TOTPSecret { return randomBytes(totpSize) }

// String is the secret as it is typed into an app: base32.
func (s TOTPSecret) String() string { return secretText.EncodeToString(s) }

// ParseTOTPSecret reads what String wrote; ok is false where it did not.
func ParseTOTPSecret(text string) (s TOTPSecret, ok bool) {
	b, err := secretText.DecodeString(text)
	return b, err == nil && len(text) == secretText.EncodedLen(totpSize)
}

// URL is what the QR code for an app holds.
func (s TOTPSecret) URL(issuer, account string) string {
	return "otpauth://totp/" + url.PathEscape(issuer) + ":" + url.PathEscape(account) +
		"?secret=" + s.String() + "&issuer=" + url.QueryEscape(issuer)
}

// SealPurpose binds a sealed TOTP secret to its person.
func (p Person) SealPurpose() string { return "totp/" + p.ID }

// code is the code of a step, as defined by RFC 4226.
func (s TOTPSecret) code(step int64) string {
	mac := hmac.New(sha1.New, s)
	_ = binary.Write(mac, binary.BigEndian, uint64(step))
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0x0f
	n := binary.BigEndian.Uint32(sum[offset:]) & 0x7fffffff
	return fmt.Sprintf("%0*d", totpDigits, n%1_000_000)
}

// Code is the code that an app shows at t.
func (s TOTPSecret) Code(t time.Time) string { return s.code(stepAt(t)) }

func stepAt(t time.Time) int64 { return t.Unix() / int64(totpStep/time.Second) }

// Check returns the step whose code guess is, one step around now. used is
// the newest step that was ever accepted: it and those before it are not
// accepted again (RFC 6238, 5.2).
func (s TOTPSecret) Check(guess string, now time.Time, used int64) (step int64, ok bool) {
	guess = strings.ReplaceAll(guess, " ", "")
	current := stepAt(now)
	for n := current - totpSkew; n <= current+totpSkew; n++ {
		if subtle.ConstantTimeCompare([]byte(s.code(n)), []byte(guess)) == 1 && n > used {
			step, ok = n, true
		}
	}
	return step, ok
}

const (
	recoveryCodes = 10
	recoverySize  = 10 // bytes: 80 bits, 16 characters
)

// NewRecoveryCodes returns ten codes, each of which takes the place of the
// app once, and their hashes.
func NewRecoveryCodes() (codes []string, hashes [][]byte) {
	for range recoveryCodes {
		text := strings.ToLower(secretText.EncodeToString(randomBytes(recoverySize)))
		codes = append(codes, text[:4]+"-"+text[4:8]+"-"+text[8:12]+"-"+text[12:])
		hashes = append(hashes, hashToken(text))
	}
	return codes, hashes
}

// HashRecoveryCode is the hash of a code as somebody typed it: dashes, blanks
// and case do not matter.
func HashRecoveryCode(typed string) []byte {
	return hashToken(strings.ToLower(strings.NewReplacer("-", "", " ", "").Replace(typed)))
}
