package sender

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptrace"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// errLeftover ends a connection on which something came that answers no
// request: what is left of the answer before, or an end of it that came late.
var errLeftover = errors.New("bytes that answer nothing came on a reused connection")

// conn is a connection to a receiver as HTTP speaks on it, inside of TLS. It
// sees what net/http does not tell: whether anything of a request was written,
// and whether what comes belongs to its answer.
type conn struct {
	net.Conn
	peer peer

	mu      sync.Mutex
	reused  bool   // for the request under way
	began   bool   // a write of that request has begun
	written bool   // and took a byte
	head    []byte // the first bytes of its answer, up to the status
	blank   bool   // the line of the headers that is being read is empty so far
	inBody  bool   // the headers have ended

	asked chan error // takes how reading ended; nil unless the receiver asked for a client certificate
}

// peer is what an attempt records of the other end of its connection.
type peer struct {
	address    netip.Addr
	tlsVersion string    // empty without TLS
	notAfter   time.Time // the certificate's
	sha256     []byte    // of the certificate; empty without one
}

// showed keeps of a certificate what an attempt records, once for a connection.
func (p *peer) showed(certificate *x509.Certificate) {
	sum := sha256.Sum256(certificate.Raw)
	p.notAfter, p.sha256 = certificate.NotAfter, sum[:]
}

// begin prepares c for a request.
func (c *conn) begin(reused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reused, c.began, c.written = reused, false, false
	c.head, c.blank, c.inBody = c.head[:0], false, false
}

func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.began = true
	c.mu.Unlock()
	n, err := c.Conn.Write(p)
	if err != nil && c.asked != nil {
		err = c.refusal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.written = c.written || n > 0
	return n, err
}

// refusal is how reading ended on a connection that cannot be written to any
// more: a receiver says why before it closes. It waits a second at most.
func (c *conn) refusal(written error) error {
	late := time.NewTimer(time.Second)
	defer late.Stop()
	select {
	case read := <-c.asked:
		return read
	case <-late.C:
		return written
	}
}

// Read ends the connection with the headers of an answer that has no body:
// many receivers send one nevertheless, and net/http would have put the
// connection back for others before it comes.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil && c.asked != nil {
		err = fmt.Errorf("%w: %w", errAsked, err)
		select {
		case c.asked <- err:
		default:
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > 0 && c.reused && !c.began {
		return 0, errLeftover
	}
	if length, ended := c.headers(p[:n]); ended {
		return length, io.EOF
	}
	if c.reused && !bytes.HasPrefix([]byte("HTTP/"), c.head[:min(len(c.head), len("HTTP/"))]) {
		return 0, errLeftover
	}
	return n, err
}

// statusEnds is how many bytes an answer's HTTP/1.x and status take.
const statusEnds = len("HTTP/1.1 200")

// headers follows the headers of an answer through what came. With those of an
// answer without a body it ends, after length bytes.
func (c *conn) headers(came []byte) (length int, ended bool) {
	for i, b := range came {
		if c.inBody {
			return 0, false
		}
		if len(c.head) < statusEnds {
			c.head = append(c.head, b)
		}
		switch {
		case b == '\n' && c.blank:
			switch status := string(c.head[min(len(c.head), statusEnds-3):]); {
			case status == "204" || status == "304":
				return i + 1, true
			case strings.HasPrefix(status, "1"):
				c.head, c.blank = c.head[:0], false // another answer follows
			default:
				c.inBody = true
			}
		case b == '\n':
			c.blank = true
		case b != '\r':
			c.blank = false
		}
	}
	return 0, false
}

// silent reports whether nothing came for the request under way.
func (c *conn) silent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.head) == 0
}

// untouched reports whether nothing of the request under way was written.
func (c *conn) untouched() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.written
}

// dialer opens connections. It does the TLS handshake as net/http would, which
// would not let us see inside.
type dialer struct {
	tcp      net.Dialer
	tls      *tls.Config
	timeout  time.Duration // of the handshake
	sessions *sessions     // nil: all begin anew
}

func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := d.tcp.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, peer: peer{address: addressOf(c)}}, nil
}

func addressOf(c net.Conn) netip.Addr {
	tcp, _ := c.RemoteAddr().(*net.TCPAddr) // of nil there is no address
	return tcp.AddrPort().Addr().Unmap()
}

func (d *dialer) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	tcp, err := d.tcp.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	conf := d.tls.Clone()
	conf.ServerName, _, _ = net.SplitHostPort(address)
	asked := false
	conf.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		asked = true
		return new(tls.Certificate), nil // none
	}
	known := new(session)
	if d.sessions != nil {
		known = d.sessions.at(address)
		conf.ClientSessionCache = known
	}
	secure := tls.Client(tcp, conf)
	trace := httptrace.ContextClientTrace(ctx)
	trace.TLSHandshakeStart()
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	err = secure.HandshakeContext(ctx)
	trace.TLSHandshakeDone(tls.ConnectionState{}, err)
	if err != nil {
		tcp.Close()
		if asked {
			err = fmt.Errorf("%w: %w", errAsked, err)
		}
		if known.offered && ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", errResuming, err)
		}
		return nil, err
	}
	state := secure.ConnectionState()
	c := &conn{Conn: secure, peer: peer{address: addressOf(tcp), tlsVersion: tls.VersionName(state.Version)}}
	if len(state.PeerCertificates) > 0 {
		c.peer.showed(state.PeerCertificates[0])
	}
	if asked {
		c.asked = make(chan error, 1)
	}
	return c, nil
}
