package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/partners"
	"ledgerhook/partners/mail"
	"ledgerhook/webhook"
)

// firstUsername is the first operator's.
const firstUsername = "admin"

// FirstLogin is how the first operator signs in.
type FirstLogin struct {
	URL      string // of the page
	Username string
	Password string // kept nowhere
}

// openPeople makes the first operator of a ledger that has none, with the
// password of the configuration or one that is generated and told once.
func (a *App) openPeople(ctx context.Context) error {
	if !a.config.Roles.Dashboard {
		return nil
	}
	has, err := a.accounts.HasOperator(ctx)
	if err != nil {
		return fmt.Errorf("look for an operator: %w", err)
	}
	if has {
		return nil
	}
	password := cmp.Or(a.config.AdminPassword, newPassword())
	hash, err := partners.HashPassword(ctx, password)
	if err != nil {
		return err
	}
	admin := partners.Person{ID: webhook.NewID(webhook.PersonPrefix), Username: firstUsername, Name: "Administrator", Role: partners.RoleAdmin, CreatedAt: time.Now()}
	created, err := a.accounts.CreateFirstOperator(ctx, admin, hash)
	if err != nil {
		return fmt.Errorf("make the first operator: %w", err)
	}
	if created && a.config.AdminPassword == "" && a.first != nil {
		a.first(FirstLogin{URL: a.InternalURL() + "/ops/login", Username: firstUsername, Password: password})
	}
	return nil
}

// AddPortalUser makes somebody who can sign in at /portal for a partner, with
// the role that looks after its people, and returns the password. A username
// that is taken is a Conflict.
func (a *App) AddPortalUser(ctx context.Context, partnerCode, username string) (password string, err error) {
	password = newPassword()
	hash, err := partners.HashPassword(ctx, password)
	if err != nil {
		return "", err
	}
	now := time.Now()
	by := partners.AuditEntry{At: now, Actor: "ledgerhook", Action: "person.invite", PartnerCode: partnerCode, Detail: string(partners.RoleAdmin) + " " + username}
	_, link := partners.NewPageToken()
	invite := partners.Invite{ID: webhook.NewID(webhook.InvitePrefix), Name: username, PartnerCode: partnerCode, Role: partners.RoleAdmin, InvitedBy: by.Actor,
		CreatedAt: now, ExpiresAt: now.Add(partners.InviteLife)}
	if err := a.accounts.CreateInvite(ctx, link, invite, by); err != nil {
		return "", fmt.Errorf("invite %s: %w", username, err)
	}
	by.Action = "invite.accept"
	person := partners.Person{ID: webhook.NewID(webhook.PersonPrefix), Username: username, Name: username, CreatedAt: now}
	if _, err := a.accounts.AcceptInvite(ctx, link, person, hash, now, by); err != nil {
		return "", fmt.Errorf("make the portal user %s: %w", username, err)
	}
	return password, nil
}

// newPassword returns 100 random bits in five groups that can be typed.
func newPassword() string {
	text := strings.ToLower(rand.Text())
	return text[:4] + "-" + text[4:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20]
}

// sendMail hands invitations to the mail server; nil: there is none.
func (a *App) sendMail() (func(ctx context.Context, to, subject, text string) error, error) {
	if a.config.SMTPURL == "" {
		return nil, nil
	}
	server, err := mail.NewSMTP(a.config.SMTPURL)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, to, subject, text string) error {
		err := server.Write(ctx, to, subject, text)
		if err != nil {
			a.mailed(mail.Lost) // whoever invites sees it and tries again
			return err
		}
		a.mailed(mail.Sent)
		return nil
	}, nil
}

// newMailMetric counts one-time codes, invitations and messages about incidents.
func newMailMetric(reg prometheus.Registerer) *prometheus.CounterVec {
	sent := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ledgerhook_mail_total",
		Help: "Attempts to send one-time codes, invitations and messages about incidents: sent, failed (tried again) or lost."}, []string{"result"})
	reg.MustRegister(sent)
	for _, result := range mail.Results {
		sent.WithLabelValues(string(result))
	}
	return sent
}

// mailed counts what became of an attempt to send mail.
func (a *App) mailed(result mail.Result) { a.mail.WithLabelValues(string(result)).Inc() }
