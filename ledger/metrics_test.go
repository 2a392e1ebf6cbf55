package ledger_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/ledger"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/ledger/prices"
)

// measured opens the bench's ledger again with metrics and returns what reads them.
func measured(t *testing.T, b *ledgertest.Bench) (read func() map[string]float64) {
	t.Helper()
	registry := prometheus.NewRegistry()
	b.Options.Metrics, b.At.Metrics = ledger.NewMetrics(registry), database.NewMetrics(registry)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b.Reopen(t)
	return func() map[string]float64 {
		t.Helper()
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]float64{}
		for _, f := range families {
			name := strings.TrimPrefix(f.GetName(), "ledgerhook_")
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					name += "/" + l.GetValue()
				}
				if h := m.GetHistogram(); h != nil {
					all[name], all[name+" sum"] = float64(h.GetSampleCount()), h.GetSampleSum()
				} else {
					all[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
				}
				name = strings.TrimPrefix(f.GetName(), "ledgerhook_")
			}
		}
		return all
	}
}

func TestTheLedgersWorkIsMeasuredWhereItIsDone(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		read := measured(t, b)
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 8)
		before := read()
		store(t, b, ledgertest.NewEvent("acme", "tp_1", "Pending"))
		record(t, b, take(t, b, one(t, b)), ok, delivered)
		if _, err := prices.New(b.DB.ForPages()).Rates(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := prices.New(b.DB.ForPartners()).Rates(t.Context()); err != nil {
			t.Fatal(err)
		}
		after := read()
		grown := func(name string) float64 {
			t.Helper()
			if _, there := after[name]; !there {
				t.Errorf("there is no %s", name)
			}
			return after[name] - before[name]
		}
		const took = "ledger_query_duration_seconds/"
		if b.DB.Embedded() {
			same(t, "transactions", grown(took+"writer"), 3.)
		} else {
			same(t, "transactions", []float64{grown(took + "writer"), grown(took + "claims")}, []float64{2, 1})
		}
		same(t, "batches and operations in them", []float64{grown("ledger_commit_batch_size"), grown("ledger_commit_batch_size sum")}, []float64{3, 3})
		same(t, "statements of pages", grown(took+"pages"), 1.)
		same(t, "statements of partners", grown(took+"partners"), 1.)
		same(t, "statements of sign-ins", grown(took+"sign_in"), 0.)
		for _, pool := range []string{"delivery", "background", "pages", "sign_in", "partners"} {
			in, idle, more := after["ledger_pool_connections/"+pool+"/in_use"], after["ledger_pool_connections/"+pool+"/idle"], after["ledger_pool_connections/"+pool+"/unopened"]
			if in != 0 || idle+more < 1 {
				t.Errorf("%s: %v connections in use, %v idle, %v unopened", pool, in, idle, more)
			}
		}
	})
}

func TestWhatRetentionDeletesIsCounted(t *testing.T) {
	ledgertest.EachFresh(t, func(t *testing.T, b *ledgertest.Bench) {
		read := measured(t, b)
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 8)
		storeMany(t, b, "acme", 2)
		drain(t, b)
		if !b.DB.Embedded() { // as autovacuum does; what a dropped day holds is known from there
			if _, err := b.Raw.ExecContext(t.Context(), "ANALYZE"); err != nil {
				t.Fatal(err)
			}
		}
		retain(t, b, 31)
		found := read()
		for _, table := range []string{"events", "deliveries", "attempts", "idempotency_keys", "objects"} {
			same(t, table, found["retention_deleted_rows_total/"+table], 2.)
		}
		same(t, "quotes", found["retention_deleted_rows_total/quotes"], 0.)
	})
}

func TestATransactionThatStaysOpenAndDeadRowsAreFound(t *testing.T) {
	t.Parallel()
	b := ledgertest.NewFresh(t, "postgres")
	look := func() database.Upkeep {
		t.Helper()
		u, err := b.DB.Upkeep(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	tx, err := b.Raw.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "SELECT 1"); err != nil {
		t.Fatal(err)
	}
	// Other tests' transactions in the same database count, too.
	for began := time.Now(); look().OldestTransaction < 10*time.Millisecond; {
		if time.Since(began) > 20*time.Second {
			t.Fatal("the open transaction is not found")
		}
	}
	if share := look().DeadRows["windows"]; share != 0 {
		t.Errorf("without dead rows their share is %v", share)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"INSERT INTO rollups_all (slot, hour, fact, n) SELECT 1, n, 'created', 1 FROM generate_series(1, 3000) AS n",
		"DELETE FROM rollups_all WHERE hour > 1000",
		"SELECT pg_stat_force_next_flush()",
		"SELECT 1",
	} {
		if _, err := b.Raw.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(statement, err)
		}
	}
	b.Raw.SetMaxOpenConns(1)
	for deadline := time.Now().Add(time.Minute); look().DeadRows["rollups_all"] == 0; {
		if time.Now().After(deadline) {
			t.Fatal("the dead rows are not found")
		}
		if _, err := b.Raw.ExecContext(t.Context(), "SELECT pg_stat_force_next_flush()"); err != nil {
			t.Fatal(err)
		}
	}
	if share := look().DeadRows["rollups_all"]; share < 0.5 || share > 0.8 {
		t.Errorf("2,000 of 3,000 rows are dead, a share of %v", share)
	}
}

func TestSQLiteNeedsNoUpkeep(t *testing.T) {
	t.Parallel()
	if u, err := ledgertest.New(t, "sqlite").DB.Upkeep(t.Context()); err != nil || u.OldestTransaction != 0 || len(u.DeadRows) != 0 {
		t.Errorf("%+v %v", u, err)
	}
}
