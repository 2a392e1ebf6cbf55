package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	"ledgerhook/bench/stage"
	"ledgerhook/ledger/ledgertest"
)

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	flag.Parse()
	// Most of the time is spent waiting, and less than half of it by the processor.
	if err := flag.Set("test.parallel", "6"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	remove, err := stage.Build()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove()
	return m.Run()
}

func small() bench {
	return bench{size: shortSize, database: func(t stage.T) string { return ledgertest.Schema(t.(*testing.T)) }}
}

func TestNoFaultLosesOrDoublesAnEvent(t *testing.T) {
	t.Parallel()
	first := slices.Clone(all)
	slices.SortStableFunc(first, func(a, b fault) int {
		switch {
		case a.slow && !b.slow:
			return -1
		case b.slow && !a.slow:
			return 1
		}
		return 0
	})
	for _, f := range first {
		if f.covered {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			c := small().inject(t, f)
			t.Logf("%+v", c)
			if !c.sound() {
				t.Errorf("%d lost, %d doubled with %d in flight", c.lost(), c.duplicates, c.inFlight)
			}
		})
	}
}

func TestParkedDeliveriesCostRedisNothingAndAllArrive(t *testing.T) {
	t.Parallel()
	small().inject(t, fault{alone: true, play: func(s *scene, _ fault) { parked(s, 500) }})
}
