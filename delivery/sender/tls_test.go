package sender

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"ledgerhook/webhook"
)

// certificateTest is about a receiver whose certificate must not be trusted.
type certificateTest struct {
	name   string // its row of ssrf_cases.csv
	conf   func(*testing.T, *authority) *tls.Config
	detail string
}

var certificateTests = []certificateTest{
	{"resp07", func(t *testing.T, _ *authority) *tls.Config {
		return newAuthority(t).serverConfig(t, inAnHour())
	}, "unknown authority"},
	{"resp08", func(t *testing.T, a *authority) *tls.Config {
		return a.serverConfig(t, time.Now().Add(-time.Hour))
	}, "expired"},
	{"resp09", func(t *testing.T, a *authority) *tls.Config {
		cert := a.sign(t, &x509.Certificate{NotAfter: inAnHour(), DNSNames: []string{"other.example.com"},
			IPAddresses: []net.IP{net.IPv4(192, 0, 2, 1)}})
		return &tls.Config{Certificates: []tls.Certificate{cert}}
	}, "not 127.0.0.1"},
}

func inAnHour() time.Time { return time.Now().Add(time.Hour).Truncate(time.Second).UTC() }

func TestNothingIsSentToAReceiverThatCannotProveItself(t *testing.T) {
	for _, tt := range certificateTests {
		t.Run(tt.name, func(t *testing.T) {
			a := newAuthority(t)
			conf := tt.conf(t, a)
			target := receive(t, conf, keep(ok))
			r := send(t, newSender(t, Options{RootCAs: a.pool}), target.url)
			if r.Outcome != failed || r.ErrorClass != webhook.ErrorTLS || !strings.Contains(r.ErrorDetail, tt.detail) {
				t.Errorf("got %s %q (%s), want failed tls with %q", r.Outcome, r.ErrorClass, r.ErrorDetail, tt.detail)
			}
			if n := target.requests.Load(); n != 0 {
				t.Errorf("the receiver saw %d requests", n)
			}
			if want := conf.Certificates[0].Leaf.NotAfter; !r.TLSNotAfter.Equal(want) {
				t.Errorf("the certificate's expiry is %s, want %s", r.TLSNotAfter, want)
			}
			if want := sha256.Sum256(conf.Certificates[0].Leaf.Raw); !bytes.Equal(r.Certificate, want[:]) {
				t.Errorf("the certificate is %x, want %x", r.Certificate, want)
			}
			checkFit(t, r)
		})
	}
}

func TestTheDetailsOfTLSAreRecordedAlsoWhenAConnectionIsReused(t *testing.T) {
	a := newAuthority(t)
	expiry := inAnHour()
	conf := a.serverConfig(t, expiry)
	target := receive(t, conf, keep(ok))
	certificate := sha256.Sum256(conf.Certificates[0].Certificate[0])
	s := newSender(t, Options{RootCAs: a.pool})
	for i := range 2 {
		r := send(t, s, target.url)
		if r.Outcome != delivered || r.TLSVersion != "TLS 1.3" || !r.TLSNotAfter.Equal(expiry) || !bytes.Equal(r.Certificate, certificate[:]) || r.PeerIP != "127.0.0.1" {
			t.Errorf("request %d: %+v", i, r)
		}
		if fresh := i == 0; (r.Phases.Connect > 0) != fresh || (r.Phases.TLS > 0) != fresh || r.Phases.FirstByte <= 0 {
			t.Errorf("request %d: phases %+v", i, r.Phases)
		}
	}
	if n := target.conns.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

func TestTLSBelow12IsRefused(t *testing.T) {
	a := newAuthority(t)
	for version, want := range map[uint16]webhook.Outcome{tls.VersionTLS11: failed, tls.VersionTLS12: delivered} {
		conf := a.serverConfig(t, inAnHour())
		conf.MinVersion, conf.MaxVersion = tls.VersionTLS10, version
		r := send(t, newSender(t, Options{RootCAs: a.pool}), receive(t, conf, keep(ok)).url)
		if r.Outcome != want || (want == failed) != (r.ErrorClass == webhook.ErrorTLS) {
			t.Errorf("%s: %s %q (%s)", tls.VersionName(version), r.Outcome, r.ErrorClass, r.ErrorDetail)
		}
	}
}

func TestABrokenHandshakeSaysSo(t *testing.T) {
	for name, tt := range map[string]struct {
		serve  func(net.Conn)
		limit  time.Duration
		class  webhook.ErrorClass
		detail string
	}{
		"slow":   {func(c net.Conn) { io.Copy(io.Discard, c) }, short, webhook.ErrorTimeout, "no TLS session within 300ms"},
		"closed": {func(c net.Conn) { c.Read(make([]byte, 1)) }, patience, webhook.ErrorTLS, "TLS handshake"},
		"no TLS": {func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
			io.Copy(io.Discard, c)
		}, patience, webhook.ErrorTLS, "does not speak TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			r := send(t, newSender(t, Options{TLSTimeout: tt.limit}), "https://"+listen(t, tt.serve)+"/")
			if r.Outcome != failed || r.ErrorClass != tt.class || !strings.Contains(r.ErrorDetail, tt.detail) {
				t.Errorf("got %s %q (%s), want %q (%s)", r.Outcome, r.ErrorClass, r.ErrorDetail, tt.class, tt.detail)
			}
			if r.StatusCode != 0 || r.PeerIP != "127.0.0.1" || r.Phases.TLS <= 0 || r.Connected {
				t.Errorf("parts of the result are missing or wrong: %+v", r)
			}
		})
	}
}

// TestWhatTheReceiverSaysOfTheHandshakeIsTold lets the receiver end it with an
// alert, which TLS 1.3 lets it send when the sender takes it for done.
func TestWhatTheReceiverSaysOfTheHandshakeIsTold(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		conf   func(*tls.Config)
		detail string
	}{
		"a client certificate, TLS 1.3": {func(c *tls.Config) { c.ClientAuth = tls.RequireAnyClientCert }, "asks for a client certificate, which the gateway does not have: let it check the signature instead (certificate required)"},
		"a client certificate, TLS 1.2": {func(c *tls.Config) { c.ClientAuth, c.MaxVersion = tls.RequireAnyClientCert, tls.VersionTLS12 }, "asks for a client certificate, which the gateway does not have: let it check the signature instead ("},
		"TLS 1.1 only":                  {func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }, "no TLS version in common: let it speak 1.2 or newer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAuthority(t)
			conf := a.serverConfig(t, inAnHour())
			tt.conf(conf)
			target := receive(t, conf, keep(ok))
			r := newSender(t, Options{RootCAs: a.pool}).Send(t.Context(), Request{URL: target.url, Body: make([]byte, 256<<10)})
			if r.Outcome != failed || r.ErrorClass != webhook.ErrorTLS || !strings.Contains(r.ErrorDetail, tt.detail) || r.StatusCode != 0 {
				t.Errorf("got %s %q (%s), want failed tls with %q", r.Outcome, r.ErrorClass, r.ErrorDetail, tt.detail)
			}
			checkFit(t, r)
		})
	}
}
