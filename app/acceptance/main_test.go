package acceptance

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

var full = flag.Bool("full", false, "run at full size: 2,000 events where the default takes a few hundred")

// binary is the program under test.
var binary string

func TestMain(m *testing.M) {
	// Most of a test is waiting, so more of them than there are processors may run.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "ledgerhook-acceptance-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "ledgerhook")
	if output, err := exec.Command("go", "build", "-o", binary, "ledgerhook/cmd/ledgerhook").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the program: %v\n%s", err, output)
		return 1
	}
	return m.Run()
}

// sized is a number of events or a time: one for every run, one for -full.
func sized[T any](usual, whole T) T {
	if *full {
		return whole
	}
	return usual
}

// eventually waits until fact holds, which must happen within limit.
func eventually(tb testing.TB, limit time.Duration, what string, fact func() bool) {
	tb.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	end := time.After(limit)
	for !fact() {
		select {
		case <-tick.C:
		case <-end:
			tb.Fatalf("not within %s: %s", limit, what)
		}
	}
}
