package ledger_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/orders"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

func TestWhateverAServerHasForDefaultsTheLedgerWorks(t *testing.T) {
	t.Parallel()
	b := &ledgertest.Bench{}
	b.At = ledgertest.Options(t, "postgres")
	ledgertest.AsRole(t, &b.At, "bytea_output = 'escape'", "datestyle = 'SQL, DMY'", "intervalstyle = 'sql_standard'", "timezone = 'Asia/Ho_Chi_Minh'",
		"client_encoding = 'LATIN1'", "standard_conforming_strings = off", "default_transaction_isolation = 'serializable'",
		"lock_timeout = '1ms'", "idle_in_transaction_session_timeout = '1ms'")
	if _, err := ledger.Migrate(t.Context(), b.At); err != nil {
		t.Fatal(err)
	}
	var tickets []delivery.Ticket
	b.Options.Admitted = func(admitted []delivery.Ticket) { tickets = append(tickets, admitted...) }
	b.Reopen(t)
	t.Cleanup(func() { _ = b.Close() })
	b.Partner(t, "acme")
	b.Endpoint(t, "acme", 4)

	every := make([]byte, 0, 600)
	for i := range 256 {
		every = append(every, byte(i), '\\')
	}
	event := ledgertest.NewEvent("acme", "tp_1", "Pending")
	event.Event.Data = []byte(`{"id":"tp_1","name":"Nguyễn \\ 'Văn'"}`)
	appended, err := b.Append(t.Context(), event)
	if err != nil {
		t.Fatal(err)
	}
	job, ok, err := b.Claim(t.Context(), tickets[0], worker)
	if err != nil || !ok || !bytes.Equal(job.Event.Data, event.Event.Data) {
		t.Fatalf("claimed %t, %v, data %q", ok, err, job.Event.Data)
	}
	answer := okay
	answer.ResponseBody = every
	if err := tryRecord(t, b.Ledger, result(job, answer, delivered)); err != nil {
		t.Fatal(err)
	}
	attempts, err := b.Attempts(t.Context(), appended.DeliveryIDs[0])
	if err != nil || len(attempts) != 1 || !bytes.Equal(attempts[0].ResponseBody, every) {
		t.Errorf("%d attempts, %v: %v", len(attempts), err, attempts)
	}
	steps, err := database.Migrations(t.Context(), b.At)
	if err != nil || time.Since(steps[0].AppliedAt).Abs() > time.Hour {
		t.Errorf("the first of %d steps was taken at %v, %v", len(steps), steps, err)
	}
}

func TestAKilledConnectionIsNobodysError(t *testing.T) {
	t.Parallel()
	b := ledgertest.New(t, "postgres")
	b.Partner(t, "acme")
	e := b.Endpoint(t, "acme", 4)
	for name, do := range map[string]func(ledgertest.Process) error{
		"an event": func(l ledgertest.Process) error {
			_, err := l.Append(t.Context(), ledgertest.NewEvent("acme", rand.Text(), "Pending"))
			return err
		},
		"one row": func(l ledgertest.Process) error {
			_, err := l.Endpoint(t.Context(), partners.Everything(), e.ID)
			return err
		},
		"a list": func(l ledgertest.Process) error {
			_, _, err := l.Deliveries(t.Context(), delivery.Filter{Limit: 5})
			return err
		},
		"a sign-in": func(l ledgertest.Process) error {
			_, err := l.TryLogin(t.Context(), []string{"user/eve"}, time.Now())
			return err
		},
		"a heartbeat": func(l ledgertest.Process) error { return l.Heartbeat(t.Context(), worker, "host/1") },
		"a statement by itself": func(l ledgertest.Process) error {
			_, err := l.SetRate(t.Context(), orders.Rate{Crypto: "USDT", UpdatedAt: time.Now()})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := b.At
			mark := "k" + rand.Text()
			o.DatabaseURL = ledgertest.With(t, o.DatabaseURL, "application_name", func(string) string { return mark })
			l, err := ledgertest.Open(t.Context(), o, ledger.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			for range 3 { // fill the pools
				if err := do(l); err != nil {
					t.Fatal(err)
				}
			}
			if n := b.Count(t, "SELECT COUNT(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity WHERE application_name = $1", mark); n == 0 {
				t.Fatal("there was no connection to kill")
			}
			if err := do(l); err != nil {
				t.Error(err)
			}
		})
	}
}

