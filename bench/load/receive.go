package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// hosts is how many addresses the receiver takes notifications at: each is a
// partner's host of its own to whoever keeps connections.
const hosts = 8

// reached is where a receiver listens.
type reached struct {
	Hosts  []string // base URLs that take everything
	Report string   // URL of what has arrived
}

// arrivals is what a receiver has taken since it told last.
type arrivals struct {
	At    map[string]int64 // when each event came first, in nanoseconds since 1970
	Again int              // requests for events that had come before
}

// receiving answers every request 200 and notes when it came.
type receiving struct {
	slow atomic.Bool // take a second for each answer

	mu    sync.Mutex
	since arrivals
	more  chan struct{} // closed when something arrives
}

// receive is the process that plays all partners. It ends with its stdin.
func receive() error {
	r := &receiving{since: arrivals{At: map[string]int64{}}, more: make(chan struct{})}
	var at reached
	serve := func(address string, handler http.HandlerFunc) (string, error) {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return "", err
		}
		server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
		go func() { _ = server.Serve(listener) }()
		return "http://" + listener.Addr().String(), nil
	}
	for i := range hosts {
		base, err := serve(fmt.Sprintf("127.0.0.%d:0", i+1), r.take)
		if err != nil {
			return err
		}
		at.Hosts = append(at.Hosts, base)
	}
	var err error
	if at.Report, err = serve("127.0.0.1:0", r.report); err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(at); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func (r *receiving) take(w http.ResponseWriter, request *http.Request) {
	now := time.Now().UnixNano()
	_, _ = io.Copy(io.Discard, request.Body)
	if r.slow.Load() {
		select {
		case <-time.After(time.Second):
		case <-request.Context().Done():
			return // nobody heard that it was taken
		}
	}
	r.note(request.Header.Get("Webhook-Id"), now)
	_, _ = io.WriteString(w, "ok")
}

// note takes an event; a request without one only asks for an answer.
func (r *receiving) note(event string, now int64) {
	if event == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.since.At[event]; known {
		r.since.Again++
		return
	}
	r.since.At[event] = now
	close(r.more)
	r.more = make(chan struct{})
}

// report waits until as many events have arrived as the request names and
// tells of all since the last report. It may also tell the receiver to be slow
// from now on.
func (r *receiving) report(w http.ResponseWriter, request *http.Request) {
	if request.URL.Query().Has("slow") {
		r.slow.Store(true)
	}
	n, err := strconv.Atoi(request.URL.Query().Get("events"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	told, ok := r.await(request.Context(), n)
	if !ok {
		return
	}
	_ = json.NewEncoder(w).Encode(told)
}

func (r *receiving) await(ctx context.Context, n int) (told arrivals, ok bool) {
	for {
		r.mu.Lock()
		if len(r.since.At) >= n {
			told, r.since = r.since, arrivals{At: map[string]int64{}}
			r.mu.Unlock()
			return told, true
		}
		more := r.more
		r.mu.Unlock()
		select {
		case <-more:
		case <-ctx.Done():
			return arrivals{}, false
		}
	}
}
