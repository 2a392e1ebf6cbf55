package ledger_test

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/orders"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

const kept = 30 * day

// retain cleans up as it will be done in days from now.
func retain(t *testing.T, b *ledgertest.Bench, days int) {
	t.Helper()
	if err := b.RetainAt(t.Context(), time.Now().AddDate(0, 0, days), kept); err != nil {
		t.Fatal(err)
	}
}

func rows(t *testing.T, b *ledgertest.Bench) (counts []int) {
	t.Helper()
	for _, table := range []string{"events", "deliveries", "attempts", "idempotency_keys", "objects"} {
		counts = append(counts, b.Count(t, "SELECT COUNT(*) FROM "+table))
	}
	return counts
}

func TestWhatIsOverGoesAfterItsTime(t *testing.T) {
	ledgertest.EachFresh(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 8, webhook.TopupCard)
		storeMany(t, b, "acme", 2)
		drain(t, b)
		store(t, b, typed("acme", webhook.CreateCard, "card_1", "Init")) // filtered: an event alone
		all := []int{3, 2, 2, 3, 3}
		same(t, "rows", rows(t, b), all)
		retain(t, b, 29)
		same(t, "rows after 29 days", rows(t, b), all)
		retain(t, b, 31)
		same(t, "rows after 31 days", rows(t, b), []int{0, 0, 0, 0, 0})
		b.CheckCounts(t)
	})
}

func TestWhatStillWaitsAfterItsTimeEndsAsExpired(t *testing.T) {
	ledgertest.EachFresh(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Partner(t, "lonely")
		e := b.Endpoint(t, "acme", 8)
		sending := storeMany(t, b, "acme", 1)[0]
		job := take(t, b, one(t, b))
		storeMany(t, b, "acme", 1)
		send(t, b, b.Tickets(), failed, retryAt(time.Now().Add(time.Hour)))
		set(t, b, e.ID, pause)
		ids := storeMany(t, b, "acme", 520)
		ids = append(ids, storeMany(t, b, "lonely", 3)...)
		retain(t, b, 31)
		for _, id := range ids { // they end in one run, and go in a later one
			if d := look(t, b, id); d.State != webhook.Cancelled || d.Reason != "expired" {
				t.Fatalf("delivery %+v", d)
			}
		}
		if w := windowOf(t, b, e.ID); w.WaitingFirst != 0 || w.WaitingAgain != 0 || w.Used != 1 {
			t.Errorf("window %+v", w)
		}
		b.CheckCounts(t)
		// What is being sent is not over: it keeps its event, and on PostgreSQL its whole day.
		same(t, "state", look(t, b, sending).State, webhook.Sending)
		if _, err := b.Event(t.Context(), partners.Everything(), job.Delivery.EventID); err != nil {
			t.Error(err)
		}
		record(t, b, job, ok, delivered)
		retain(t, b, 31)
		same(t, "rows", rows(t, b), []int{0, 0, 0, 0, 0})
		b.CheckCounts(t)
	})
}

// One of them is wrong, and what went by it would be gone.
func TestNothingEndsByAClockThatIsNotTheDatabases(t *testing.T) {
	b := ledgertest.NewFresh(t, "postgres")
	b.Partner(t, "acme")
	b.Endpoint(t, "acme", 8)
	storeMany(t, b, "acme", 1)
	drain(t, b)
	o := b.Order(t, "acme", "order-1", -time.Second)
	was := rows(t, b)
	l := b.Behind(t, "2 minutes")
	if _, err := l.DB.Now(t.Context()); !errors.Is(err, database.ErrClock) || !strings.Contains(err.Error(), "2m0s ahead of the database's") {
		t.Errorf("the time: %v", err)
	}
	if err := l.Retain(t.Context(), kept); !errors.Is(err, database.ErrClock) {
		t.Errorf("retention: %v", err)
	}
	if n, err := l.ExpireOrders(t.Context(), "key_1"); n != 0 || !errors.Is(err, database.ErrClock) {
		t.Errorf("%d orders expired, %v", n, err)
	}
	if now, err := l.Order(t.Context(), o.ID); err != nil || now.Status != o.Status {
		t.Errorf("%+v, %v", now, err)
	}
	same(t, "rows", rows(t, b), was)
	if err := l.DB.EnsureDays(t.Context()); err != nil {
		t.Errorf("days ahead: %v", err)
	}
	if err := l.Heartbeat(t.Context(), "wrk_1", "host/1"); err != nil {
		t.Fatal(err)
	}
	workers, err := l.Workers(t.Context())
	if err != nil || len(workers) != 1 || workers[0].Ahead.Round(time.Minute) != 2*time.Minute {
		t.Errorf("%+v, %v", workers, err)
	}
}

