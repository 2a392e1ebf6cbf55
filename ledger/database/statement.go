package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// Querier is a transaction or a pool.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) Row
}

// Row is what a statement found, or the present one of more.
type Row interface{ Scan(to ...any) error }

// rows are what a statement found, one after the other.
type rows interface {
	Row
	Next() bool
	Err() error
	Close() error
}

// MaxRows is how many rows of up to 32 values one statement takes:
// SQLite has 32,766 placeholders.
const MaxRows = 1000

// Statement is built piece by piece; its length depends on its rows. With arrays it
// does not: each column of the rows is one parameter, so that PostgreSQL gets the
// same statement, and needs one plan, however many rows there are.
type Statement struct {
	strings.Builder
	Args   []any
	Arrays bool
}

// Arg adds a value and returns its placeholder.
func (t *Statement) Arg(v any) string {
	t.Args = append(t.Args, v)
	return "$" + strconv.Itoa(len(t.Args))
}

// Add appends query, each ? replaced by the placeholder of the next value.
func (t *Statement) Add(query string, args ...any) *Statement {
	for _, v := range args {
		before, after, _ := strings.Cut(query, "?")
		t.WriteString(before)
		t.WriteString(t.Arg(v))
		query = after
	}
	t.WriteString(query)
	return t
}

// InList appends ($1, $2, …).
func InList[T any](t *Statement, values []T) *Statement {
	t.WriteByte('(')
	for i, v := range values {
		if i > 0 {
			t.WriteString(", ")
		}
		t.WriteString(t.Arg(v))
	}
	t.WriteByte(')')
	return t
}

// In appends column IN ($1, $2, …).
func In[T ~string](t *Statement, column string, values []T) *Statement {
	if t.Arrays {
		return t.Add(column + " = ANY(" + t.Arg(words(values)) + ")")
	}
	return InList(t.Add(column+" IN "), values)
}

// words returns values as the driver takes them.
func words[T ~string](values []T) []string {
	plain := make([]string, len(values))
	for i, v := range values {
		plain[i] = string(v)
	}
	return plain
}

// Values appends VALUES ($1, $2), ($3, $4), … or what stands for the same:
// row i holds what row(i) returns.
func (t *Statement) Values(n int, row func(i int) []any) *Statement {
	if t.Arrays && n == 1 {
		return t.alone(row(0))
	}
	if t.Arrays {
		t.WriteString("SELECT * FROM ")
		t.unnest(n, row)
		return t
	}
	t.WriteString("VALUES ")
	return t.Rows(n, row)
}

// Rows appends ($1, $2), ($3, $4), …
func (t *Statement) Rows(n int, row func(i int) []any) *Statement {
	for i := range n {
		if i > 0 {
			t.WriteString(", ")
		}
		InList(t, row(i))
	}
	return t
}

// Table appends a table of rows called v whose columns are called column1,
// column2, … on both databases.
func (t *Statement) Table(n int, row func(i int) []any) *Statement {
	if t.Arrays && n == 1 {
		t.WriteByte('(')
		return t.alone(row(0)).Add(") AS v")
	}
	if t.Arrays {
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
		t.WriteString("CAST(" + t.Arg(v) + " AS " + sqlType(v) + ")")
	}
	t.WriteByte(')')
	if n > 1 {
		t.WriteString(", ")
		t.Rows(n-1, func(i int) []any { return row(i + 1) })
	}
	return t.Add(") AS v")
}

// alone appends VALUES ($1, $2, …), typed: for each array of an unnest
// PostgreSQL fills a store of its own, which for one row of 34 columns takes far
// longer than to do what the row is for.
func (t *Statement) alone(row []any) *Statement {
	for i, v := range row {
		t.WriteString(map[bool]string{true: "VALUES (", false: ", "}[i == 0])
		parameter, typ := t.Arg(v), "bigint"
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
	return t.Add(")")
}

// unnest appends unnest($1, $2, …), an array for each column, and returns how
// many there are.
func (t *Statement) unnest(n int, row func(i int) []any) int {
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
func (t *Statement) column(table [][]any, c int) string {
	switch table[0][c].(type) {
	case string:
		return t.Arg(columnOf[string](table, c)) + "::text[]"
	case bool:
		return t.Arg(columnOf[bool](table, c)) + "::boolean[]"
	case []byte:
		return t.Arg(columnOf[[]byte](table, c)) + "::bytea[]"
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
	return t.Arg(numbers) + "::bigint[]"
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
func (t *Statement) prepare(ctx context.Context, q Querier) error {
	if p, ok := q.(*pipeline); ok {
		return p.prepare(ctx, t)
	}
	return nil
}

// Exec runs t and returns how many rows it changed.
func (t *Statement) Exec(ctx context.Context, q Querier) (int64, error) {
	if err := t.prepare(ctx, q); err != nil {
		return 0, err
	}
	result, err := q.ExecContext(ctx, t.String(), t.Args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// errRow marks a row that does not hold what it should: the database is there.
var errRow = errors.New("a row of the ledger cannot be read")

// Query runs t and calls scan for every row.
func (t *Statement) Query(ctx context.Context, q Querier, scan func(Row) error) error {
	if err := t.prepare(ctx, q); err != nil {
		return err
	}
	rows, err := q.QueryContext(ctx, t.String(), t.Args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	return each(rows, scan)
}

// Collect runs t and reads what each row holds into the fields of a T.
func Collect[T any](ctx context.Context, q Querier, t *Statement, fields func(*T) []any) (found []T, err error) {
	err = t.Query(ctx, q, func(r Row) error {
		var v T
		err := r.Scan(fields(&v)...)
		found = append(found, v)
		return err
	})
	return found, err
}

// One is the only field of a row.
func One[T any](v *T) []any { return []any{v} }

// Page cuts what was read with one more than limit to limit, and names the last
// of it, from where the next page goes on; empty if this is the last page.
func Page[T any](found []T, limit int, id func(T) string) (page []T, next string) {
	if len(found) <= limit {
		return found, ""
	}
	return found[:limit], id(found[limit-1])
}

// each calls scan for every row of found.
func each(found interface {
	Row
	Next() bool
	Err() error
}, scan func(Row) error) error {
	for found.Next() {
		if err := scan(found); err != nil {
			return fmt.Errorf("%w: %w", errRow, err)
		}
	}
	return found.Err()
}

// Since adds a lower bound of ids by time.
func (t *Statement) Since(column, prefix string, at time.Time) {
	if !at.IsZero() {
		t.Add(" AND "+column+" >= ?", webhook.TimeBound(prefix, at))
	}
}

// Equal adds a condition unless value is empty.
func (t *Statement) Equal(column, value string) {
	if value != "" {
		t.Add(" AND "+column+" = ?", value)
	}
}

// Within adds the condition that column, a partner's code, is in scope.
func (t *Statement) Within(s partners.Scope, column string) *Statement {
	if s.All() {
		return t
	}
	return t.Add(" AND "+column+" = ? AND "+column+" <> ''", s.Partner())
}