// A transaction may meet as many dead connections as its group has.
func TestATransactionThatIsKilledRunsOnAnotherConnection(t *testing.T) {
	t.Parallel()
	b := ledgertest.New(t, "postgres")
	b.Partner(t, "acme")
	e := b.Endpoint(t, "acme", 4)
	runs := 0
	if err := b.WithWindow(t.Context(), e.ID, func(ctx context.Context, kill func(context.Context)) {
		if runs++; runs <= 6 {
			kill(ctx)
		}
	}); err != nil || runs != 7 {
		t.Errorf("after %d runs: %v", runs, err)
	}
	runs = 0
	if err := b.WithWindow(t.Context(), e.ID, func(ctx context.Context, kill func(context.Context)) {
		runs++
		kill(ctx)
	}); err == nil || runs != 7 {
		t.Errorf("killed each time: after %d runs: %v", runs, err)
	}
}

// A session that no longer knows its statements does not know its limits either.
func TestASessionThatLostItsStatementsIsReplaced(t *testing.T) {
	t.Parallel()
	b := ledgertest.New(t, "postgres")
	b.Partner(t, "acme")
	b.Endpoint(t, "acme", 4)
	for range 3 {
		store(t, b, ledgertest.NewEvent("acme", webhook.NewID("tp_"), "Pending"))
		record(t, b, take(t, b, one(t, b)), ok, delivered)
		if err := b.LoseStatements(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAFrozenProcessHoldsItsLocksForFiveSeconds(t *testing.T) {
	t.Parallel()
	b := ledgertest.New(t, "postgres")
	b.Partner(t, "acme")
	e := b.Endpoint(t, "acme", 4)
	frozen := b.Another(t).Ledger
	holds, thaw, done := make(chan struct{}, 2), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		_ = frozen.WithWindow(context.Background(), e.ID, func(context.Context, func(context.Context)) {
			holds <- struct{}{}
			<-thaw
		})
	}()
	<-holds
	if _, err := b.Append(t.Context(), ledgertest.NewEvent("acme", "tp_1", "Pending")); err != nil {
		t.Errorf("beside a frozen process: %v", err)
	}
	close(thaw)
	<-done
}

func TestALedgerThatTakesNothingIsNotReady(t *testing.T) {
	t.Parallel()
	b := ledgertest.New(t, "postgres")
	if err := b.Ready(t.Context()); err != nil {
		t.Errorf("a ledger that is well: %v", err)
	}
	o := b.At
	ledgertest.AsRole(t, &o, "default_transaction_read_only = on")
	l, err := ledgertest.Open(t.Context(), o, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Ready(t.Context()); webhook.KindOf(err) != webhook.KindUnavailable || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("a read-only one: %v", err)
	}
}

func TestALedgerWhoseCommitsDoNotComeThroughIsNotReady(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 4)
		holds, goOn, done := make(chan struct{}, 2), make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			_ = b.WithWindow(context.Background(), e.ID, func(context.Context, func(context.Context)) {
				holds <- struct{}{}
				<-goOn
			})
		}()
		<-holds
		var err error
		for err == nil && t.Context().Err() == nil {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			if err = b.Ready(ctx); ctx.Err() != nil {
				err = nil // SQLite's one connection is taken, or the machine is busy
			}
			cancel()
		}
		if webhook.KindOf(err) != webhook.KindUnavailable || !strings.Contains(err.Error(), "commits do not come through") {
			t.Errorf("with a stuck transaction: %v", err)
		}
		close(goOn)
		<-done
		if err := b.Ready(t.Context()); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}
