package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Result is everything that was measured of one setting.
type Result struct {
	Setting, Title string
	Phases         []Phase
	PeakMemory     int64   // of the gateway after the first phase, in bytes
	Signatures     float64 // RSA-2048 a second on all processors
}

// print writes a setting's table.
func (r Result) print(to io.Writer) {
	fmt.Fprintf(to, "%s (%s)\n", r.Title, r.Setting)
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\taccepted/s\tdelivered/s\tp50 ms\tp95 ms\tp99 ms\tgateway + stores\tsigning\tgateway\tPostgreSQL\tRedis\treceiver\tload\tallocations\tstatements\tcommits\tRedis commands\tscripts\t")
	for _, p := range r.Phases {
		c := p.CPU
		fmt.Fprintf(table, "%s\t%.0f\t%.0f\t%.1f\t%.1f\t%.1f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.0f\t%.2f\t%.2f\t%.2f\t%.2f\t\n", p.Name, p.Accepted, p.Delivered,
			p.P50, p.P95, p.P99, c.ours(), c.Signing, c.Gateway, c.Postgres, c.Redis, c.Receiver, c.Load, p.Allocations, p.Statements, p.Commits, p.RedisCommands, p.RedisScripts)
	}
	_ = table.Flush()
	fmt.Fprintf(to, "peak memory %d MiB, %.0f signatures/s\n\n", r.PeakMemory>>20, r.Signatures)
}
