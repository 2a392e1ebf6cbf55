package mail

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/big"
	"mime"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/wneessen/go-mail"

	"ledgerhook/partners"
)

// envelope is a message as the server got it.
type envelope struct {
	from, to, login string
	body            string
	tls             bool
}

// post is an SMTP server in this process.
type post struct {
	address string
	got     chan envelope
	refuse  chan error // answers to RCPT, then none
}

func openPost(t *testing.T, secure *tls.Config, implicit bool) *post {
	t.Helper()
	p := &post{got: make(chan envelope, 10), refuse: make(chan error, 10)}
	server := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) { return &visit{post: p, conn: c}, nil }))
	server.Domain, server.AllowInsecureAuth, server.TLSConfig = "mail.test", true, secure
	server.ErrorLog = log.New(io.Discard, "", 0)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.address = listener.Addr().String()
	if implicit {
		listener = tls.NewListener(listener, secure)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close(); <-done })
	return p
}

type visit struct {
	post *post
	conn *smtp.Conn
	envelope
}

func (v *visit) AuthMechanisms() []string { return []string{sasl.Plain} }

func (v *visit) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if password != "pass@word" {
			return errors.New("wrong password")
		}
		v.login = user
		return nil
	}), nil
}

func (v *visit) Mail(from string, _ *smtp.MailOptions) error { v.from = from; return nil }

func (v *visit) Rcpt(to string, _ *smtp.RcptOptions) error {
	v.to = to
	select {
	case err := <-v.post.refuse:
		return err
	default:
		return nil
	}
}

func (v *visit) Data(r io.Reader) error {
	body, err := io.ReadAll(r)
	v.body = string(body)
	_, v.tls = v.conn.TLSConnectionState()
	v.post.got <- v.envelope
	return err
}

func (v *visit) Reset()        {}
func (v *visit) Logout() error { return nil }

func TestACodeArrivesBySMTP(t *testing.T) {
	certificate, roots := newCertificate(t)
	secure := &tls.Config{Certificates: []tls.Certificate{certificate}}
	tests := []struct {
		name, url string // %s: the server's address
		secure    *tls.Config
		implicit  bool
		from      string
		login     string
		tls       bool
	}{
		{"a relay without login", "smtp://%s?from=codes@example.com", nil, false, "codes@example.com", "", false},
		{"a relay without a sender", "smtp://%s", nil, false, "no-reply@[127.0.0.1]", "", false},
		{"a login on this machine", "smtp://user:pass%%40word@%s?from=codes@example.com", nil, false, "codes@example.com", "user", false},
		{"a login that is an address", "smtp://me%%40example.com:pass%%40word@%s", nil, false, "me@example.com", "me@example.com", false},
		{"a server that offers TLS", "smtp://user:pass%%40word@%s?from=codes@example.com", secure, false, "codes@example.com", "user", true},
		{"TLS from the first byte", "smtps://user:pass%%40word@%s?from=codes@example.com", secure, true, "codes@example.com", "user", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := openPost(t, test.secure, test.implicit)
			s, err := NewSMTP(fmt.Sprintf(test.url, p.address))
			if err != nil {
				t.Fatal(err)
			}
			s.options = append(s.options, mail.WithTLSConfig(&tls.Config{RootCAs: roots, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}))
			if err := s.Carry(t.Context(), letter); err != nil {
				t.Fatal(err)
			}
			got := <-p.got
			if got.from != test.from || got.to != ann.Email || got.login != test.login || got.tls != test.tls {
				t.Errorf("got from %q to %q as %q, TLS %v", got.from, got.to, got.login, got.tls)
			}
			checkMessage(t, got.body)
		})
	}
}

func checkMessage(t *testing.T, raw string) {
	t.Helper()
	m, err := netmail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	subject, _ := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil {
		t.Fatal(err)
	}
	wantSubject, wantBody := letter.Text()
	if subject != wantSubject || strings.TrimSpace(strings.ReplaceAll(string(body), "\r\n", "\n")) != strings.TrimSpace(wantBody) {
		t.Errorf("got %q\n%s", subject, body)
	}
	if m.Header.Get("Auto-Submitted") != "auto-generated" || m.Header.Get("Message-Id") == "" || m.Header.Get("Date") == "" {
		t.Errorf("headers are %v", m.Header)
	}
}

func TestThePostmanTriesABusyServerAgain(t *testing.T) {
	before := retryWaits
	retryWaits = []time.Duration{time.Millisecond, time.Millisecond}
	t.Cleanup(func() { retryWaits = before })
	p := openPost(t, nil, false)
	p.refuse <- &smtp.SMTPError{Code: 451, Message: "come back later"}
	s, err := NewSMTP("smtp://" + p.address)
	if err != nil {
		t.Fatal(err)
	}
	postman := NewPostman(s, slog.New(slog.DiscardHandler))
	postman.Send(letter)
	if got := <-p.got; got.to != ann.Email {
		t.Errorf("sent to %q", got.to)
	}
	if err := postman.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestWhatCannotBeDeliveredIsNotTriedAgain(t *testing.T) {
	p := openPost(t, nil, false)
	s, err := NewSMTP("smtp://" + p.address)
	if err != nil {
		t.Fatal(err)
	}
	p.refuse <- &smtp.SMTPError{Code: 550, Message: "no such box"}
	if err := s.Carry(t.Context(), letter); !errors.Is(err, ErrUndeliverable) {
		t.Errorf("a refusal for good is %v", err)
	}
	p.refuse <- &smtp.SMTPError{Code: 451, Message: "come back later"}
	if err := s.Carry(t.Context(), letter); err == nil || errors.Is(err, ErrUndeliverable) {
		t.Errorf("a refusal for now is %v", err)
	}
	for _, email := range []string{"", "ann", "a@x.com, b@x.com", "Ann <ann@example.com>", "a@x.com\r\nBcc: b@x.com", "a b@x.com", "@x.com"} {
		if err := s.Carry(t.Context(), partners.Letter{To: partners.Addressee{PartnerCode: "acme", Email: email, Lang: "en"}, Code: "012345"}); !errors.Is(err, ErrUndeliverable) {
			t.Errorf("%q: %v", email, err)
		}
	}
	select {
	case got := <-p.got:
		t.Errorf("the server got a message to %q", got.to)
	default:
	}
}

func TestAPasswordNeedsTLSOutsideThisMachine(t *testing.T) {
	s, err := NewSMTP("smtp://user:pass@mail.example.com?from=codes@example.com")
	if err != nil {
		t.Fatal(err)
	}
	client, err := mail.NewClient(s.host, s.options...)
	if err != nil {
		t.Fatal(err)
	}
	if got := client.TLSPolicy(); got != mail.TLSMandatory.String() || client.ServerAddr() != "mail.example.com:587" {
		t.Errorf("%s at %s", got, client.ServerAddr())
	}
}

func TestABadServerAddressIsRefusedWithoutShowingIt(t *testing.T) {
	for _, address := range []string{"", "http://mail", "smtp://", "mail:25", "smtp://u:secret@[mail", "smtp://u:secret@mail?from=nobody", "smtp://u:secret@mail:99999999999999999999"} {
		if _, err := NewSMTP(address); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// newCertificate makes a certificate for 127.0.0.1 that roots trust.
func newCertificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}
