package database

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// MaxClockSkew is how far a machine's clock may be from the database's before
// it ends or deletes nothing by time any more.
const MaxClockSkew = time.Minute

// ErrClock says that a clock is wrong, as far as can be told: nothing is ended
// or deleted by it.
var ErrClock = errors.New("a clock seems to be wrong")

// Now is the time by the database's clock, which is the same for every process.
// The error is ErrClock if this machine's is more than MaxClockSkew away: which
// of the two is right nobody can tell.
func (db *DB) Now(ctx context.Context) (time.Time, error) {
	skew, err := db.ClockSkew(ctx)
	if err != nil {
		return time.Time{}, err
	}
	if skew.Abs() > MaxClockSkew {
		where := "ahead of"
		if skew < 0 {
			where = "behind"
		}
		return time.Time{}, fmt.Errorf("%w: this machine's is %s %s the database's", ErrClock, skew.Abs().Round(time.Second), where)
	}
	return time.Now().Add(-skew), nil
}

// heardTime is what the database's clock said, and when.
type heardTime struct {
	theirs time.Time
	ours   time.Time // with the monotonic reading
}

// Hear remembers what the database's clock said when this machine's said ours.
func (db *DB) Hear(theirs, ours time.Time) { db.heard.Store(&heardTime{theirs, ours}) }

// ByDatabase is now by the database's clock: what that said when a worker last
// renewed its lease here, and the time that has really passed since. It takes no
// round trip, and whatever is done to this machine's clock does not change it.
// Before the first renewal it is now.
func (db *DB) ByDatabase(now time.Time) time.Time {
	if h := db.heard.Load(); h != nil {
		return h.theirs.Add(now.Sub(h.ours))
	}
	return now
}

// ClockSkew is how far this machine's clock is ahead of the database's.
func (db *DB) ClockSkew(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	var theirs int64
	if err := db.Read.QueryRowContext(ctx, "SELECT "+db.Clock).Scan(&theirs); err != nil {
		return 0, err
	}
	ours := began.Add(time.Since(began) / 2)
	return ours.Sub(FromMicros(theirs)), nil
}
