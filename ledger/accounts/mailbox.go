package accounts

import (
	"context"
	"fmt"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/partners"
)

// KeepLetter implements partners.MailboxStore.
func (a *Accounts) KeepLetter(ctx context.Context, k partners.KeptLetter) error {
	return database.Run(ctx, a.db.Write, "keep a letter", "INSERT INTO mailbox (id, partner_code, email, lang, sealed_code, created_at) VALUES ($1, $2, $3, $4, $5, $6)",
		k.ID, k.To.PartnerCode, k.To.Email, k.To.Lang, k.SealedCode, database.Micros(k.CreatedAt))
}

// Letters implements partners.MailboxStore.
func (a *Accounts) Letters(ctx context.Context, cursor string, limit int) (found []partners.KeptLetter, next string, err error) {
	t := new(database.Statement).Add("SELECT id, partner_code, email, lang, sealed_code, created_at FROM mailbox")
	if cursor != "" {
		t.Add(" WHERE id < ?", cursor)
	}
	found, err = database.Collect(ctx, a.db.Read, t.Add(" ORDER BY id DESC LIMIT ?", limit+1), func(k *partners.KeptLetter) []any {
		return []any{&k.ID, &k.To.PartnerCode, &k.To.Email, &k.To.Lang, &k.SealedCode, database.Time(&k.CreatedAt)}
	})
	found, next = database.Page(found, limit, func(k partners.KeptLetter) string { return k.ID })
	return found, next, err
}

// sweepMailbox deletes letters from before a time.
func (a *Accounts) sweepMailbox(ctx context.Context, before time.Time) error {
	err := a.db.InSteps(ctx, "DELETE FROM mailbox WHERE id IN (SELECT id FROM mailbox WHERE id < $1 LIMIT $2)", partners.LetterBound(before), nil)
	if err != nil {
		return fmt.Errorf("delete old letters: %w", err)
	}
	return nil
}
