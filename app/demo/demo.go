// Package demo runs a whole world in one process: a gateway with embedded
// stores, two partners whose receivers verify every signature, and traffic
// between them.
//
// It uses the gateway through its HTTP API alone, as any other system does.
package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"syscall"
	"time"

	"ledgerhook/app"
	"ledgerhook/config"
)

// Options says how a demo runs and where it prints.
type Options struct {
	Out      io.Writer
	Terminal bool          // Out takes colours and cursor movements
	Duration time.Duration // of the whole; 0: until ctx ends
	JSON     bool          // the last line is the summary as JSON
	Version  string        // of the program
	Command  string        // how the program is called, for the commands to try; empty: ledgerhook
	// Environ is the environment ("NAME=value"). Of the gateway's settings the
	// data directory, the listeners and the first password are taken from it.
	Environ []string
}

const (
	drainPatience = 30 * time.Second
	// drainShare is how long before the end of Duration traffic stops, at most
	// a quarter of it: time for the last event to fail once and be repeated.
	drainShare = 3 * time.Second
)

type demo struct {
	opts     Options
	screen   *screen
	tally    *tally
	app      *app.App
	api      *api
	partners []*partner
	began    time.Time
	first    app.FirstLogin // of a new ledger whose password was generated
}

// Run runs a demo until its duration is over or ctx ends, then waits until
// everything is delivered, at most 30 s, and prints a summary. The error says
// so if not every event was accepted, delivered and verified.
func Run(ctx context.Context, opts Options) (err error) {
	opts.Command = cmp.Or(opts.Command, "ledgerhook")
	d := &demo{opts: opts, screen: &screen{out: opts.Out, terminal: opts.Terminal},
		tally: newTally(), partners: newPartners(), began: time.Now()}
	settings, err := newSettings(opts.Environ)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, settings.remove()) }()
	// The gateway outlives ctx: what is under way is delivered first.
	lasting := context.WithoutCancel(ctx)
	err = d.start(lasting, settings)
	if errors.Is(err, syscall.EADDRINUSE) {
		err = d.start(lasting, settings.anyPorts())
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stop(lasting)) }()
	d.api = &api{base: d.app.InternalURL(), token: d.app.Token(), http: &http.Client{Timeout: 10 * time.Second}}
	for _, p := range d.partners {
		if err := d.onboard(ctx, p); err != nil {
			return err
		}
	}
	if err := d.addUsers(ctx); err != nil {
		return err
	}
	d.introduce(settings)
	return d.live(ctx)
}

func (d *demo) start(ctx context.Context, s settings) error {
	cfg, err := config.Load("", s.environ)
	if err != nil {
		return fmt.Errorf("the settings: %w", err)
	}
	log := slog.New(slog.NewTextHandler(d.screen, &slog.HandlerOptions{Level: slog.LevelWarn}))
	app.TakeStandardLog(log)
	if d.app, err = app.Start(ctx, cfg, app.Options{Log: log, Version: d.opts.Version, FirstLogin: func(l app.FirstLogin) { d.first = l }}); err != nil {
		return fmt.Errorf("start the gateway: %w", err)
	}
	return nil
}

// live makes traffic, lets it end and checks what came of it.
func (d *demo) live(ctx context.Context) error {
	traffic, enough := context.WithCancel(ctx)
	defer enough()
	if t := d.opts.Duration; t > 0 {
		end := d.began.Add(t - min(drainShare, t/4))
		traffic, enough = context.WithDeadline(traffic, end)
		defer enough()
	}
	var wg sync.WaitGroup
	wg.Go(func() { d.traffic(traffic) })
	wg.Go(func() { d.cashouts(traffic, d.partners[0]) })
	select {
	case <-traffic.Done():
	case <-d.app.Done():
		enough()
	}
	wg.Wait()
	if have := d.tally.standing(); have.arrived < have.accepted {
		d.screen.print(d.screen.in(grey, fmt.Sprintf("no new events; %d are still under way", have.accepted-have.arrived)))
	}
	r, err := d.drain(context.WithoutCancel(ctx))
	d.screen.stand("")
	d.summarize(r)
	if err == nil {
		err = d.check(r)
	}
	if err == nil {
		d.screen.print(d.screen.in(green, "✓ every event was delivered and verified"))
	}
	if d.opts.JSON {
		d.screen.print(r.json())
	}
	return err
}

func (d *demo) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, app.StopLimit)
	defer cancel()
	err := d.app.Stop(ctx)
	for _, p := range d.partners {
		if p.server != nil {
			err = errors.Join(err, p.server.Close())
		}
	}
	if err != nil {
		return fmt.Errorf("stop the demo: %w", err)
	}
	return nil
}
