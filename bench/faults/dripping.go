package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"ledgerhook/bench/stage"
)

// dripping is a receiver of others, see aside. It acknowledges at once, in a
// body that goes on by a byte a second when it has become slow.
type dripping struct {
	url  string
	slow func()
}

const (
	// drippingPart is the first argument of the process that is one.
	drippingPart = "dripping"
	drippingAt   = "dripping at "
)

func startDripping(s *scene) (d dripping) {
	s.Helper()
	stdin, printed := aside(s, drippingPart)
	stage.Eventually(s, time.Minute, "the dripping receiver is there", func() bool {
		line, ok := printed.Find(0, drippingAt)
		d.url = strings.TrimPrefix(line.Text, drippingAt)
		return ok
	})
	d.slow = func() {
		if _, err := fmt.Fprintln(stdin, "slow"); err != nil {
			s.Fatal(err)
		}
		stage.Eventually(s, time.Minute, "the receiver is slow", func() bool {
			_, ok := printed.Find(0, "slow")
			return ok
		})
	}
	return d
}

// playDripping is what its process does, until its input ends.
func playDripping(ctx context.Context, input io.Reader, output io.Writer) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var slow atomic.Bool
	server := &http.Server{
		BaseContext: func(net.Listener) context.Context { return ctx },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, `{"success":true}`)
			if slow.Load() {
				endless(" ", time.Second)(w, r)
			}
		}),
	}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	fmt.Fprintf(output, "%shttp://%s/hooks\n", drippingAt, listener.Addr())
	orders := bufio.NewScanner(input)
	for orders.Scan() {
		slow.Store(true)
		fmt.Fprintln(output, "slow")
	}
	return orders.Err()
}

// endless writes part again and again, with a pause after each, until nobody
// reads any more.
func endless(part string, pause time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for {
			if _, err := io.WriteString(w, part); err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
			select {
			case <-r.Context().Done():
				return
			case <-time.After(pause):
			}
		}
	}
}
