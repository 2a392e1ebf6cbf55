package shell

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhatCannotBeReadIsWhatWasLastKnownAndNeverZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, broken := newMemory(), errors.New("gone")
		read := func(n int, err error) Reading[int] {
			return Cached(t.Context(), m, "n", func(context.Context) (int, error) { return n, err })
		}
		if f := read(0, broken); f.Known || f.Fresh || !errors.Is(f.Err, broken) {
			t.Errorf("before any: %+v", f)
		}
		known := time.Now()
		if f := read(7, nil); !f.Fresh || !f.Known || f.Value != 7 || !f.At.Equal(known) {
			t.Errorf("read: %+v", f)
		}
		time.Sleep(time.Hour)
		f := read(0, broken)
		if f.Fresh || !f.Known || f.Value != 7 || !f.At.Equal(known) {
			t.Errorf("afterwards: %+v", f)
		}
		shown := FigureOf("n", f, strconv.Itoa)
		if shown.Value != "" || shown.Last != "7" {
			t.Errorf("shown: %+v", shown)
		}
	})
}

func TestAReadThatDoesNotEndHoldsNoPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), PanelLimit)
		defer cancel()
		release := make(chan struct{})
		defer close(release)
		began := time.Now()
		f := Cached(ctx, newMemory(), "deaf", func(context.Context) (int, error) { <-release; return 1, nil })
		if f.Known || f.Err == nil || time.Since(began) != PanelLimit {
			t.Errorf("%+v after %v", f, time.Since(began))
		}
		if f := Cached(t.Context(), newMemory(), "panics", func(context.Context) (int, error) { panic("boom") }); f.Err == nil {
			t.Error("a panic passes for a value")
		}
	})
}

func TestWhatManyWindowsShowIsReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, reads, slow := newMemory(), 0, make(chan struct{})
		read := func(ctx context.Context) (int, error) {
			reads++
			mine := reads
			if mine == 1 {
				<-slow
			}
			return mine, ctx.Err()
		}
		look := func(ctx context.Context, want int) {
			t.Helper()
			if f := Shared(ctx, m, "n", read); !f.Fresh || f.Value != want {
				t.Errorf("%+v, want %d", f, want)
			}
		}
		closed, closes := context.WithCancel(t.Context())
		go func() {
			if f := Shared(closed, m, "n", read); f.Known || !errors.Is(f.Err, context.Canceled) {
				t.Errorf("a window that was closed has %+v", f)
			}
		}()
		synctest.Wait()
		for range 3 {
			go look(t.Context(), 1)
		}
		synctest.Wait()
		closes() // whose request it was
		synctest.Wait()
		time.Sleep(sharedFor / 2)
		close(slow)
		synctest.Wait()
		look(t.Context(), 1)
		time.Sleep(sharedFor / 2) // after it began
		look(t.Context(), 2)
		look(t.Context(), 2)
		m.acted()
		look(t.Context(), 3)
	})
}

func TestNobodyIsShownHowItWasBeforeTheyActed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, before := newMemory(), make(chan struct{})
		go Shared(t.Context(), m, "n", func(context.Context) (int, error) { <-before; return 1, nil })
		synctest.Wait()
		m.acted()
		after := func(context.Context) (int, error) { return 2, nil }
		for range 2 {
			if f := Shared(t.Context(), m, "n", after); f.Value != 2 || m.values[keyOf[int]("n")].value != 2 {
				t.Errorf("beside a read that began before: %+v", f)
			}
			close(before)
			synctest.Wait()
			before = make(chan struct{})
		}
	})
}

func TestTwoKindsOfValuesNeverMeetUnderOneName(t *testing.T) {
	m := newMemory()
	Cached(t.Context(), m, "n", func(context.Context) (string, error) { return "seven", nil })
	if f := Cached(t.Context(), m, "n", func(context.Context) (int, error) { return 0, errors.New("gone") }); f.Known {
		t.Errorf("a word is remembered as the number %d", f.Value)
	}
	if f := Cached(t.Context(), m, "n", func(context.Context) (string, error) { return "", errors.New("gone") }); f.Value != "seven" {
		t.Errorf("the word is %q", f.Value)
	}
	forget[string](m, "n")
	if len(m.values) != 0 {
		t.Errorf("still remembered: %v", m.values)
	}
}

func TestAPanicOfOneReadReachesWhoAsked(t *testing.T) {
	var others atomic.Int32
	defer func() {
		if v := recover(); !strings.Contains(fmt.Sprint(v), "boom") || others.Load() != 2 {
			t.Errorf("recovered %v after %d other reads", v, others.Load())
		}
	}()
	Together(func() { others.Add(1) }, func() { panic("boom") }, func() { others.Add(1) })
}

func TestMemoryIsBounded(t *testing.T) {
	m := newMemory()
	for i := range 3 * maxRemembered {
		m.put(cacheKey{name: strconv.Itoa(i)}, cachedValue{value: i, at: time.Now()})
	}
	if len(m.values) > maxRemembered {
		t.Errorf("%d values", len(m.values))
	}
}
