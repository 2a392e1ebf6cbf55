package delivery

import (
	"context"
	"log/slog"
	"time"
)

// outage tells of steps that fail over and over once when the first of them
// fails, and once when all go well again: a store that is away for an hour is
// two lines of the log, not thousands. It belongs to one goroutine.
type outage struct {
	failing map[string]bool // steps whose last run failed
	since   time.Time
}

// tell takes what came of a step. An error that comes of the end of ctx says
// nothing.
func (o *outage) tell(ctx context.Context, log *slog.Logger, what, step string, err error) {
	began := len(o.failing) == 0
	switch {
	case ctx.Err() != nil || err == nil && !o.failing[step]:
	case err == nil:
		delete(o.failing, step)
		if len(o.failing) == 0 {
			log.Info("can "+what+" again", "after", time.Since(o.since).Round(time.Millisecond))
		}
	case began:
		o.failing, o.since = map[string]bool{step: true}, time.Now()
		log.Warn("cannot "+what+" just now", "step", step, "error", err)
	default:
		o.failing[step] = true
	}
}
