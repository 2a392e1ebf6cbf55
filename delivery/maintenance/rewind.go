package maintenance

import (
	"context"
	"time"

	"ledgerhook/webhook"
)

// rewindEvery is how often times are looked over that nothing here made wrong:
// a process that is gone may have written them by a clock that was ahead.
const rewindEvery = 5 * time.Minute

// rewinder looks stored times over when it begins, when the clock has been set
// back, and every rewindEvery. What fails is done again.
type rewinder struct {
	store Store
	steps *steps
	clock clock
}

func (r *rewinder) rewind(ctx context.Context) {
	if now := time.Now(); r.clock.due(now) {
		r.steps.run(ctx, "rewind", func(ctx context.Context) error {
			err := r.store.Rewind(ctx)
			if err == nil {
				r.clock.rewound = now
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
