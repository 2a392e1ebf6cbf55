// Command ahead ends and deletes by time what a process does: unpaid orders and
// what is past its retention. The fault bench builds it with a clock of its own
// and holds that nothing comes of that.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"ledgerhook/ledger"
	"ledgerhook/ledger/database"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "ahead:", err)
		os.Exit(1)
	}
}

// run prints how far the clock is ahead of the database's. It is an error if
// anything is ended or deleted by it.
func run(ctx context.Context) (err error) {
	db, err := database.Open(ctx, database.Options{DatabaseURL: os.Getenv("LEDGERHOOK_DATABASE_URL")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	l := ledger.New(db, ledger.Options{})
	defer l.Close()
	skew, err := db.ClockSkew(ctx)
	if err != nil {
		return err
	}
	fmt.Println(skew.Round(time.Hour))
	if _, err := l.ExpireOrders(ctx, "key"); !errors.Is(err, database.ErrClock) {
		return fmt.Errorf("orders were looked at by a wrong clock: %w", err)
	}
	if err := l.Retain(ctx, 30*24*time.Hour); !errors.Is(err, database.ErrClock) {
		return fmt.Errorf("the retention went by a wrong clock: %w", err)
	}
	return nil
}
