package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

const partnerColumns = `code, name, disabled, public_key, old_keys, secret_key, settings, created_at, updated_at`

func scanPartner(scan func(...any) error) (p partners.Partner, err error) {
	var oldKeys, settings []byte
	err = scan(&p.Code, &p.Name, &p.Disabled, &p.PublicKey, &oldKeys, &p.SealedSecret, &settings, database.Time(&p.CreatedAt), database.Time(&p.UpdatedAt))
	if err == nil {
		p.OldKeys, err = readOldKeys(oldKeys)
	}
	if err == nil {
		p.Settings, err = readSettings(settings)
	}
	return p, err
}

// CreatePartner stores a new partner with its first webhook secret. A code
// that is taken is a Conflict. What is done is written into the audit log as
// by, in the same transaction, here and in whatever else takes entries.
func (l *Ledger) CreatePartner(ctx context.Context, p partners.Partner, first partners.Secret, by ...partners.AuditEntry) error {
	return audit.Do(ctx, l.db, audit.About(by, p.Code, ""), func(tx database.Querier) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO partners ("+partnerColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
			p.Code, p.Name, p.Disabled, p.PublicKey, writeOldKeys(p.OldKeys), p.SealedSecret, writeSettings(p.Settings), database.Micros(p.CreatedAt), database.Micros(p.CreatedAt))
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
func (l *Ledger) Partner(ctx context.Context, code string) (partners.Partner, error) {
	p, err := scanPartner(l.db.Read.QueryRowContext(ctx, "SELECT "+partnerColumns+" FROM partners WHERE code = $1", code).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return p, webhook.NotFound("partner", code)
	}
	return p, err
}

// Partners lists partners by code, after the code in cursor.
func (l *Ledger) Partners(ctx context.Context, cursor string, limit int) (found []partners.Partner, next string, err error) {
	t := new(database.Statement).Add("SELECT "+partnerColumns+" FROM partners WHERE code > ? ORDER BY code LIMIT ?", cursor, limit+1)
	err = t.Query(ctx, l.db.Read, func(row database.Row) error {
		p, err := scanPartner(row.Scan)
		found = append(found, p)
		return err
	})
	if len(found) > limit {
		found = found[:limit]
		next = found[limit-1].Code
	}
	return found, next, err
}

// UpdatePartner changes a partner under its lock. Disabling or enabling it
// closes or opens the windows of all its endpoints in the same transaction.
// change may run more than once. Entries without a detail say what changed.
func (l *Ledger) UpdatePartner(ctx context.Context, code string, change func(*partners.Partner) error, by ...partners.AuditEntry) (p partners.Partner, err error) {
	alter := &alterOp{partner: code}
	alter.do = func(ctx context.Context, b *batch) error {
		row := b.tx.QueryRowContext(ctx, "SELECT "+partnerColumns+" FROM partners WHERE code = $1", code)
		if p, err = scanPartner(row.Scan); errors.Is(err, sql.ErrNoRows) {
			return webhook.NotFound("partner", code)
		} else if err != nil {
			return err
		}
		before := p
		if err := change(&p); err != nil {
			return err
		}
		p.UpdatedAt = b.now
		for _, id := range alter.endpoints {
			w, err := b.window(id)
			if err != nil {
				return err
			}
			w.PartnerDisabled = p.Disabled
			w.wake(b.now)
		}
		_, err = b.tx.ExecContext(ctx, `UPDATE partners SET name = $2, disabled = $3, public_key = $4, old_keys = $5,
			settings = $6, updated_at = $7 WHERE code = $1`, p.Code, p.Name, p.Disabled, p.PublicKey, writeOldKeys(p.OldKeys), writeSettings(p.Settings), database.Micros(p.UpdatedAt))
		if err == nil {
			b.acted(by, code, before.Changes(p))
		}
		return err
	}
	err = l.change(ctx, alter)
	return p, err
}

// lockPartners locks the partners that the batch changes, and finds the windows
// that go with them. Whoever adds one locks its partner, too.
func (b *batch) lockPartners(ctx context.Context) error {
	changes := map[string][]*alterOp{}
	for _, op := range b.alters {
		if a := op.alter; a.partner != "" {
			a.endpoints = nil
			changes[a.partner] = append(changes[a.partner], a)
		}
	}
	if len(changes) == 0 {
		return nil
	}
	codes := slices.Sorted(maps.Keys(changes))
	if err := lockPartners(ctx, b.tx, codes, b.ledger.db.ForUpdate); err != nil {
		return err
	}
	t := database.InList(new(database.Statement).Add("SELECT partner_code, id FROM endpoints WHERE removed_at = 0 AND partner_code IN "), codes)
	database.InList(t.Add(" UNION ALL SELECT code, unrouted FROM partners WHERE unrouted <> '' AND code IN "), codes)
	return t.Query(ctx, b.tx, func(row database.Row) error {
		var code, id string
		err := row.Scan(&code, &id)
		for _, a := range changes[code] {
			a.endpoints = append(a.endpoints, id)
		}
		return err
	})
}

const secretColumns = `id, partner_code, state, sealed, created_at, activated_at, retires_at, revoked_at`

func secretFields(s *partners.Secret) []any {
	return []any{&s.ID, &s.PartnerCode, &s.State, &s.Sealed, database.Time(&s.CreatedAt), database.Time(&s.ActivatedAt),
		database.Time(&s.RetiresAt), database.Time(&s.RevokedAt)}
}

func insertSecret(ctx context.Context, q database.Querier, s partners.Secret) error {
	_, err := q.ExecContext(ctx, "INSERT INTO secrets ("+secretColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
		s.ID, s.PartnerCode, string(s.State), s.Sealed, database.Micros(s.CreatedAt), database.Micros(s.ActivatedAt), database.Micros(s.RetiresAt), database.Micros(s.RevokedAt))
	if err != nil {
		return fmt.Errorf("insert secret: %w", err)
	}
	return nil
}

// maxPendingSecrets keeps a partner's list of unused secrets short.
const maxPendingSecrets = 10

// AddSecret stores a pending secret of an existing partner.
func (l *Ledger) AddSecret(ctx context.Context, s partners.Secret, by ...partners.AuditEntry) error {
	return l.alterSecrets(ctx, s.PartnerCode, audit.About(by, s.PartnerCode, s.ID), func(tx database.Querier, have []partners.Secret) error {
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
func (l *Ledger) Secrets(ctx context.Context, code string) ([]partners.Secret, error) {
	if _, err := l.Partner(ctx, code); err != nil {
		return nil, err
	}
	found, err := secretsOf(ctx, l.db.Read, code)
	return found, err
}

func secretsOf(ctx context.Context, q database.Querier, code string) (found []partners.Secret, err error) {
	t := new(database.Statement).Add("SELECT "+secretColumns+" FROM secrets WHERE partner_code = ? ORDER BY id", code)
	return database.Collect(ctx, q, t, secretFields)
}

// ActivateSecret makes a pending secret the active one and retires the one before.
func (l *Ledger) ActivateSecret(ctx context.Context, code, id string, now time.Time, by ...partners.AuditEntry) (partners.Secret, error) {
	return l.changeSecret(ctx, code, id, by, func(s *partners.Secret, active *partners.Secret) error {
		return partners.Activate(s, active, now)
	})
}

// RevokeSecret ends a secret.
func (l *Ledger) RevokeSecret(ctx context.Context, code, id string, now time.Time, by ...partners.AuditEntry) (partners.Secret, error) {
	return l.changeSecret(ctx, code, id, by, func(s *partners.Secret, _ *partners.Secret) error {
		return partners.Revoke(s, now)
	})
}

func (l *Ledger) changeSecret(ctx context.Context, code, id string, by []partners.AuditEntry, change func(s, active *partners.Secret) error) (changed partners.Secret, err error) {
	err = l.alterSecrets(ctx, code, audit.About(by, code, id), func(tx database.Querier, have []partners.Secret) error {
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
			_, err := tx.ExecContext(ctx, "UPDATE secrets SET state = $2, activated_at = $3, retires_at = $4, revoked_at = $5 WHERE id = $1",
				s.ID, string(s.State), database.Micros(s.ActivatedAt), database.Micros(s.RetiresAt), database.Micros(s.RevokedAt))
			if err != nil {
				return fmt.Errorf("update secret: %w", err)
			}
		}
		return nil
	})
	return changed, err
}

// alterSecrets runs do with all secrets of a partner while its row is locked.
func (l *Ledger) alterSecrets(ctx context.Context, code string, entries []partners.AuditEntry, do func(database.Querier, []partners.Secret) error) error {
	return audit.Do(ctx, l.db, entries, func(tx database.Querier) error {
		var found string
		err := tx.QueryRowContext(ctx, "SELECT code FROM partners WHERE code = $1"+l.db.ForUpdate, code).Scan(&found)
		if errors.Is(err, sql.ErrNoRows) {
			return webhook.NotFound("partner", code)
		}
		if err != nil {
			return err
		}
		have, err := secretsOf(ctx, tx, code)
		if err != nil {
			return err
		}
		return do(tx, have)
	})
}
