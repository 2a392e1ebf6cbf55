// Command load measures how fast the gateway is and what each delivery costs,
// beside the limits of the machine that it runs on.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"ledgerhook/bench/stage"
)

// The parts of this program that run as processes of their own, so that what
// they use is told apart.
const (
	receivePart = "receive"
	postPart    = "post"
)

func main() { stage.Main("bench", command) }

func command(ctx context.Context, args []string) error {
	if len(args) == 1 {
		switch args[0] {
		case receivePart:
			return receive()
		case postPart:
			return post()
		}
	}
	return run(ctx, args)
}

// options are the command's flags.
type options struct {
	only            string
	events          int
	partners        int
	rows, waiting   int
	runs            int
	rates           string
	openTransaction bool
	lasts           time.Duration
	json, svg       string
	env             map[string]string // more settings of the gateway
	postgres        *stage.Store      // to use instead of one that is started for each world
}

func run(ctx context.Context, args []string) error {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&o.only, "only", "", "measure only the settings whose names contain this, of "+names(settings)+
		"; or what is measured only when it is named, by the beginning of its name: "+names(rows))
	flags.IntVar(&o.events, "events", 10_000, "events of each measurement without a rate; a burst is five times as many, what an emptied Redis has to be told of ten times")
	flags.DurationVar(&o.lasts, "for", 20*time.Second, "how long each rate is held")
	flags.StringVar(&o.rates, "rates", "2,50,100,300,70%", "POSTs a second, or a percentage of what was delivered without a rate")
	flags.IntVar(&o.runs, "runs", 1, "runs of everything, of which the middle one is told")
	flags.StringVar(&o.json, "json", "", "write everything to this file, too")
	flags.StringVar(&o.svg, "svg", "", "draw throughput and latency into this file")
	flags.IntVar(&o.partners, "partners", 8, "partners, each with an endpoint")
	flags.IntVar(&o.rows, "rows", 0, "deliveries of the last 29 days that the ledger has already")
	flags.IntVar(&o.waiting, "waiting", 0, "deliveries that wait for an endpoint that refuses connections")
	flags.BoolVar(&o.openTransaction, "open-transaction", false, "leave a transaction open in PostgreSQL, and measure once more without a rate at the end")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if _, err := o.steps(); err != nil {
		return err
	}
	remove, err := stage.Build()
	if err != nil {
		return err
	}
	defer remove()
	report := Report{Machine: machine()}
	if err := report.measure(ctx, o); err != nil {
		return err
	}
	return report.write(o)
}

// names lists what -only chooses from.
func names[T interface{ called() string }](all []T) string {
	var list []string
	for _, one := range all {
		list = append(list, one.called())
	}
	return strings.Join(list, ", ")
}

// measure runs what was chosen and prints it as it comes.
func (report *Report) measure(ctx context.Context, o options) error {
	fmt.Println(report.Machine)
	ran := 0
	for _, s := range settings {
		if !strings.Contains(s.name, o.only) {
			continue
		}
		ran++
		r, err := middle(ctx, o.runs, s.name, func(t *stage.Trial) Result { return table(t, s, o) }, Result.delivered)
		if err != nil {
			return err
		}
		r.print(os.Stdout)
		report.Settings = append(report.Settings, r)
	}
	for _, r := range rows {
		if o.only == "" || !strings.HasPrefix(r.name, o.only) {
			continue
		}
		ran++
		row, err := middle(ctx, o.runs, r.name, func(t *stage.Trial) Row { return Row{r.name, r.title, r.measure(t, r.setting, o)} }, Row.first)
		if err != nil {
			return err
		}
		row.print(os.Stdout)
		report.Rows = append(report.Rows, row)
	}
	if ran == 0 {
		return fmt.Errorf("-only: there is no %q", o.only)
	}
	return nil
}

// middle runs a measurement several times and returns the one in the middle.
func middle[R any](ctx context.Context, runs int, name string, measure func(*stage.Trial) R, by func(R) float64) (r R, err error) {
	var all []R
	for range max(1, runs) {
		if err := stage.Try(ctx, name, func(t *stage.Trial) { all = append(all, measure(t)) }); err != nil {
			return r, err
		}
	}
	slices.SortStableFunc(all, func(a, b R) int { return cmp.Compare(by(a), by(b)) })
	return all[len(all)/2], nil
}
