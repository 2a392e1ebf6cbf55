// Command scale runs many gateways on stores as large installations have them,
// takes a part of those away under load and counts what came of it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
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
	var broken []string
	ran := 0
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\taccepted\tdelivered\tlost\tdoubled\tin flight\trecovered s\tp50 ms\tp99 ms\tp99 before ms\t")
	for _, r := range rows {
		if !strings.Contains(r.name, only) {
			continue
		}
		ran++
		t := stage.NewTrial(ctx, r.name)
		var c count
		ok := t.Run(func() { c = play(t, r, l) })
		t.End()
		if ctx.Err() != nil {
			break
		}
		verdict := ""
		if !ok || t.Failed() || !c.sound() || c.recovered > soon {
			broken = append(broken, r.name)
			verdict = "  BROKEN"
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%.1f\t%d\t%d\t%d\t%s\n", r.name, c.accepted, c.delivered, c.lost(), c.doubled, c.inFlight,
			c.recovered.Seconds(), c.p50.Milliseconds(), c.p99.Milliseconds(), c.before.Milliseconds(), verdict)
		fmt.Fprintf(os.Stderr, "%s: %+v %s\n", r.name, c, verdict)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	switch {
	case ran == 0:
		return fmt.Errorf("no row's name contains %q", only)
	case len(broken) > 0:
		return fmt.Errorf("broken promises: %s", strings.Join(broken, ", "))
	}
	return nil
}

// soon is how long it may take until events pass as before.
const soon = 10 * time.Second
