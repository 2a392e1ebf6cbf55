package accounts_test

import (
	"testing"
	"time"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// accept makes somebody who was invited by another.
func accept(t *testing.T, b *ledgertest.Bench, partnerCode, username, invitedBy string) (partners.Person, error) {
	t.Helper()
	_, hash := partners.NewPageToken()
	now := time.Now()
	by := partners.AuditEntry{Actor: "test", Action: "test"}
	i := partners.Invite{ID: webhook.NewID(webhook.InvitePrefix), PartnerCode: partnerCode, Role: partners.RoleAdmin, InvitedBy: invitedBy, CreatedAt: now, ExpiresAt: now.Add(time.Hour)}
	if err := b.CreateInvite(t.Context(), hash, i, by); err != nil {
		t.Fatal(err)
	}
	p := partners.Person{ID: webhook.NewID(webhook.PersonPrefix), Username: username, Name: username, CreatedAt: now}
	return b.AcceptInvite(t.Context(), hash, p, "hash of "+partnerCode, now, by)
}

func TestPartnersUsernamesTellNobodyTheOperators(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Partner(t, "umbrella")
		operator, err := accept(t, b, "", "ann", "test")
		if err != nil {
			t.Fatal(err)
		}
		partner, err := accept(t, b, "acme", "ann", "test")
		if err != nil {
			t.Fatalf("a partner's invitation tells that an operator has the name: %v", err)
		}
		_, err = accept(t, b, "umbrella", "ann", "test")
		wantKind(t, err, webhook.KindConflict) // all partners' people sign in at one page
		_, err = accept(t, b, "", "ann", "test")
		wantKind(t, err, webhook.KindConflict)
		for operators, want := range map[bool]partners.Person{true: operator, false: partner} {
			c, err := b.CredentialsByName(t.Context(), "ann", operators)
			same(t, "who signs in", []any{c.ID, c.Username, c.PasswordHash, err}, []any{want.ID, "ann", "hash of " + want.PartnerCode, error(nil)})
		}
		hits, err := b.Find(t.Context(), partners.Everything(), "Ann")
		same(t, "found", []any{len(hits), err}, []any{2, error(nil)})
		for _, h := range hits {
			same(t, "shown as", h.Label, "ann")
		}
	})
}

func TestInvitationsEndWithWhoMadeThem(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		by := partners.AuditEntry{Actor: "test", Action: "test"}
		var people []partners.Person
		for _, code := range []string{"", "acme"} {
			for _, username := range []string{"ann", "bob"} {
				p, err := accept(t, b, code, username, "test")
				if err != nil {
					t.Fatal(err)
				}
				people = append(people, p)
				_, hash := partners.NewPageToken()
				i := partners.Invite{ID: webhook.NewID(webhook.InvitePrefix), PartnerCode: "acme", Role: partners.RoleAdmin, InvitedBy: p.Actor(), CreatedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour)}
				if err := b.CreateInvite(t.Context(), hash, i, by); err != nil {
					t.Fatal(err)
				}
			}
		}
		for n, p := range []partners.Person{people[0], people[2]} {
			if _, err := b.AlterPerson(t.Context(), p.PartnerCode, p.ID, by, func(p *partners.Person) error { p.Disabled = true; return nil }); err != nil {
				t.Fatal(err)
			}
			open, err := b.Invites(t.Context(), "", true, time.Now())
			same(t, "open invitations", []any{len(open), err}, []any{3 - n, error(nil)})
			for _, i := range open {
				if i.InvitedBy == p.Actor() {
					t.Errorf("the invitation of %s, a disabled person, is open", p.Actor())
				}
			}
		}
	})
}
