package ledgertest

import (
	"database/sql"
	"testing"
)

// EachValue calls look with every value of every table, as text or bytes, and
// the column that it is in, such as "secrets.sealed". The value is gone once
// look has returned.
func (b *Bench) EachValue(t *testing.T, look func(column string, value []byte)) {
	t.Helper()
	query := "SELECT name FROM sqlite_master WHERE type = 'table'"
	if b.At.DatabaseURL != "" {
		query = "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = current_schema() AND c.relkind = 'r'"
	}
	for _, table := range b.texts(t, query) {
		b.eachValueOf(t, table[0], look)
	}
}

func (b *Bench) eachValueOf(t *testing.T, table string, look func(column string, value []byte)) {
	t.Helper()
	rows, err := b.Raw.QueryContext(t.Context(), "SELECT * FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values, into := make([]sql.RawBytes, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			look(table+"."+columns[i], v)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}
