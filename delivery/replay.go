package delivery

import (
	"context"
	"log/slog"
	"time"

	"ledgerhook/webhook"
)

// ReplayState is where a bulk replay stands.
type ReplayState string

const (
	ReplayRunning   ReplayState = "running"
	ReplayPaused    ReplayState = "paused"
	ReplayStopped   ReplayState = "stopped" // by itself: too much of it fails
	ReplayCancelled ReplayState = "cancelled"
	ReplayFinished  ReplayState = "finished" // every item was admitted or skipped
)

// Replay sends the events of many finished deliveries again. Its list is
// frozen when it is made; an item becomes a delivery only when its endpoint's
// window has room for it.
type Replay struct {
	ID         string // rpl_…
	State      ReplayState
	Reason     string // why somebody wanted it
	Filter     Filter // what it was made of
	Rate       int    // items admitted a second at most
	Total      int    // items
	Note       string // why it stopped by itself
	CreatedAt  time.Time
	FinishedAt time.Time
	Progress   ReplayProgress
}

// ReplayProgress counts a replay's items. They add up to its total.
type ReplayProgress struct {
	Open      int // not admitted yet
	Skipped   int // delivered meanwhile, still under way, or their endpoint is gone
	Waiting   int // admitted, no attempt has ended yet
	Delivered int
	Failing   int // at least one attempt failed, more follow
	Failed    int // ended without success
}

// ReplayPreview is what a replay of a filter would be.
type ReplayPreview struct {
	Count     int // of finished deliveries, at most MaxReplay + 1
	Breakdown []ReplayGroup
	Sample    []Placed // the newest
}

// ReplayGroup counts the deliveries of one partner, type and end.
type ReplayGroup struct {
	PartnerCode string
	Type        webhook.Type
	State       webhook.State
	ErrorClass  webhook.ErrorClass
	Count       int
}

// The bounds of a replay.
const (
	MaxReplay         = 100_000 // items
	DefaultReplayRate = 50      // items a second
	MaxReplayRate     = 1000
	ReplaySample      = 10
	// ReplayMaxFailing is the share of failing deliveries, among the newest that
	// were attempted, above which a replay stops itself.
	ReplayMaxFailing = 0.2
)

// Replays is the ledger as the runner of replays uses it.
type Replays interface {
	// StepReplays admits what rates and windows allow of every running replay
	// and returns how many items were admitted and skipped.
	StepReplays(ctx context.Context) (admitted, skipped int, err error)
	// StopFailingReplays stops running replays of which too much fails.
	StopFailingReplays(ctx context.Context) error
}

const (
	replayEvery      = 200 * time.Millisecond
	replayCheckEvery = 2 * time.Second
)

// RunReplays carries replays on until ctx ends. Any number of processes may.
func RunReplays(ctx context.Context, r Replays, m *Metrics, log *slog.Logger) {
	step, check := time.NewTicker(replayEvery), time.NewTicker(replayCheckEvery)
	defer step.Stop()
	defer check.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-step.C:
			var admitted, skipped int
			admitted, skipped, err = r.StepReplays(ctx)
			m.replayed.WithLabelValues("admitted").Add(float64(admitted))
			m.replayed.WithLabelValues("skipped").Add(float64(skipped))
		case <-check.C:
			err = r.StopFailingReplays(ctx)
		}
		if err != nil && ctx.Err() == nil {
			log.Warn("replays cannot be carried on just now", "error", err)
		}
	}
}
