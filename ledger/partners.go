package ledger

import (
	"context"
	"maps"
	"slices"

	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/partners"
)

// UpdatePartner changes a partner under its lock. Disabling or enabling it
// closes or opens the windows of all its endpoints in the same transaction.
// change may run more than once. Entries without a detail say what changed.
func (l *Ledger) UpdatePartner(ctx context.Context, code string, change func(*partners.Partner) error, by ...partners.AuditEntry) (p partners.Partner, err error) {
	alter := &alterOp{partner: code}
	alter.do = func(ctx context.Context, b *batch) error {
		if p, err = rows.Partner(ctx, b.tx, code); err != nil {
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
			settings = $6, updated_at = $7 WHERE code = $1`, p.Code, p.Name, p.Disabled, p.PublicKey, rows.WriteOldKeys(p.OldKeys), rows.WriteSettings(p.Settings), database.Micros(p.UpdatedAt))
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
