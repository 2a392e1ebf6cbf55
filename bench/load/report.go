package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"ledgerhook/bench/program"
)

// Report is everything that one command has measured.
type Report struct {
	Machine  Machine
	Settings []Result `json:",omitempty"`
	Rows     []Row    `json:",omitempty"`
}

// Machine is what the figures hold for.
type Machine struct {
	Processors           int
	System, Go, Revision string
	Experiment           string `json:",omitempty"` // GOEXPERIMENT of the gateway's build
}

func machine() Machine {
	m := Machine{Processors: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Experiment: program.Experiment()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				m.Revision = s.Value[:min(len(s.Value), 12)]
			}
		}
	}
	return m
}

// String names the machine as reports do.
func (m Machine) String() string {
	text := fmt.Sprintf("%d processors, %s, %s", m.Processors, m.System, m.Go)
	if m.Experiment != "" && !strings.Contains(text, m.Experiment) {
		text += " " + m.Experiment
	}
	if m.Revision != "" {
		text += ", revision " + m.Revision
	}
	return text + "\n"
}

// write writes the report in the forms that were asked for beside the text.
func (report Report) write(o options) error {
	if o.json != "" {
		text, err := json.MarshalIndent(report, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(o.json, append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	if o.svg != "" {
		return os.WriteFile(o.svg, []byte(draw(report.Settings)), 0o644)
	}
	return nil
}

// print writes a setting's table.
func (r Result) print(to io.Writer) {
	fmt.Fprintf(to, "%s (%s), %d endpoints", r.Title, r.Setting, r.Partners)
	if r.Rows > 0 {
		fmt.Fprintf(to, ", %d deliveries in the ledger before", r.Rows)
	}
	if r.Waiting > 0 {
		fmt.Fprintf(to, ", %d waiting for a dead endpoint", r.Waiting)
	}
	if r.OpenTransaction {
		fmt.Fprint(to, ", a transaction left open")
	}
	fmt.Fprint(to, "\n\n")
	r.printRates(to)
	r.printCosts(to)
	d, l := r.delivered(), r.Limits
	of := func(limit float64) string { return fmt.Sprintf("%.0f %%", 100*d/limit) }
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "limits of the machine\tsignatures/s\t%.0f\tdelivered/s is %s of it\n", l.Signatures, of(l.Signatures))
	fmt.Fprintf(table, "\tkeep-alive POSTs/s\t%.0f\t%s\n", l.POSTs, of(l.POSTs))
	fmt.Fprintf(table, "\trows of %d bytes/s, committed in groups of %d\t%.0f\t%s\n", l.RowBytes, group, l.Rows, of(l.Rows))
	_ = table.Flush()
	fmt.Fprintf(to, "idle: gateway %.1f %%", r.Idle.Gateway)
	if r.hasStores() {
		fmt.Fprintf(to, ", PostgreSQL %.1f %%, Redis %.1f %%", r.Idle.Postgres, r.Idle.Redis)
	}
	fmt.Fprintf(to, " of a processor\npeak memory of the gateway: %.0f MiB; a delivery adds %d bytes to the ledger; a signature costs %.2f ms\n\n",
		mib(r.PeakMemory), r.LedgerBytes, l.Signature)
}

// hasStores reports whether there are processes of a PostgreSQL and a Redis.
func (r Result) hasStores() bool { return !strings.HasPrefix(r.Setting, embeddedPrefix) }

// printRates writes what was reached, and how long events took.
func (r Result) printRates(to io.Writer) {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\tevents\taccepted/s\tdelivered/s\tp50 ms\tp95 ms\tp99 ms\t202 p99 ms\trefused\tdoubled\t")
	for _, p := range r.Phases {
		fmt.Fprintf(table, "%s\t%d\t%.0f\t%.0f\t%.1f\t%.1f\t%.1f\t%.1f\t%d\t%d\t\n", p.Name, p.Events, p.Accepted, p.Delivered, p.P50, p.P95, p.P99, p.AcceptP99, p.Refused, p.Doubled)
	}
	_ = table.Flush()
	fmt.Fprintln(to)
}

// printCosts writes what a delivery costs, in ms of processor time and counts.
func (r Result) printCosts(to io.Writer) {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	head := "a delivery: CPU ms\tgateway + stores\tsigning\trest of gateway\tPostgreSQL\tRedis\treceiver\tload\tbench\tallocations\t"
	if r.hasStores() {
		head += "statements\tcommits\tRedis commands\tits scripts\t"
	}
	fmt.Fprintln(table, head)
	for _, p := range r.Phases {
		c := p.CPU
		fmt.Fprintf(table, "%s\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.0f\t", p.Name, c.ours(), c.Signing, c.Gateway, c.Postgres, c.Redis, c.Receiver, c.Load, c.Bench, p.Allocations)
		if r.hasStores() {
			fmt.Fprintf(table, "%.2f\t%.2f\t%.2f\t%.2f\t", p.Statements, p.Commits, p.RedisCommands, p.RedisScripts)
		}
		fmt.Fprintln(table)
	}
	_ = table.Flush()
	fmt.Fprintln(to)
}

// print writes a row's figures.
func (r Row) print(to io.Writer) {
	fmt.Fprintf(to, "%s (%s)\n\n", r.Title, r.Name)
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, f := range r.Figures {
		fmt.Fprintf(table, "%s\t%s\t%s\n", f.Name, f.text(), f.Unit)
	}
	_ = table.Flush()
	fmt.Fprintln(to)
}

// text writes a value with three digits that count, or all before the point.
func (f Figure) text() string {
	switch {
	case f.Value == math.Trunc(f.Value) || f.Value >= 100:
		return fmt.Sprintf("%.0f", f.Value)
	case f.Value >= 10:
		return fmt.Sprintf("%.1f", f.Value)
	}
	return fmt.Sprintf("%.2f", f.Value)
}
