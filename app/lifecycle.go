package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// cleanups are named steps that undo what was started, last first.
type cleanups struct {
	mu    sync.Mutex
	steps []cleanup
}

type cleanup struct {
	name string
	do   func(context.Context) error
}

func (c *cleanups) add(name string, do func(context.Context) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.steps = append(c.steps, cleanup{name, do})
}

// run runs every step once, whatever the others return.
func (c *cleanups) run(ctx context.Context) error {
	c.mu.Lock()
	steps := c.steps
	c.steps = nil
	c.mu.Unlock()
	var errs []error
	for _, step := range slices.Backward(steps) {
		if err := step.do(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", step.name, err))
		}
	}
	return errors.Join(errs...)
}
