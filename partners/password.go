package partners

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"

	"ledgerhook/webhook"
)

// The lengths of a password, in characters. What it is made of is free: rules
// on that make passwords worse (NIST SP 800-63B).
const (
	MinPassword = 8
	MaxPassword = 200
)

// commonPasswords are those of at least MinPassword characters that are tried
// first everywhere.
var commonPasswords = map[string]bool{
	"password": true, "password1": true, "password123": true, "passw0rd": true, "p@ssw0rd": true, "qwertyui": true,
	"qwerty123": true, "qwertyuiop": true, "1q2w3e4r": true, "1qaz2wsx": true, "iloveyou": true, "sunshine": true,
	"princess": true, "football": true, "baseball": true, "superman": true, "trustno1": true, "welcome1": true,
	"changeme": true, "letmein1": true, "admin123": true, "administrator": true, "abcd1234": true, "abc12345": true,
}

// CheckNewPassword returns an Invalid error that says what a new password of
// username must be like.
func CheckNewPassword(username, password string) error {
	lower := strings.ToLower(password)
	n := utf8.RuneCountInString(password)
	switch {
	case !utf8.ValidString(password) || n < MinPassword || n > MaxPassword:
		return webhook.Invalid("password", fmt.Sprintf("must be %d to %d characters", MinPassword, MaxPassword))
	case commonPasswords[lower] || monotone(lower):
		return webhook.Invalid("password", "must not be one that everybody tries first, such as 12345678: choose a few words")
	case username != "" && strings.Trim(lower, "0123456789!.-_ ") == strings.ToLower(username):
		return webhook.Invalid("password", "must be more than the username")
	}
	return nil
}

// monotone reports whether every character follows from the one before in the
// same way: 11111111, 12345678, hgfedcba.
func monotone(s string) bool {
	runes := []rune(s)
	for i := 2; i < len(runes); i++ {
		if step := runes[1] - runes[0]; runes[i]-runes[i-1] != step || step < -1 || step > 1 {
			return false
		}
	}
	return true
}

// The cost of one hash: 19 MiB and two passes (OWASP's first choice), about
// 40 ms of one core.
const (
	argonMemory = 19 * 1024 // KiB
	argonPasses = 2
	argonLanes  = 1
	argonSize   = 32
)

// Passwords computes and checks hashes, a few at once and with pauses, so that
// a flood of sign-ins takes neither all memory nor all cores from deliveries.
// It is safe for concurrent use.
type Passwords struct {
	slots  chan struct{}
	pauses int
}

// NewPasswords returns one that computes n hashes at once, and after each
// leaves its core alone for pauses times as long as it took, 500 ms at most:
// with 9 a flood takes a tenth of n cores. Nobody who has their hash
// waits for the pause.
func NewPasswords(n, pauses int) *Passwords {
	return &Passwords{make(chan struct{}, n), pauses}
}

// maxPause bounds a pause: on a machine that is busy with other things a hash
// takes long.
const maxPause = 500 * time.Millisecond

func (p *Passwords) argon(ctx context.Context, password string, salt []byte, memory, passes uint32, lanes uint8, size uint32) ([]byte, error) {
	select {
	case p.slots <- struct{}{}:
		defer p.leave(time.Now())
	case <-ctx.Done():
		return nil, fmt.Errorf("wait to check a password: %w", ctx.Err())
	}
	return argon2.IDKey([]byte(password), salt, passes, memory, lanes, size), nil
}

// leave gives the place of a hash that began at began back after its pause.
func (p *Passwords) leave(began time.Time) {
	if p.pauses == 0 {
		<-p.slots
		return
	}
	time.AfterFunc(min(maxPause, time.Duration(p.pauses)*time.Since(began)), func() { <-p.slots })
}

// HashPassword is Passwords.Hash without anybody else to wait for.
func HashPassword(ctx context.Context, password string) (string, error) {
	return NewPasswords(1, 0).Hash(ctx, password)
}

// Hash returns what is kept of a password: argon2id in its usual text form. It
// fails only when ctx ends while other hashes are computed.
func (p *Passwords) Hash(ctx context.Context, password string) (string, error) {
	salt := randomBytes(saltSize)
	key, err := p.argon(ctx, password, salt, argonMemory, argonPasses, argonLanes, argonSize)
	if err != nil {
		return "", err
	}
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonPasses, argonLanes,
		b64.EncodeToString(salt), b64.EncodeToString(key)), nil
}

// decoyHash is compared with where nobody is known, so that it takes as long.
var decoyHash = sync.OnceValue(func() string {
	hash, err := HashPassword(context.Background(), newToken())
	if err != nil {
		panic(err) // nothing ends a background context
	}
	return hash
})

// Check reports whether password is the one that hash was made of. An
// empty hash is that of nobody: the same work is done and the answer is no.
func (p *Passwords) Check(ctx context.Context, hash, password string) (bool, error) {
	known := hash != ""
	if decoy := decoyHash(); !known {
		hash = decoy
	}
	if len(password) > MaxPassword*utf8.UTFMax {
		password = ""
	}
	var version int
	var memory, passes uint32
	var lanes uint8
	var rest string
	_, err := fmt.Sscanf(hash, "$argon2id$v=%d$m=%d,t=%d,p=%d$%s", &version, &memory, &passes, &lanes, &rest)
	saltText, keyText, found := strings.Cut(rest, "$")
	salt, saltErr := base64.RawStdEncoding.DecodeString(saltText)
	key, keyErr := base64.RawStdEncoding.DecodeString(keyText)
	if err != nil || !found || saltErr != nil || keyErr != nil || version != argon2.Version || len(key) == 0 {
		return false, errors.New("a stored password hash is not argon2id of this version")
	}
	got, err := p.argon(ctx, password, salt, memory, passes, lanes, uint32(len(key)))
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(got, key) == 1 && known, nil
}
