package ledger_test

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerhook/delivery"
	"ledgerhook/ledger"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/webhook"
)

// A delivery for which nothing gathers waits for each round trip. What each
// costs was 26 of them.
func TestALoneDeliveryTakesFewRoundTrips(t *testing.T) {
	t.Parallel()
	b := ledgertest.New(t, "postgres")
	b.Partner(t, "acme")
	b.Endpoint(t, "acme", 8)
	var trips atomic.Int32
	if err := b.CountTrips(b.At.DatabaseURL, func() { trips.Add(1) }); err != nil {
		t.Fatal(err)
	}
	fewest := int32(math.MaxInt32)
	for range 16 { // each connection prepares its statements once
		trips.Store(0)
		store(t, b, ledgertest.NewEvent("acme", webhook.NewID("tp_"), "Pending"))
		job := take(t, b, one(t, b))
		record(t, b, job, ok, delivered)
		fewest = min(fewest, trips.Load())
	}
	t.Logf("a delivery took %d", fewest)
	if fewest > 8 {
		t.Errorf("a delivery took %d round trips, of at most 8", fewest)
	}
}

// Planning a statement takes PostgreSQL as long as running it.
func TestTheDeliveryPathPlansAStatementOnceASession(t *testing.T) {
	t.Parallel()
	b := ledgertest.New(t, "postgres")
	b.Partner(t, "acme")
	b.Endpoint(t, "acme", 8)
	for range 8 {
		store(t, b, ledgertest.NewEvent("acme", webhook.NewID("tp_"), "Pending"))
		record(t, b, take(t, b, one(t, b)), ok, delivered)
	}
	statements, planned, unplanned, err := b.Prepared(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d statements ran %d times", statements, unplanned)
	if planned > 0 || statements < 10 || unplanned < 2*statements {
		t.Errorf("of %d prepared statements, %d runs were planned with their values and %d were not", statements, planned, unplanned)
	}
}

var (
	onceOnly  = regexp.MustCompile(`unnest\(|= ANY\(|VALUES \(\$\d+::`)
	indexCond = regexp.MustCompile(`Index Cond: .*`)
)

// A statement that is planned once is planned for tables of any size: it reads
// by the ids that it is about, on their day alone.
func TestWhatIsPlannedOnceReadsByIndexAndDay(t *testing.T) {
	t.Parallel()
	b := ledgertest.NewFresh(t, "postgres")
	b.Partner(t, "acme")
	b.Endpoint(t, "acme", 1)
	fill(t, b)
	var mu sync.Mutex
	statements := map[string]ledger.Statement{}
	if err := b.Trace(b.At.DatabaseURL, func(s ledger.Statement) {
		mu.Lock()
		defer mu.Unlock()
		statements[s.SQL] = s
	}); err != nil {
		t.Fatal(err)
	}
	ids := storeMany(t, b, "acme", 3)
	record(t, b, take(t, b, one(t, b)), ok, delivered)
	record(t, b, take(t, b, one(t, b)), failed, retryAt(time.Now().Add(time.Hour)))
	record(t, b, take(t, b, one(t, b)), failed, exhausted)
	if _, err := b.RetryDelivery(t.Context(), ids[2]); err != nil {
		t.Fatal(err)
	}
	record(t, b, take(t, b, one(t, b)), ok, delivered)

	at := webhook.IDTime(webhook.DeliveryPrefix, ids[0])
	days := []string{at.Format("20060102")}
	if at.Add(-time.Hour).Day() != at.Day() { // from where an event's deliveries are looked for, and a new ledger has no such day
		days = append(days, "default")
	}
	plans, settling := 0, 0
	for sql, text := range planOnce(t, b, statements) {
		plans++
		if settles(sql) {
			settling++
		}
		if strings.Contains(text, "Seq Scan") {
			t.Errorf("a table is read from end to end:\n%s\n%s", sql, text)
		}
		if strings.Contains(sql, "LATERAL") { // what waits may be of any day
			continue
		}
		for _, day := range partition.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(days, day[1]) {
				t.Errorf("day %s is opened:\n%s\n%s", day[1], sql, text)
			}
		}
		if at := indexCond.FindString(text); strings.Contains(sql, "deliveries_2") && !strings.Contains(at, "ANY") {
			t.Errorf("deliveries are not read by their ids:\n%s\n%s", sql, text)
		}
	}
	if plans < 12 || settling != 2 {
		t.Errorf("only %d plans were looked at, %d of them of what settles deliveries", plans, settling)
	}
}

