// Package stage is what a run of the real program needs around it: the built
// binary, stores of its own, gateways that may be killed, internal systems
// that post and partners that receive. The acceptance tests and the benches
// play on it.
package stage

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"
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
// before any gateway starts. The program gets the cryptography that this one
// was built with.
func Build() (remove func(), err error) {
	dir, err := os.MkdirTemp("", "ledgerhook-stage-")
	if err != nil {
		return nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	binary = filepath.Join(dir, "ledgerhook")
	build := exec.Command("go", "build", "-o", binary, "ledgerhook/cmd/ledgerhook")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as users have it, and as "make lint" has built it already
	if e := Experiment(); e == boringCrypto {
		build.Env = append(build.Env, "CGO_ENABLED=1", "GOEXPERIMENT="+e)
	}
	if output, err := build.CombinedOutput(); err != nil {
		remove()
		return nil, fmt.Errorf("build the program: %w\n%s", err, output)
	}
	return remove, nil
}

// boringCrypto signs faster and needs cgo.
const boringCrypto = "boringcrypto"

// Experiment is the GOEXPERIMENT that this program was built with.
func Experiment() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	i := slices.IndexFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "GOEXPERIMENT" })
	if i < 0 {
		return ""
	}
	return info.Settings[i].Value
}

// Eventually waits until fact holds, which must happen within limit and before
// the test is over.
func Eventually(t T, limit time.Duration, what string, fact func() bool) {
	t.Helper()
	await(t, 10*time.Millisecond, limit, what, fact)
}

// Asking is Eventually for a fact that a gateway is asked for: often enough to
// learn of it soon, and not so often that it has nothing else to do.
func Asking(t T, limit time.Duration, what string, fact func() bool) {
	t.Helper()
	await(t, 100*time.Millisecond, limit, what, fact)
}

func await(t T, every, limit time.Duration, what string, fact func() bool) {
	t.Helper()
	tick := time.NewTicker(every)
	defer tick.Stop()
	end := time.After(limit)
	for !fact() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("not within %s: %s", limit, what)
		case <-t.Context().Done():
			t.Fatalf("interrupted before this was so: %s", what)
		}
	}
}
