// Package receiver is a partner's side of the wire: it takes notifications,
// verifies their signatures and answers as it is told.
package receiver

import (
	"crypto/rsa"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"ledgerhook/signer"
)

// maxBody is the most a notification can hold: 256 KiB of data, its escapes
// and its signature.
const maxBody = 2 << 20

// Options says what a Receiver checks and how it answers.
type Options struct {
	PublicKey *rsa.PublicKey // the gateway's; nil: the RSA signature is not checked
	Secrets   []string       // the webhook secrets that count; empty: the Standard Webhooks headers are not checked

	// Answer chooses the answer to a request that verified; nil: OK. One that
	// did not verify is answered 401 without asking.
	Answer func(Received) Answer
	// Observe, if set, is told of every request when its answer is chosen and
	// before it is written. It is called by many goroutines at once.
	Observe func(Received)
}

// Answer is what a request is told, after Delay.
type Answer struct {
	Status int
	Delay  time.Duration
	Header http.Header
	Body   string
}

// OK is the answer that takes a notification.
var OK = Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: `{"success":true}`}

// Received is one request and what the checks said of it.
type Received struct {
	ID       string // webhook-id
	Type     string // webhookType of the body
	Attempt  int    // Ledgerhook-Attempt; 0 without it
	Sequence int64  // Ledgerhook-Sequence; 0 without it
	Body     []byte
	Header   http.Header
	At       time.Time // when the body had been read

	VerifiedRSA      bool  // checked, and right
	VerifiedStandard bool  // checked, and right
	Err              error // why it does not verify; nil when every check held
	Status           int   // of the answer

	// Of requests that verify; the others are not remembered.
	FirstTime bool // no request with this id came before
	SameBytes bool // the body is that of the id's first request, byte for byte
	Times     int  // how many requests with this id have come, with this one
	Nth       int  // the id is the nth distinct one
}

// Receiver is an http.Handler for notifications. It remembers the id and the
// digest of all that verified, about 200 bytes each, as long as it lives.
type Receiver struct {
	opts Options

	mu      sync.Mutex
	seen    map[string]*memory
	changed int // ids that came with different bodies
}

// memory is what is kept of an id.
type memory struct {
	digest  [sha256.Size]byte // of its first body
	nth     int
	times   int
	changed bool
}

// New returns a receiver that has seen nothing.
func New(opts Options) *Receiver {
	if opts.Answer == nil {
		opts.Answer = func(Received) Answer { return OK }
	}
	return &Receiver{opts: opts, seen: map[string]*memory{}}
}

// Seen is how many distinct webhook-ids have verified with the same bytes each
// time.
func (r *Receiver) Seen() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.seen) - r.changed
}

// ServeHTTP takes one notification.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	got := r.check(req)
	r.remember(&got)
	answer := Answer{Status: http.StatusUnauthorized}
	if got.Err == nil {
		answer = r.opts.Answer(got)
	}
	got.Status = answer.Status
	if r.opts.Observe != nil {
		r.opts.Observe(got)
	}
	if answer.Delay > 0 {
		select {
		case <-time.After(answer.Delay):
		case <-req.Context().Done():
			return
		}
	}
	for name, values := range answer.Header {
		w.Header()[http.CanonicalHeaderKey(name)] = values
	}
	w.WriteHeader(answer.Status)
	_, _ = io.WriteString(w, answer.Body) // the sender may be gone, which is its own affair
}

func (r *Receiver) check(req *http.Request) Received {
	got := Received{ID: req.Header.Get(signer.HeaderID), Header: req.Header}
	got.Attempt, _ = strconv.Atoi(req.Header.Get("Ledgerhook-Attempt"))
	got.Sequence, _ = strconv.ParseInt(req.Header.Get("Ledgerhook-Sequence"), 10, 64)
	var err error
	got.Body, err = io.ReadAll(io.LimitReader(req.Body, maxBody+1))
	got.At = time.Now()
	switch {
	case req.Method != http.MethodPost:
		got.Err = fmt.Errorf("a notification is a POST, not a %s", req.Method)
	case err != nil:
		got.Err = fmt.Errorf("read the body: %w", err)
	case len(got.Body) > maxBody:
		got.Err = fmt.Errorf("the body is longer than %d bytes", maxBody)
	case got.ID == "":
		got.Err = errors.New("the header webhook-id is missing")
	}
	if got.Err != nil {
		return got
	}
	var body struct {
		WebhookType string `json:"webhookType"`
	}
	_ = json.Unmarshal(got.Body, &body) // a body that is no JSON has no type; the checks say more
	got.Type = body.WebhookType
	r.verify(&got)
	return got
}

func (r *Receiver) verify(got *Received) {
	var rsaErr, standardErr error
	if r.opts.PublicKey != nil {
		if rsaErr = signer.VerifyNotification(r.opts.PublicKey, got.Body); rsaErr != nil {
			rsaErr = fmt.Errorf("the RSA signature: %w", rsaErr)
		}
		got.VerifiedRSA = rsaErr == nil
	}
	if len(r.opts.Secrets) > 0 {
		if standardErr = signer.VerifyStandard(r.opts.Secrets, got.Header, got.Body, got.At); standardErr != nil {
			standardErr = fmt.Errorf("the Standard Webhooks headers: %w", standardErr)
		}
		got.VerifiedStandard = standardErr == nil
	}
	got.Err = errors.Join(rsaErr, standardErr)
}

// remember completes got with what earlier requests of its id say. Requests
// that do not verify say nothing: anybody can send them.
func (r *Receiver) remember(got *Received) {
	if got.Err != nil {
		return
	}
	digest := sha256.Sum256(got.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.seen[got.ID]
	if m == nil {
		m = &memory{digest: digest, nth: len(r.seen) + 1}
		r.seen[got.ID] = m
	}
	m.times++
	got.FirstTime, got.SameBytes = m.times == 1, digest == m.digest
	got.Times, got.Nth = m.times, m.nth
	if !got.SameBytes && !m.changed {
		m.changed = true
		r.changed++
	}
}
