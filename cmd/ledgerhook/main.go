// Command ledgerhook is the webhook gateway and everything one needs around
// it on a command line.
//
// Each command has a file of its own. Commands that talk to a running server
// know its internal HTTP API and nothing else of it.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	c := &cli{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Getenv}
	os.Exit(c.run(untilSignal(), os.Args[1:]))
}

// untilSignal is a context that ends with the first signal to stop. By then
// the next one ends the process at once.
func untilSignal() context.Context {
	ctx, stop := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals)
		stop()
	}()
	return ctx
}

// cli is what a command may touch of the world around it.
type cli struct {
	in       io.Reader
	out, err io.Writer // data, messages
	env      func(string) string

	json bool    // the flag --json of what answers with the server's
	api  *client // once it was needed
}

// run executes one command line and returns the exit code of the process. It
// is the one place that prints an error.
func (c *cli) run(ctx context.Context, args []string) int {
	root := c.root()
	started := false
	walk(root, func(cmd *cobra.Command) {
		if do := cmd.RunE; do != nil {
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				started = true
				if err := checkLine(cmd, args); err != nil {
					return err
				}
				return blameFlags(cmd, do(cmd, args))
			}
		}
	})
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !started {
		err = usage("%w; see %s --help", err, cmd.CommandPath())
	}
	code := exitCode(ctx, err)
	if message := errorLine(err); code != exitOK && message != "" {
		fmt.Fprintln(c.err, "ledgerhook: "+message)
	}
	return code
}

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "ledgerhook",
		Short: "A webhook gateway that never loses an event",
		Long: `Ledgerhook takes events from a payment company's own systems and delivers them
to its partners, signed, at least once, and with the same bytes each time.

See it work:  ledgerhook demo`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	// A group runs only to say what it needs, which is no use of it.
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "{{if .Runnable}}", "{{if and .Runnable (not .HasAvailableSubCommands)}}", 1))
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.AddGroup(
		&cobra.Group{ID: "server", Title: "The server:"},
		&cobra.Group{ID: "client", Title: "A running server (LEDGERHOOK_URL, LEDGERHOOK_TOKEN):"},
		&cobra.Group{ID: "offline", Title: "Tools that need no server:"},
	)
	root.SetHelpCommandGroupID("offline")
	root.SetCompletionCommandGroupID("offline")
	add := func(group string, cmds ...*cobra.Command) {
		for _, cmd := range cmds {
			cmd.GroupID = group
			root.AddCommand(cmd)
		}
	}
	add("server", c.serve(), c.demo(), c.migrate(), c.backup(), c.restore(), c.doctor())
	add("client", c.partner(), c.endpoint(), c.secret(), c.send(), c.deliveries(), c.replay(), c.rate(), c.keys(), c.masterKey(), c.erase(), c.tokens())
	add("offline", c.listen(), c.verify(), c.sign(), c.keygen(), c.version())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Run, cmd.RunE = nil, help
		case "completion":
			onlyHolds(cmd, cmd.Commands())
		}
	}
	return root
}

// help shows the help of the command that args name.
func help(cmd *cobra.Command, args []string) error {
	topic, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) > 0 {
		return usage("there is no command %q", strings.Join(args, " "))
	}
	topic.InitDefaultHelpFlag()
	return topic.Help()
}

// group returns a command that does nothing but hold others.
func group(use, short string, cmds ...*cobra.Command) *cobra.Command {
	parent := &cobra.Command{Use: use, Short: short, DisableFlagsInUseLine: true}
	parent.AddCommand(cmds...)
	onlyHolds(parent, cmds)
	return parent
}

// onlyHolds makes parent, which holds cmds, refuse to run by itself.
func onlyHolds(parent *cobra.Command, cmds []*cobra.Command) {
	var names []string
	for _, cmd := range cmds {
		names = append(names, cmd.Name())
	}
	parent.Args = cobra.ArbitraryArgs
	parent.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usage("%s has no command %q; it has %s", cmd.Name(), args[0], strings.Join(names, ", "))
		}
		return usage("%s needs a command: %s", cmd.Name(), strings.Join(names, ", "))
	}
}

func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		walk(sub, visit)
	}
}
