package ledger

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// personTables hold what is known of a person beside orders: each is counted
// and deleted by partner and e-mail. Tokens go before the families they are of.
var personTables = []struct {
	table, where string
	count        func(*partners.ErasureCounts) *int // nil: it is not counted by itself
}{
	{"quotes", ofPerson, func(c *partners.ErasureCounts) *int { return &c.Quotes }},
	{"mailbox", ofPerson, func(c *partners.ErasureCounts) *int { return &c.Letters }},
	{"access_tokens", ofFamily, nil},
	{"refresh_tokens", ofFamily, nil},
	{"token_families", ofPerson, func(c *partners.ErasureCounts) *int { return &c.Sessions }},
	{"users", ofPerson, func(c *partners.ErasureCounts) *int { return &c.Users }},
}

const (
	ofPerson = "partner_code = $1 AND email = $2"
	ofFamily = "family_id IN (SELECT id FROM token_families WHERE " + ofPerson + ")"
)

// countRecords counts what eraseRecords would erase.
func (e *erasure) countRecords(ctx context.Context) error {
	db := e.ledger.db.Read
	if len(e.orders) > 0 {
		t := database.InList(new(database.Statement).Add("SELECT COUNT(*) FROM orders WHERE erased_at = 0 AND id IN "), e.orders)
		if err := db.QueryRowContext(ctx, t.String(), t.Args...).Scan(&e.counts.Orders); err != nil {
			return err
		}
	}
	if e.subject.Email == "" {
		return nil
	}
	for _, t := range personTables {
		if t.count == nil {
			continue
		}
		err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+t.table+" WHERE "+t.where, e.subject.PartnerCode, e.subject.Email).Scan(t.count(&e.counts))
		if err != nil {
			return err
		}
	}
	return nil
}

// eraseRecords erases orders, and what else is known of a person, in one
// transaction with the entry that says so.
func (e *erasure) eraseRecords(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, database.CommitTimeout)
	defer cancel()
	var counts partners.ErasureCounts
	err := e.ledger.db.InTx(ctx, func(tx database.Querier) (err error) {
		counts = e.counts
		if len(e.orders) > 0 {
			if counts.Orders, err = e.eraseOrders(ctx, tx); err != nil {
				return err
			}
		}
		if e.subject.Email != "" {
			if err := e.deletePerson(ctx, tx, &counts); err != nil {
				return err
			}
		}
		return audit.Append(ctx, tx, []partners.AuditEntry{e.entry(said(counts))}, time.Now())
	})
	if err == nil {
		e.counts = counts
	}
	return err
}

// eraseOrders erases the customer from orders, and from what was said of them.
func (e *erasure) eraseOrders(ctx context.Context, tx database.Querier) (erased int, err error) {
	t := new(database.Statement).Add(`UPDATE orders SET email = '', bank_bin = '', bank_name = '', account_name = '', account_number = '', content = '',
		qr_token = '', tx_hash = '', description = '', erased_at = ?, erased_by = ? WHERE erased_at = 0 AND id IN `, database.Micros(time.Now()), e.by.Actor)
	n, err := database.InList(t, e.orders).Exec(ctx, tx)
	if err != nil {
		return 0, fmt.Errorf("erase orders: %w", err)
	}
	t = database.InList(new(database.Statement).Add("UPDATE order_changes SET reason = '' WHERE order_id IN "), e.orders)
	if _, err := t.Exec(ctx, tx); err != nil {
		return 0, fmt.Errorf("erase reasons of orders: %w", err)
	}
	return int(n), e.eraseConflicts(ctx, tx)
}

// eraseConflicts erases what conflicts say of their orders. The transaction's
// hash is part of their key, so that something else takes its place.
func (e *erasure) eraseConflicts(ctx context.Context, tx database.Querier) error {
	type key struct {
		order, to, hash string
		paid            int64
	}
	t := database.InList(new(database.Statement).Add("SELECT order_id, to_status, paid_amount, tx_hash FROM order_conflicts WHERE tx_hash NOT LIKE 'erased %' AND order_id IN "), e.orders)
	found, err := database.Collect(ctx, tx, t, func(k *key) []any { return []any{&k.order, &k.to, &k.paid, &k.hash} })
	if err != nil {
		return fmt.Errorf("find conflicts of orders: %w", err)
	}
	for _, k := range found {
		_, err := tx.ExecContext(ctx, "UPDATE order_conflicts SET reason = '', settlement = '', tx_hash = $1 WHERE order_id = $2 AND to_status = $3 AND paid_amount = $4 AND tx_hash = $5",
			"erased "+webhook.NewID(""), k.order, k.to, k.paid, k.hash)
		if err != nil {
			return fmt.Errorf("erase a conflict of order %s: %w", k.order, err)
		}
	}
	return nil
}

func (e *erasure) deletePerson(ctx context.Context, tx database.Querier, counts *partners.ErasureCounts) error {
	for _, t := range personTables {
		result, err := tx.ExecContext(ctx, "DELETE FROM "+t.table+" WHERE "+t.where, e.subject.PartnerCode, e.subject.Email)
		if err != nil {
			return fmt.Errorf("delete from %s: %w", t.table, err)
		}
		n, err := result.RowsAffected()
		if err != nil {
			return err
		}
		if t.count != nil {
			*t.count(counts) = int(n)
		}
	}
	return nil
}

// said is what an erasure erased beside events and attempts.
func said(c partners.ErasureCounts) string {
	var parts []string
	for _, part := range []struct {
		what string
		n    int
	}{{"orders", c.Orders}, {"quotes", c.Quotes}, {"letters", c.Letters}, {"users", c.Users}, {"sessions", c.Sessions}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%s: %d", part.what, part.n))
		}
	}
	if len(parts) == 0 {
		return "nothing more"
	}
	return strings.Join(parts, ", ")
}
