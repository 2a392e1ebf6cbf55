package audit

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"ledgerhook/ledger/database"
	"ledgerhook/partners"
)

// chainPage is how many entries a walk along the chain reads at once.
const chainPage = 1000

// VerifyAudit walks the whole chain, up to where it ended when the walk began,
// and names the first entry that is not as it was written. It locks nothing
// and takes about a second for 100,000 entries; ctx ends it early.
func (t *Trail) VerifyAudit(ctx context.Context) (s partners.AuditState, err error) {
	s, err = t.walkAudit(ctx)
	if err != nil {
		return partners.AuditState{}, fmt.Errorf("verify the audit log: %w", err)
	}
	return s, nil
}

func (t *Trail) walkAudit(ctx context.Context) (s partners.AuditState, err error) {
	var end int64
	var head []byte
	err = t.db.Read.QueryRowContext(ctx, "SELECT seq, hash FROM audit_head WHERE id = 1").Scan(&end, &head)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return s, err
	}
	for s.Entries < end {
		page, err := Read(ctx, t.db.Read, new(database.Statement).Add("SELECT "+Columns+" FROM audit WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
			s.Entries, end, chainPage))
		if err != nil {
			return s, err
		}
		for _, e := range page {
			switch {
			case e.Seq != s.Entries+1:
				s.BrokenAt, s.Why = e.ID, fmt.Sprintf("entry %d before it is missing", s.Entries+1)
			case !bytes.Equal(e.Hash, chainHash(s.Head, e)):
				s.BrokenAt, s.Why = e.ID, "it was changed after it was written"
			default:
				s.Entries, s.Head = e.Seq, e.Hash
				continue
			}
			return s, nil
		}
		if len(page) == 0 {
			s.BrokenAt, s.Why = "the end", fmt.Sprintf("entries %d to %d are missing", s.Entries+1, end)
			return s, nil
		}
	}
	if !bytes.Equal(s.Head, head) {
		s.BrokenAt, s.Why = "the end", "the newest entry is not the one that was written last"
		return s, nil
	}
	return s, t.findUnchained(ctx, &s)
}

// findUnchained looks for entries that are in the log but not in the chain.
func (t *Trail) findUnchained(ctx context.Context, s *partners.AuditState) error {
	for _, where := range []string{"seq <= 0", "seq > COALESCE((SELECT seq FROM audit_head WHERE id = 1), 0)"} {
		err := t.db.Read.QueryRowContext(ctx, "SELECT id FROM audit WHERE "+where+" ORDER BY id LIMIT 1").Scan(&s.BrokenAt)
		if err == nil {
			s.Why = "it was not written through the chain"
			return nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	return nil
}

// ChainOldEntries puts the entries of a time without a chain, in their order,
// behind those that are in it.
func ChainOldEntries(ctx context.Context, db *database.DB) error {
	return db.InTx(ctx, func(tx database.Querier) error {
		seq, hash, err := lockHead(ctx, tx)
		if err != nil {
			return err
		}
		old, err := Read(ctx, tx, new(database.Statement).Add("SELECT "+Columns+" FROM audit WHERE seq <= 0 ORDER BY id"))
		if err != nil {
			return err
		}
		for _, e := range old {
			seq++
			e.Seq, e.At = seq, e.At.Truncate(auditPrecision)
			if e.PartnerCode, err = partnerOf(ctx, tx, e.Target); err != nil {
				return err
			}
			hash = chainHash(hash, e)
			if _, err := tx.ExecContext(ctx, "UPDATE audit SET seq = $2, hash = $3, partner_code = $4, at = $5 WHERE id = $1",
				e.ID, seq, hash, e.PartnerCode, database.Micros(e.At)); err != nil {
				return err
			}
		}
		return moveHead(ctx, tx, seq, hash)
	})
}
