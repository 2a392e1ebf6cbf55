package main

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"ledgerhook/bench/stage"
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

// The other rows are "make scale": this one asks most of the gateways
// themselves, and the least of the machine.
func TestAPromotedReplicaHasEverythingThatWasAccepted(t *testing.T) {
	t.Parallel()
	i := slices.IndexFunc(rows, func(r row) bool { return r.name == "PostgreSQL primary killed, replica promoted" })
	c := play(t, rows[i], load{rate: 60, lasts: 5 * time.Second})
	t.Logf("%+v", c) // "make scale" holds the times, on a quiet machine
	if !c.sound() {
		t.Errorf("%d lost, %d doubled with %d in flight", c.lost(), c.doubled, c.inFlight)
	}
}
