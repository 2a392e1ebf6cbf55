package ledger

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/webhook"
)

// Rewind brings times that lie further ahead than their rules allow from now
// back to what they allow: when deliveries are due, and when windows are looked
// at. What else a window's row says is bounded whenever it is locked.
func (l *Ledger) Rewind(ctx context.Context) error {
	now := time.Now()
	most := database.Micros(now.Add(webhook.ClockTolerance))
	t := new(database.Statement).Add("SELECT endpoint_id FROM windows WHERE wake_at > ?", database.Micros(now.Add(database.LookAhead)))
	t.Add(" UNION SELECT endpoint_id FROM deliveries WHERE due_at > ? AND due_at > ? + "+longestWait(l.retry), most, most)
	ids, err := database.Collect(ctx, l.db.Read, t, database.One[string])
	if err != nil {
		return fmt.Errorf("look for times of a clock that was ahead: %w", err)
	}
	for group := range slices.Chunk(ids, maxBatch) {
		if err := l.withLockedWindows(ctx, group, func(ctx context.Context, b *batch) error { return b.rewind(ctx, group) }); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) rewind(ctx context.Context, endpoints []string) error {
	wait := longestWait(b.ledger.retry)
	t := b.statement().Add("UPDATE deliveries SET due_at = ? + "+wait+" WHERE due_at > ? + "+wait+" AND ",
		database.Micros(b.now), database.Micros(b.now.Add(webhook.ClockTolerance)))
	if err := b.later(ctx, database.In(t, "endpoint_id", endpoints)); err != nil {
		return fmt.Errorf("bring due times back: %w", err)
	}
	for _, id := range endpoints {
		if w := b.windows[id]; w != nil && !w.WakeAt.IsZero() {
			w.wake(b.now) // the refill finds out when it really must be looked at
		}
	}
	return nil
}

// longestWait is the SQL of how many microseconds a delivery may have to wait
// from now on: for the attempt that follows by the schedule, else for as long
// as a receiver may ask.
func longestWait(p webhook.RetryPolicy) string {
	var sql strings.Builder
	asked := webhook.LongestRetryAfter.Microseconds()
	fmt.Fprintf(&sql, "CAST(CASE WHEN asked_by_receiver THEN %d", asked)
	for made, wait := range p.Waits {
		fmt.Fprintf(&sql, " WHEN attempts - repeats = %d THEN %d", made, int64(float64(wait.Microseconds())*(1+webhook.Jitter)))
	}
	fmt.Fprintf(&sql, " ELSE %d END AS BIGINT)", asked)
	return sql.String()
}
