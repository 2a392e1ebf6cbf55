package sender

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"

	"ledgerhook/delivery/guard"
	"ledgerhook/webhook"
)

// The causes of an attempt's context when its time is up, or its body's.
var (
	errAttemptTimeout = errors.New("the attempt's time is up")
	errBodyTimeout    = errors.New("the time of the answer's body is up")
)

// fail fills res for an attempt without an answer, from the error and from how
// far the attempt had got: most errors of net/http have no type to go by. A
// name that does not resolve is dns even if it took too long, because that is
// where to look.
func (s *Sender) fail(res *Result, err error, at stage, r Request) {
	res.Outcome = webhook.OutcomeFailed
	if blocked, ok := errors.AsType[*guard.BlockedError](err); ok {
		res.BlockedReason, res.BlockedAddr = blocked.Reason, blocked.Addr
		res.ErrorClass, res.ErrorDetail = webhook.ErrorBlocked, blocked.Error()
		return
	}
	res.ErrorClass, res.ErrorDetail = s.explain(err, at, r)
}

func (s *Sender) explain(err error, at stage, r Request) (webhook.ErrorClass, string) {
	switch {
	case isOurs(err):
		return webhook.ErrorInternal, "nothing was sent: this machine is out of files, memory, ports or addresses"
	case at == resolving:
		return webhook.ErrorDNS, explainDNS(err, r.URL)
	case errors.Is(err, errAttemptTimeout) || isTimeout(err):
		return webhook.ErrorTimeout, s.explainTimeout(err, at, r)
	case at == preparing:
		return webhook.ErrorInternal, "nothing was sent: " + inWords(err)
	case at == dialling || at == connecting:
		return webhook.ErrorConnect, explainConnect(err)
	case at == securing || at == waiting && alertOf(err) != "":
		return webhook.ErrorTLS, explainTLS(err)
	case at == waiting:
		return webhook.ErrorReset, "the connection was closed before an answer came"
	case isClosed(err):
		return webhook.ErrorReset, "the connection was closed before the answer's headers were complete"
	default:
		return webhook.ErrorProtocol, "the answer is no valid HTTP/1.1: " + inWords(err)
	}
}

// isOurs reports whether this machine had no means to open a connection. The
// receiver must not be blamed for it.
func isOurs(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) ||
		errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.ENOMEM) ||
		errors.Is(err, syscall.EADDRNOTAVAIL) // no port left, or no IPv6
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func isClosed(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &op)
}

// inWords is the text of err without the parts that speak of Go.
func inWords(err error) string {
	text := err.Error()
	for _, prefix := range []string{"net/http: ", "HTTP/1.x transport connection broken: ", "http: ", "net/http: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return clean(text, maxDetail/2)
}

// explainDNS does not repeat the resolver's own text, which names our servers.
func explainDNS(err error, rawURL string) string {
	host := "the endpoint's host"
	if u, err := url.Parse(rawURL); err == nil {
		host = u.Hostname()
	}
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return "no address is known for " + host
	case errors.Is(err, errAttemptTimeout) || isTimeout(err):
		return "the DNS did not answer in time for " + host
	}
	return "the DNS could not be asked for " + host
}

// explainTimeout names what did not happen, and the limit that was up.
func (s *Sender) explainTimeout(err error, at stage, r Request) string {
	what, limit := "no complete answer headers", r.Timeout
	switch {
	case at <= connecting:
		what, limit = "no connection", s.opts.ConnectTimeout
	case at == securing:
		what, limit = "no TLS session", s.opts.TLSTimeout
	}
	if errors.Is(err, errAttemptTimeout) {
		limit = r.Timeout
	}
	return fmt.Sprintf("%s within %s", what, limit)
}

func explainConnect(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return "could not connect: " + errno.Error()
	}
	return "could not connect"
}

// errAsked marks the end of a TLS session in which the receiver had asked for
// the sender's certificate.
var errAsked = errors.New("the receiver asked for a client certificate")

// alertOf is why the receiver ended the TLS session, in the words of its alert;
// empty if it sent none. TLS 1.3 lets it do so after the handshake.
func alertOf(err error) string {
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "remote error" {
		return ""
	}
	return strings.TrimPrefix(op.Err.Error(), "tls: ")
}

func explainTLS(err error) string {
	var refused *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	alert := alertOf(err)
	switch {
	case alert != "" && errors.Is(err, errAsked):
		return "the receiver asks for a client certificate, which the gateway does not have: let it check the signature instead (" + alert + ")"
	case alert == "protocol version not supported" || strings.Contains(err.Error(), "unsupported protocol version"):
		return "the receiver and the gateway have no TLS version in common: let it speak 1.2 or newer"
	case alert != "":
		return "the receiver ended the TLS session: " + alert
	case errors.As(err, &record):
		return "the receiver does not speak TLS on this port"
	case errors.As(err, &refused):
		return "the certificate was refused: " + clean(strings.TrimPrefix(refused.Err.Error(), "x509: "), maxDetail/2)
	case isClosed(err):
		return "the connection was closed during the TLS handshake"
	}
	return "the TLS handshake failed: " + inWords(err)
}
