package signer

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers of Standard Webhooks that a notification carries.
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"
)

// Tolerance is how far a notification's timestamp may be from the receiver's
// clock, both ways.
const Tolerance = 300 * time.Second

const (
	webhookSecretPrefix  = "whsec_"
	webhookSecretSize    = 32 // bytes of a secret made here
	minWebhookSecretSize = 24 // bytes, as Standard Webhooks says
	maxWebhookSecretSize = 64
)

// NewWebhookSecret makes a webhook secret: whsec_ and the padded base64 of 32
// random bytes.
func NewWebhookSecret() string {
	var key [webhookSecretSize]byte
	rand.Read(key[:]) // never fails
	return webhookSecretPrefix + base64.StdEncoding.EncodeToString(key[:])
}

// ParseWebhookSecret returns the key of a webhook secret: standard, padded
// base64 of 24 to 64 bytes, with or without whsec_. Everything that one of the
// official libraries would read differently or not at all is refused. The
// error does not repeat the secret.
func ParseWebhookSecret(secret string) ([]byte, error) {
	text := strings.TrimPrefix(secret, webhookSecretPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || base64.StdEncoding.EncodeToString(key) != text {
		return nil, errors.New("a webhook secret is whsec_ and standard, padded base64")
	}
	if len(key) < minWebhookSecretSize || len(key) > maxWebhookSecretSize {
		return nil, fmt.Errorf("a webhook secret holds %d to %d bytes, not %d",
			minWebhookSecretSize, maxWebhookSecretSize, len(key))
	}
	return key, nil
}

// StandardSignature returns the webhook-signature of an attempt: one v1 token
// per secret in the order given, separated by one blank. The caller gives the
// retiring secret first and the active one last ("Notifications"). The
// timestamp counts in whole seconds.
func StandardSignature(secrets []string, id string, timestamp time.Time, body []byte) (string, error) {
	if len(secrets) == 0 {
		return "", errors.New("there is no webhook secret to sign with")
	}
	tokens := make([]string, len(secrets))
	for i, secret := range secrets {
		key, err := ParseWebhookSecret(secret)
		if err != nil {
			return "", fmt.Errorf("webhook secret %d of %d: %w", i+1, len(secrets), err)
		}
		tokens[i] = standardToken(key, id, strconv.FormatInt(timestamp.Unix(), 10), body)
	}
	return strings.Join(tokens, " "), nil
}

func standardToken(key []byte, id, seconds string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + seconds + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// VerifyStandard checks the Standard Webhooks headers of a notification, as
// its receiver does at time now: one token must match one of secrets, and the
// timestamp, plain digits, be within Tolerance. Comparisons take constant time.
func VerifyStandard(secrets []string, h http.Header, body []byte, now time.Time) error {
	_, err := verifyStandard(secrets, h, body, now)
	return err
}

// verifyStandard is VerifyStandard, and tells which of secrets signed.
func verifyStandard(secrets []string, h http.Header, body []byte, now time.Time) (by int, err error) {
	id, seconds, signature := h.Get(HeaderID), h.Get(HeaderTimestamp), h.Get(HeaderSignature)
	for _, header := range []struct{ name, value string }{
		{HeaderID, id}, {HeaderTimestamp, seconds}, {HeaderSignature, signature},
	} {
		if header.value == "" {
			return 0, fmt.Errorf("%w: the header %s is missing", ErrSignature, header.name)
		}
	}
	if err := checkTimestamp(seconds, now); err != nil {
		return 0, err
	}
	matched := false
	for i, secret := range secrets {
		key, err := ParseWebhookSecret(secret)
		if err != nil {
			return 0, fmt.Errorf("webhook secret %d of %d: %w", i+1, len(secrets), err)
		}
		want := []byte(standardToken(key, id, seconds, body))
		for token := range strings.SplitSeq(signature, " ") {
			if hmac.Equal([]byte(token), want) {
				by, matched = i, true
			}
		}
	}
	if !matched {
		return 0, fmt.Errorf("%w: no token of %s matches", ErrSignature, HeaderSignature)
	}
	return by, nil
}

func checkTimestamp(text string, now time.Time) error {
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 0 || strconv.FormatInt(seconds, 10) != text {
		return fmt.Errorf("%w: %s must be seconds in plain digits", ErrSignature, HeaderTimestamp)
	}
	// Whole seconds on both sides, as every library counts them; a difference
	// too far for an int64 of nanoseconds is never made.
	limit := int64(Tolerance / time.Second)
	if off := now.Unix() - seconds; off < -limit || off > limit {
		return fmt.Errorf("%w: %s is more than %d seconds from the clock", ErrSignature, HeaderTimestamp, limit)
	}
	return nil
}
