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

func TestRecoveryEndsWithAWhileInTime(t *testing.T) {
	s := func(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
	for _, c := range []struct {
		name  string
		late  []wait
		over  time.Duration
		after int
	}{
		{"nothing was late", nil, 0, 0},
		{"a stall longer than a while", []wait{{s(-1), s(13)}, {s(0), s(13.5)}}, s(13.5), 0},
		{"one stretch after the other", []wait{{s(9), s(11)}, {s(0), s(3)}, {s(12), s(21)}}, s(21), 0},
		{"long before", []wait{{s(38), s(40)}, {s(0), s(3)}, {s(39), s(42)}}, s(3), 2},
		{"only much later", []wait{{s(38), s(40)}}, 0, 1},
	} {
		if over, after := recovery(c.late); over != c.over || after != c.after {
			t.Errorf("%s: over after %s, %d late afterwards; want %s, %d", c.name, over, after, c.over, c.after)
		}
	}
}
