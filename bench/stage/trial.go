package stage

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
)

// Trial is one run of a bench: what a test is to the go command.
type Trial struct {
	command context.Context // ends when the command is interrupted
	ctx     context.Context
	cancel  context.CancelFunc
	name    string

	mu      sync.Mutex
	failed  bool
	cleanup []func()
}

// NewTrial is a trial that logs under its name and ends with ctx at the latest.
func NewTrial(ctx context.Context, name string) *Trial {
	t := &Trial{command: ctx, name: name}
	t.ctx, t.cancel = context.WithCancel(ctx)
	return t
}

// Try runs do as a trial; the error is that it was not sound to its end.
func Try(ctx context.Context, name string, do func(*Trial)) error {
	t := NewTrial(ctx, name)
	finished := t.Run(func() { do(t) })
	t.End()
	if !finished || t.Failed() {
		return fmt.Errorf("%s: it did not come to its end, or is broken", name)
	}
	return nil
}

// Run runs do to its end or to its first Fatal, and reports whether it came
// to its end.
func (t *Trial) Run(do func()) (finished bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
		finished = true
	}()
	<-done
	return finished
}

// End takes down what the trial has left, newest first.
func (t *Trial) End() {
	t.cancel()
	t.mu.Lock()
	cleanup := t.cleanup
	t.mu.Unlock()
	for _, do := range slices.Backward(cleanup) {
		t.Run(do)
	}
}

// Helper implements stage.T; a trial names no lines.
func (t *Trial) Helper() {}

// Context ends with the trial.
func (t *Trial) Context() context.Context { return t.ctx }

// TempDir is a directory that goes with the trial.
func (t *Trial) TempDir() string {
	dir, err := os.MkdirTemp("", "ledgerhook-bench-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Cleanup has do done when the trial ends.
func (t *Trial) Cleanup(do func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanup = append(t.cleanup, do)
}

// Failed reports whether anything was not as promised.
func (t *Trial) Failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

// Error says what is not as promised.
func (t *Trial) Error(args ...any) {
	t.mu.Lock()
	t.failed = true
	t.mu.Unlock()
	t.Log(args...)
}

// Errorf is Error with a format.
func (t *Trial) Errorf(format string, args ...any) { t.Error(fmt.Sprintf(format, args...)) }

// Fatal is Error and ends the trial.
func (t *Trial) Fatal(args ...any) {
	t.Error(args...)
	runtime.Goexit()
}

// Fatalf is Fatal with a format.
func (t *Trial) Fatalf(format string, args ...any) { t.Fatal(fmt.Sprintf(format, args...)) }

// Log tells how the trial goes, which nobody wants to know of an interrupted one.
func (t *Trial) Log(args ...any) {
	if t.command.Err() != nil {
		return
	}
	fmt.Fprint(os.Stderr, t.name, ": ", fmt.Sprintln(args...))
}

// Logf is Log with a format.
func (t *Trial) Logf(format string, args ...any) { t.Log(fmt.Sprintf(format, args...)) }