// planOnce asks the planner about every statement that is planned without its values.
func planOnce(t *testing.T, b *ledgertest.Bench, statements map[string]ledger.Statement) map[string]string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), b.At.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	plans := map[string]string{}
	for sql, s := range statements {
		if !onceOnly.MatchString(sql) {
			continue
		}
		if _, err := conn.Exec(t.Context(), "BEGIN; "+plannedOnce+"; PREPARE p AS "+sql); err != nil {
			t.Fatalf("%v in %s", err, sql)
		}
		run := "EXPLAIN EXECUTE p ("
		for i := range s.Args {
			run += fmt.Sprintf("$%d, ", i+1)
		}
		lines, err := conn.Query(t.Context(), strings.TrimSuffix(run, ", ")+")", append([]any{pgx.QueryExecModeSimpleProtocol}, s.Args...)...)
		if err != nil {
			t.Fatal(err)
		}
		text, err := pgx.CollectRows(lines, pgx.RowTo[string])
		if err != nil {
			t.Fatalf("%v in %s", err, sql)
		}
		plans[sql] = strings.Join(text, "\n")
		if _, err := conn.Exec(t.Context(), "ROLLBACK; DEALLOCATE p"); err != nil {
			t.Fatal(err)
		}
	}
	return plans
}

// A day that a batch knew may be dropped, and come again.
func TestADroppedDayIsForgotten(t *testing.T) {
	t.Parallel()
	b := ledgertest.NewFresh(t, "postgres")
	at := time.Now().UTC().AddDate(0, 0, -20)
	old := delivery.Ticket{DeliveryID: webhook.TimeBound(webhook.DeliveryPrefix, at), Generation: 1}
	for range 2 {
		if err := b.DB.EnsurePartitions(t.Context(), at); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			refused(t, b, old)
		}
		change(t, b, "DROP TABLE deliveries_"+at.Format("20060102"))
		for range 2 {
			refused(t, b, old)
		}
	}
}

// plannedOnce has a transaction planned as one of the delivery path.
const plannedOnce = "SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off"

// However many deliveries gather in a batch, it makes the same few statements.
func TestABusyBatchMakesFewStatements(t *testing.T) {
	t.Parallel()
	b := ledgertest.New(t, "postgres")
	for i := range 4 {
		b.Partner(t, fmt.Sprint("acme-", i))
		b.Endpoint(t, fmt.Sprint("acme-", i), 64)
	}
	var statements atomic.Int32
	if err := b.Trace(b.At.DatabaseURL, func(s ledger.Statement) {
		if onceOnly.MatchString(s.SQL) { // whatever begins and ends a transaction aside
			statements.Add(1)
		}
	}); err != nil {
		t.Fatal(err)
	}
	together := func(n int, do func(i int) error) int {
		t.Helper()
		statements.Store(0)
		inOneBatch(t, b, n, do)
		return int(statements.Load())
	}
	for _, n := range []int{8, 16, 32} { // windows have grown to so much
		appended := together(n, func(i int) error {
			_, err := b.Append(t.Context(), ledgertest.NewEvent(fmt.Sprint("acme-", i%4), webhook.NewID("tp_"), "Pending"))
			return err
		})
		tickets, jobs := b.Tickets(), make([]delivery.Job, n)
		if len(tickets) != n {
			t.Fatalf("%d of %d deliveries have a slot", len(tickets), n)
		}
		claimed := together(n, func(i int) (err error) {
			jobs[i], _, err = b.Claim(t.Context(), tickets[i], worker)
			return err
		})
		recorded := together(n, func(i int) error { return tryRecord(t, b.Ledger, result(jobs[i], ok, delivered)) })
		t.Logf("%d deliveries took %d + %d + %d statements, %.2f each", n, appended, claimed, recorded, float64(appended+claimed+recorded)/float64(n))
		if appended > 10 || claimed > 4 || recorded > 6 {
			t.Errorf("%d deliveries took %d statements to append, of at most 10; %d to claim, of 4; %d to record, of 6", n, appended, claimed, recorded)
		}
	}
	b.CheckWindows(t)
}

