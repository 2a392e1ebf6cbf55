// Package sender makes one attempt at a notification: it posts a body to a URL
// and tells what came of it.
//
// Whatever the receiver does is a result to record and never an error. The
// package follows no redirect, repeats nothing of which a byte was written and
// bounds time and memory against any answer (delivery rules "Success",
// "Timeouts", "Response", "Reused connections").
package sender

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"syscall"
	"time"

	"ledgerhook/delivery/guard"
	"ledgerhook/webhook"
)

// The limits of an attempt unless Options or the Request say otherwise.
const (
	DefaultConnectTimeout = 3 * time.Second  // DNS and TCP together
	DefaultTLSTimeout     = 5 * time.Second  // the handshake
	DefaultTimeout        = 15 * time.Second // the whole attempt, and so the one limit of waiting for the answer
	DefaultBodyTimeout    = 2 * time.Second  // from the answer's headers to the end of a body that acknowledges nothing
)

const (
	maxHeaderBytes  = 64 << 10 // of all headers of an answer, those of 1xx answers included
	idleConnTimeout = 30 * time.Second
)

// Options sets up a Sender. Zero durations mean the defaults.
type Options struct {
	Guard     *guard.Guard   // required: checks every address before it is dialled
	UserAgent string         // sent with every request, "Ledgerhook/1.2.3"
	Resolver  *net.Resolver  // nil: the system's
	RootCAs   *x509.CertPool // nil: the system's
	// Connections are as many as may wait for their next attempt, whether to
	// one receiver or to many: as many as attempts are made at once. 0: 32.
	Connections int

	ConnectTimeout time.Duration
	TLSTimeout     time.Duration
	Timeout        time.Duration // for requests that name none
	BodyTimeout    time.Duration
}

// Request is one notification to send.
type Request struct {
	URL     string
	Header  http.Header   // everything but User-Agent, Host and Content-Length, which the sender writes
	Body    []byte        // never empty
	Timeout time.Duration // the whole attempt; 0: Options.Timeout
	// AckBody makes the answer's body part of the acknowledgement (ackMode
	// body): a 2xx whose body is not whole, over 64 KiB, no JSON or says
	// "success": false is a failure of class bad_ack.
	AckBody bool
	// Fresh asks for a new connection, with a TLS session of its own, because
	// a reused one ended without an answer.
	Fresh bool
}

// Sender sends attempts over shared connections. It is safe for concurrent use.
type Sender struct {
	opts      Options
	userAgent []string // as a header's value
	sessions  sessions
	tls       *http.Transport
	// plain may dial the allowed networks only. It is a transport of its own
	// because a dial does not say which scheme it is for.
	plain *http.Transport
	// The same without a pool and without sessions: every request gets a new
	// connection.
	freshTLS, freshPlain *http.Transport
}

// New returns a Sender. Close it when it is no longer used.
func New(o Options) *Sender {
	o.ConnectTimeout = cmp.Or(o.ConnectTimeout, DefaultConnectTimeout)
	o.TLSTimeout = cmp.Or(o.TLSTimeout, DefaultTLSTimeout)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.BodyTimeout = cmp.Or(o.BodyTimeout, DefaultBodyTimeout)
	o.Connections = cmp.Or(o.Connections, webhook.DefaultMaxInFlight)
	s := &Sender{opts: o, userAgent: []string{o.UserAgent}}
	s.tls, s.freshTLS = newTransport(o, o.Guard.Control, &s.sessions), newTransport(o, o.Guard.Control, nil)
	s.plain, s.freshPlain = newTransport(o, o.Guard.ControlPlain, nil), newTransport(o, o.Guard.ControlPlain, nil)
	s.freshTLS.MaxIdleConnsPerHost, s.freshPlain.MaxIdleConnsPerHost = -1, -1
	return s
}

// transport is the one for URLs of scheme; nil: there is none.
func (s *Sender) transport(scheme string, fresh bool) *http.Transport {
	switch {
	case scheme == "https" && fresh:
		return s.freshTLS
	case scheme == "https":
		return s.tls
	case scheme == "http" && fresh:
		return s.freshPlain
	case scheme == "http":
		return s.plain
	}
	return nil
}