// Also where database and process have the same clock, which is wrong.
func TestRetentionNeverTakesEverything(t *testing.T) {
	ledgertest.EachFresh(t, func(t *testing.T, b *ledgertest.Bench) {
		if err := b.Retain(t.Context(), -time.Hour); err != nil {
			t.Errorf("without an event: %v", err)
		}
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 8)
		storeMany(t, b, "acme", 2)
		was := rows(t, b)
		if err := b.Retain(t.Context(), -2*day); !errors.Is(err, database.ErrClock) || !strings.Contains(err.Error(), "every event") {
			t.Errorf("all would go: %v", err)
		}
		same(t, "rows", rows(t, b), was)
		same(t, "waiting", b.Count(t, "SELECT COUNT(*) FROM deliveries WHERE finished_at > 0"), 0)
		if err := b.Retain(t.Context(), kept); err != nil {
			t.Error(err)
		}
	})
}

func TestAnEventStaysWhileAReplayOfItIsUnfinished(t *testing.T) {
	ledgertest.EachFresh(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 8)
		old := storeMany(t, b, "acme", 1)[0]
		drain(t, b)
		set(t, b, e.ID, pause)
		replay, err := b.RetryDelivery(t.Context(), old)
		if err != nil {
			t.Fatal(err)
		}
		// As if the replay had been asked for three days later.
		later := webhook.TimeBound(webhook.DeliveryPrefix, time.Now().AddDate(0, 0, 3))
		change(t, b, "UPDATE deliveries SET id = $1 WHERE id = $2", later, replay)
		retain(t, b, 32)
		set(t, b, e.ID, resume)
		job := take(t, b, one(t, b))
		if job.Delivery.ID != later || len(job.Event.Data) == 0 {
			t.Errorf("job %+v", job)
		}
		record(t, b, job, ok, delivered)
		retain(t, b, 40)
		same(t, "rows", rows(t, b)[:3], []int{0, 0, 0})
		b.CheckCounts(t)
	})
}

func TestADayInUseKeepsNoOtherDay(t *testing.T) {
	b := ledgertest.NewFresh(t, "postgres")
	b.Partner(t, "acme")
	b.Endpoint(t, "acme", 8)
	storeMany(t, b, "acme", 1)
	take(t, b, one(t, b))
	today := time.Now()
	retain(t, b, 34)
	for ahead, want := range []int{3, 0, 0, 0} {
		same(t, fmt.Sprint("tables of the day in ", ahead, " days"), tablesOf(t, b, today.AddDate(0, 0, ahead)), want)
	}
}

// tablesOf is how many tables have a partition of the day.
func tablesOf(t *testing.T, b *ledgertest.Bench, day time.Time) int {
	t.Helper()
	return b.Count(t, `SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema()
		AND tablename IN ('events_' || $1, 'deliveries_' || $1, 'attempts_' || $1)`, suffixOf(day))
}

func suffixOf(day time.Time) string { return day.UTC().Format("20060102") }

