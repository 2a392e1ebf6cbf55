package signer

import (
	"context"
	"crypto/rsa"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// kept is a notification as its receiver kept it, with the secret that signed it.
func kept(t *testing.T) (h http.Header, body, secret string) {
	t.Helper()
	data := []byte(`{"amount":1.5,"id":"tp_1","note":"a/é<b>","status":"Completed"}`)
	signature, err := vectorKey(t, "service").Sign(data)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := Notification{WebhookType: "TopupCard", Success: true, Data: data}.Body(signature)
	if err != nil {
		t.Fatal(err)
	}
	secret, sent := NewWebhookSecret(), time.Unix(1700000000, 0)
	tokens, err := StandardSignature([]string{secret}, "evt_1", sent, raw)
	if err != nil {
		t.Fatal(err)
	}
	h = http.Header{}
	h.Set(HeaderID, "evt_1")
	h.Set(HeaderTimestamp, strconv.FormatInt(sent.Unix(), 10))
	h.Set(HeaderSignature, tokens)
	return h, string(raw), secret
}

// A developer who has a notification that does not verify is told what
// happened to it, by each signature.
func TestWhatHappenedToANotificationIsTold(t *testing.T) {
	h, body, secret := kept(t)
	gateway, other := vectorKey(t, "service").Public(), anotherKey().Public()
	spread := strings.ReplaceAll(body, `,"`, `, "`)
	moved := `{"webhookType":"TopupCard",` + strings.Replace(body[1:], `,"webhookType":"TopupCard"`, "", 1)
	for _, test := range []struct {
		name, body    string
		rsa, standard string // what is said; "right": nothing
	}{
		{"as it came", body, "right", "right"},
		{"a line end after it", body + "\r\n", "right", "right without the line end"},
		{"printed with white space", spread, "right", "white space was added between"},
		{"printed by another program", strings.Replace(body, "1.5", "1.50", 1), "right", "the number 1.5 is written as 1.50"},
		{"in another order", moved, "right", "another order"},
		{"escaped", strings.Replace(body, "é", `\u00e9`, 1), "right", "escaped differently"},
		{"a changed amount", strings.Replace(body, "1.5", "9.5", 1), "the key is right, but data is not", "another secret signed, or the body"},
		{"trimmed text", strings.Replace(body, "<b>", "", 1), "the key is right, but data is not", "another secret signed, or the body"},
		{"cut", body[:len(body)-9], "not strict JSON", "another secret signed, or the body"},
		{"an array", `{"data":[]}`, "no object data", "another secret signed, or the body"},
		{"without a signature", `{"data":{"id":"1"}}`, "carries no signature", "another secret signed, or the body"},
		{"with two", `{"data":{"signature":"a"},"signature":"b"}`, "two signatures", "another secret signed, or the body"},
		{"no base64", `{"data":{"signature":"!"}}`, "not base64", "another secret signed, or the body"},
		{"a cut signature", `{"data":{"signature":"aGk="}}`, "has 2 bytes", "another secret signed, or the body"},
		{"binary", "{\x00\xff", "not strict JSON", "another secret signed, or the body"},
	} {
		for by, keys := range [][]*rsa.PublicKey{{gateway}, {other, gateway}} {
			told(t, test.name+" by RSA", CheckNotification(t.Context(), keys, []byte(test.body)), test.rsa, by)
		}
		told(t, test.name+" by secret", CheckStandard(t.Context(), []string{NewWebhookSecret(), secret}, h, []byte(test.body)), test.standard, 1)
	}
	told(t, "another key", CheckNotification(t.Context(), []*rsa.PublicKey{other}, []byte(body)), "another key signed", 0)
	told(t, "another secret", CheckStandard(t.Context(), []string{NewWebhookSecret()}, h, []byte(body)), "another secret signed", 0)
	for name, change := range map[string]struct{ header, value, says string }{
		"no id":            {HeaderID, "", "the header webhook-id is missing"},
		"another id":       {HeaderID, "evt_2", "webhook-id or webhook-timestamp is not what was sent"},
		"no time":          {HeaderTimestamp, "", "the header webhook-timestamp is missing"},
		"a date":           {HeaderTimestamp, "2024-01-02", "must be seconds since 1970"},
		"a time with zero": {HeaderTimestamp, "01700000000", "must be seconds since 1970"},
		"no signature":     {HeaderSignature, "", "the header webhook-signature is missing"},
		"another version":  {HeaderSignature, "v2,abc", "no token that begins with v1,"},
	} {
		changed := h.Clone()
		changed.Set(change.header, change.value)
		told(t, name, CheckStandard(t.Context(), []string{secret}, changed, []byte(body)), change.says, 0)
	}
}

func told(t *testing.T, name string, c Check, says string, by int) {
	t.Helper()
	if right := strings.HasPrefix(says, "right"); c.Right != right || right && c.By != by {
		t.Errorf("%s: %+v, want right %v by %d", name, c, right, by)
	}
	if !c.Right && !errors.Is(c.Err, ErrSignature) {
		t.Errorf("%s: the error is %v", name, c.Err)
	}
	if says == "right" && !c.Found.None() || says != "right" && !strings.Contains(c.Found.String(), says) {
		t.Errorf("%s: says %q, want %q", name, c.Found, says)
	}
}

func TestAKeptRequestIsReadWhateverItsLineEnds(t *testing.T) {
	request := "POST /hook HTTP/1.1\r\nHost: a\r\nwebhook-id: evt_1\r\nContent-Length: 2\r\n\r\n{}"
	for name, raw := range map[string]string{
		"as it came": request, "with bare line ends": strings.ReplaceAll(request, "\r\n", "\n"), "with an empty line before": "\n\n" + request, "with a line end after": request + "\n",
	} {
		got, err := ReadCapture([]byte(raw))
		if err != nil || string(got.Body) != "{}" || got.Header.Get(HeaderID) != "evt_1" || strings.TrimSpace(string(got.Rest)) != "" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for raw, want := range map[string]error{
		"hello": ErrNoRequest, request[:len(request)-1]: ErrCut, strings.Replace(request, "Content-Length: 2", "Transfer-Encoding: chunked", 1): ErrChunked,
		strings.Replace(request, "Content-Length: 2", "Content-Length: -2", 1): ErrCut,
	} {
		if _, err := ReadCapture([]byte(raw)); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", raw, err, want)
		}
	}
	if _, err := ReadCapture([]byte("POST / HTTP/1.1\r\nno header\r\n\r\n{}")); err == nil {
		t.Error("a line that is no header is read")
	}
	if got, err := ReadCapture([]byte(" {\"a\":1}")); err != nil || len(got.Header) != 0 || string(got.Body) != " {\"a\":1}" {
		t.Errorf("a body alone: %+v, %v", got, err)
	}
}

func FuzzReadCapture(f *testing.F) {
	f.Add([]byte("POST /hook HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"))
	f.Add([]byte("{}"))
	key := vectorKey(f, "service").Public()
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := ReadCapture(raw)
		if err != nil {
			return
		}
		if len(got.Body)+len(got.Rest) > len(raw) {
			t.Errorf("%d bytes of %d", len(got.Body)+len(got.Rest), len(raw))
		}
		if CheckNotification(t.Context(), []*rsa.PublicKey{key}, got.Body).Right || CheckStandard(t.Context(), []string{NewWebhookSecret()}, got.Header, got.Body).Right {
			t.Error("verifies without having been signed")
		}
	})
}

