package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Found tells by the error of a Scan whether there was a row.
func Found(err error) (bool, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// OrNone is the error of a Scan, or none if it is that there was no row.
func OrNone(err, none error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return none
	}
	return err
}

// Run runs a statement; its error says what was being done.
func Run(ctx context.Context, q Querier, what, statement string, args ...any) error {
	_, err := changed(ctx, q, what, statement, args)
	return err
}

// RunOne is Run of a statement that changes at most one row: it returns none if
// it changed nothing.
func RunOne(ctx context.Context, q Querier, none error, what, statement string, args ...any) error {
	if n, err := changed(ctx, q, what, statement, args); err != nil || n > 0 {
		return err
	}
	return none
}

func changed(ctx context.Context, q Querier, what, statement string, args []any) (int64, error) {
	result, err := q.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	return result.RowsAffected()
}
