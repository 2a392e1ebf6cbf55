package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"ledgerhook/webhook"
)

// querier is a transaction or a pool.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) row
}

// row is what a statement found, or the present one of more.
type row interface{ Scan(to ...any) error }

// rows are what a statement found, one after the other.
type rows interface {
	row
	Next() bool
	Err() error
	Close() error
}

// statementRows is how many rows of up to 26 values one statement takes:
// SQLite has 32,766 placeholders.
const statementRows = 1000

// statement is built piece by piece; its length depends on its rows. With arrays it
// does not: each column of the rows is one parameter, so that PostgreSQL gets the
// same statement, and needs one plan, however many rows there are.
type statement struct {
	strings.Builder
	args   []any
	arrays bool
}

// arg adds a value and returns its placeholder.
func (t *statement) arg(v any) string {
	t.args = append(t.args, v)
	return "$" + strconv.Itoa(len(t.args))
}

// add appends query, each ? replaced by the placeholder of the next value.
func (t *statement) add(query string, args ...any) *statement {
	for _, v := range args {
		before, after, _ := strings.Cut(query, "?")
		t.WriteString(before)
		t.WriteString(t.arg(v))
		query = after
	}
	t.WriteString(query)
	return t
}

// list appends ($1, $2, …).
func list[T any](t *statement, values []T) *statement {
	t.WriteByte('(')
	for i, v := range values {
		if i > 0 {
			t.WriteString(", ")
		}
		t.WriteString(t.arg(v))
	}
	t.WriteByte(')')
	return t
}

// in appends column IN ($1, $2, …).
func in[T ~string](t *statement, column string, values []T) *statement {
	if t.arrays {
		return t.add(column + " = ANY(" + t.arg(words(values)) + ")")
	}
	return list(t.add(column+" IN "), values)
}

// words returns values as the driver takes them.
func words[T ~string](values []T) []string {
	plain := make([]string, len(values))
	for i, v := range values {
		plain[i] = string(v)
	}
	return plain
}

// values appends VALUES ($1, $2), ($3, $4), … or what stands for the same:
// row i holds what row(i) returns.
func (t *statement) values(n int, row func(i int) []any) *statement {
	if t.arrays && n == 1 {
		return t.alone(row(0))
	}
	if t.arrays {
		t.WriteString("SELECT * FROM ")
		t.unnest(n, row)
		return t
	}
	t.WriteString("VALUES ")
	return t.rows(n, row)
}

// rows appends ($1, $2), ($3, $4), …
func (t *statement) rows(n int, row func(i int) []any) *statement {
	for i := range n {
		if i > 0 {
			t.WriteString(", ")
		}
		list(t, row(i))
	}
	return t
}

// table appends a table of rows called v whose columns are called column1,
// column2, … on both databases.
func (t *statement) table(n int, row func(i int) []any) *statement {
	if t.arrays && n == 1 {
		t.WriteByte('(')
		return t.alone(row(0)).add(") AS v")
	}
	if t.arrays {
		columns := t.unnest(n, row)
		t.WriteString(" AS v (")
		for i := range columns {
			if i > 0 {
				t.WriteString(", ")
			}
			t.WriteString("column" + strconv.Itoa(i+1))
		}
		t.WriteByte(')')
		return t
	}
	// The first row names the types: PostgreSQL would take every value of such
	// a table for text.
	t.WriteString("(VALUES (")
	for i, v := range row(0) {
		if i > 0 {
			t.WriteString(", ")
		}
		t.WriteString("CAST(" + t.arg(v) + " AS " + sqlType(v) + ")")
	}
	t.WriteByte(')')
	if n > 1 {
		t.WriteString(", ")
		t.rows(n-1, func(i int) []any { return row(i + 1) })
	}
	return t.add(") AS v")
}

// alone appends VALUES ($1, $2, …), typed: for each array of an unnest
// PostgreSQL fills a store of its own, which for one row of 34 columns takes far
// longer than to do what the row is for.
func (t *statement) alone(row []any) *statement {
	for i, v := range row {
		t.WriteString(map[bool]string{true: "VALUES (", false: ", "}[i == 0])
		parameter, typ := t.arg(v), "bigint"
		switch v.(type) {
		case string:
			typ = "text"
		case bool:
			typ = "boolean"
		case []byte:
			typ = "bytea"
		}
		t.WriteString(parameter + "::" + typ)
	}
	return t.add(")")
}

