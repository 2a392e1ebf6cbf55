package delivery

import (
	"context"
	"time"

	"ledgerhook/webhook"
)

// rewindEvery is how often times are looked over that nothing here made wrong:
// a process that is gone may have written them by a clock that was ahead.
const rewindEvery = 5 * time.Minute

// rewind looks stored times over when the keeper begins, when the clock has
// been set back, and every now and then. What fails is done again.
func (k *Keeper) rewind(ctx context.Context) {
	if now := time.Now(); k.clock.due(now) {
		k.step(ctx, "rewind", func(ctx context.Context) error {
			err := k.Books.Rewind(ctx)
			if err == nil {
				k.clock.rewound = now
			}
			return err
		})
	}
}

// clock notices that the machine's clock was set back.
type clock struct {
	seen    time.Time // when it was asked last
	rewound time.Time // when times were looked over; zero: not since the clock was set back
}

func (c *clock) due(now time.Time) bool {
	if setBack(now.Round(0).Sub(c.seen.Round(0)), now.Sub(c.seen)) {
		c.rewound = time.Time{}
	}
	c.seen = now
	return now.Sub(c.rewound) >= rewindEvery
}

// setBack reports whether the wall clock lost more than clocks differ by
// against the time that really passed.
func setBack(wall, passed time.Duration) bool { return passed-wall > webhook.ClockTolerance }
