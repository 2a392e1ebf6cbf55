package accounts

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// Views lists the views that a person has saved, by list and name.
func (a *Accounts) Views(ctx context.Context, personID string) ([]partners.SavedView, error) {
	t := new(database.Statement).Add("SELECT list, name, query, created_at FROM saved_views WHERE person_id = ? ORDER BY list, name", personID)
	return database.Collect(ctx, a.db.Read, t, func(v *partners.SavedView) []any {
		return []any{&v.List, &v.Name, &v.Query, database.Time(&v.CreatedAt)}
	})
}

// SaveView stores a view, which is valid. Its name, which nobody else sees, is not
// in the audit log. Errors are Invalid if the person has one of this name on the
// list, and Conflict if they have partners.MaxViews there.
func (a *Accounts) SaveView(ctx context.Context, personID string, v partners.SavedView, by ...partners.AuditEntry) error {
	return audit.Do(ctx, a.db, audit.About(by, v.List, ""), func(tx database.Querier) error {
		var have int
		err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM saved_views WHERE person_id = $1 AND list = $2", personID, v.List).Scan(&have)
		if err != nil {
			return fmt.Errorf("count saved views: %w", err)
		}
		if have >= partners.MaxViews {
			return webhook.Conflict(fmt.Sprintf("a list has at most %d saved views: remove one first", partners.MaxViews))
		}
		return insertView(ctx, tx, personID, v)
	})
}

// RenameView gives a view another name, which is valid. Errors are Invalid if the
// person has one of that name on the list, and NotFound.
func (a *Accounts) RenameView(ctx context.Context, personID, list, name, to string, by ...partners.AuditEntry) error {
	return audit.Do(ctx, a.db, audit.About(by, list, ""), func(tx database.Querier) error {
		v := partners.SavedView{List: list, Name: to}
		err := tx.QueryRowContext(ctx, "DELETE FROM saved_views WHERE person_id = $1 AND list = $2 AND name = $3 RETURNING query, created_at", personID, list, name).
			Scan(&v.Query, database.Time(&v.CreatedAt))
		if errors.Is(err, sql.ErrNoRows) {
			return webhook.NotFound("view", name)
		}
		if err != nil {
			return fmt.Errorf("rename a view: %w", err)
		}
		return insertView(ctx, tx, personID, v)
	})
}

// insertView stores a view, unless the person has one of its name on the list.
func insertView(ctx context.Context, tx database.Querier, personID string, v partners.SavedView) error {
	t := new(database.Statement).Add("INSERT INTO saved_views (person_id, list, name, query, created_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		personID, v.List, v.Name, v.Query, database.Micros(v.CreatedAt))
	n, err := t.Exec(ctx, tx)
	if err == nil && n == 0 {
		err = webhook.Invalid("name", "is that of another of your views of this list")
	}
	return err
}

// RemoveView removes a view, or returns NotFound.
func (a *Accounts) RemoveView(ctx context.Context, personID, list, name string, by ...partners.AuditEntry) error {
	return audit.Do(ctx, a.db, audit.About(by, list, ""), func(tx database.Querier) error {
		return database.RunOne(ctx, tx, webhook.NotFound("view", name), "remove a view",
			"DELETE FROM saved_views WHERE person_id = $1 AND list = $2 AND name = $3", personID, list, name)
	})
}
