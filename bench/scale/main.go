// Command scale runs many gateways on stores as large installations have them,
// takes a part of those away under load and counts what came of it.
package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"ledgerhook/bench/stage"
)

func main() { stage.Main("scale", run) }

func run(ctx context.Context, args []string) error {
	var l load
	only := ""
	flags := flag.NewFlagSet("scale", flag.ContinueOnError)
	flags.IntVar(&l.rate, "rate", 300, "events a second")
	flags.DurationVar(&l.lasts, "for", time.Minute, "how long the load lasts; three times as long for the workers that are rolled")
	flags.StringVar(&only, "only", "", "run only the rows whose name contains this")
	if err := flags.Parse(args); err != nil {
		return err
	}
	l.silence, l.every = 2*time.Second, 20*time.Second
	remove, err := stage.Build()
	if err != nil {
		return err
	}
	defer remove()
	head := "\taccepted\tdelivered\tlost\tdoubled\tin flight\trecovered s\tlate after\tp50 ms\tp99 ms\tp99 before ms\t"
	return stage.Rows(ctx, head, "row", only, rows, func(r row) string { return r.name }, func(t *stage.Trial, r row) stage.Row {
		c := play(t, r, l)
		return stage.Row{Count: c, Sound: c.sound() && c.recovered <= soon && c.lateAfter*100 <= c.accepted, Cells: fmt.Sprintf("%d\t%d\t%d\t%d\t%d\t%.1f\t%d\t%d\t%d\t%d",
			c.accepted, c.delivered, c.lost(), c.doubled, c.inFlight, c.recovered.Seconds(), c.lateAfter, c.p50.Milliseconds(), c.p99.Milliseconds(), c.before.Milliseconds())}
	})
}

// soon is how long it may take until events pass as before.
const soon = 10 * time.Second
