package sender

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ledgerhook/delivery/guard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// patience is for what must succeed, or fail by another cause than its limit,
// however busy the machine is.
const patience = time.Minute

// newSender returns a sender that may reach this machine, with patience where
// the options name no limit.
func newSender(t testing.TB, o Options) *Sender {
	for _, limit := range []*time.Duration{&o.ConnectTimeout, &o.TLSTimeout, &o.Timeout, &o.BodyTimeout} {
		*limit = cmp.Or(*limit, patience)
	}
	if o.Guard == nil {
		o.Guard = guard.New(loopback)
	}
	s := New(o)
	t.Cleanup(s.Close)
	return s
}

var body = []byte(`{"webhookType":"CreateCard"}`)

// send posts one small notification with time for any answer.
func send(t *testing.T, s *Sender, url string) Result {
	t.Helper()
	return s.Send(t.Context(), Request{URL: url, Body: body})
}

// listen serves every connection to a port of this machine with handle. When
// the test ends it closes them all and waits for the handlers.
func listen(t testing.TB, handle func(net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			wg.Go(func() {
				defer c.Close()
				handle(c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return l.Addr().String()
}

// handler answers one request on a connection by hand; it says whether the
// connection takes another.
type handler func(c net.Conn, r *http.Request) (more bool)

// receiver counts what reaches it.
type receiver struct {
	url             string
	conns, requests atomic.Int64
}

// receive starts a receiver; with a TLS configuration it speaks https.
func receive(t *testing.T, conf *tls.Config, handle handler) *receiver {
	t.Helper()
	r := new(receiver)
	address := listen(t, func(c net.Conn) {
		r.conns.Add(1)
		if conf != nil {
			c = tls.Server(c, conf)
		}
		in := bufio.NewReader(c)
		for {
			req, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			sent, err := io.ReadAll(req.Body)
			if err != nil {
				return
			}
			req.Body = io.NopCloser(bytes.NewReader(sent))
			r.requests.Add(1)
			if !handle(c, req) {
				return
			}
		}
	})
	r.url = "http://" + address + "/hook"
	if conf != nil {
		r.url = "https://" + address + "/hook"
	}
	return r
}

// reply answers with raw and closes the connection.
func reply(raw string) handler {
	return func(c net.Conn, _ *http.Request) bool {
		io.WriteString(c, raw)
		return false
	}
}

// keep answers with raw and takes the next request.
func keep(raw string) handler {
	return func(c net.Conn, _ *http.Request) bool {
		io.WriteString(c, raw)
		return true
	}
}

// hold answers with raw and waits until the sender hangs up.
func hold(raw string) handler {
	return func(c net.Conn, _ *http.Request) bool {
		io.WriteString(c, raw)
		io.Copy(io.Discard, c)
		return false
	}
}

// repeat answers with raw and then with piece again and again, every pause,
// until the sender hangs up.
func repeat(raw, piece string, pause time.Duration) handler {
	return func(c net.Conn, _ *http.Request) bool {
		io.WriteString(c, raw)
		again := []byte(piece)
		for {
			if _, err := c.Write(again); err != nil {
				return false
			}
			if pause > 0 {
				<-time.After(pause)
			}
		}
	}
}

// reset answers with raw and resets the connection.
func reset(raw string) handler {
	return func(c net.Conn, _ *http.Request) bool {
		io.WriteString(c, raw)
		c.(*net.TCPConn).SetLinger(0)
		return false
	}
}

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// authority signs certificates for tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	a := &authority{pool: x509.NewCertPool()}
	signed := a.sign(t, &x509.Certificate{
		Subject:               pkix.Name{CommonName: "test authority"},
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	})
	a.cert, a.key = signed.Leaf, signed.PrivateKey.(*ecdsa.PrivateKey)
	a.pool.AddCert(a.cert)
	return a
}

// sign signs template, by itself as long as the authority has no certificate.
func (a *authority) sign(t *testing.T, template *x509.Certificate) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore = template.NotAfter.Add(-24 * time.Hour)
	parent, by := a.cert, a.key
	if parent == nil {
		parent, by = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// serverConfig is for a receiver on 127.0.0.1 and under names, with a
// certificate that runs out at notAfter.
func (a *authority) serverConfig(t *testing.T, notAfter time.Time, names ...string) *tls.Config {
	cert := a.sign(t, &x509.Certificate{
		NotAfter:    notAfter,
		DNSNames:    names,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	})
	return &tls.Config{Certificates: []tls.Certificate{cert}}
}
