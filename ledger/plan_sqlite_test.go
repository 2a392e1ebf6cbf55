package ledger_test

import (
	"context"
	"database/sql"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"ledgerhook/delivery"
	"ledgerhook/ledger"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/webhook"
)

// planFew is enough for SQLite, which plans by the schema's statistics alone.
const planFew = 3000

// largeTable is a statement that reads one of the tables that grow.
var largeTable = regexp.MustCompile(`(FROM|JOIN) (events|deliveries|attempts|refusals|orders)\b`)

// walked is a step that reads such a table or the changes of orders, under its
// name or as d or c, by no condition on an index. To walk along a
// partial index is to read what the index is about.
var (
	walked  = regexp.MustCompile(`SCAN (events|deliveries|attempts|refusals|orders|order_changes|d|c)\b.*`)
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

// What every delivery passes through reads no table from end to end, however
// many of them share a transaction.
func TestThePathOfADeliveryReadsByIndexOnSQLite(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 40} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			b := ledgertest.New(t, "sqlite")
			b.Partner(t, "acme")
			b.Endpoint(t, "acme", n)
			var mu sync.Mutex
			statements := map[string]ledger.Statement{}
			if err := b.TraceWrites(b.At.DataDir+"/ledger.db", func(s ledger.Statement) {
				mu.Lock()
				defer mu.Unlock()
				statements[s.SQL] = s
			}); err != nil {
				t.Fatal(err)
			}
			passTheWholePath(t, b, n)
			looked := 0
			for _, s := range statements {
				if !changesLargeTable.MatchString(s.SQL) && !largeTable.MatchString(s.SQL) {
					continue
				}
				looked++
				steps := strings.Join(queryPlan(t, b.Raw, s), "\n")
				for _, step := range append(walked.FindAllString(steps, -1), between.FindAllString(steps, -1)...) {
					if !partial.MatchString(step) {
						t.Errorf("%s in\n%s\n%s", step, s.SQL, steps)
					}
				}
			}
			if looked < 10 {
				t.Errorf("%d plans were looked at", looked)
			}
		})
	}
}

// between is a step that reads whatever lies between two ids.
var between = regexp.MustCompile(`SEARCH .*\(id>\? AND id<\?\)`)

// changesLargeTable is a statement that looks for the rows that it changes.
var changesLargeTable = regexp.MustCompile(`^(UPDATE|DELETE FROM) (events|deliveries|attempts)\b`)

// passTheWholePath has n deliveries fail for good in batches and be delivered
// when they are sent again, which settles the first ones; then others, whose
// tickets are lost, be delivered.
func passTheWholePath(t *testing.T, b *ledgertest.Bench, n int) {
	t.Helper()
	deliveries, jobs := storeMany(t, b, "acme", n), make([]delivery.Job, n)
	attempt := func(tickets []delivery.Ticket, a webhook.Attempt, v delivery.Verdict) {
		t.Helper()
		for ; len(tickets) > 0; tickets = b.Tickets() {
			inOneBatch(t, b, len(tickets), func(i int) (err error) {
				jobs[i], _, err = b.Claim(t.Context(), tickets[i], worker)
				return err
			})
			inOneBatch(t, b, len(tickets), func(i int) error { return tryRecord(t, b.Ledger, result(jobs[i], a, v)) })
		}
	}
	attempt(b.Tickets(), failed, delivery.Verdict{State: webhook.Exhausted})
	for _, id := range deliveries {
		if _, err := b.RetryDelivery(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	attempt(b.Tickets(), ok, delivered)
	same(t, "settled deliveries", b.Count(t, "SELECT COUNT(*) FROM deliveries WHERE delivered_by <> ''"), n)
	storeMany(t, b, "acme", n)
	again, err := b.Requeue(t.Context(), b.Tickets())
	if err != nil {
		t.Fatal(err)
	}
	attempt(again, ok, delivered)
	same(t, "delivered", b.Count(t, "SELECT COUNT(*) FROM deliveries WHERE state = 'delivered'"), 2*n)
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
