package sender

import (
	"crypto/tls"
	"errors"
	"net/http/httptrace"
	"net/netip"
	"sync"
	"time"

	"ledgerhook/webhook"
)

// stage is how far an attempt has got. It never goes back.
type stage int

const (
	preparing stage = iota
	dialling
	resolving
	connecting
	securing
	waiting   // has a connection, no byte of the answer yet
	answering // has a part of the answer
)

// timeline records the stages of one attempt as net/http reports them. A dial
// may outlive its attempt, so the reports come from other goroutines, and late.
type timeline struct {
	start time.Time

	mu                sync.Mutex
	stage             stage
	dns, connect, tls span
	wrote, firstByte  time.Time
	conn              *conn // once there is one
	reused, left      bool  // the connection; and what it had left was read for an answer
	peer              peer
}

type span struct{ from, to time.Time }

func (s *span) begin() {
	if s.from.IsZero() {
		s.from = time.Now()
	}
}

// length counts what has begun and not ended until now.
func (s span) length(now time.Time) time.Duration {
	switch {
	case s.from.IsZero():
		return 0
	case s.to.IsZero():
		return now.Sub(s.from)
	}
	return s.to.Sub(s.from)
}

// dial records a report of stage s, unless the attempt has got a connection
// already: then the dial is no longer its own.
func (t *timeline) dial(s stage, record func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stage >= waiting {
		return
	}
	t.stage = max(t.stage, s)
	record()
}

func (t *timeline) hooks() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn:           func(string) { t.dial(dialling, func() {}) },
		DNSStart:          func(httptrace.DNSStartInfo) { t.dial(resolving, t.dns.begin) },
		DNSDone:           func(httptrace.DNSDoneInfo) { t.dial(resolving, func() { t.dns.to = time.Now() }) },
		ConnectStart:      func(_, addr string) { t.dial(connecting, func() { t.connect.begin(); t.setPeer(addr) }) },
		ConnectDone:       func(_, _ string, _ error) { t.dial(connecting, func() { t.connect.to = time.Now() }) },
		TLSHandshakeStart: func() { t.dial(securing, t.tls.begin) },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			t.dial(securing, func() { t.tls.to = time.Now(); t.setRefused(err) })
		},
		GotConn:              t.gotConn,
		WroteRequest:         func(httptrace.WroteRequestInfo) { t.sent() },
		GotFirstResponseByte: t.gotFirstByte,
	}
}

func (t *timeline) setPeer(addr string) {
	if ap, err := netip.ParseAddrPort(addr); err == nil {
		t.peer.address = ap.Addr().Unmap()
	}
}

// setRefused keeps what is recorded of a certificate that did not verify: it is
// often the reason.
func (t *timeline) setRefused(err error) {
	if refused, ok := errors.AsType[*tls.CertificateVerificationError](err); ok && len(refused.UnverifiedCertificates) > 0 {
		t.peer.showed(refused.UnverifiedCertificates[0])
	}
}

func (t *timeline) gotConn(info httptrace.GotConnInfo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stage = max(t.stage, waiting)
	if info.Reused {
		t.dns, t.connect, t.tls = span{}, span{}, span{}
	}
	t.conn, t.reused = info.Conn.(*conn), info.Reused
	t.conn.begin(t.reused)
	t.peer = t.conn.peer
}

func (t *timeline) sent() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wrote = time.Now()
}

func (t *timeline) gotFirstByte() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reused && t.conn.silent() { // it was read before, with the last answer
		t.left = true
		t.conn.Close()
		return
	}
	t.stage = answering
	t.firstByte = time.Now()
}

// unused reports whether the attempt got a reused connection and could not
// write a byte to it.
func (t *timeline) unused() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reused && t.conn.untouched()
}

// dropped reports whether the attempt got a reused connection and no byte of an
// answer.
func (t *timeline) dropped() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reused && t.stage < answering
}

// leftover reports whether what was read for the answer was none.
func (t *timeline) leftover() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.left
}

func (t *timeline) reached() stage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stage
}

// fill copies what is known now into r.
func (t *timeline) fill(r *Result) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	r.StartedAt = t.start.UTC()
	r.Phases = webhook.Phases{
		DNS:     t.dns.length(now),
		Connect: t.connect.length(now),
		TLS:     t.tls.length(now),
		Total:   now.Sub(t.start),
	}
	if !t.wrote.IsZero() && t.firstByte.After(t.wrote) {
		r.Phases.FirstByte = t.firstByte.Sub(t.wrote)
	}
	if t.peer.address.IsValid() {
		r.PeerIP = t.peer.address.String()
	}
	r.Connected = t.stage >= waiting
	r.TLSVersion, r.TLSNotAfter, r.Certificate = t.peer.tlsVersion, t.peer.notAfter, t.peer.sha256
}