func TestARequestIsReadBeforeItIsSigned(t *testing.T) {
	unsigned := []byte(`{"partnerCode":"P1","userEmail":"a@example.com"}`)
	r, err := ReadUnsigned(OpAccessToken, unsigned)
	if err != nil || r.Candidates("k")[0] != "P1|a@example.com|k" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := ReadRequest(OpAccessToken, unsigned); err == nil {
		t.Error("a request without a signature is taken as one")
	}
	if _, err := ReadUnsigned(OpAccessToken, []byte(`{"partnerCode":"P1"}`)); err == nil {
		t.Error("what else is required may be left out")
	}
}

// steps counts how often a check asks whether it should stop, which it does
// once in a number of steps, and stops it when told.
type steps struct {
	context.Context
	made, most int // most 0: as many as it takes
}

func (s *steps) Err() error {
	if s.made++; s.most > 0 && s.made > s.most {
		return context.Canceled
	}
	return nil
}

// rewrittenBody is a notification of about n parts that all differ from what
// was sent, and headers by which it was sent in canonical form.
func rewrittenBody(t *testing.T, n int) (http.Header, []byte, string) {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{"note":"\u00e9","data":[`)
	for i := range n {
		b.WriteString(strconv.Itoa(100000+i) + ",")
	}
	b.WriteString(`0]}`)
	body := []byte(b.String())
	sent, err := Canonical(body)
	if err != nil {
		t.Fatal(err)
	}
	h, _, secret := kept(t)
	tokens, err := StandardSignature([]string{secret}, "evt_1", time.Unix(1700000000, 0), sent)
	if err != nil {
		t.Fatal(err)
	}
	h.Set(HeaderSignature, tokens)
	return h, body, secret
}

// Whoever pastes twice as much makes twice the work and not four times.
func TestWorkOfACheckGrowsWithItsBodyAndEndsWithItsRequest(t *testing.T) {
	t.Parallel()
	work := func(n int) int {
		h, body, secret := rewrittenBody(t, n)
		s := &steps{Context: t.Context()}
		if c := CheckStandard(s, []string{secret}, h, body); c.Found.Text != foundOtherEscape {
			t.Fatalf("%d parts: %+v", n, c)
		}
		return s.made
	}
	once, twice := work(10_000), work(20_000)
	if once < 100 || twice > 2*once+10 {
		t.Errorf("%d steps for a body and %d for one of twice its size", once, twice)
	}
	h, body, secret := rewrittenBody(t, 20_000)
	s := &steps{Context: t.Context(), most: twice / 2}
	if c := CheckStandard(s, []string{secret}, h, body); !errors.Is(c.Err, context.Canceled) || c.Right || s.made > twice/2+10 {
		t.Errorf("a request that ended at step %d: %+v after %d", twice/2, c, s.made)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if c := CheckNotification(ended, []*rsa.PublicKey{anotherKey().Public()}, body); !errors.Is(c.Err, context.Canceled) {
		t.Errorf("a request that had ended: %+v", c)
	}
}

func TestWhatNoNotificationCanHoldIsNotChecked(t *testing.T) {
	t.Parallel()
	h, _, secret := kept(t)
	body := []byte(`{"data":"` + strings.Repeat("x", MaxChecked) + `"}`)
	told(t, "by RSA", CheckNotification(t.Context(), []*rsa.PublicKey{anotherKey().Public()}, body), "more than the 262144", 0)
	told(t, "by secret", CheckStandard(t.Context(), []string{secret}, h, body), "more than the 262144", 0)
}

// comparedPairwise is what a check found before its work was bounded.
func comparedPairwise(body, sent []byte) Finding {
	var here, there []string
	for token := range tokens(body) {
		here = append(here, token)
	}
	for token := range tokens(sent) {
		there = append(there, token)
	}
	if slices.Equal(here, there) {
		return found(foundAddedBlanks)
	}
	slices.Sort(here)
	slices.Sort(there)
	if slices.Equal(here, there) {
		return found(foundOtherOrder)
	}
	for number := range tokens(body) {
		if !isNumber(number) || slices.Contains(there, number) {
			continue
		}
		if canonical, err := transform([]byte(number), strictness{}); err == nil {
			return found(foundOtherNumber, string(canonical), number)
		}
	}
	return found(foundOtherEscape)
}

func FuzzWhatWasRewritten(f *testing.F) {
	for _, document := range []string{`{"a": 1}`, `{"b":1,"a":1}`, `{"a":[1.50,2,1.5]}`, `{"a":"\u00e9","b":-0,"c":1e2,"d":100}`, `[1,1,2]`, `{"a":[2.0,2.00,2]}`} {
		f.Add([]byte(document))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		sent, err := transform(body, strictness{})
		if err != nil {
			return
		}
		if is, was := rewritten(t.Context(), body, sent), comparedPairwise(body, sent); !cmp.Equal(is, was) {
			t.Errorf("says %q, said %q", is, was)
		}
	})
}
