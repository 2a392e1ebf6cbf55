package accounts

import (
	"context"
	"fmt"

	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// CreatePartner stores a new partner with its first webhook secret. A code
// that is taken is a Conflict. What is done is written into the audit log as
// by, in the same transaction, here and in whatever else takes entries.
func (a *Accounts) CreatePartner(ctx context.Context, p partners.Partner, first partners.Secret, by ...partners.AuditEntry) error {
	return audit.Do(ctx, a.db, audit.About(by, p.Code, ""), func(tx database.Querier) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO partners ("+rows.PartnerColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
			p.Code, p.Name, p.Disabled, p.PublicKey, rows.WriteOldKeys(p.OldKeys), p.SealedSecret, rows.WriteSettings(p.Settings), database.Micros(p.CreatedAt), database.Micros(p.CreatedAt))
		if database.IsUnique(err) {
			return webhook.Conflict("there is a partner " + p.Code + " already")
		}
		if err != nil {
			return fmt.Errorf("insert partner: %w", err)
		}
		return insertSecret(ctx, tx, first)
	})
}

// Partner returns one partner, or NotFound.
func (a *Accounts) Partner(ctx context.Context, code string) (partners.Partner, error) {
	return rows.Partner(ctx, a.db.Read, code)
}

// Partners lists partners by code, after the code in cursor.
func (a *Accounts) Partners(ctx context.Context, cursor string, limit int) (found []partners.Partner, next string, err error) {
	t := new(database.Statement).Add("SELECT "+rows.PartnerColumns+" FROM partners WHERE code > ? ORDER BY code LIMIT ?", cursor, limit+1)
	err = t.Query(ctx, a.db.Read, func(row database.Row) error {
		p, err := rows.ScanPartner(row.Scan)
		found = append(found, p)
		return err
	})
	found, next = database.Page(found, limit, func(p partners.Partner) string { return p.Code })
	return found, next, err
}
