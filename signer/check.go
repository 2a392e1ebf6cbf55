package signer

import (
	"bytes"
	"crypto/rsa"
	"crypto/sha256"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Check is what one of the signatures of a notification that somebody kept
// came to. Of a right one, By is which of the keys or secrets made it, and
// Found what had to be undone for it, if anything; of a wrong one Found says
// why, as far as that can be told.
type Check struct {
	Right bool
	By    int
	Found Finding
	Err   error // of a wrong one: what VerifyNotification or VerifyStandard says
}

// CheckNotification is VerifyNotification with any of keys, of which there is
// at least one, and says why it fails. An RSA signature discloses what it was
// made over, so another key and other data are told apart.
func CheckNotification(keys []*rsa.PublicKey, body []byte) Check {
	c := Check{}
	for i, key := range keys {
		if c.Err = VerifyNotification(key, body); c.Err == nil {
			return Check{Right: true, By: i}
		}
	}
	text, signature, err := signedData(body)
	if err != nil {
		c.Found = unsigned(err)
		return c
	}
	for _, key := range keys {
		digest, fault := signedDigest(key, signature)
		if fault.None() && digest != sha256.Sum256(text) {
			fault = found(foundOtherData)
		}
		if c.Found.None() || c.Found.Text == foundOtherKey {
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
// leaves it, is taken away if that helps.
func CheckStandard(secrets []string, h http.Header, body []byte) Check {
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
		if canonical, err := transform(trimmed); err == nil && VerifyStandard(secrets, h, canonical, sent) == nil {
			c.Found = rewritten(trimmed, canonical)
		}
	}
	return c
}

// rewritten says how a body differs from its canonical form, which is how it
// was sent.
func rewritten(body, sent []byte) Finding {
	here, there := slices.Collect(texts(body)), slices.Collect(texts(sent))
	if slices.Equal(here, there) {
		return found(foundAddedBlanks)
	}
	slices.Sort(here)
	slices.Sort(there)
	if slices.Equal(here, there) {
		return found(foundOtherOrder)
	}
	for number := range numbers(body) {
		if slices.Contains(there, number) {
			continue
		}
		if canonical, err := transform([]byte(number)); err == nil {
			return found(foundOtherNumber, string(canonical), number)
		}
	}
	return found(foundOtherEscape)
}

// texts yields the tokens of a document as texts.
func texts(document []byte) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for token := range tokens(document) {
			if !yield(string(token)) {
				return
			}
		}
	}
}
