package ledgertest

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

// passing are the tables that an act may touch though it is not done: forms
// and failed sign-ins that are noted before it, sessions for being used, and
// the list of a replay that does not begin.
var passing = []string{"form_tokens", "login_failures", "sessions", "replay_items", "sqlite_sequence"}

// Unaudited runs do while no entry can be written into the audit log, and
// fails the test if anything is stored all the same. Only for SQLite.
func (b *Bench) Unaudited(t *testing.T, what string, do func()) {
	t.Helper()
	b.change(t, "CREATE TRIGGER unaudited BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no entry can be written'); END")
	before := b.rows(t)
	do()
	after := b.rows(t)
	b.change(t, "DROP TRIGGER unaudited")
	for _, table := range slices.Sorted(maps.Keys(after)) {
		if before[table] != after[table] && !slices.Contains(passing, table) {
			t.Errorf("%s is done without an entry in the audit log: it changed %s", what, table)
		}
	}
}

func (b *Bench) change(t *testing.T, statement string) {
	t.Helper()
	if _, err := b.Raw.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// rows is what every table holds, as text.
func (b *Bench) rows(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, table := range b.texts(t, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name") {
		found[table[0]] = fmt.Sprint(b.texts(t, "SELECT * FROM "+table[0]))
	}
	return found
}

func (b *Bench) texts(t *testing.T, query string) (all [][]string) {
	t.Helper()
	rows, err := b.Raw.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		row, into := make([]string, len(columns)), make([]any, len(columns))
		values := make([]any, len(columns))
		for i := range into {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			row[i] = fmt.Sprint(v)
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
