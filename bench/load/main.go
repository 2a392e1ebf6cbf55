// Command load measures how fast the gateway is and what each delivery costs,
// beside the limits of the machine that it runs on.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"ledgerhook/bench/stage"
)

// The parts of this program that run as processes of their own, so that what
// they use is told apart.
const (
	receivePart = "receive"
	postPart    = "post"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:])
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string) error {
	switch {
	case len(args) == 1 && args[0] == receivePart:
		return receive()
	case len(args) == 1 && args[0] == postPart:
		return post()
	}
	return run(ctx, args)
}

// options are the command's flags.
type options struct {
	only     string
	events   int
	partners int
	lasts    time.Duration
}

func run(ctx context.Context, args []string) error {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&o.only, "only", "", "run only the settings whose name contains this: stores/rsa, stores/hmac, embedded/rsa, embedded/hmac")
	flags.IntVar(&o.events, "events", 10_000, "events of each measurement without a rate")
	flags.IntVar(&o.partners, "partners", 8, "partners, each with an endpoint")
	flags.DurationVar(&o.lasts, "for", 20*time.Second, "how long each rate is held")
	if err := flags.Parse(args); err != nil {
		return err
	}
	remove, err := stage.Build()
	if err != nil {
		return err
	}
	defer remove()
	ran := 0
	for _, s := range settings {
		if !strings.Contains(s.name, o.only) {
			continue
		}
		ran++
		t := stage.NewTrial(ctx, s.name)
		var r Result
		ok := t.Run(func() { r = table(t, s, o) })
		t.End()
		if !ok || t.Failed() {
			return fmt.Errorf("%s did not come to its end", s.name)
		}
		r.print(os.Stdout)
	}
	if ran == 0 {
		return fmt.Errorf("no setting's name contains %q", o.only)
	}
	return nil
}

const senders = 32

// table measures everything of one setting.
func table(t *stage.Trial, s setting, o options) Result {
	signatures, signature, err := signing(2 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	r := Result{Setting: s.name, Title: s.title, Signatures: signatures}
	w := newWorld(t, s, o)
	w.measure("warm up", errand{Events: min(o.events, 1000), Batch: 1, Senders: senders}, signature)
	add := func(name string, e errand) {
		p := w.measure(name, e, signature)
		t.Logf("%s: %.0f accepted/s, %.0f delivered/s, %.1f ms p50, %.2f ms CPU", p.Name, p.Accepted, p.Delivered, p.P50, p.CPU.ours())
		r.Phases = append(r.Phases, p)
	}
	add("single POSTs", errand{Events: o.events, Batch: 1, Senders: senders})
	r.PeakMemory = w.gateway.Process.PeakMemory()
	add("batches of 100", errand{Events: o.events, Batch: 100, Senders: senders})
	for _, perSecond := range []float64{2, 50, 100, 300, 0.7 * r.Phases[0].Delivered} {
		add(fmt.Sprintf("%.0f/s", perSecond), errand{Events: max(1, int(perSecond*o.lasts.Seconds())), Batch: 1, Rate: perSecond})
	}
	return r
}
