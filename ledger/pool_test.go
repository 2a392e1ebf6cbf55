package ledger_test

import (
	"context"
	"database/sql"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ledgerhook/ledger"
	"ledgerhook/ledger/accounts"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
)

// flood is more than any group of connections has.
const flood = 60

func TestAFloodOfSignInsTakesNoConnectionOfTheDeliveryPath(t *testing.T) {
	t.Parallel()
	b := ledgertest.New(t, "postgres")
	b.Partner(t, "acme")
	b.Endpoint(t, "acme", 4)
	stuck := func(ctx context.Context, p ledgertest.Process) error {
		_, err := p.TryLogin(ctx, []string{"user/eve"}, time.Now())
		return err
	}
	besidesStuck(t, b, "login_failures", stuck)
}

func TestPagesAndPartnersHaveConnectionsOfTheirOwn(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(*ledger.Ledger) *ledger.Ledger{
		"pages": (*ledger.Ledger).ForPages, "partners": (*ledger.Ledger).ForPartners,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := ledgertest.New(t, "postgres")
			b.Partner(t, "acme")
			b.Endpoint(t, "acme", 4)
			besidesStuck(t, b, "replays", func(ctx context.Context, p ledgertest.Process) error {
				_, _, err := of(p.Ledger).Replays(ctx, partners.Everything(), "", 1)
				return err
			})
		})
	}
}

// Codes are asked for and tried by whoever has a partner's key.
func TestAFloodOfCodesTakesNoConnectionOfTheDeliveryPath(t *testing.T) {
	t.Parallel()
	b := ledgertest.New(t, "postgres")
	b.Partner(t, "acme")
	b.Endpoint(t, "acme", 4)
	besidesStuck(t, b, "users", func(ctx context.Context, p ledgertest.Process) error {
		return accounts.New(p.DB.ForPartners()).AlterCode(ctx, partners.User{PartnerCode: "acme", Email: "eve@example.com"}, func(*partners.CodeState) {})
	})
}

// besidesStuck runs ask again and again beside each other while the table that
// it needs is locked, and wants the delivery path to go on meanwhile.
func besidesStuck(t *testing.T, b *ledgertest.Bench, table string, ask func(context.Context, ledgertest.Process) error) {
	t.Helper()
	lock, err := b.Raw.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.ExecContext(t.Context(), "LOCK TABLE "+table+" IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	stop, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range flood {
		all.Go(func() { _ = ask(stop, b.Process) })
	}
	defer all.Wait()
	defer cancel()
	waiting(t, lock, table)

	ctx, done := context.WithTimeout(t.Context(), 20*time.Second)
	defer done()
	if _, err := b.Append(ctx, ledgertest.NewEvent("acme", "tp_1", "Pending")); err != nil {
		t.Errorf("append: %v", err)
	}
	job, ok, err := b.Claim(ctx, one(t, b), worker)
	if err != nil || !ok {
		t.Fatalf("claim: %t, %v", ok, err)
	}
	record(t, b, job, okay, delivered)
	if err := b.Heartbeat(ctx, worker, "host/1"); err != nil {
		t.Errorf("heartbeat: %v", err)
	}
	if err := lock.Rollback(); err != nil {
		t.Error(err)
	}
}

// waiting returns when as many connections wait for the table as anybody may have.
func waiting(t *testing.T, lock *sql.Tx, table string) {
	t.Helper()
	before := 0
	for steady := 0; steady < 20; {
		var n int
		if err := lock.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND relation = $1::regclass", table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if steady++; n == 0 || n != before {
			before, steady = n, 0
		}
	}
}

func TestOfManySignInsAtMostOneStandsBeforeAnEvent(t *testing.T) {
	t.Parallel()
	b := ledgertest.New(t, "sqlite")
	b.Partner(t, "acme")
	b.Endpoint(t, "acme", 4)
	var tries, started sync.WaitGroup
	var done, before atomic.Int64
	appended := make(chan error, 1)
	started.Add(flood)
	b.TogetherIn(1, func() {
		for i := range flood {
			tries.Go(func() {
				started.Done()
				if _, err := b.TryLogin(t.Context(), []string{fmt.Sprint("user/", i)}, time.Now()); err != nil {
					t.Error(err)
				}
				done.Add(1)
			})
		}
		started.Wait()
		for !b.WriterAwaited() {
			runtime.Gosched()
		}
		go func() {
			_, err := b.Append(t.Context(), ledgertest.NewEvent("acme", "tp_1", "Pending"))
			before.Store(done.Load())
			appended <- err
		}()
	})
	if err := <-appended; err != nil {
		t.Error(err)
	}
	tries.Wait()
	if n := before.Load(); n > 5 {
		t.Errorf("the event was stored after %d of %d tries to sign in", n, flood)
	}
}
