package accounts

import (
	"context"
	"fmt"
	"time"

	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

func insertSecret(ctx context.Context, q database.Querier, s partners.Secret) error {
	return database.Run(ctx, q, "insert secret", "INSERT INTO secrets ("+rows.SecretColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
		s.ID, s.PartnerCode, string(s.State), s.Sealed, database.Micros(s.CreatedAt), database.Micros(s.ActivatedAt), database.Micros(s.RetiresAt), database.Micros(s.RevokedAt))
}

// maxPendingSecrets keeps a partner's list of unused secrets short.
const maxPendingSecrets = 10

// AddSecret stores a pending secret of an existing partner.
func (a *Accounts) AddSecret(ctx context.Context, s partners.Secret, by ...partners.AuditEntry) error {
	return a.alterSecrets(ctx, s.PartnerCode, audit.About(by, s.PartnerCode, s.ID), func(tx database.Querier, have []partners.Secret) error {
		pending := 0
		for _, h := range have {
			if h.State == partners.SecretPending {
				pending++
			}
		}
		if pending >= maxPendingSecrets {
			return webhook.Conflict(fmt.Sprintf("the partner has %d pending secrets: activate or revoke one first", pending))
		}
		return insertSecret(ctx, tx, s)
	})
}

// Secrets lists a partner's webhook secrets, oldest first; NotFound without such a partner.
func (a *Accounts) Secrets(ctx context.Context, code string) ([]partners.Secret, error) {
	if _, err := a.Partner(ctx, code); err != nil {
		return nil, err
	}
	return secretsOf(ctx, a.db.Read, code)
}

func secretsOf(ctx context.Context, q database.Querier, code string) (found []partners.Secret, err error) {
	t := new(database.Statement).Add("SELECT "+rows.SecretColumns+" FROM secrets WHERE partner_code = ? ORDER BY id", code)
	return database.Collect(ctx, q, t, rows.SecretFields)
}

// ActivateSecret makes a pending secret the active one and retires the one before.
func (a *Accounts) ActivateSecret(ctx context.Context, code, id string, now time.Time, by ...partners.AuditEntry) (partners.Secret, error) {
	return a.changeSecret(ctx, code, id, by, func(s *partners.Secret, active *partners.Secret) error {
		return partners.Activate(s, active, now)
	})
}

// RevokeSecret ends a secret.
func (a *Accounts) RevokeSecret(ctx context.Context, code, id string, now time.Time, by ...partners.AuditEntry) (partners.Secret, error) {
	return a.changeSecret(ctx, code, id, by, func(s *partners.Secret, _ *partners.Secret) error {
		return partners.Revoke(s, now)
	})
}

func (a *Accounts) changeSecret(ctx context.Context, code, id string, by []partners.AuditEntry, change func(s, active *partners.Secret) error) (changed partners.Secret, err error) {
	err = a.alterSecrets(ctx, code, audit.About(by, code, id), func(tx database.Querier, have []partners.Secret) error {
		var secret, active *partners.Secret
		for i := range have {
			if have[i].ID == id {
				secret = &have[i]
			} else if have[i].State == partners.SecretActive {
				active = &have[i]
			}
		}
		if secret == nil {
			return webhook.NotFound("secret", id)
		}
		if err := change(secret, active); err != nil {
			return err
		}
		changed = *secret
		for _, s := range have {
			err := database.Run(ctx, tx, "update secret", "UPDATE secrets SET state = $2, activated_at = $3, retires_at = $4, revoked_at = $5 WHERE id = $1",
				s.ID, string(s.State), database.Micros(s.ActivatedAt), database.Micros(s.RetiresAt), database.Micros(s.RevokedAt))
			if err != nil {
				return err
			}
		}
		return nil
	})
	return changed, err
}

// alterSecrets runs do with all secrets of a partner while its row is locked.
func (a *Accounts) alterSecrets(ctx context.Context, code string, entries []partners.AuditEntry, do func(database.Querier, []partners.Secret) error) error {
	return audit.Do(ctx, a.db, entries, func(tx database.Querier) error {
		var found string
		err := tx.QueryRowContext(ctx, "SELECT code FROM partners WHERE code = $1"+a.db.ForUpdate, code).Scan(&found)
		if err := database.OrNone(err, webhook.NotFound("partner", code)); err != nil {
			return err
		}
		have, err := secretsOf(ctx, tx, code)
		if err != nil {
			return err
		}
		return do(tx, have)
	})
}
