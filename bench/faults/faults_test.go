package main

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

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
	return ledgertest.Lending{Tests: m}.Run()
}

func small() bench {
	return bench{size: shortSize, database: func(t stage.T) string { return ledgertest.Borrowed(t.(*testing.T)) }}
}

// scenesAtOnce bounds the gateways that run: each takes a fifth of a processor
// for looking whether there is anything to do.
const scenesAtOnce = 5

// TestNoFaultLosesOrDoublesAnEvent begins with what takes longest.
func TestNoFaultLosesOrDoublesAnEvent(t *testing.T) {
	t.Parallel()
	var scenes errgroup.Group
	scenes.SetLimit(scenesAtOnce)
	run := func(name string, test func(*testing.T)) {
		scenes.Go(func() error { t.Run(name, test); return nil })
	}
	alone := func(slow bool) {
		for _, f := range all {
			if f.slow == slow && !f.covered && f.with == "" {
				run(f.name, func(t *testing.T) { check(t, f, small().inject(t, f)) })
			}
		}
	}
	alone(true)
	for _, name := range []string{peaceful, ended, forgotten} {
		run(name, func(t *testing.T) { injectTogether(t, name) })
	}
	alone(false)
	_ = scenes.Wait()
}

// injectTogether has all faults that go with each other play at once.
func injectTogether(t *testing.T, name string) {
	t.Helper()
	var group []fault
	for _, f := range all {
		if f.with == name {
			group = append(group, f)
		}
	}
	s := small().scene(t, &group[0])
	var parts sync.WaitGroup
	for _, f := range group {
		parts.Go(func() {
			t.Run(f.name, func(t *testing.T) { check(t, f, s.beside(t, f)) })
		})
	}
	parts.Wait()
}

func check(t *testing.T, f fault, c count) {
	t.Helper()
	t.Logf("%+v, made good within %s of %s", c, c.recovered, f.allowed()) // "make faults" holds the time, on a quiet machine
	if !c.sound() {
		t.Errorf("%d lost, %d doubled with %d in flight", c.lost(), c.duplicates, c.inFlight)
	}
}

func TestParkedDeliveriesCostRedisNothingAndAllArrive(t *testing.T) {
	t.Parallel()
	small().inject(t, fault{alone: true, play: func(s *scene, _ fault) { parked(s, 300) }})
}
