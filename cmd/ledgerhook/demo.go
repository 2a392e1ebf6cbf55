package main

import (
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ledgerhook/app/demo"
)

func (c *cli) demo() *cobra.Command {
	var duration time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a gateway, two partners and live traffic in one process",
		Long: `Runs a server with embedded stores, two sandbox partners, their receivers that
verify every signature, and live traffic. One partner is healthy, the other one
fails now and then. The data goes to a temporary directory that is removed at
the end, unless LEDGERHOOK_DATA_DIR is set. Ends with a summary, and with
exit code 0 only if everything was delivered and verified.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if duration < 0 {
				return usage("--duration must not be negative")
			}
			return demo.Run(cmd.Context(), demo.Options{
				Out: c.out, Terminal: c.coloured(c.out), Duration: duration, JSON: asJSON,
				Version: version, Command: calledAs(), Environ: os.Environ(),
			})
		},
	}
	cmd.Flags().DurationVar(&duration, "duration", 0, "stop after this time; default: until Ctrl-C")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the summary, the last line, as JSON")
	return cmd
}

// calledAs is how the user calls this program, for commands to copy.
func calledAs() string {
	name := os.Args[0]
	if strings.Contains(name, "/go-build") {
		return "go run ./cmd/ledgerhook"
	}
	return name
}
