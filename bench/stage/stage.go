// Package stage is what a run of the real program needs around it: the built
// binary, stores of its own, gateways that may be killed, internal systems
// that post and partners that receive. The acceptance tests and the benches
// play on it.
package stage

import (
	"context"
	"time"

	"ledgerhook/bench/program"
)

// T is the test, or the bench's run of one fault, that everything on a stage
// belongs to. A *testing.T is one.
type T interface {
	Helper()
	Context() context.Context
	TempDir() string
	Cleanup(func())
	Failed() bool
	Error(...any)
	Errorf(string, ...any)
	Fatal(...any)
	Fatalf(string, ...any)
	Log(...any)
	Logf(string, ...any)
}

// binary is the program that gateways run.
var binary string

// Build builds the program; remove deletes it again. It must have been called
// before any gateway starts.
func Build() (remove func(), err error) {
	binary, remove, err = program.Build()
	return remove, err
}

// Eventually waits until condition holds, which must happen within limit and before
// the test is over.
func Eventually(t T, limit time.Duration, what string, condition func() bool) {
	t.Helper()
	await(t, 10*time.Millisecond, limit, what, condition)
}

// Asking is Eventually for a condition that a gateway is asked about: often enough to
// learn of it soon, and not so often that it has nothing else to do.
func Asking(t T, limit time.Duration, what string, condition func() bool) {
	t.Helper()
	await(t, 100*time.Millisecond, limit, what, condition)
}

func await(t T, every, limit time.Duration, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(every)
	defer tick.Stop()
	end := time.After(limit)
	for !condition() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("not within %s: %s", limit, what)
		case <-t.Context().Done():
			t.Fatalf("interrupted before this was so: %s", what)
		}
	}
}
