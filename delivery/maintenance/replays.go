package maintenance

import (
	"context"
	"log/slog"
	"time"

	"ledgerhook/delivery/outage"
)

// Replays is the ledger as the runner of replays uses it.
type Replays interface {
	// StepReplays admits what rates and windows allow of every running replay
	// and returns how many items were admitted and skipped.
	StepReplays(ctx context.Context) (admitted, skipped int, err error)
	// StopFailingReplays stops running replays of which too much fails.
	StopFailingReplays(ctx context.Context) error
	// SettleReplays copies how deliveries ended into the lists of their replays.
	SettleReplays(ctx context.Context) error
}

const (
	replayEvery      = 200 * time.Millisecond // while items go out
	replayIdleEvery  = time.Second            // their rate has a burst of one second's
	replayCheckEvery = 2 * time.Second
)

// runReplays carries replays on until ctx ends. Several processes may.
func runReplays(ctx context.Context, r Replays, m *Metrics, log *slog.Logger) {
	step, check := time.NewTimer(0), time.NewTicker(replayCheckEvery)
	defer step.Stop()
	defer check.Stop()
	var failing outage.Log
	run := func(step string, do func(context.Context) error) {
		failing.Note(ctx, log, "carry replays on", step, within(ctx, stepTimeout, do))
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-step.C:
			next := replayIdleEvery
			run("send", func(ctx context.Context) error {
				admitted, skipped, err := r.StepReplays(ctx)
				if admitted+skipped > 0 {
					next = replayEvery
				}
				m.replayed.WithLabelValues("admitted").Add(float64(admitted))
				m.replayed.WithLabelValues("skipped").Add(float64(skipped))
				return err
			})
			step.Reset(next)
		case <-check.C:
			run("stop what fails", r.StopFailingReplays)
			run("settle", r.SettleReplays)
		}
	}
}