// newTransport speaks HTTP/1.1 only: an HTTP/2 connection resends requests
// that the server refused on it, which would be attempts without a record.
// It takes no proxy from the environment and neither asks for nor expands
// compressed answers.
func newTransport(o Options, control func(network, address string, c syscall.RawConn) error, sessions *sessions) *http.Transport {
	d := dialer{
		tcp:      net.Dialer{Timeout: o.ConnectTimeout, Resolver: o.Resolver, Control: control},
		tls:      &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.RootCAs},
		timeout:  o.TLSTimeout,
		sessions: sessions,
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		DialContext:            d.dial,
		DialTLSContext:         d.dialTLS,
		MaxResponseHeaderBytes: maxHeaderBytes,
		DisableCompression:     true,
		Protocols:              protocols,
		MaxIdleConns:           o.Connections,
		MaxIdleConnsPerHost:    o.Connections,
		IdleConnTimeout:        idleConnTimeout,
	}
}

// Close closes the idle connections. Attempts under way go on.
func (s *Sender) Close() {
	s.tls.CloseIdleConnections()
	s.plain.CloseIdleConnections()
}

// Send posts r once and returns what came of it. It ends within r.Timeout. If
// ctx ends before the answer's headers are complete, or its body where that
// acknowledges, the outcome is unknown: the receiver may or may not have taken
// the notification.
func (s *Sender) Send(ctx context.Context, r Request) Result {
	r.Timeout = cmp.Or(r.Timeout, s.opts.Timeout)
	t := &timeline{start: time.Now()}
	attempt, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer time.AfterFunc(r.Timeout, func() { stop(errAttemptTimeout) }).Stop()

	var res Result
	resp, err := s.post(attempt, t, r)
	if err != nil && attempt.Err() == nil && (t.unused() || errors.Is(err, errResuming)) {
		t, r.Fresh = &timeline{start: t.start}, true
		resp, err = s.post(attempt, t, r)
	}
	switch {
	case err == nil:
		if !r.AckBody || resp.StatusCode/100 != 2 {
			defer time.AfterFunc(s.opts.BodyTimeout, func() { stop(errBodyTimeout) }).Stop()
		}
		res.read(ctx, resp, r.AckBody)
	case stoppedBy(ctx, err):
		res.stopped()
	case attempt.Err() == nil && t.dropped():
		res.dropped()
	default:
		s.fail(&res, err, t.reached(), r)
	}
	t.fill(&res)
	return res
}

// stoppedBy reports whether err says that ctx, the caller's, ended.
func stoppedBy(ctx context.Context, err error) bool {
	cause := context.Cause(ctx)
	return cause != nil && errors.Is(err, cause)
}

// post returns the answer's status and headers, with its body still to be read
// and closed. It goes to the transport directly: a client would follow
// redirects and put the URL into its errors.
func (s *Sender) post(ctx context.Context, t *timeline, r Request) (*http.Response, error) {
	if len(r.Body) == 0 {
		return nil, errors.New("a notification needs a body")
	}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, t.hooks()), http.MethodPost, guard.Tidy(r.URL), bytes.NewReader(r.Body))
	if err != nil {
		return nil, errors.New("the endpoint's URL cannot be read")
	}
	req.Header = make(http.Header, len(r.Header)+1)
	maps.Copy(req.Header, r.Header) // the values are shared: nobody changes them
	req.Header["User-Agent"] = s.userAgent
	// With a body that cannot be read again, net/http cannot resend the
	// request when it finds a reused connection closed.
	req.GetBody = nil
	transport := s.transport(req.URL.Scheme, r.Fresh)
	if transport == nil {
		return nil, fmt.Errorf("the endpoint's URL has the scheme %q, not https", req.URL.Scheme)
	}
	resp, err := transport.RoundTrip(req)
	if err == nil && t.leftover() {
		resp.Body.Close()
		return nil, errLeftover
	}
	return resp, err
}
