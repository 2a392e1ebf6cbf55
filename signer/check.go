package signer

import (
	"bytes"
	"context"
	"crypto/rsa"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxChecked is the largest body that is checked, in bytes: no notification is
// larger than what may come in.
const MaxChecked = 256 << 10

// Check is what one of the signatures of a notification that somebody kept
// came to. Of a right one, By is which of the keys or secrets made it, and
// Found what had to be undone for it, if anything; of a wrong one Found says
// why, as far as that can be told.
type Check struct {
	Right bool
	By    int
	Found Finding
	Err   error // of a wrong one: what VerifyNotification or VerifyStandard says, or why the check stopped
}

// checkable returns a Check that says why body is not looked at: ctx has ended,
// or it is larger than MaxChecked.
func checkable(ctx context.Context, body []byte) (c Check, ok bool) {
	if err := ctx.Err(); err != nil {
		return Check{Err: err}, false
	}
	if len(body) > MaxChecked {
		c.Found = found(foundTooLarge, len(body), MaxChecked)
		c.Err = fmt.Errorf("%w: %s", ErrSignature, c.Found)
		return c, false
	}
	return c, true
}

// CheckNotification is VerifyNotification with any of keys, of which there is
// at least one, and says why it fails. An RSA signature discloses what it was
// made over, so another key and other data are told apart. A body above
// MaxChecked is refused, and Err is that of ctx once it has ended.
func CheckNotification(ctx context.Context, keys []*rsa.PublicKey, body []byte) Check {
	c, ok := checkable(ctx, body)
	if !ok {
		return c
	}
	text, signature, err := signedData(body)
	if err != nil {
		return Check{Found: unsigned(err), Err: fmt.Errorf("%w: %w", ErrSignature, err)}
	}
	for i, key := range keys {
		if c.Err = Verify(key, text, signature); c.Err == nil {
			return Check{Right: true, By: i}
		}
		digest, fault := signedDigest(key, signature)
		if fault.None() && digest != sha256.Sum256(text) {
			fault = found(foundOtherData)
		}
		// A key that is not the right one may seem to find a padding by chance.
		if c.Found.None() || c.Found.Text == foundOtherKey || fault.Text == foundOtherData {
			c.Found = fault
		}
	}
	return c
}

// unsigned says why a body has no signature that could be checked.
func unsigned(err error) Finding {
	var f *FieldError
	switch {
	case !errors.As(err, &f) || f.Reason == Malformed:
		return found(foundNoJSON)
	case f.Field == "data":
		return found(foundNoNote)
	case f.Reason == Missing:
		return found(foundNoRSA)
	}
	return found(foundTwoRSA)
}

// SentAt is the moment that the headers of a notification name, false if they
// name none.
func SentAt(h http.Header) (time.Time, bool) {
	seconds, err := strconv.ParseInt(h.Get(HeaderTimestamp), 10, 64)
	return time.Unix(seconds, 0), err == nil
}

// CheckStandard is VerifyStandard at the moment that the notification says it
// was sent, and says why it fails. A line end after the body, as an editor
// leaves it, is taken away if that helps. A body above MaxChecked is refused,
// and Err is that of ctx once it has ended.
func CheckStandard(ctx context.Context, secrets []string, h http.Header, body []byte) Check {
	if c, ok := checkable(ctx, body); !ok {
		return c
	}
	sent, ok := SentAt(h)
	if !ok {
		sent = time.Now() // no moment to go by: the check says what is missing
	}
	by, err := verifyStandard(secrets, h, body, sent)
	if err == nil {
		return Check{Right: true, By: by}
	}
	trimmed := bytes.TrimRight(body, "\r\n")
	if by, err := verifyStandard(secrets, h, trimmed, sent); err == nil {
		return Check{Right: true, By: by, Found: found(foundAddedEnd)}
	}
	c := Check{Err: err, Found: found(foundNoMatch)}
	for _, name := range []string{HeaderID, HeaderTimestamp, HeaderSignature} {
		if h.Get(name) == "" {
			c.Found = found(foundNoHeader, name)
			return c
		}
	}
	switch {
	case checkTimestamp(h.Get(HeaderTimestamp), sent) != nil:
		c.Found = found(foundNoSeconds, HeaderTimestamp)
	case !slices.ContainsFunc(strings.Fields(h.Get(HeaderSignature)), func(token string) bool { return strings.HasPrefix(token, "v1,") }):
		c.Found = found(foundNoToken)
	default:
		if canonical, err := transform(trimmed, strictness{}); err == nil && VerifyStandard(secrets, h, canonical, sent) == nil {
			if c.Found = rewritten(ctx, trimmed, canonical); ctx.Err() != nil {
				return Check{Err: ctx.Err()}
			}
		}
	}
	return c
}

// rewritten says how a body differs from its canonical form, which is how it
// was sent. It goes over the parts of each a fixed number of times, and stops
// when ctx does.
func rewritten(ctx context.Context, body, sent []byte) Finding {
	here, there := slices.Collect(until(ctx, tokens(body))), slices.Collect(until(ctx, tokens(sent)))
	if slices.Equal(here, there) {
		return found(foundAddedBlanks)
	}
	missing := make(map[string]int, len(there)) // how often a part that was sent is not here
	for part := range until(ctx, slices.Values(there)) {
		missing[part]++
	}
	same, number := len(here) == len(there), ""
	for part := range until(ctx, slices.Values(here)) {
		left, sent := missing[part]
		if number == "" && !sent && isNumber(part) {
			number = part
		}
		missing[part], same = left-1, same && left > 0
	}
	if same {
		return found(foundOtherOrder)
	}
	if canonical, err := transform([]byte(number), strictness{}); err == nil {
		return found(foundOtherNumber, string(canonical), number)
	}
	return found(foundOtherEscape)
}

// until is all until ctx ends. It asks once in 256 steps.
func until[T any](ctx context.Context, all iter.Seq[T]) iter.Seq[T] {
	return func(yield func(T) bool) {
		step := 0
		for item := range all {
			if step++; step%256 == 0 && ctx.Err() != nil || !yield(item) {
				return
			}
		}
	}
}
