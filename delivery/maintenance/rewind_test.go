package maintenance

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

func TestAClockThatWasSetBackIsNoticed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name         string
		wall, passed time.Duration
		want         bool
	}{
		{"both go on", 200 * time.Millisecond, 200 * time.Millisecond, false},
		{"slewed", 150 * time.Millisecond, 200 * time.Millisecond, false},
		{"set forward", 400 * time.Second, 200 * time.Millisecond, false},
		{"set back", -400 * time.Second, 200 * time.Millisecond, true},
		{"set back by less than passed", 10 * time.Second, 30 * time.Second, true},
	} {
		if got := setBack(test.wall, test.passed); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
	}
}

// times is a store whose stored times are looked over; the first time fails.
type times struct {
	Store
	looked int
}

func (b *times) Rewind(context.Context) error {
	if b.looked++; b.looked == 1 {
		return errors.New("the ledger is away")
	}
	return nil
}

func TestStoredTimesAreLookedOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &times{}
		r := &rewinder{store: b, steps: &steps{log: slog.New(slog.DiscardHandler)}}
		for _, step := range []struct {
			name string
			wait time.Duration
			want int
		}{
			{"at first, and that fails", 0, 1},
			{"again since it failed", time.Second, 2},
			{"a second later", time.Second, 2},
			{"every five minutes", rewindEvery - time.Second, 3},
		} {
			time.Sleep(step.wait)
			r.rewind(t.Context())
			if b.looked != step.want {
				t.Errorf("%s: looked over %d times, want %d", step.name, b.looked, step.want)
			}
		}
		r.clock.rewound = time.Time{} // as due does once the clock was set back
		if r.rewind(t.Context()); b.looked != 4 {
			t.Errorf("a clock that was set back: looked over %d times, want 4", b.looked)
		}
	})
}
