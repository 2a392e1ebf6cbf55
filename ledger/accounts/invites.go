package accounts

import (
	"context"
	"fmt"
	"time"

	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

const inviteColumns = "id, person_id, username, name, email, partner_code, role, invited_by, created_at, expires_at, used_at"

func inviteFields(i *partners.Invite) []any {
	return []any{&i.ID, &i.PersonID, &i.Username, &i.Name, &i.Email, &i.PartnerCode, &i.Role, &i.InvitedBy,
		database.Time(&i.CreatedAt), database.Time(&i.ExpiresAt), database.Time(&i.UsedAt)}
}

// CreateInvite stores an invitation under the hash of its link's token and
// writes by. Older links for the same person's password stop working.
func (a *Accounts) CreateInvite(ctx context.Context, hash []byte, i partners.Invite, by partners.AuditEntry) error {
	by.Target, by.PartnerCode = i.ID, i.PartnerCode
	if i.PersonID != "" {
		by.Target = i.PersonID
	}
	return audit.Do(ctx, a.db, []partners.AuditEntry{by}, func(tx database.Querier) error {
		if i.PersonID != "" {
			if err := voidLinks(ctx, tx, i.PersonID); err != nil {
				return err
			}
		}
		return database.Run(ctx, tx, "insert an invitation", "INSERT INTO invites (hash, "+inviteColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
			hash, i.ID, i.PersonID, i.Username, i.Name, i.Email, i.PartnerCode, string(i.Role), i.InvitedBy, database.Micros(i.CreatedAt), database.Micros(i.ExpiresAt), database.Micros(i.UsedAt))
	})
}

// voidLinks deletes the links with which a person could still choose a new
// password.
func voidLinks(ctx context.Context, tx database.Querier, personID string) error {
	return database.Run(ctx, tx, "delete links for a new password", "DELETE FROM invites WHERE person_id = $1 AND used_at = 0", personID)
}

// Invites lists the invitations of a partner (of the company, if the code is
// empty; of everybody, if any) that still work at now, newest first.
func (a *Accounts) Invites(ctx context.Context, partnerCode string, anybody bool, now time.Time) (found []partners.Invite, err error) {
	t := new(database.Statement).Add("SELECT "+inviteColumns+" FROM invites WHERE used_at = 0 AND expires_at > ?", database.Micros(now))
	if !anybody {
		t.Add(" AND partner_code = ?", partnerCode)
	}
	return database.Collect(ctx, a.db.Read, t.Add(" ORDER BY id DESC LIMIT 200"), inviteFields)
}

// Invite finds the invitation of a link, used and expired ones too. A token
// that is unknown is NotFound.
func (a *Accounts) Invite(ctx context.Context, hash []byte) (partners.Invite, error) {
	a = a.atDoor()
	return a.invite(ctx, a.db.Read, hash)
}

func (a *Accounts) invite(ctx context.Context, q database.Querier, hash []byte) (i partners.Invite, err error) {
	err = q.QueryRowContext(ctx, "SELECT "+inviteColumns+" FROM invites WHERE hash = $1", hash).Scan(inviteFields(&i)...)
	return i, database.OrNone(err, &webhook.Error{Kind: webhook.KindNotFound, Message: "there is no such invitation"})
}

// WithdrawInvite takes an invitation of a partner back and writes by. One of
// another partner is NotFound.
func (a *Accounts) WithdrawInvite(ctx context.Context, partnerCode, id string, by partners.AuditEntry) error {
	by.Target, by.PartnerCode = id, partnerCode
	return audit.Do(ctx, a.db, []partners.AuditEntry{by}, func(tx database.Querier) error {
		return database.RunOne(ctx, tx, webhook.NotFound("invitation", id), "delete an invitation",
			"DELETE FROM invites WHERE id = $1 AND partner_code = $2 AND used_at = 0", id, partnerCode)
	})
}

// AcceptInvite uses the invitation of a link up: p becomes a person, or the
// person it was made for gets the password of passwordHash, loses their TOTP
// and is signed out everywhere. A link that was used or has expired is a Conflict,
// as are a username that is taken and a disabled person, after which the link
// still works.
func (a *Accounts) AcceptInvite(ctx context.Context, hash []byte, p partners.Person, passwordHash string, now time.Time, by partners.AuditEntry) (partners.Person, error) {
	invited := by.Detail
	err := a.db.AtDoor().InTx(ctx, func(tx database.Querier) error {
		i, err := a.invite(ctx, tx, hash)
		if err != nil {
			return err
		}
		if i.PersonID != "" {
			// Before the link, in the order of whoever voids it.
			if err := a.lockEnabled(ctx, tx, i.PersonID); err != nil {
				return err
			}
		}
		if err := useInvite(ctx, tx, hash, now); err != nil {
			return err
		}
		p.PartnerCode, p.Role = i.PartnerCode, i.Role
		if i.PersonID != "" {
			p.ID = i.PersonID
			err = resetPassword(ctx, tx, p.ID, passwordHash)
		} else {
			err = insertPerson(ctx, tx, p, passwordHash, "")
		}
		if err != nil {
			return err
		}
		by.Target, by.PartnerCode, by.Detail = p.ID, p.PartnerCode, "invited by "+i.InvitedBy+"; "+invited
		return audit.Append(ctx, tx, []partners.AuditEntry{by}, now)
	})
	return p, err
}

// lockEnabled locks a person, who must not be disabled.
func (a *Accounts) lockEnabled(ctx context.Context, tx database.Querier, personID string) error {
	var disabled bool
	err := tx.QueryRowContext(ctx, "SELECT disabled FROM people WHERE id = $1"+a.db.ForUpdate, personID).Scan(&disabled)
	if err != nil {
		return fmt.Errorf("lock the person of a link: %w", err)
	}
	if disabled {
		return webhook.Conflict("this account is disabled: ask your administrator")
	}
	return nil
}

// useInvite uses an invitation up that is open at now. Of requests at the same
// time one does.
func useInvite(ctx context.Context, tx database.Querier, hash []byte, now time.Time) error {
	return database.RunOne(ctx, tx, webhook.Conflict("this link was used already or has expired: ask for a new one"), "use an invitation up",
		"UPDATE invites SET used_at = $2 WHERE hash = $1 AND used_at = 0 AND expires_at > $2", hash, database.Micros(now))
}

func resetPassword(ctx context.Context, tx database.Querier, personID, passwordHash string) error {
	err := updateOne(ctx, tx, personID, "UPDATE people SET password = $2, totp = $3, totp_step = 0 WHERE id = $1", personID, passwordHash, []byte{})
	if err != nil {
		return err
	}
	if err := replaceRecovery(ctx, tx, personID, nil); err != nil {
		return err
	}
	return shutOut(ctx, tx, personID, nil)
}
