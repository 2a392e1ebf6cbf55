package main

import (
	"fmt"
	"os"
	"testing"

	"ledgerhook/bench/stage"
	"ledgerhook/ledger/ledgertest"
)

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
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
	for _, f := range all {
		if f.covered {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			c := small().inject(t, f)
			t.Logf("%+v", c)
			if !c.kept() {
				t.Errorf("%d lost, %d doubled with %d in flight", c.lost(), c.duplicates, c.inFlight)
			}
		})
	}
}

func TestParkedDeliveriesCostRedisNothingAndAllArrive(t *testing.T) {
	t.Parallel()
	small().inject(t, fault{play: func(s *scene, _ fault) { parked(s, 2000) }})
}
