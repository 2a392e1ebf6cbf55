// Command faults injects the known ways to lose or to double an event into
// real processes under load and counts what came of each.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"ledgerhook/bench/stage"
)

func main() { stage.Main("faults", run) }

// options are the command's flags.
type options struct {
	rate, events, parked int
	only, from           string
	short, fairness      bool
	healthy              time.Duration
}

func run(ctx context.Context, args []string) error {
	switch {
	case slices.Equal(args, []string{crowdPart}):
		return playCrowd(ctx, os.Stdin, os.Stdout)
	case slices.Equal(args, []string{drippingPart}):
		return playDripping(ctx, os.Stdin, os.Stdout)
	}
	var o options
	flags := flag.NewFlagSet("faults", flag.ContinueOnError)
	flags.IntVar(&o.rate, "rate", 0, "events a second; 0: 500, or what this machine sustains if that is less")
	flags.IntVar(&o.events, "events", 5000, "events under load in each fault")
	flags.StringVar(&o.only, "only", "", "run only the faults whose name contains this; with -fairness, only such nuisances")
	flags.StringVar(&o.from, "from", "", "the program of the previous release, to upgrade from; empty: upgrade this one to one with a step of the schema more")
	flags.BoolVar(&o.short, "short", false, "small numbers and no long waits")
	flags.BoolVar(&o.fairness, "fairness", false, "measure what partners do to each other instead")
	flags.DurationVar(&o.healthy, "for", time.Minute, "how long each measurement of -fairness lasts")
	flags.IntVar(&o.parked, "parked", 100_000, "deliveries that wait for a dead endpoint with -fairness")
	if err := flags.Parse(args); err != nil {
		return err
	}
	remove, err := stage.Build()
	if err != nil {
		return err
	}
	defer remove()
	server := stage.NewTrial(ctx, "stores")
	defer server.End()
	var postgres *stage.Store
	if !server.Run(func() { postgres = stage.StartPostgres(server) }) {
		return errors.New("PostgreSQL did not start")
	}
	b := bench{size: o.size(), database: func(t stage.T) string { return postgres.CreateDatabase(t) }}
	if o.fairness {
		return b.fairness(ctx, o)
	}
	return b.faults(ctx, o)
}

// size is what the flags ask of a fault.
func (o options) size() size {
	s := size{events: o.events, rate: o.rate}
	if o.short {
		s = shortSize
		s.rate = cmp.Or(o.rate, s.rate)
	}
	s.full, s.from = !o.short, o.from
	return s
}

// wanted is the rate that faults are injected at unless the machine cannot.
const wanted = 500

// faults runs every fault and prints the table.
func (b bench) faults(ctx context.Context, o options) error {
	if b.size.rate == 0 {
		t := stage.NewTrial(ctx, "sustained")
		var sustained int
		ok := t.Run(func() { sustained = b.sustained(t) })
		t.End()
		if !ok {
			return errors.New("the machine's rate could not be measured")
		}
		b.size.rate = min(wanted, sustained)
		fmt.Printf("sustained: %d events/s end to end; faults are injected at %d/s\n\n", sustained, b.size.rate)
	}
	head := "fault\taccepted\tdelivered\tlost\tduplicates\tin flight\trecovered s\tallowed s\t"
	return stage.Rows(ctx, head, "fault", o.only, all, func(f fault) string { return f.name }, func(t *stage.Trial, f fault) stage.Row {
		c := b.inject(t, f)
		return stage.Row{Count: c, Sound: c.sound() && c.recovered <= f.allowed(), Cells: fmt.Sprintf("%d\t%d\t%d\t%d\t%d\t%.1f\t%.0f",
			c.accepted, c.delivered, c.lost(), c.duplicates, c.inFlight, c.recovered.Seconds(), f.allowed().Seconds())}
	})
}