// A run that breaks off, or a day that could not be made for every table,
// leaves some of a day's tables.
func TestADayOfWhichOnlyATableIsLeftGoesToo(t *testing.T) {
	b := ledgertest.NewFresh(t, "postgres")
	today := time.Now()
	tables := []string{"events", "deliveries", "attempts"}
	for ahead := range tables {
		for i, table := range tables {
			if i != ahead {
				change(t, b, "DROP TABLE "+table+"_"+suffixOf(today.AddDate(0, 0, ahead)))
			}
		}
	}
	retain(t, b, 34)
	for ahead := range 3 {
		same(t, fmt.Sprint("tables of the day in ", ahead, " days"), tablesOf(t, b, today.AddDate(0, 0, ahead)), 0)
	}
}

// A process that dies between taking a partition away and deleting it leaves a
// table that is no partition.
func TestAPartitionThatWasOnlyTakenAwayGoesToo(t *testing.T) {
	b := ledgertest.NewFresh(t, "postgres")
	today := time.Now()
	change(t, b, "ALTER TABLE deliveries DETACH PARTITION deliveries_"+suffixOf(today))
	retain(t, b, 32)
	same(t, "tables of the day", tablesOf(t, b, today), 0)
}

// Vacuum may take seconds over a partition that is to go. Meanwhile a process
// whose clock is wrong stores something of the day.
func TestEventsAreAcceptedWhileADayWaitsForVacuum(t *testing.T) {
	for _, partition := range []string{"", "default"} {
		t.Run(cmp.Or(partition, "day"), func(t *testing.T) {
			b := ledgertest.NewFresh(t, "postgres")
			b.Partner(t, "acme")
			b.Endpoint(t, "acme", 8)
			last := time.Now().AddDate(0, 0, 3)
			vacuumed := "events_" + cmp.Or(partition, suffixOf(last))
			vacuum, err := b.Raw.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = vacuum.Rollback() }()
			if _, err := vacuum.ExecContext(t.Context(), "LOCK TABLE "+vacuumed+" IN SHARE UPDATE EXCLUSIVE MODE"); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- b.RetainAt(t.Context(), last.AddDate(0, 0, 31), kept) }()
			for b.Count(t, "SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND relation = $1::regclass", vacuumed) == 0 {
				if len(ended) > 0 {
					t.Fatal("retention did not wait: ", <-ended)
				}
				runtime.Gosched()
			}
			same(t, "locks that readers mind", b.Count(t, "SELECT COUNT(*) FROM pg_locks WHERE granted AND mode = 'AccessExclusiveLock' AND relation = 'events'::regclass"), 0)
			e := ledgertest.NewEvent("acme", "tp_1", "Pending")
			e.Event.ID = webhook.TimeBound(webhook.EventPrefix, last)
			store(t, b, e)
			change(t, b, "UPDATE deliveries SET id = $1", webhook.TimeBound(webhook.DeliveryPrefix, last))
			if err := vacuum.Rollback(); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
			same(t, "tables of its day", tablesOf(t, b, last), 3)
			same(t, "tables of the day before", tablesOf(t, b, last.AddDate(0, 0, -1)), 0)
		})
	}
}

func TestWhatIsOverGoesAlthoughItsDayHadNoPartition(t *testing.T) {
	b := ledgertest.NewFresh(t, "postgres")
	b.Partner(t, "acme")
	b.Endpoint(t, "acme", 8)
	for _, table := range []string{"events", "deliveries", "attempts"} {
		for ahead := range 2 { // midnight may pass
			change(t, b, "DROP TABLE "+table+"_"+suffixOf(time.Now().AddDate(0, 0, ahead)))
		}
	}
	storeMany(t, b, "acme", 1)
	sending := take(t, b, one(t, b))
	storeMany(t, b, "acme", 3)
	drain(t, b)
	retain(t, b, 29)
	same(t, "rows after 29 days", rows(t, b)[:3], []int{4, 4, 3})
	retain(t, b, 32)
	same(t, "rows while one is being sent", rows(t, b)[:3], []int{1, 1, 0})
	record(t, b, sending, ok, delivered)
	retain(t, b, 32)
	same(t, "rows after 31 days", rows(t, b)[:3], []int{0, 0, 0})
	b.CheckCounts(t)
}