// unnest appends unnest($1, $2, …), an array for each column, and returns how
// many there are.
func (t *statement) unnest(n int, row func(i int) []any) int {
	table := make([][]any, n)
	for i := range table {
		table[i] = row(i)
	}
	t.WriteString("unnest(")
	for c := range table[0] {
		if c > 0 {
			t.WriteString(", ")
		}
		t.WriteString(t.column(table, c))
	}
	t.WriteByte(')')
	return len(table[0])
}

// column adds the values of column c as one and returns its placeholder.
func (t *statement) column(table [][]any, c int) string {
	switch table[0][c].(type) {
	case string:
		return t.arg(columnOf[string](table, c)) + "::text[]"
	case bool:
		return t.arg(columnOf[bool](table, c)) + "::boolean[]"
	case []byte:
		return t.arg(columnOf[[]byte](table, c)) + "::bytea[]"
	}
	numbers := make([]*int64, len(table))
	for i, row := range table {
		switch v := row[c].(type) {
		case int64:
			numbers[i] = &v
		case int:
			n := int64(v)
			numbers[i] = &n
		case nil:
		default:
			panic(fmt.Sprintf("a column of %T has no array", v))
		}
	}
	return t.arg(numbers) + "::bigint[]"
}

func columnOf[T any](table [][]any, c int) []T {
	values := make([]T, len(table))
	for i, row := range table {
		values[i] = row[c].(T)
	}
	return values
}

func sqlType(v any) string {
	switch v.(type) {
	case int, int64:
		return "BIGINT"
	case bool:
		return "BOOLEAN"
	default:
		return "TEXT"
	}
}

// prepare has q learn t if it can.
func (t *statement) prepare(ctx context.Context, q querier) error {
	if p, ok := q.(*pipeline); ok {
		return p.prepare(ctx, t)
	}
	return nil
}

func (t *statement) exec(ctx context.Context, q querier) (int64, error) {
	if err := t.prepare(ctx, q); err != nil {
		return 0, err
	}
	result, err := q.ExecContext(ctx, t.String(), t.args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// errRow marks a row that does not hold what it should: the database is there.
var errRow = errors.New("a row of the ledger cannot be read")

// query runs t and calls scan for every row.
func (t *statement) query(ctx context.Context, q querier, scan func(row) error) error {
	if err := t.prepare(ctx, q); err != nil {
		return err
	}
	rows, err := q.QueryContext(ctx, t.String(), t.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	return each(rows, scan)
}

// collect runs t and reads what each row holds into the fields of a T.
func collect[T any](ctx context.Context, q querier, t *statement, fields func(*T) []any) (found []T, err error) {
	err = t.query(ctx, q, func(r row) error {
		var v T
		err := r.Scan(fields(&v)...)
		found = append(found, v)
		return err
	})
	return found, err
}

// column is the only field of a row.
func column[T any](v *T) []any { return []any{v} }

// each calls scan for every row of found.
func each(found interface {
	row
	Next() bool
	Err() error
}, scan func(row) error) error {
	for found.Next() {
		if err := scan(found); err != nil {
			return fmt.Errorf("%w: %w", errRow, err)
		}
	}
	return found.Err()
}

// since adds a lower bound of ids by time.
func (t *statement) since(column, prefix string, at time.Time) {
	if !at.IsZero() {
		t.add(" AND "+column+" >= ?", webhook.TimeBound(prefix, at))
	}
}

// equal adds a condition unless value is empty.
func (t *statement) equal(column, value string) {
	if value != "" {
		t.add(" AND "+column+" = ?", value)
	}
}

// within adds the condition that column, a partner's code, is in scope.
func (t *statement) within(s Scope, column string) *statement {
	if s.All() {
		return t
	}
	return t.add(" AND "+column+" = ? AND "+column+" <> ''", s.Partner())
}
