package ledger_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"ledgerhook/ledger/ledgertest"
)

func TestOneOfAllLeadsUntilItFallsSilentOrResigns(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		leads := func(id string) bool {
			t.Helper()
			leads, err := b.Lead(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return leads
		}
		resign := func(id string) {
			t.Helper()
			if err := b.Resign(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		for _, step := range []struct {
			when   string
			change func()
			id     string
			want   bool
		}{
			{"the first", func() {}, "wrk_a", true},
			{"another", func() {}, "wrk_b", false},
			{"the first again", func() {}, "wrk_a", true},
			{"another resigned", func() { resign("wrk_b") }, "wrk_b", false},
			{"the leader resigned", func() { resign("wrk_a") }, "wrk_b", true},
			{"the one that resigned", func() {}, "wrk_a", false},
			{"the leader was silent for 3 s", func() { change(t, b, "UPDATE leases SET seen_at = seen_at - 3000000") }, "wrk_a", false},
			{"for 4 s", func() { change(t, b, "UPDATE leases SET seen_at = seen_at - 1000000") }, "wrk_a", true},
			{"the silent one comes back", func() {}, "wrk_b", false},
			{"told of by a clock that was ahead", func() { change(t, b, "UPDATE leases SET seen_at = seen_at + 400000000") }, "wrk_b", true},
		} {
			step.change()
			if got := leads(step.id); got != step.want {
				t.Errorf("%s: %s leads: %t", step.when, step.id, got)
			}
		}
	})
}

func TestOfManyThatWantToLeadOneDoes(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		var leaders atomic.Int32
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				leads, err := b.Lead(t.Context(), fmt.Sprintf("wrk_%d", i))
				if err != nil {
					t.Error(err)
				}
				if leads {
					leaders.Add(1)
				}
			})
		}
		all.Wait()
		same(t, "leaders", leaders.Load(), int32(1))
	})
}
