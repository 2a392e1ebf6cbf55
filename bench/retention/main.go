// Command retention measures how long retention takes to delete all that a
// filled ledger holds of the days before today, and what that does to the
// events that are accepted meanwhile.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"sync"
	"time"

	"ledgerhook/bench/stage"
	"ledgerhook/ledger"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

func main() { stage.Main("retention", run) }

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("retention", flag.ContinueOnError)
	n := flags.Int("n", 1_000_000, "deliveries of the last 29 days that the ledger is filled with")
	rate := flags.Int("rate", 100, "events a second that are accepted meanwhile")
	quiet := flags.Duration("for", 20*time.Second, "how long events are accepted before retention runs, to compare with")
	embedded := flags.Bool("sqlite", false, "on SQLite instead of PostgreSQL")
	if err := flags.Parse(args); err != nil {
		return err
	}
	t := stage.NewTrial(ctx, "retention")
	defer t.End()
	var err error
	if !t.Run(func() {
		o := database.Options{DataDir: t.TempDir()}
		if !*embedded {
			o = database.Options{DatabaseURL: stage.StartPostgres(t).CreateDatabase(t)}
		}
		err = measure(ctx, o, *n, *rate, *quiet)
	}) {
		return errors.New("it could not be measured")
	}
	return err
}

func measure(ctx context.Context, o database.Options, n, rate int, quiet time.Duration) (err error) {
	if _, err := ledger.Migrate(ctx, o); err != nil {
		return err
	}
	began := time.Now()
	if err := ledgertest.Fill(ctx, o, n); err != nil {
		return err
	}
	fmt.Printf("%d deliveries filled in %s\n", n, time.Since(began).Round(time.Second))
	l, err := ledgertest.Open(ctx, o, ledger.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := errors.Join(l.DB.EnsureDays(ctx), register(ctx, l)); err != nil {
		return err
	}
	before := accept(ctx, l, rate, func() {
		select {
		case <-time.After(quiet):
		case <-ctx.Done():
		}
	})
	fmt.Printf("accepted before it:  %s\n", before)
	// Days that something waits in stay until that is cancelled, which the second
	// run finds. What a window has admitted keeps its day: nothing delivers here.
	for i := range 2 {
		if err := count(ctx, l, "before"); err != nil {
			return err
		}
		var took time.Duration
		during := accept(ctx, l, rate, func() {
			began := time.Now()
			err = l.Retain(ctx, time.Hour)
			took = time.Since(began)
		})
		if err != nil {
			return err
		}
		fmt.Printf("run %d of retention:  %s\naccepted meanwhile:  %s\n", i+1, took.Round(time.Millisecond), during)
	}
	return count(ctx, l, "after")
}

// newcomer is the partner whose events are accepted: nothing of its days before
// waits, which without a worker would take its place in the window and keep its
// day for ever.
const newcomer = "newcomer"

func register(ctx context.Context, l ledgertest.Process) error {
	now := time.Now()
	err := l.CreatePartner(ctx, partners.Partner{Code: newcomer, Name: newcomer, PublicKey: []byte("none"), SealedSecret: []byte("none"), Settings: partners.DefaultSettings(), CreatedAt: now},
		partners.Secret{ID: webhook.NewID(webhook.SecretPrefix), PartnerCode: newcomer, State: partners.SecretActive, Sealed: []byte("none"), CreatedAt: now, ActivatedAt: now})
	if err != nil {
		return err
	}
	_, err = l.CreateEndpoint(ctx, webhook.Endpoint{PartnerCode: newcomer, URL: "https://newcomer.example.com/hook", CreatedAt: now, Window: webhook.Window{MaxInFlight: webhook.DefaultMaxInFlight}}, nil)
	return err
}

// count prints how many rows there are.
func count(ctx context.Context, l ledgertest.Process, when string) error {
	for _, table := range []string{"events", "deliveries", "attempts"} {
		var rows int
		if err := l.DB.Read.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+table).Scan(&rows); err != nil {
			return err
		}
		fmt.Printf("%-10s %s: %d\n", table, when, rows)
	}
	return nil
}

// latencies is how long events took from when they were due until they were stored.
type latencies struct {
	all    []time.Duration
	failed int
}

func (l latencies) String() string {
	if len(l.all) == 0 {
		return fmt.Sprintf("nothing, %d failed", l.failed)
	}
	at := func(percent int) time.Duration { return stage.Percentile(l.all, percent).Round(100 * time.Microsecond) }
	return fmt.Sprintf("%d events, p50 %s, p99 %s, longest %s, %d failed", len(l.all), at(50), at(99), at(100), l.failed)
}

// accept hands over events, evenly spaced however long they take, while do runs.
func accept(ctx context.Context, l ledgertest.Process, rate int, do func()) (found latencies) {
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	var all sync.WaitGroup
	var mu sync.Mutex
	for {
		select {
		case <-done: // do ends with ctx, too
			all.Wait()
			return found
		case due := <-tick.C:
			all.Go(func() {
				_, err := l.Append(ctx, ledgertest.NewEvent(newcomer, webhook.NewID("tp_"), "Pending"))
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					found.failed++
				} else {
					found.all = append(found.all, time.Since(due))
				}
			})
		}
	}
}
