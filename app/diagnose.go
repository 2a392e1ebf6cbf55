package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ledgerhook/config"
	"ledgerhook/delivery/guard"
	"ledgerhook/delivery/queue"
	"ledgerhook/ledger"
	"ledgerhook/ledger/database"
	ledgerincidents "ledgerhook/ledger/incidents"
	"ledgerhook/ledger/reports"
	"ledgerhook/ledger/seals"
	"ledgerhook/partners/mail"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

// Check is one thing that was looked at.
type Check struct {
	Name   string
	OK     bool
	Detail string // what is there, or what to do
}

// maxSkew is how far this machine's clock may be from the database's.
const maxSkew = time.Second

// Diagnose looks at the stores, keys, clock and egress of a configuration, and
// at who is told of incidents. It leaves nothing but the mark with which it
// tries whether the stores take what is written, and needs no running server;
// it may run beside one.
func Diagnose(ctx context.Context, cfg config.Config) []Check {
	d := &diagnosis{cfg: cfg}
	d.certificates()
	d.ledger(ctx)
	d.queue(ctx)
	d.mail(ctx)
	d.signIn(ctx)
	return d.checks
}

type diagnosis struct {
	cfg    config.Config
	checks []Check
}

func (d *diagnosis) add(name string, err error, detail string) {
	if err != nil {
		detail = err.Error()
	}
	d.checks = append(d.checks, Check{Name: name, OK: err == nil, Detail: detail})
}

// certificates looks at what listeners show that speak TLS themselves.
func (d *diagnosis) certificates() {
	look := func(name, host string, load func(config.Config) (*web.Certificate, error)) {
		c, err := load(d.cfg)
		if c == nil && err == nil {
			return
		}
		detail := ""
		if err == nil {
			err, detail = c.Check(host), "valid until "+c.Leaf().NotAfter.UTC().Format(time.DateOnly)
		}
		d.add(name, err, detail)
	}
	host := ""
	if d.cfg.PublicURL != nil {
		host = d.cfg.PublicURL.Hostname()
	}
	look("public certificate", host, PublicCertificate)
	look("internal certificate", "", InternalCertificate)
}

func (d *diagnosis) ledger(ctx context.Context) {
	if d.cfg.DatabaseURL == "" {
		if _, err := os.Stat(filepath.Join(d.cfg.DataDir, "ledger.db")); errors.Is(err, os.ErrNotExist) {
			d.add("ledger", nil, "none yet: the first \"ledgerhook serve\" makes it in "+d.cfg.DataDir)
			return
		}
	}
	db, err := database.Open(ctx, databaseOptions(d.cfg, slog.New(slog.DiscardHandler)))
	if errors.Is(err, database.ErrInUse) {
		d.add("ledger", nil, err.Error()+" (a running server; its /readyz says more)")
		return
	}
	if err != nil {
		d.add("ledger", err, "")
		return
	}
	defer func() { _ = db.Close() }()
	l := ledger.New(db, ledger.Options{})
	defer l.Close()
	d.add("ledger", l.Ready(ctx), "accepts writes, with this program's schema")
	d.keys(ctx, db)
	skew, err := db.ClockSkew(ctx)
	if err == nil && skew.Abs() > maxSkew {
		err = fmt.Errorf("this machine's clock differs from the database's by %s: run a time service on both", skew.Round(time.Millisecond))
	}
	d.add("clock", err, fmt.Sprintf("within %s of the database's", max(skew.Abs(), time.Millisecond).Round(time.Millisecond)))
	if d.cfg.ReadURL != "" {
		d.add("replica", db.CheckReplica(ctx), "a standby of the ledger that keeps up with it")
	}
	d.egress(ctx, reports.New(db))
	d.incidents(ctx, db, l)
}

// keys looks at the master key that a server would have, without making one.
func (d *diagnosis) keys(ctx context.Context, db *database.DB) {
	key, err := findMasterKey(d.cfg)
	if err == nil && d.cfg.Token == "" { // a server reads it too
		_, err = shownSecret(d.cfg.DataDir, tokenFile, rand.Text)
	}
	if err != nil {
		d.add("keys", err, "")
		return
	}
	kept, err := key.check(ctx, db)
	if err != nil || !kept {
		d.add("keys", err, "none yet: the first \"ledgerhook serve\" makes them")
		return
	}
	fits, err := d.sealed(ctx, db, key)
	ring := newKeyring(db, key.box, d.cfg.Retention)
	if err == nil {
		err = ring.load(ctx)
	}
	detail := fits + "; no signing key yet, the first \"ledgerhook serve\" makes it"
	if active := ring.current(); active != nil {
		detail = fits + "; notifications are signed with " + active.ID()
	}
	d.add("keys", err, detail)
}