// What a batch refuses costs those who share the transaction with it nothing to
// wait for: it would else be a way to hold up every other partner's events.
func TestARefusalCostsItsNeighboursNoRoundTrip(t *testing.T) {
	t.Parallel()
	b := ledgertest.New(t, "postgres")
	b.Partner(t, "acme")
	e := b.Endpoint(t, "acme", 64)
	probe := func() delivery.NewEvent {
		test := ledgertest.NewEvent("acme", "test", "Pending")
		test.Event.Test, test.EndpointID = true, e.ID
		return test
	}
	for range webhook.MaxTests { // any more of them is one too many
		store(t, b, probe())
	}
	b.Tickets()
	unknownEndpoint := ledgertest.NewEvent("acme", "tp_1", "Pending")
	unknownEndpoint.EndpointID = "ep_none"
	refusals := []struct {
		name       string
		event      func() delivery.NewEvent
		kind       webhook.Kind
		statements int32
	}{
		{"a test too many", probe, webhook.KindRateLimited, 0},
		{"an unknown partner", func() delivery.NewEvent { return ledgertest.NewEvent("nobody", "tp_1", "Pending") }, webhook.KindNotFound, 1},
		{"an unknown endpoint", func() delivery.NewEvent { return unknownEndpoint }, webhook.KindNotFound, 1},
	}
	var n atomic.Int32
	batch := func(refused ...func()) int32 {
		n.Store(0)
		for range 16 {
			refused = append(refused, func() {
				if _, err := b.Append(t.Context(), ledgertest.NewEvent("acme", webhook.NewID("tp_"), "Pending")); err != nil {
					t.Error(err)
				}
			})
		}
		together(b.Ledger, refused...)
		return n.Load()
	}
	fewest := func(refused ...func()) int32 { // each connection prepares its statements once
		few := batch(refused...)
		for range 7 {
			few = min(few, batch(refused...))
		}
		return few
	}
	measure := func(what string, more func(statements int32) int32) {
		alone := fewest()
		for _, r := range refusals {
			refuse := func() {
				_, err := b.Append(t.Context(), r.event())
				wantKind(t, err, r.kind)
			}
			beside := fewest(refuse, refuse)
			t.Logf("16 events take %d %s, beside %s %d", alone, what, r.name, beside)
			if most := alone + more(r.statements); beside > most {
				t.Errorf("beside %s 16 events take %d %s, of at most %d", r.name, beside, what, most)
			}
		}
	}
	if err := b.Trace(b.At.DatabaseURL, func(s ledger.Statement) {
		if onceOnly.MatchString(s.SQL) { // whatever begins and ends a transaction aside
			n.Add(1)
		}
	}); err != nil {
		t.Fatal(err)
	}
	measure("statements", func(statements int32) int32 { return statements })
	if err := b.CountTrips(b.At.DatabaseURL, func() { n.Add(1) }); err != nil {
		t.Fatal(err)
	}
	measure("round trips", func(int32) int32 { return 0 })
	b.CheckWindows(t)
}
