package shell

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// Reading is a value with the time it is of. A value that could not be read just
// now is the last one that could; before the first one it is not Known, and
// must be shown as a dash, never as its zero.
type Reading[T any] struct {
	Value T
	At    time.Time
	Known bool
	Fresh bool  // read for this very page
	Err   error // why not, for the log
}

// Memory keeps the last known values of this process.
type Memory struct {
	mu      sync.Mutex
	values  map[cacheKey]cachedValue
	acts    int                // how many things readers have done here
	reading singleflight.Group // of Shared
}

// cacheKey is what a value is remembered under. Parts of a name are typed
// by whoever asks, so two kinds of values never meet under one.
type cacheKey struct {
	kind reflect.Type
	name string
}

func keyOf[T any](name string) cacheKey { return cacheKey{reflect.TypeFor[T](), name} }

type cachedValue struct {
	value any
	at    time.Time
	began time.Time // to be read
	acts  int       // had been done by then
}

// maxRemembered bounds the memory. When it is reached, what is older than a
// minute goes, or anything if nothing is.
const maxRemembered = 1024

func newMemory() *Memory { return &Memory{values: map[cacheKey]cachedValue{}} }

// Cached reads a value, and falls back on the last one of the same name when
// that fails or does not answer before ctx ends. Without a name the value is not
// remembered, as one that nobody asks for a second time.
func Cached[T any](ctx context.Context, m *Memory, name string, read func(context.Context) (T, error)) Reading[T] {
	began, acts := time.Now(), m.actsSoFar()
	value, err := WithDeadline(ctx, read)
	if err != nil {
		return lastKnown[T](m, name, err)
	}
	now := time.Now()
	if name != "" {
		m.put(keyOf[T](name), cachedValue{value, now, began, acts})
	}
	return Reading[T]{Value: value, At: now, Known: true, Fresh: true}
}

// lastKnown falls back on the last value of a name, since it cannot be read.
func lastKnown[T any](m *Memory, name string, err error) Reading[T] {
	r := Reading[T]{Err: err}
	if last, ok := m.get(keyOf[T](name)); ok {
		r.Value, r.At, r.Known = last.value.(T), last.at, true
	}
	return r
}

// sharedFor is how long a value is handed out after it began to be read. Windows
// look every 2 s at what must not be older than 3 s.
const sharedFor = 500 * time.Millisecond

// Shared is Cached of what is the same for everybody who may ask for the name:
// however many windows are open, it is read once, and not again within sharedFor.
// Whoever has done something here is never shown how it was before.
func Shared[T any](ctx context.Context, m *Memory, name string, read func(context.Context) (T, error)) Reading[T] {
	key, acts := keyOf[T](name), m.actsSoFar()
	if last, ok := m.get(key); ok && last.acts == acts && time.Since(last.began) < sharedFor {
		return Reading[T]{Value: last.value.(T), At: last.at, Known: true, Fresh: true}
	}
	all := m.reading.DoChan(fmt.Sprint(key, acts), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), PanelLimit) // one window may be closed
		defer cancel()
		return Cached(ctx, m, name, read), nil
	})
	select {
	case shared := <-all:
		return shared.Val.(Reading[T])
	case <-ctx.Done():
		return lastKnown[T](m, name, errLate(ctx))
	}
}

// acted has nothing be shared that was read before something was done.
func (m *Memory) acted() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.acts++
}

func (m *Memory) actsSoFar() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.acts
}

// forget forgets the last value of a name.
func forget[T any](m *Memory, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.values, keyOf[T](name))
}

// Listed is a page of a list, newest first unless it says otherwise.
type Listed[T any] struct {
	Found []T
	Next  string // cursor of the next page; empty: there is none
}

// CachedList is Cached of a page of a list.
func CachedList[T any](ctx context.Context, m *Memory, name string, read func(context.Context) ([]T, string, error)) Reading[Listed[T]] {
	return Cached(ctx, m, name, func(ctx context.Context) (l Listed[T], err error) {
		l.Found, l.Next, err = read(ctx)
		return l, err
	})
}

// WithDeadline runs read until ctx ends, even if read does not heed it.
func WithDeadline[T any](ctx context.Context, read func(context.Context) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if v := recover(); v != nil {
				a.err = fmt.Errorf("panic: %v", v)
			}
			done <- a
		}()
		a.value, a.err = read(ctx)
	}()
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
		var zero T
		return zero, errLate(ctx)
	}
}

// errLate is why ctx ended before there was a value.
func errLate(ctx context.Context) error {
	return errors.Join(errors.New("no answer in time"), context.Cause(ctx))
}

// Len is how many values are remembered.
func (m *Memory) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.values)
}

func (m *Memory) get(key cacheKey) (cachedValue, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.values[key]
	return r, ok
}

func (m *Memory) put(key cacheKey, r cachedValue) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.values) >= maxRemembered {
		oldest := r.at.Add(-time.Minute)
		for k, v := range m.values {
			if v.at.Before(oldest) || len(m.values) >= maxRemembered {
				delete(m.values, k)
			}
		}
	}
	if m.values[key].began.After(r.began) { // a slow read ends after a newer one
		return
	}
	m.values[key] = r
}

// Together runs every read at once and waits for all of them. A panic of one
// goes on where together was called, so that it ends the request alone.
func Together(reads ...func()) {
	var wait sync.WaitGroup
	panicked := make(chan any, len(reads))
	for _, read := range reads {
		wait.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					panicked <- fmt.Sprintf("%v\n%s", v, debug.Stack())
				}
			}()
			read()
		})
	}
	wait.Wait()
	select {
	case v := <-panicked:
		panic(v)
	default:
	}
}
