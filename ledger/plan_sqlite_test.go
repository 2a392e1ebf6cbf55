package ledger_test

import (
	"context"
	"database/sql"
	"regexp"
	"strings"
	"sync"
	"testing"

	"ledgerhook/ledger"
	"ledgerhook/ledger/ledgertest"
)

// planFew is enough for SQLite, which plans by its statistics alone.
const planFew = 3000

// largeTable is a statement that reads one of the tables that grow.
var largeTable = regexp.MustCompile(`(FROM|JOIN) (events|deliveries|attempts|refusals|orders)\b`)

// walked is a step that reads such a table, under its name or as d in the
// statements on deliveries, by no condition on an index. To walk along a
// partial index is to read what the index is about.
var (
	walked  = regexp.MustCompile(`SCAN (events|deliveries|attempts|refusals|orders|d)\b.*`)
	partial = regexp.MustCompile(`INDEX deliveries_(active|pending|pending_partner|failed|failed_partner|internal)\b`)
)

// No page reads a table of deliveries, events, attempts or orders from end to end.
func TestPagesReadByIndexOnSQLite(t *testing.T) {
	t.Parallel()
	b := ledgertest.NewFilled(t, "sqlite", planFew)
	var mu sync.Mutex
	var statements []ledger.Statement
	if err := b.TraceReads(b.At.DataDir+"/ledger.db", func(s ledger.Statement) {
		mu.Lock()
		defer mu.Unlock()
		statements = append(statements, s)
	}); err != nil {
		t.Fatal(err)
	}
	everyPage(t, b)
	looked, byState := 0, 0
	for _, s := range statements {
		if !largeTable.MatchString(s.SQL) {
			continue
		}
		looked++
		steps := strings.Join(queryPlan(t, b.Raw, s), "\n")
		for _, step := range walked.FindAllString(steps, -1) {
			if !partial.MatchString(step) && !newest(s.SQL) {
				t.Errorf("%s in\n%s\n%s", step, s.SQL, steps)
			}
		}
		if strings.Contains(s.SQL, "order_conflicts CROSS JOIN") && strings.Contains(steps, "orders_partner") {
			t.Errorf("orders that have not ended are looked for among all of a partner:\n%s\n%s", s.SQL, steps)
		}
		if strings.Contains(s.SQL, "d.id > $") {
			continue // what is newer than a row is few in any index
		}
		if strings.Contains(s.SQL, "d.queued_at > 0") || strings.Contains(s.SQL, "d.due_at IS NOT NULL") || strings.Contains(s.SQL, "d.finished_at > 0 AND") {
			byState++
			if !partial.MatchString(steps) && !strings.Contains(s.SQL, "d.object_id") {
				t.Errorf("no partial index answers\n%s\n%s", s.SQL, steps)
			}
		}
	}
	if looked < 60 || byState < 10 {
		t.Errorf("%d plans were looked at, %d of them by state", looked, byState)
	}
}

// newest tells a statement that takes the first row it meets.
func newest(statement string) bool { return strings.Contains(statement, "ORDER BY id DESC LIMIT 1)") }

func queryPlan(t *testing.T, db *sql.DB, s ledger.Statement) (steps []string) {
	t.Helper()
	rows, err := db.QueryContext(context.WithoutCancel(t.Context()), "EXPLAIN QUERY PLAN "+s.SQL, s.Args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return steps
}
