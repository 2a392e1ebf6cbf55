package delivery

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// outage tells of each step that fails once, however often it does, and once
// when all go well again: a store that is away for an hour is a few lines of
// the log, not thousands. It is safe for concurrent use.
type outage struct {
	mu      sync.Mutex
	failing map[string]bool // by the steps told of: whether the last run failed
	since   time.Time
}

// tell takes what came of a step. An error that comes of the end of ctx says
// nothing.
func (o *outage) tell(ctx context.Context, log *slog.Logger, what, step string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, told := o.failing[step]
	if ctx.Err() != nil || err == nil && !told {
		return
	}
	if len(o.failing) == 0 {
		o.failing, o.since = map[string]bool{}, time.Now()
	}
	o.failing[step] = err != nil
	if !told {
		log.Warn("cannot "+what+" just now", "step", step, "error", err)
	}
	if !slices.Contains(slices.Collect(maps.Values(o.failing)), true) {
		log.Info("can "+what+" again", "after", time.Since(o.since).Round(time.Millisecond))
		o.failing = nil
	}
}
