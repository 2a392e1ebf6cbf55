package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"ledgerhook/app"
	"ledgerhook/app/systemd"
	"ledgerhook/config"
)

func configFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "config", "", "a YAML file of settings; environment variables override it")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
}

// load reads the settings; what is wrong with them is named, one after the other.
func load(file string) (config.Config, error) {
	cfg, err := config.Load(file, os.Environ())
	if err != nil {
		return cfg, settingsError(err)
	}
	return cfg, nil
}

func settingsError(err error) error { return fmt.Errorf("the settings: %w", err) }

func (c *cli) logger(cfg config.Config) *slog.Logger {
	if cfg.Log == "json" || cfg.Log == "" && !terminal(c.err) {
		return slog.New(slog.NewJSONHandler(c.err, nil))
	}
	return slog.New(slog.NewTextHandler(c.err, nil))
}

func (c *cli) serve() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the roles of this process: api, worker, dashboard",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := load(file)
			if err != nil {
				return err
			}
			log := c.logger(cfg)
			app.TakeStandardLog(log)
			manager, err := systemd.Find(c.env)
			if err != nil {
				log.Warn("the service manager cannot be notified", "error", err)
			}
			defer func() { _ = manager.Close() }()
			defer c.reserveHeap()()
			a, err := app.Start(cmd.Context(), cfg, app.Options{Log: log, Version: version, FirstLogin: c.showFirstLogin})
			if err != nil {
				return err
			}
			return c.runUntilStopped(cmd.Context(), a, manager, log)
		},
	}
	configFlag(cmd, &file)
	return cmd
}

// reserveHeap has the garbage collector run less often: it waits until the heap has
// doubled, and so little of it is in use at any time that it ran several times a
// second under load. Until release the heap may be some 64 MiB larger before. The
// reserve is never touched, and so takes no memory itself. Whoever sets GOGC or
// GOMEMLIMIT gets what they say.
func (c *cli) reserveHeap() (release func()) {
	var reserve []byte
	if c.env("GOGC") == "" && c.env("GOMEMLIMIT") == "" {
		reserve = make([]byte, 64<<20)
	}
	return func() { runtime.KeepAlive(reserve) }
}

// runUntilStopped tells the service manager of a while it runs, until ctx ends
// or it cannot go on, and stops it.
func (c *cli) runUntilStopped(ctx context.Context, a *app.App, manager *systemd.Manager, log *slog.Logger) error {
	told := func(err error) {
		if err != nil {
			log.Warn("the service manager was not notified", "error", err)
		}
	}
	told(manager.Ready("serving on " + a.InternalURL()))
	watching, end := context.WithCancel(context.WithoutCancel(ctx))
	var watch sync.WaitGroup
	watch.Go(func() { manager.Watch(watching, a.Alive, log) })
	defer watch.Wait()
	defer end()
	select {
	case <-ctx.Done():
		log.Info("stopping: unfinished requests are drained")
	case <-a.Done():
	}
	told(manager.Stopping("finishing attempts under way"))
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), app.StopLimit)
	defer cancel()
	if err := a.Stop(limited); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	return a.Err()
}

// showFirstLogin prints the only copy of a password that was just generated. It
// goes past the log, which others keep and read.
func (c *cli) showFirstLogin(l app.FirstLogin) {
	line := strings.Repeat("=", 64)
	fmt.Fprintf(c.err, "\n%s\n  First sign-in   %s\n  username        %s\n  password        %s\n\n"+
		"  Shown this once. Change it there under \"Account\".\n%s\n\n", line, l.URL, l.Username, l.Password, line)
}
