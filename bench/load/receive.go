package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
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
	for i := range hosts {
		host, err := net.Listen("tcp", fmt.Sprintf("127.0.0.%d:0", i+1))
		if err != nil {
			return err
		}
		go r.accept(host)
		at.Hosts = append(at.Hosts, "http://"+host.Addr().String())
	}
	reports, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(r.report), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(reports) }()
	at.Report = "http://" + reports.Addr().String()
	if err := json.NewEncoder(os.Stdout).Encode(at); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func (r *receiving) accept(host net.Listener) {
	for {
		conn, err := host.Accept()
		if err != nil {
			return
		}
		go r.take(conn)
	}
}

// take answers what comes over a connection, until that is closed.
func (r *receiving) take(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	for {
		request, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		now := time.Now().UnixNano()
		if _, err := io.Copy(io.Discard, request.Body); err != nil {
			return
		}
		if r.slow.Load() && !stays(conn, in, time.Second) {
			return // nobody heard that it was taken
		}
		r.note(request.Header.Get("Webhook-Id"), now)
		if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"); err != nil {
			return
		}
	}
}

// stays reports whether the other side keeps the connection for so long.
func stays(conn net.Conn, in *bufio.Reader, lasts time.Duration) bool {
	_ = conn.SetReadDeadline(time.Now().Add(lasts))
	_, err := in.Peek(1)
	_ = conn.SetReadDeadline(time.Time{})
	return errors.Is(err, os.ErrDeadlineExceeded)
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
