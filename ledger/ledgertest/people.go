package ledgertest

import (
	"strings"
	"testing"
	"time"

	"ledgerhook/partners"
	"ledgerhook/webhook"
)

var byTest = partners.AuditEntry{Actor: "test", Action: "test"}

// NewPerson makes somebody by invitation, an operator if partnerCode is empty.
// They have no password that works.
func (b *Bench) NewPerson(t *testing.T, partnerCode string, role partners.Role) partners.Person {
	t.Helper()
	_, hash := partners.NewPageToken()
	now := time.Now()
	invite := partners.Invite{ID: webhook.NewID(webhook.InvitePrefix), PartnerCode: partnerCode, Role: role, InvitedBy: "test", CreatedAt: now, ExpiresAt: now.Add(time.Hour)}
	if err := b.CreateInvite(t.Context(), hash, invite, byTest); err != nil {
		t.Fatal(err)
	}
	person := partners.Person{ID: webhook.NewID(webhook.PersonPrefix), Username: strings.ToLower(webhook.NewID("u")), Name: "Somebody", PartnerCode: partnerCode, Role: role, CreatedAt: now}
	person, err := b.AcceptInvite(t.Context(), hash, person, "unusable", now, byTest)
	if err != nil {
		t.Fatal(err)
	}
	return person
}

// SignIn signs a person in and returns the token that a browser would have.
func (b *Bench) SignIn(t *testing.T, person partners.Person) (token string) {
	t.Helper()
	token, hash := partners.NewPageToken()
	now := time.Now()
	session := partners.Session{ID: webhook.NewID("ses_"), PersonID: person.ID, CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(partners.SessionLife)}
	if err := b.StartSession(t.Context(), hash, session, byTest); err != nil {
		t.Fatal(err)
	}
	return token
}
