package web_test

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ledgerhook/web"
	"ledgerhook/web/webtest"
)

// files are where a certificate lies.
type files struct{ chain, key string }

func newFiles(t *testing.T) files {
	dir := t.TempDir()
	return files{filepath.Join(dir, "chain.pem"), filepath.Join(dir, "key.pem")}
}

func (f files) write(t *testing.T, from, until time.Duration) *x509.Certificate {
	t.Helper()
	return webtest.Certificate(t, f.chain, f.key, time.Now().Add(from), time.Now().Add(until))
}

func (f files) load(t *testing.T) *web.Certificate {
	t.Helper()
	c, err := web.LoadCertificate(f.chain, f.key)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const year = 365 * 24 * time.Hour

// listen serves with c and returns where.
func listen(t *testing.T, c *web.Certificate) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := web.NewServer(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	go func() { _ = server.Serve(tls.NewListener(l, c.ServerConfig())) }()
	t.Cleanup(func() { _ = server.Close() })
	return l.Addr().String()
}

// shown is what a listener shows to somebody who believes it.
func shown(t *testing.T, address string, believed *x509.Certificate) (*x509.Certificate, error) {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(believed)
	conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: pool, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if p := conn.ConnectionState().NegotiatedProtocol; p != "http/1.1" {
		t.Errorf("the listener speaks %q", p)
	}
	return conn.ConnectionState().PeerCertificates[0], nil
}

func TestAListenerShowsWhatItsFilesHold(t *testing.T) {
	f := newFiles(t)
	first := f.write(t, -time.Hour, year)
	c := f.load(t)
	address := listen(t, c)
	want := func(certificate *x509.Certificate) {
		t.Helper()
		if got, err := shown(t, address, certificate); err != nil || !got.Equal(certificate) {
			t.Errorf("the listener shows another certificate: %v", err)
		}
	}
	reload := func(want bool) {
		t.Helper()
		if changed, err := c.Reload(); err != nil || changed != want {
			t.Errorf("changed: %t, want %t: %v", changed, want, err)
		}
	}
	want(first)
	reload(false)
	second := f.write(t, -time.Hour, year)
	reload(true)
	want(second)

	// One of the two files is replaced, then the other.
	newer := newFiles(t)
	third := newer.write(t, -time.Hour, year)
	for i, path := range []struct{ from, to string }{{newer.chain, f.chain}, {newer.key, f.key}} {
		if err := os.Rename(path.from, path.to); err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			break
		}
		if _, err := c.Reload(); err == nil || !strings.Contains(err.Error(), f.key+": private key does not match public key") {
			t.Errorf("the key of another certificate: %v", err)
		}
		want(second)
	}
	reload(true)
	want(third)

	if err := os.Remove(f.key); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Reload(); err == nil || !strings.Contains(err.Error(), f.key) {
		t.Errorf("no key: %v", err)
	}
	want(third)
}

func TestAListenerSpeaksNoOldTLS(t *testing.T) {
	f := newFiles(t)
	f.write(t, -time.Hour, year)
	c := f.load(t)
	client := c.ClientConfig()
	client.MinVersion, client.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	if conn, err := tls.Dial("tcp", listen(t, c), client); err == nil {
		_ = conn.Close()
		t.Error("TLS 1.1 was spoken")
	}
}

// Who can read the files believes this certificate, expired or not, and no
// other.
func TestAClientOfTheSameFilesBelievesThemAlone(t *testing.T) {
	f, other := newFiles(t), newFiles(t)
	f.write(t, -year, -time.Hour)
	other.write(t, -time.Hour, year)
	c := f.load(t)
	conn, err := tls.Dial("tcp", listen(t, c), c.ClientConfig())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if conn, err := tls.Dial("tcp", listen(t, other.load(t)), c.ClientConfig()); err == nil {
		_ = conn.Close()
		t.Error("another certificate was believed")
	}
}

func TestWhatIsWrongWithACertificateIsNamed(t *testing.T) {
	for _, c := range []struct {
		from, until time.Duration
		host, want  string // "": nothing is wrong
	}{
		{-time.Hour, year, "", ""},
		{-time.Hour, year, "localhost", ""},
		{-time.Hour, year, "127.0.0.1", ""},
		{-time.Hour, year, "pay.example.com", "is not for pay.example.com"},
		{time.Hour, year, "", "is valid from "},
		{-year, -time.Hour, "", "expired on "},
		{-year, 13 * 24 * time.Hour, "", "expires on "},
	} {
		f := newFiles(t)
		f.write(t, c.from, c.until)
		err := f.load(t).Check(c.host)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), f.chain+" "+c.want)) {
			t.Errorf("from %s until %s for %q: %v, want %q", c.from, c.until, c.host, err, c.want)
		}
	}
}

func TestFilesThatAreNoCertificateAreNamed(t *testing.T) {
	f := newFiles(t)
	f.write(t, -time.Hour, year)
	for _, c := range []struct{ chain, key, want string }{
		{f.chain + "x", f.key, f.chain + "x: no such file"},
		{f.chain, f.key + "x", f.key + "x: no such file"},
		{f.key, f.key, "failed to find certificate PEM data"},
		{f.chain, f.chain, "found a certificate rather than a key"},
	} {
		if _, err := web.LoadCertificate(c.chain, c.key); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
