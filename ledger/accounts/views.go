package accounts

import (
	"context"
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

// takenName is the error of a name that a view has already.
func takenName() error {
	return webhook.Invalid("name", "is that of another of your views of this list")
}

// SaveView stores a view, which is valid. Errors are Invalid if the person has
// one of this name on the list, and Conflict if they have partners.MaxViews there.
func (a *Accounts) SaveView(ctx context.Context, personID string, v partners.SavedView, by ...partners.AuditEntry) error {
	return audit.Do(ctx, a.db, audit.About(by, v.List, v.Name), func(tx database.Querier) error {
		var have int
		err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM saved_views WHERE person_id = $1 AND list = $2", personID, v.List).Scan(&have)
		if err != nil {
			return fmt.Errorf("count saved views: %w", err)
		}
		if have >= partners.MaxViews {
			return webhook.Conflict(fmt.Sprintf("a list has at most %d saved views: remove one first", partners.MaxViews))
		}
		t := new(database.Statement).Add("INSERT INTO saved_views (person_id, list, name, query, created_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
			personID, v.List, v.Name, v.Query, database.Micros(v.CreatedAt))
		n, err := t.Exec(ctx, tx)
		if err == nil && n == 0 {
			err = takenName()
		}
		return err
	})
}

// RenameView gives a view another name, which is valid. Errors are Invalid if the
// person has one of that name on the list, and NotFound.
func (a *Accounts) RenameView(ctx context.Context, personID, list, name, to string, by ...partners.AuditEntry) error {
	return audit.Do(ctx, a.db, audit.About(by, list, name+" → "+to), func(tx database.Querier) error {
		var taken bool
		err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM saved_views WHERE person_id = $1 AND list = $2 AND name = $3)", personID, list, to).Scan(&taken)
		if err != nil {
			return fmt.Errorf("look for a saved view: %w", err)
		}
		if taken {
			return takenName()
		}
		return database.RunOne(ctx, tx, webhook.NotFound("view", name), "rename a view",
			"UPDATE saved_views SET name = $4 WHERE person_id = $1 AND list = $2 AND name = $3", personID, list, name, to)
	})
}

// RemoveView removes a view, or returns NotFound.
func (a *Accounts) RemoveView(ctx context.Context, personID, list, name string, by ...partners.AuditEntry) error {
	return audit.Do(ctx, a.db, audit.About(by, list, name), func(tx database.Querier) error {
		return database.RunOne(ctx, tx, webhook.NotFound("view", name), "remove a view",
			"DELETE FROM saved_views WHERE person_id = $1 AND list = $2 AND name = $3", personID, list, name)
	})
}
