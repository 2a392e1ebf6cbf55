package signer

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

type standardVectors struct {
	Symmetric []struct {
		Name      string
		Secret    string
		KeyHex    string `json:"key_hex"`
		ID        string `json:"msg_id"`
		Timestamp int64
		Body      string
		Signature string
	}
	Negative struct {
		Secret    string
		ID        string `json:"msg_id"`
		Timestamp int64
		Cases     []struct {
			Name, Expect, Body, Header, Drop string
			ID                               string `json:"msg_id"`
			Timestamp                        string
			Now                              int64
		}
	} `json:"negative_cases"`
	Secrets []struct {
		Secret string
		OK     any
		Why    string
	}
}

func readStandard(t testing.TB) standardVectors {
	t.Helper()
	v := readVectors[standardVectors](t, "standard_webhooks.json")
	if len(v.Symmetric) < 6 || len(v.Negative.Cases) < 13 || len(v.Secrets) < 8 {
		t.Fatal("standard_webhooks.json is not what it was")
	}
	return v
}

func standardHeaders(id, timestamp, signature string) http.Header {
	h := make(http.Header)
	h.Set(HeaderID, id)
	h.Set(HeaderTimestamp, timestamp)
	h.Set(HeaderSignature, signature)
	return h
}

func TestStandardSignaturesAreTheVectors(t *testing.T) {
	for _, s := range readStandard(t).Symmetric {
		if key, err := ParseWebhookSecret(s.Secret); err != nil || hex.EncodeToString(key) != s.KeyHex {
			t.Errorf("%s: the key is %x, %v", s.Name, key, err)
		}
		at := time.Unix(s.Timestamp, 999_999_999)
		got, err := StandardSignature([]string{s.Secret}, s.ID, at, []byte(s.Body))
		if err != nil || got != s.Signature {
			t.Errorf("%s: signed as %s, %v", s.Name, got, err)
		}
		h := standardHeaders(s.ID, strconv.FormatInt(s.Timestamp, 10), s.Signature)
		if err := VerifyStandard([]string{s.Secret}, h, []byte(s.Body), at); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}

func TestVerifyStandardTakesOnlyWhatWasSigned(t *testing.T) {
	v := readStandard(t).Negative
	goodBody, goodHeader := v.Cases[3].Body, v.Cases[3].Header
	for _, c := range v.Cases {
		h := standardHeaders(first(c.ID, v.ID), first(c.Timestamp, fmt.Sprint(v.Timestamp)), first(c.Header, goodHeader))
		h.Del(c.Drop)
		now := c.Now
		if now == 0 {
			now = v.Timestamp
		}
		err := VerifyStandard([]string{v.Secret}, h, []byte(first(c.Body, goodBody)), time.Unix(now, 0))
		if (err == nil) != (c.Expect == "accept") {
			t.Errorf("%s: %v; want %s", c.Name, err, c.Expect)
		}
		if err != nil && !errors.Is(err, ErrSignature) {
			t.Errorf("%s: %v is not an ErrSignature", c.Name, err)
		}
	}
	for _, timestamp := range []string{"-1", "+1700000000", " 1700000000", "1e9", "9223372036854775808", "-9223372036854775808"} {
		h := standardHeaders(v.ID, timestamp, goodHeader)
		if err := VerifyStandard([]string{v.Secret}, h, []byte(goodBody), time.Unix(v.Timestamp, 0)); !errors.Is(err, ErrSignature) {
			t.Errorf("timestamp %q: %v", timestamp, err)
		}
	}
}

func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

func TestOnlySecretsEveryLibraryReadsAreTaken(t *testing.T) {
	for _, s := range readStandard(t).Secrets {
		_, err := ParseWebhookSecret(s.Secret)
		if (err == nil) != (s.OK == true) {
			t.Errorf("%s: %v; want %v, %s", s.Secret, err, s.OK, s.Why)
		}
	}
	for _, secret := range []string{
		"whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRY=",       // 23 bytes
		"whsec_" + strings.Repeat("AAAA", 21) + "AAA=", // 65 bytes
		"whsec_AAECAwQFBgcICQoL\nDA0ODxAREhMUFRYX",
		"whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9=", // bits after the end
		" whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX",
	} {
		if _, err := ParseWebhookSecret(secret); err == nil || strings.Contains(err.Error(), "AAEC") {
			t.Errorf("%q: %v", secret, err)
		}
	}
}

func TestNewWebhookSecret(t *testing.T) {
	a, b := NewWebhookSecret(), NewWebhookSecret()
	if a == b {
		t.Error("two secrets are the same")
	}
	if key, err := ParseWebhookSecret(a); err != nil || len(key) != 32 || !strings.HasPrefix(a, "whsec_") || !strings.HasSuffix(a, "=") {
		t.Errorf("%s: %d bytes, %v", a, len(key), err)
	}
}

// While a secret is replaced, whoever holds the old one, the new one or both
// can verify; afterwards the old one is worth nothing.
func TestRotationNeverFailsAVerifier(t *testing.T) {
	retiring, active, other := NewWebhookSecret(), NewWebhookSecret(), NewWebhookSecret()
	now := time.Unix(1_700_000_000, 0)
	body := []byte(`{}`)
	verify := func(signature string, secrets ...string) error {
		return VerifyStandard(secrets, standardHeaders("evt_1", "1700000000", signature), body, now)
	}
	during, err := StandardSignature([]string{retiring, active}, "evt_1", now, body)
	if err != nil {
		t.Fatal(err)
	}
	after, err := StandardSignature([]string{active}, "evt_1", now, body)
	if err != nil {
		t.Fatal(err)
	}
	tokens := strings.Split(during, " ")
	if len(tokens) != 2 || tokens[1] != after {
		t.Errorf("%q: want the retiring secret's token first, the active one's last", during)
	}
	for _, secrets := range [][]string{{retiring}, {active}, {retiring, active}, {other, active}} {
		if err := verify(during, secrets...); err != nil {
			t.Errorf("during: %v", err)
		}
		if err := verify(after, secrets...); (err == nil) != slices.Contains(secrets, active) {
			t.Errorf("after: %v", err)
		}
	}
	if err := verify(during, other); !errors.Is(err, ErrSignature) {
		t.Errorf("another secret: %v", err)
	}
	if err := verify("v1a,AAAA v2,BBBB v1 "+after+" v1,", active); err != nil {
		t.Errorf("tokens of other versions: %v", err)
	}
}

func TestBadSecretsAreNotBadSignatures(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for _, secrets := range [][]string{{}, {"short"}, {NewWebhookSecret(), ""}} {
		if _, err := StandardSignature(secrets, "evt_1", now, nil); err == nil {
			t.Errorf("signed with %q", secrets)
		}
	}
	err := VerifyStandard([]string{"short"}, standardHeaders("evt_1", "1700000000", "v1,x"), nil, now)
	if err == nil || errors.Is(err, ErrSignature) || strings.Contains(err.Error(), "short") {
		t.Errorf("%v", err)
	}
}

func FuzzVerifyStandard(f *testing.F) {
	v := readStandard(f).Negative
	for _, c := range v.Cases {
		f.Add(first(c.ID, v.ID), first(c.Timestamp, "1700000000"), c.Header, []byte(c.Body))
	}
	secrets := []string{v.Secret}
	f.Fuzz(func(t *testing.T, id, timestamp, signature string, body []byte) {
		now := time.Unix(v.Timestamp, 0)
		if VerifyStandard(secrets, standardHeaders(id, timestamp, signature), body, now) != nil {
			return
		}
		seconds, err := strconv.ParseInt(timestamp, 10, 64)
		if err != nil {
			t.Fatalf("accepts the timestamp %q", timestamp)
		}
		ours, err := StandardSignature(secrets, id, time.Unix(seconds, 0), body)
		if err != nil || !slices.Contains(strings.Split(signature, " "), ours) {
			t.Fatalf("accepts %q", signature)
		}
	})
}