// sealed says whether everything that is encrypted can be read, and whether the
// previous master key is still needed.
func (d *diagnosis) sealed(ctx context.Context, db *database.DB, key masterKey) (fits string, err error) {
	others, unreadable, err := seals.New(db).Look(ctx, key.box)
	if err != nil {
		return "", err
	}
	if len(unreadable) > 0 {
		return "", fmt.Errorf("the master key does not open what these hold encrypted: %s", strings.Join(unreadable, ", "))
	}
	_, changing, err := db.MasterKeyChange(ctx)
	switch {
	case err != nil:
		return "", err
	case key.previous == "":
		return "the master key fits", nil
	case key.box.Names()[0] != key.own.Names()[0]:
		return key.previous + " is still the key that encrypts: run \"ledgerhook master-key rotate\"", nil
	case changing || others > 0:
		return fmt.Sprintf("the master key fits; %s is needed until the change has ended, %d secrets are left: run \"ledgerhook master-key rotate\"", key.previous, others), nil
	}
	return "the master key fits; " + key.previous + " is no longer needed: take it away", nil
}

// egress checks that the partners' URLs still lead to addresses that may be
// dialled.
func (d *diagnosis) egress(ctx context.Context, l *reports.Reports) {
	urls, err := l.EndpointURLs(ctx, 50)
	if err != nil {
		d.add("egress", err, "")
		return
	}
	rules := guard.New(d.cfg.AllowCIDRs)
	var wrong []string
	for _, u := range urls {
		if _, err := rules.CheckURL(ctx, u, net.DefaultResolver); err != nil {
			wrong = append(wrong, u+": "+strings.TrimPrefix(err.Error(), "/url "))
		}
	}
	if len(wrong) > 0 {
		err = &webhook.Error{Message: fmt.Sprintf("%d of %d endpoint URLs may not be dialled: %s", len(wrong), len(urls), strings.Join(wrong, "; "))}
	}
	d.add("egress", err, fmt.Sprintf("%d endpoint URLs checked, all may be dialled", len(urls)))
}

// incidents looks whether those whom the settings name can be told of faults.
func (d *diagnosis) incidents(ctx context.Context, db *database.DB, l *ledger.Ledger) {
	var told []string
	var err error
	if d.cfg.SMTPURL != "" {
		var addresses []string
		addresses, err = ledgerincidents.New(db, ledgerincidents.Audience{Mail: true, Operators: d.cfg.IncidentMail}).Operators(ctx)
		if err == nil && len(addresses) == 0 && d.cfg.IncidentPartner == "" {
			err = errors.New("nobody is told by e-mail: set LEDGERHOOK_INCIDENTS_MAIL, or give an operator an e-mail address")
		}
		told = append(told, fmt.Sprintf("%d e-mail addresses", len(addresses)))
	}
	if code := d.cfg.IncidentPartner; code != "" && err == nil {
		var endpoints []webhook.Endpoint
		endpoints, err = l.Endpoints(ctx, code)
		endpoints = slices.DeleteFunc(endpoints, func(e webhook.Endpoint) bool { return !e.Window.Open() || !e.Takes(webhook.GatewayIncident) })
		if err == nil && len(endpoints) == 0 {
			err = fmt.Errorf("partner %s has no endpoint that is enabled and takes all types", code)
		}
		if err != nil {
			err = fmt.Errorf("LEDGERHOOK_INCIDENTS_PARTNER: %w", err)
		}
		told = append(told, fmt.Sprintf("%d endpoints of partner %s", len(endpoints), code))
	}
	d.add("incidents", err, cmp.Or(strings.Join(told, " and "), "nobody")+" told, all at /ops/incidents")
}

func (d *diagnosis) queue(ctx context.Context) {
	if d.cfg.RedisURL == "" {
		d.add("queue", nil, "embedded")
		return
	}
	q, err := queue.Open(ctx, queue.Options{URL: d.cfg.RedisURL, Timeout: d.cfg.Timeout, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		d.add("queue", err, "")
		return
	}
	defer func() { _ = q.Close() }()
	err = q.Ready(ctx)
	if policy := q.EvictionPolicy(ctx); err == nil && policy != "" && policy != "noeviction" {
		err = fmt.Errorf("redis may evict queued deliveries: set its maxmemory-policy to noeviction, it is %s", policy)
	}
	d.add("queue", err, "accepts writes")
}

// mail goes to the mail server as a letter would, and sends none.
func (d *diagnosis) mail(ctx context.Context) {
	if d.cfg.SMTPURL == "" {
		var err error
		if len(d.cfg.IncidentMail) > 0 {
			err = errors.New("LEDGERHOOK_INCIDENTS_MAIL names who is told of incidents, and there is no mail server: set LEDGERHOOK_SMTP_URL")
		}
		d.add("mail", err, "no mail server: one-time codes go to /ops/mailbox")
		return
	}
	server, err := mail.NewSMTP(d.cfg.SMTPURL)
	if err == nil {
		err = server.Try(ctx)
	}
	d.add("mail", err, "the mail server accepts mail")
}

// signIn asks the provider that operators sign in at for its addresses.
func (d *diagnosis) signIn(ctx context.Context) {
	if d.cfg.OIDCIssuer == "" {
		d.add("sign-in", nil, "no provider: operators have passwords")
		return
	}
	err := provider(d.cfg, "").Check(ctx)
	d.add("sign-in", err, d.cfg.OIDCIssuer+" answers")
}
