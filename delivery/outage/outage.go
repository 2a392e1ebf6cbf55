// Package outage logs a store that is away for an hour in a few lines, not
// thousands.
package outage

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// Log says once of each step that it fails, however often it does, and once when
// all go well again. The zero Log is ready, and safe for concurrent use.
type Log struct {
	mu      sync.Mutex
	failing map[string]bool // by the steps that were logged: whether the last run failed
	since   time.Time
}

// Note takes the result of a step of what, an infinitive: "keep the lease". An
// error that comes of the end of ctx says nothing.
func (l *Log) Note(ctx context.Context, log *slog.Logger, what, step string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, logged := l.failing[step]
	if ctx.Err() != nil || err == nil && !logged {
		return
	}
	if len(l.failing) == 0 {
		l.failing, l.since = map[string]bool{}, time.Now()
	}
	l.failing[step] = err != nil
	if !logged {
		log.Warn("cannot "+what+" just now", "step", step, "error", err)
	}
	if !slices.Contains(slices.Collect(maps.Values(l.failing)), true) {
		log.Info("can "+what+" again", "after", time.Since(l.since).Round(time.Millisecond))
		l.failing = nil
	}
}