func TestARetryThatIsJustBeingMadeKeepsItsEvent(t *testing.T) {
	b := ledgertest.NewFresh(t, "postgres")
	b.Partner(t, "acme")
	b.Endpoint(t, "acme", 8)
	old := storeMany(t, b, "acme", 1)[0]
	drain(t, b)
	waits := func(table string) {
		for b.Count(t, "SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND relation = $1::regclass", table) == 0 {
			runtime.Gosched()
		}
	}
	// The retry has made its delivery and waits to commit.
	held, err := b.Raw.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := held.ExecContext(t.Context(), "LOCK TABLE rollups"); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := b.RetryDelivery(t.Context(), old); err != nil {
			t.Error(err)
		}
	})
	waits("rollups")
	wg.Go(func() {
		if err := b.RetainAt(t.Context(), time.Now().AddDate(0, 0, 32), kept); err != nil {
			t.Error(err)
		}
	})
	waits("events")
	if err := held.Rollback(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	job := take(t, b, one(t, b))
	if job.Delivery.ReplayOf != old || len(job.Event.Data) == 0 {
		t.Errorf("job %+v", job)
	}
	record(t, b, job, ok, delivered)
	retain(t, b, 32)
	same(t, "rows", rows(t, b)[:3], []int{0, 0, 0})
}

func TestPartitionsAreMadeAgainAndAgainAndByManyAtOnce(t *testing.T) {
	ledgertest.EachFresh(t, func(t *testing.T, b *ledgertest.Bench) {
		ledgers := []*database.DB{b.DB}
		if !b.DB.Embedded() {
			ledgers = append(ledgers, b.Another(t).DB, b.Another(t).DB)
		}
		count := func() int {
			if b.DB.Embedded() {
				return 0
			}
			return b.Count(t, `SELECT COUNT(*) FROM pg_class WHERE relispartition AND relkind = 'r' AND relnamespace = current_schema()::regnamespace`)
		}
		for days := range 3 {
			var wg sync.WaitGroup
			for _, l := range ledgers {
				wg.Go(func() {
					if err := l.EnsurePartitions(t.Context(), time.Now().AddDate(0, 0, days)); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if !b.DB.Embedded() {
				same(t, "partitions", count(), 3*(8+days+1))
			}
		}
	})
}

// Rows of a day without partition lie in the default one. Their day cannot be
// made any more, the others can.
func TestADayThatCannotBeMadeKeepsNoOtherFromIt(t *testing.T) {
	b := ledgertest.NewFresh(t, "postgres")
	b.Partner(t, "acme")
	e := ledgertest.NewEvent("acme", "tp_1", "Pending")
	at := time.Now().UTC().AddDate(0, 0, 20)
	e.Event.ID = webhook.TimeBound(webhook.EventPrefix, at)
	store(t, b, e)
	err := b.DB.EnsurePartitions(t.Context(), at)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("events for %s", at.Format(time.DateOnly))) {
		t.Errorf("error %v", err)
	}
	same(t, "partitions", b.Count(t, `SELECT COUNT(*) FROM pg_class WHERE relispartition AND relkind = 'r' AND relnamespace = current_schema()::regnamespace`), 3*(8+1+8)-1)
	if _, err := b.Event(t.Context(), partners.Everything(), e.Event.ID); err != nil {
		t.Error(err)
	}
}

func TestQuotesAreDeletedInTime(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		rate := orders.Rate{Crypto: "USDT", Network: "TRC20", Price: ledgertest.Amount(t, "25345.5"), WalletAddress: "T1"}
		q, err := orders.NewQuote("acme", "a@example.com", 50_000, rate, orders.FeeRules{}, time.Minute)
		if err == nil {
			err = b.AddQuote(t.Context(), q)
		}
		if err == nil {
			err = b.RetainAt(t.Context(), time.Now().AddDate(0, 0, 3), day)
		}
		if err != nil {
			t.Fatal(err)
		}
		same(t, "quotes", b.Count(t, "SELECT COUNT(*) FROM quotes"), 0)
	})
}
