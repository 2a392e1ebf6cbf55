// Command fill puts many deliveries of the last 29 days into an empty ledger,
// to look at pages and measure queries with.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"ledgerhook/bench/stage"
	"ledgerhook/ledger"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/ledgertest"
)

func main() { stage.Main("fill", run) }

func run(ctx context.Context, args []string) error {
	var o database.Options
	flags := flag.NewFlagSet("fill", flag.ContinueOnError)
	n := flags.Int("n", 100_000, "deliveries")
	flags.StringVar(&o.DatabaseURL, "database", os.Getenv("LEDGERHOOK_DATABASE_URL"), "a PostgreSQL address; empty: SQLite in -data")
	flags.StringVar(&o.DataDir, "data", "./data", "the folder of the SQLite database")
	if err := flags.Parse(args); err != nil {
		return err
	}
	blank, err := database.Blank(ctx, o)
	if err != nil {
		return err
	}
	if !blank {
		return errors.New("the ledger is not empty: name an empty folder or database")
	}
	if _, err := ledger.Migrate(ctx, o); err != nil {
		return err
	}
	began := time.Now()
	if err := ledgertest.Fill(ctx, o, *n); err != nil {
		return err
	}
	fmt.Printf("%d deliveries in %s\n", *n, time.Since(began).Round(time.Millisecond))
	return nil
}
