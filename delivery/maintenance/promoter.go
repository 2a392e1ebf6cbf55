package maintenance

import (
	"context"
	"time"
)

const (
	promoteEvery   = 200 * time.Millisecond
	promoteWindows = 128
	promoteRounds  = 16
)

// promoter admits deliveries whose time has come: retries that are due, and
// what a window had no room for until a breaker, a pause or a rate ended.
type promoter struct {
	store Store
	steps *steps
}

// promote ends after some rounds even if there is more, so that windows which
// want something each time take no more than a turn.
func (p promoter) promote(ctx context.Context) {
	p.steps.run(ctx, "promote", func(ctx context.Context) error {
		for range promoteRounds {
			if n, err := p.store.Promote(ctx, promoteWindows); err != nil || n < promoteWindows {
				return err
			}
		}
		return nil
	})
}
