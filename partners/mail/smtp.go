package mail

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"ledgerhook/partners"
)

const (
	submissionPort = 587
	smtpsPort      = 465
	smtpTimeout    = 15 * time.Second
)

// SMTP is the Carrier that hands letters to a mail server.
type SMTP struct {
	host    string
	from    string
	options []gomail.Option
}

// NewSMTP reads the address of a mail server: smtp://user:password@host:587,
// or smtps:// for TLS from the first byte. smtp:// turns to TLS where the
// server offers it, and insists on it when there is a password to protect and
// the server is not on this machine. The sender is the parameter from
// (?from=codes@example.com), else the user if that is an address, else
// no-reply at the host. Errors do not show the address: it holds a password.
func NewSMTP(address string) (*SMTP, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "smtp" && u.Scheme != "smtps" {
		return nil, errors.New("LEDGERHOOK_SMTP_URL must be like smtp://user:password@host:587 or smtps://host")
	}
	s := &SMTP{host: u.Hostname()}
	if s.from, err = partners.ReadEmail(sender(u)); err != nil {
		return nil, errors.New("LEDGERHOOK_SMTP_URL names no sender: add ?from= and an e-mail address")
	}
	port := submissionPort
	if u.Scheme == "smtps" {
		port = smtpsPort
	}
	if u.Port() != "" {
		if port, err = strconv.Atoi(u.Port()); err != nil {
			return nil, errors.New("LEDGERHOOK_SMTP_URL must have a number as its port")
		}
	}
	s.options = []gomail.Option{gomail.WithPort(port), gomail.WithTimeout(smtpTimeout), gomail.WithTLSPolicy(gomail.TLSOpportunistic)}
	if u.Scheme == "smtps" {
		s.options = append(s.options, gomail.WithSSL())
	}
	if password, ok := u.User.Password(); ok {
		s.options = append(s.options, gomail.WithUsername(u.User.Username()), gomail.WithPassword(password))
		if isLocal(s.host) {
			s.options = append(s.options, gomail.WithSMTPAuth(gomail.SMTPAuthPlain)) // the others are not tried without TLS
		} else {
			s.options = append(s.options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithTLSPolicy(gomail.TLSMandatory))
		}
	}
	return s, nil
}

func sender(u *url.URL) string {
	if from := u.Query().Get("from"); from != "" {
		return from
	}
	if user := u.User.Username(); strings.Contains(user, "@") {
		return user
	}
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.To4() == nil {
		return "no-reply@[IPv6:" + ip.String() + "]"
	} else if ip != nil {
		return "no-reply@[" + ip.String() + "]"
	}
	return "no-reply@" + u.Hostname()
}

func isLocal(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Carry implements Carrier.
func (s *SMTP) Carry(ctx context.Context, l partners.Letter) error {
	subject, body := l.Text()
	return s.Write(ctx, l.To.Email, subject, body)
}

// Write makes one attempt to hand a plain text to the mail server. An error
// that wraps ErrUndeliverable will not go away by itself.
func (s *SMTP) Write(ctx context.Context, to, subject, body string) error {
	return s.WriteAs(ctx, rand.Text(), to, subject, body)
}

// WriteAs is Write of a text that may have arrived before: its Message-ID begins
// with id, so that mail programs show it once.
func (s *SMTP) WriteAs(ctx context.Context, id, to, subject, body string) error {
	message, err := s.message(id, to, subject, body)
	if err != nil {
		return err
	}
	client, err := gomail.NewClient(s.host, s.options...)
	if err != nil {
		return fmt.Errorf("set up mail: %w", err)
	}
	if err := client.DialAndSendWithContext(ctx, message); err != nil {
		if refused, ok := errors.AsType[*gomail.SendError](err); ok && !refused.IsTemp() && refused.ErrorCode() >= 500 {
			return fmt.Errorf("%w: %w", ErrUndeliverable, err)
		}
		return fmt.Errorf("hand a letter to the mail server: %w", err)
	}
	return nil
}

// Try connects to the mail server, turns to TLS and signs in, as a letter would,
// and sends nothing.
func (s *SMTP) Try(ctx context.Context) error {
	client, err := gomail.NewClient(s.host, s.options...)
	if err != nil {
		return fmt.Errorf("set up mail: %w", err)
	}
	if err := client.DialWithContext(ctx); err != nil {
		return fmt.Errorf("reach the mail server: %w", err)
	}
	return client.Close()
}

func (s *SMTP) message(id, to, subject, body string) (*gomail.Msg, error) {
	to, err := partners.ReadEmail(to)
	if err != nil {
		return nil, fmt.Errorf("%w: what was sent as an e-mail is no address", ErrUndeliverable)
	}
	m := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	if err := errors.Join(m.From(s.from), m.To(to)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUndeliverable, err)
	}
	m.Subject(subject)
	m.SetDate()
	_, domain, _ := strings.Cut(s.from, "@")
	m.SetMessageIDWithValue(id + "@" + domain)
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	m.SetBodyString(gomail.TypeTextPlain, body)
	return m, nil
}
