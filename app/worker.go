package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/delivery"
	"ledgerhook/delivery/guard"
	"ledgerhook/delivery/maintenance"
	"ledgerhook/delivery/queue"
	"ledgerhook/delivery/sender"
	"ledgerhook/ledger/database"
	"ledgerhook/webhook"
)

// drainTime is how long a stopping process waits for what it is sending.
const drainTime = 20 * time.Second

// startWorker runs the worker role: fetching and sending, and maintenance.
func (a *App) startWorker(ctx context.Context) error {
	if !a.config.Roles.Worker {
		return nil
	}
	if a.db.Embedded() {
		if err := a.ledger.EndLeases(ctx); err != nil {
			return err
		}
	}
	id := webhook.NewID(webhook.WorkerPrefix)
	out := sender.New(sender.Options{Guard: guard.New(a.config.AllowCIDRs), UserAgent: "Ledgerhook/" + a.version, Timeout: a.config.Timeout,
		Connections: a.config.Concurrency})
	a.cleanups.add("close connections to partners", func(context.Context) error { out.Close(); return nil })
	worker := delivery.NewWorker(delivery.WorkerOptions{
		ID: id, Ledger: a.ledger, Composer: a.composer, Sender: out, Policy: webhook.RetryPolicy{Waits: a.config.Retry},
		Metrics: a.deliveryMetrics, Log: a.log, Alone: a.db.Embedded(), Tracer: a.tracer,
	})
	a.worker = worker
	if err := a.startLease(ctx, id); err != nil {
		return err
	}
	a.health.AddWarning("records", worker.Recording)
	a.watchClock()
	a.registry.MustRegister(newQueueCollector(a.queue, worker, a.config.Concurrency))
	watch, err := a.newWatch()
	if err != nil {
		return err
	}
	m := &maintenance.Maintainer{Store: a.ledger, Claims: a.ledger, Epochs: a.ledger, Election: a.ledger, Replays: a.ledger, Queue: a.queue,
		Worker: worker, Metrics: a.maintenanceMetrics, Log: a.log, Watch: watch.Run}
	if a.db.Embedded() {
		m.Election = nil
	}
	a.background("stop maintenance", m.Run)
	a.retention = newRetentionMetric(a.registry)
	a.background("stop housekeeping", a.keepHouse)
	a.startMonitor()
	if err := a.startCanary(id); err != nil {
		return err
	}

	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	servers, err := a.queue.Serve(running, a.config.Concurrency, worker)
	if err != nil {
		cancel()
		return err
	}
	a.dispatcher.Use(servers)
	a.cleanups.add("drain deliveries", func(context.Context) error {
		servers.Stop()
		if left := waitIdle(servers, a.drain); left > 0 {
			a.log.Warn("deliveries were cut off: their outcome is unknown and they are sent again", "deliveries", left)
		}
		cancel()
		servers.Shutdown()
		return nil
	})
	return nil
}

// waitIdle waits until no slot is in use, at most limit, and returns how many
// still are.
func waitIdle(servers *queue.Servers, limit time.Duration) int {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(limit)
	for servers.Busy() > 0 {
		select {
		case <-tick.C:
		case <-deadline:
			return servers.Busy()
		}
	}
	return 0
}

// background runs do until cleanup, and waits for its end there.
func (a *App) background(name string, do func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { do(ctx) })
	a.cleanups.add(name, func(context.Context) error {
		cancel()
		done.Wait()
		return nil
	})
}

// hostName is what this process is called: its machine and its number there.
func hostName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}

// startLease registers the worker and keeps its lease.
func (a *App) startLease(ctx context.Context, id string) error {
	host := hostName()
	if err := a.worker.TakeLease(ctx, a.ledger, host); err != nil {
		return fmt.Errorf("register the worker: %w", err)
	}
	a.cleanups.add("end the worker's lease", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		return a.ledger.Deregister(ctx, id)
	})
	a.background("stop the heartbeat", func(ctx context.Context) { a.worker.KeepLease(ctx, a.ledger, host) })
	return nil
}

// every runs do again and again until ctx ends and logs its errors.
func (a *App) every(ctx context.Context, interval time.Duration, what string, do func(context.Context) error) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	told := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			err := do(ctx)
			wrong := errors.Is(err, database.ErrClock)
			if err != nil && ctx.Err() == nil && !(wrong && told) {
				a.log.Warn("a recurring task failed", "task", what, "error", err)
			}
			told = wrong // once, as it lasts until somebody sets the clock
		}
	}
}

// expireOrders fails the orders that were not paid in time.
func (a *App) expireOrders(ctx context.Context) error {
	n, err := a.ledger.ExpireOrders(ctx, a.keys.current().ID())
	if n > 0 {
		a.log.Info("unpaid orders have expired", "orders", n)
	}
	return err
}

func (a *App) sweepTokens(ctx context.Context) error {
	now, err := a.db.Now(ctx)
	if err != nil {
		return err
	}
	if err := a.prices.BoundAges(ctx, now); err != nil {
		return err
	}
	if err := a.accounts.BoundLives(ctx, now); err != nil {
		return err
	}
	return a.accounts.SweepTokens(ctx, now)
}

// retain deletes what is past retention, and remembers why it could not.
func (a *App) retain(ctx context.Context) error {
	err := a.ledger.Retain(ctx, a.config.Retention)
	if a.retained.Store(&err); err == nil {
		a.retention.SetToCurrentTime()
	}
	return err
}

// newRetentionMetric registers when the retention last ended well.
func newRetentionMetric(reg prometheus.Registerer) prometheus.Gauge {
	last := prometheus.NewGauge(prometheus.GaugeOpts{Name: "ledgerhook_retention_last_success_timestamp_seconds",
		Help: "When this worker's hourly retention run last succeeded, in seconds since 1970; before the first one, when the process started."})
	reg.MustRegister(last)
	last.SetToCurrentTime()
	return last
}

// watchClock warns while nothing is ended or deleted by time.
func (a *App) watchClock() {
	a.health.AddWarning("clock", func(ctx context.Context) error {
		if _, err := a.db.Now(ctx); errors.Is(err, database.ErrClock) {
			return fmt.Errorf("nothing is ended or deleted by time until it is set: %w", err)
		}
		return nil // what else is wrong the check of the ledger says
	})
	a.health.AddWarning("retention", func(context.Context) error {
		if err := a.retained.Load(); err != nil && *err != nil {
			return fmt.Errorf("not all that is past retention is deleted: %w", *err)
		}
		return nil
	})
}

// keepHouse does what is due now and then, until ctx ends.
func (a *App) keepHouse(ctx context.Context) {
	var tasks sync.WaitGroup
	for _, task := range []struct {
		name     string
		interval time.Duration
		do       func(context.Context) error
	}{
		{"expire unpaid orders", 2 * time.Second, a.expireOrders},
		{"release deliveries that waited for a new endpoint", 10 * time.Second, a.ledger.TakeOver},
		{"cancel deliveries of removed endpoints", 10 * time.Second, a.ledger.CancelRemoved},
		{"make partitions", time.Hour, a.db.EnsureDays},
		{"delete expired tokens and codes", 30 * time.Second, a.sweepTokens},
		{"fold the rollups", 5 * time.Minute, a.ledger.FoldFacts},
		{"delete past retention", time.Hour, a.retain},
	} {
		tasks.Go(func() { a.every(ctx, task.interval, task.name, task.do) })
	}
	tasks.Wait()
}
