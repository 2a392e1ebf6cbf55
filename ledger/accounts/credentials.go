package accounts

import (
	"context"

	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

const credentialColumns = personColumns + `, p.password, p.totp, p.totp_step, COALESCE(a.disabled, $1)
	FROM people p LEFT JOIN partners a ON a.code = p.partner_code`

// CredentialsByName finds the person who signs in with a username, among the operators or
// among the partners' people. For nobody it answers with empty credentials,
// which no password fits.
func (a *Accounts) CredentialsByName(ctx context.Context, username string, operators bool) (partners.Credentials, error) {
	return a.atDoor().credentials(ctx, "p.username = $2", storedName(username, operators))
}

// Credentials returns those of a person; they are empty for nobody.
func (a *Accounts) Credentials(ctx context.Context, personID string) (partners.Credentials, error) {
	return a.credentials(ctx, "p.id = $2", personID)
}

func (a *Accounts) credentials(ctx context.Context, where string, args ...any) (c partners.Credentials, err error) {
	err = a.db.Read.QueryRowContext(ctx, "SELECT "+credentialColumns+" WHERE "+where, append([]any{false}, args...)...).
		Scan(append(personFields(&c.Person), &c.PasswordHash, &c.SealedTOTP, &c.TOTPStep, &c.PartnerDisabled)...)
	return c, database.OrNone(err, nil)
}

// SetPassword gives a person a new password, signs them out everywhere but
// in the session with the hash keep, and writes by. Links with which they could
// choose another one stop working.
func (a *Accounts) SetPassword(ctx context.Context, p partners.Person, passwordHash string, keep []byte, by partners.AuditEntry) error {
	by.Target, by.PartnerCode = p.ID, p.PartnerCode
	return audit.Do(ctx, a.db, []partners.AuditEntry{by}, func(tx database.Querier) error {
		if err := updateOne(ctx, tx, p.ID, "UPDATE people SET password = $2 WHERE id = $1", p.ID, passwordHash); err != nil {
			return err
		}
		return shutOut(ctx, tx, p.ID, keep)
	})
}

// shutOut ends what a person's password let in, but for the session with the
// hash keep: sessions, and links with which they could choose another one.
func shutOut(ctx context.Context, tx database.Querier, personID string, keep []byte) error {
	if err := voidLinks(ctx, tx, personID); err != nil {
		return err
	}
	return endSessions(ctx, tx, personID, keep)
}

// SetTOTP gives a person a sealed TOTP secret of which step was accepted, and
// recovery codes by their hashes; an empty secret takes all away. It signs
// them out everywhere but in the session with the hash keep, and writes by.
func (a *Accounts) SetTOTP(ctx context.Context, p partners.Person, sealed []byte, step int64, recovery [][]byte, keep []byte, by partners.AuditEntry) error {
	by.Target, by.PartnerCode = p.ID, p.PartnerCode
	return audit.Do(ctx, a.db, []partners.AuditEntry{by}, func(tx database.Querier) error {
		err := updateOne(ctx, tx, p.ID, "UPDATE people SET totp = $2, totp_step = $3 WHERE id = $1", p.ID, database.Bytes(sealed), step)
		if err != nil {
			return err
		}
		if err := replaceRecovery(ctx, tx, p.ID, recovery); err != nil {
			return err
		}
		return endSessions(ctx, tx, p.ID, keep)
	})
}

func replaceRecovery(ctx context.Context, tx database.Querier, personID string, hashes [][]byte) error {
	err := database.Run(ctx, tx, "delete recovery codes", "DELETE FROM recovery_codes WHERE person_id = $1", personID)
	for _, hash := range hashes {
		if err == nil {
			err = database.Run(ctx, tx, "insert a recovery code", "INSERT INTO recovery_codes (person_id, hash) VALUES ($1, $2)", personID, hash)
		}
	}
	return err
}

// UseTOTPStep marks a step as used and reports whether it was not before, nor
// any later one: of two requests with one code one signs in.
func (a *Accounts) UseTOTPStep(ctx context.Context, personID string, step int64) (first bool, err error) {
	return a.atDoor().happened(ctx, "UPDATE people SET totp_step = $2 WHERE id = $1 AND totp_step < $2 AND length(totp) > 0", personID, step)
}

// UseRecoveryCode uses a code up and reports whether it was one.
func (a *Accounts) UseRecoveryCode(ctx context.Context, personID string, hash []byte) (good bool, err error) {
	return a.atDoor().happened(ctx, "DELETE FROM recovery_codes WHERE person_id = $1 AND hash = $2", personID, hash)
}

// RecoveryCodesLeft counts a person's recovery codes.
func (a *Accounts) RecoveryCodesLeft(ctx context.Context, personID string) (n int, err error) {
	err = a.db.Read.QueryRowContext(ctx, "SELECT COUNT(*) FROM recovery_codes WHERE person_id = $1", personID).Scan(&n)
	return n, err
}

// happened runs a statement and reports whether it changed anything.
func (a *Accounts) happened(ctx context.Context, query string, args ...any) (bool, error) {
	result, err := a.db.Write.ExecContext(ctx, query, args...)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// updateOne updates a person, or is NotFound without such a person.
func updateOne(ctx context.Context, tx database.Querier, personID, query string, args ...any) error {
	return database.RunOne(ctx, tx, webhook.NotFound("person", personID), "update a person", query, args...)
}
