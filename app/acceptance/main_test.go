package acceptance

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"ledgerhook/bench/stage"
	"ledgerhook/ledger/ledgertest"
)

var full = flag.Bool("full", false, "run at full size: 2,000 events where the default takes a few hundred")

func TestMain(m *testing.M) {
	// Most of a test is waiting, so more of them than there are processors may run.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	remove, err := stage.Build()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove()
	return ledgertest.Lending{Tests: m}.Run()
}

// sized is a number of events or a time: one for every run, one for -full.
func sized[T any](usual, whole T) T {
	if *full {
		return whole
	}
	return usual
}
