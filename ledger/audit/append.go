// Package audit keeps the log of who did what, a chain of hashes that nobody
// changes without its being seen.
package audit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// Trail is the audit log of a database. It is safe for concurrent use.
type Trail struct{ db *database.DB }

// New is the trail that db holds.
func New(db *database.DB) *Trail { return &Trail{db} }

// Audit writes an entry; ID, At, Seq and Hash are filled in, and PartnerCode
// where it is empty and the target is somebody's.
func (t *Trail) Audit(ctx context.Context, e partners.AuditEntry) error {
	return Do(ctx, t.db, []partners.AuditEntry{e}, func(database.Querier) error { return nil })
}

// Do runs do and writes what was done in the same transaction: neither
// stands without the other, whoever hangs up.
func Do(ctx context.Context, db *database.DB, entries []partners.AuditEntry, do func(database.Querier) error) error {
	ctx, cancel := context.WithTimeout(ctx, database.CommitTimeout)
	defer cancel()
	return db.InTx(ctx, func(tx database.Querier) error {
		if err := do(tx); err != nil {
			return err
		}
		if len(entries) == 0 {
			return nil
		}
		return Append(ctx, tx, entries, time.Now())
	})
}

// About returns the entries of an act upon target. Detail is for those that
// say none.
func About(by []partners.AuditEntry, target, detail string) []partners.AuditEntry {
	by = slices.Clone(by) // a batch may run twice
	for i := range by {
		by[i].Target, by[i].Detail = target, cmp.Or(by[i].Detail, detail)
	}
	return by
}

// auditPrecision is that of the times the interfaces show, so that whoever
// reads the log there can check its hashes.
const auditPrecision = time.Millisecond

// Append adds entries to the chain, in order, all of the time at. It
// locks the head of the chain until the transaction ends, so it comes last:
// whoever waits for the head holds nothing that its holder still needs.
func Append(ctx context.Context, q database.Querier, entries []partners.AuditEntry, at time.Time) error {
	for i := range entries {
		e := &entries[i]
		e.Target, e.Detail = database.Text(e.Target), database.Text(e.Detail)
		if e.PartnerCode != "" {
			continue
		}
		var err error
		if e.PartnerCode, err = partnerOf(ctx, q, e.Target); err != nil {
			return fmt.Errorf("find the partner of %s: %w", e.Target, err)
		}
	}
	seq, hash, err := lockHead(ctx, q)
	if err != nil {
		return err
	}
	t := new(database.Statement).Add("INSERT INTO audit (id, at, actor, action, target, detail, partner_code, seq, hash) ")
	t.Values(len(entries), func(i int) []any {
		e := entries[i]
		seq++
		e.ID, e.At, e.Seq = webhook.NewID(webhook.AuditPrefix), at.Truncate(auditPrecision), seq
		hash = chainHash(hash, e)
		return []any{e.ID, database.Micros(e.At), e.Actor, e.Action, e.Target, e.Detail, e.PartnerCode, e.Seq, hash}
	})
	if _, err := t.Exec(ctx, q); err != nil {
		return fmt.Errorf("insert audit entries: %w", err)
	}
	return moveHead(ctx, q, seq, hash)
}

// lockHead locks the head of the chain and returns the newest entry's number
// and hash.
func lockHead(ctx context.Context, q database.Querier) (seq int64, hash []byte, err error) {
	err = q.QueryRowContext(ctx, `INSERT INTO audit_head (id, seq, hash) VALUES (1, 0, $1)
		ON CONFLICT (id) DO UPDATE SET seq = audit_head.seq RETURNING seq, hash`, []byte{}).Scan(&seq, &hash)
	if err != nil {
		return 0, nil, fmt.Errorf("lock the head of the audit chain: %w", err)
	}
	return seq, hash, nil
}

func moveHead(ctx context.Context, q database.Querier, seq int64, hash []byte) error {
	return database.Run(ctx, q, "move the head of the audit chain", "UPDATE audit_head SET seq = $1, hash = $2 WHERE id = 1", seq, database.Bytes(hash))
}

// chainHash is SHA-256 over the hash before, the numbers of the entry as 8
// bytes each and its texts, each after its length as 8 bytes.
func chainHash(before []byte, e partners.AuditEntry) []byte {
	b := bytes.Clone(before)
	b = binary.BigEndian.AppendUint64(b, uint64(e.Seq))
	b = binary.BigEndian.AppendUint64(b, uint64(database.Micros(e.At)))
	for _, field := range []string{e.ID, e.Actor, e.Action, e.Target, e.Detail, e.PartnerCode} {
		b = binary.BigEndian.AppendUint64(b, uint64(len(field)))
		b = append(b, field...)
	}
	sum := sha256.Sum256(b)
	return sum[:]
}

// owned names the tables whose rows belong to a partner, by their ids' prefix.
var owned = map[string]string{
	webhook.EndpointPrefix: "endpoints", webhook.DeliveryPrefix: "deliveries", webhook.EventPrefix: "events",
	webhook.OrderPrefix: "orders", webhook.SecretPrefix: "secrets", webhook.PersonPrefix: "people",
}

// partnerOf finds out whose a target is: an id's that belongs to a partner, or
// the partner's own code. It is empty for what belongs to nobody.
func partnerOf(ctx context.Context, q database.Querier, target string) (code string, err error) {
	query := "SELECT code FROM partners WHERE code = $1"
	prefix, _, _ := strings.Cut(target, "_")
	if table := owned[prefix+"_"]; table != "" && webhook.CheckID("", prefix+"_", target) == nil {
		query = "SELECT partner_code FROM " + table + " WHERE id = $1"
	}
	err = q.QueryRowContext(ctx, query, target).Scan(&code)
	return code, database.OrNone(err, nil)
}
