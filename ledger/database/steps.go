package database

import "context"

// StepRows is how many rows are deleted at once: on SQLite the writer waits
// meanwhile.
const StepRows = 100

// InSteps runs query, of which $1 is bound and $2 how many rows it may change,
// until it changes fewer, and tells changed, which may be nil, of each step.
func (db *DB) InSteps(ctx context.Context, query string, bound any, changed func(rows int64)) error {
	for {
		result, err := db.Write.ExecContext(ctx, query, bound, StepRows)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return err
		}
		if changed != nil {
			changed(n)
		}
		if n < StepRows {
			return nil
		}
	}
}
