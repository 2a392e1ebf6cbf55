package web

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// Certificate is what a listener shows that speaks TLS itself, read from two
// PEM files: the chain, leaf first, and its private key.
type Certificate struct {
	chain, key string // paths
	shown      atomic.Pointer[certificate]
}

// certificate is one content of the two files.
type certificate struct {
	chain, key []byte
	pair       tls.Certificate // with its leaf
}

// LoadCertificate reads the files. The error names the one that is at fault
// and holds nothing of the key.
func LoadCertificate(chain, key string) (*Certificate, error) {
	c := &Certificate{chain: chain, key: key}
	_, err := c.Reload()
	return c, err
}

// Reload reads the files again and reports whether another certificate is shown
// from now on. With an error the one before stays: the files may be about to be
// replaced.
func (c *Certificate) Reload() (changed bool, err error) {
	chain, err := os.ReadFile(c.chain)
	if err != nil {
		return false, err
	}
	key, err := os.ReadFile(c.key)
	if err != nil {
		return false, err
	}
	if s := c.shown.Load(); s != nil && bytes.Equal(s.chain, chain) && bytes.Equal(s.key, key) {
		return false, nil
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return false, fmt.Errorf("%s and %s: %s", c.chain, c.key, strings.TrimPrefix(err.Error(), "tls: "))
	}
	c.shown.Store(&certificate{chain, key, pair})
	return true, nil
}

// Leaf is the certificate that is shown, without its chain.
func (c *Certificate) Leaf() *x509.Certificate { return c.shown.Load().pair.Leaf }

// renewal is how long before its end a certificate should have been replaced.
const renewal = 14 * 24 * time.Hour

// Check reports what keeps clients from believing the certificate now or soon:
// the days on which it is valid, and the host by which they reach the listener
// ("": any).
func (c *Certificate) Check(host string) error {
	leaf, now := c.Leaf(), time.Now()
	day := func(t time.Time) string { return t.UTC().Format(time.DateTime) + " UTC" }
	switch {
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("%s is valid from %s only", c.chain, day(leaf.NotBefore))
	case now.After(leaf.NotAfter):
		return fmt.Errorf("%s expired on %s: replace it and its key", c.chain, day(leaf.NotAfter))
	case now.Add(renewal).After(leaf.NotAfter):
		return fmt.Errorf("%s expires on %s: see why it was not renewed", c.chain, day(leaf.NotAfter))
	case host != "" && leaf.VerifyHostname(host) != nil:
		return fmt.Errorf("%s is not for %s, the host of LEDGERHOOK_PUBLIC_URL", c.chain, host)
	}
	return nil
}

// ServerConfig is how a listener shows the certificate: TLS 1.2 at least, and
// HTTP/1.1 in it.
func (c *Certificate) ServerConfig() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &c.shown.Load().pair, nil },
	}
}

// errOther is what a client of this machine hears that reached something else.
var errOther = errors.New("the certificate shown is another than the file's")

// ClientConfig is how a client that can read the same files reaches the
// listener, by whatever name: it believes this certificate and no other.
func (c *Certificate) ClientConfig() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // in favour of VerifyConnection
		VerifyConnection: func(s tls.ConnectionState) error {
			if !s.PeerCertificates[0].Equal(c.Leaf()) {
				return errOther
			}
			return nil
		},
	}
}
