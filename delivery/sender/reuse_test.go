package sender

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"ledgerhook/webhook"
)

// again sends once more as a worker does when a reused connection was lost.
func again(t *testing.T, s *Sender, url string, r Result) Result {
	t.Helper()
	if !r.Dropped {
		return r
	}
	if r.Outcome != failed || r.ErrorClass != webhook.ErrorReset || r.StatusCode != 0 || r.ErrorDetail == "" {
		t.Errorf("lost: %+v", r)
	}
	return s.Send(t.Context(), Request{URL: url, Body: body, Fresh: true})
}

// TestNothingIsResentWithoutARecord is the rule that a request which a reused
// connection took is not sent again unless the caller says so.
func TestNothingIsResentWithoutARecord(t *testing.T) {
	t.Parallel()
	for name, die := range map[string]handler{"closed": reply(""), "reset": reset("")} {
		for _, header := range []http.Header{nil, {"Idempotency-Key": {"x"}}} {
			t.Run(fmt.Sprintf("%s with %v", name, header), func(t *testing.T) {
				t.Parallel()
				var target *receiver
				target = receive(t, nil, func(c net.Conn, r *http.Request) bool {
					if target.requests.Load() == 2 {
						return die(c, r)
					}
					return keep(ok)(c, r)
				})
				s := newSender(t, Options{})
				if r := send(t, s, target.url); r.Outcome != delivered {
					t.Fatalf("first: %+v", r)
				}
				r := s.Send(t.Context(), Request{URL: target.url, Header: header, Body: body})
				if !r.Dropped {
					t.Errorf("second: %s %q (%s), want it lost", r.Outcome, r.ErrorClass, r.ErrorDetail)
				}
				if reqs, conns := target.requests.Load(), target.conns.Load(); reqs != 2 || conns != 1 {
					t.Errorf("the receiver saw %d requests on %d connections, want 2 on 1", reqs, conns)
				}
				if r = again(t, s, target.url, r); r.Outcome != delivered || r.Phases.Connect == 0 {
					t.Errorf("again: %s %q (%s), want it delivered on a new connection", r.Outcome, r.ErrorClass, r.ErrorDetail)
				}
			})
		}
	}
}

// A new connection that ends without an answer is the receiver's failure.
func TestANewConnectionIsNeverLost(t *testing.T) {
	t.Parallel()
	target := receive(t, nil, reply(""))
	s := newSender(t, Options{})
	for _, fresh := range []bool{false, true} {
		if r := s.Send(t.Context(), Request{URL: target.url, Body: body, Fresh: fresh}); r.Dropped || r.ErrorClass != webhook.ErrorReset {
			t.Errorf("fresh=%t: dropped=%t %s (%s)", fresh, r.Dropped, r.ErrorClass, r.ErrorDetail)
		}
	}
}

// TestAFreshRequestPassesOverIdleConnections has several to choose from.
func TestAFreshRequestPassesOverIdleConnections(t *testing.T) {
	t.Parallel()
	const idle = 4
	var arrived, answered sync.WaitGroup
	arrived.Add(idle)
	var target *receiver
	target = receive(t, nil, func(c net.Conn, r *http.Request) bool {
		if target.requests.Load() <= idle {
			arrived.Done()
			arrived.Wait()
		}
		return keep(ok)(c, r)
	})
	s := newSender(t, Options{})
	for range idle {
		answered.Go(func() { send(t, s, target.url) })
	}
	answered.Wait()
	r := s.Send(t.Context(), Request{URL: target.url, Body: body, Fresh: true})
	if r.Outcome != delivered || r.Phases.Connect == 0 || target.conns.Load() != idle+1 || target.requests.Load() != idle+1 {
		t.Errorf("%s (%s) on %d connections with %d requests", r.Outcome, r.ErrorDetail, target.conns.Load(), target.requests.Load())
	}
}

// TestAReceiverThatClosesAsWeSend lets the receiver close every connection
// just when the next request may be leaving on it.
func TestAReceiverThatClosesAsWeSend(t *testing.T) {
	t.Parallel()
	target := receive(t, nil, reply(ok))
	s := newSender(t, Options{})
	for range 200 {
		if r := again(t, s, target.url, send(t, s, target.url)); r.Outcome != delivered {
			t.Fatalf("got %s %q (%s)", r.Outcome, r.ErrorClass, r.ErrorDetail)
		}
	}
	if n := target.requests.Load(); n != 200 {
		t.Errorf("the receiver saw %d requests, want 200", n)
	}
}

// TestAnAnswerWithoutBodyEndsItsConnection sends to receivers that send a body
// nevertheless, together and later, from several attempts at once.
func TestAnAnswerWithoutBodyEndsItsConnection(t *testing.T) {
	t.Parallel()
	const bytes = "0123456789abcdef"
	for name, answer := range map[string]string{
		"204":              "HTTP/1.1 204 No Content\r\nContent-Length: 16\r\n\r\n",
		"204 after a hint": "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
		"304":              "HTTP/1.1 304 Not Modified\r\nContent-Length: 16\r\n\r\n",
	} {
		for _, together := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, together %t", name, together), func(t *testing.T) {
				t.Parallel()
				target := receive(t, nil, func(c net.Conn, _ *http.Request) bool {
					if together {
						io.WriteString(c, answer+bytes)
						return true
					}
					io.WriteString(c, answer)
					io.WriteString(c, bytes)
					return true
				})
				s := newSender(t, Options{})
				var all sync.WaitGroup
				for range 8 {
					all.Go(func() {
						for range 25 {
							if r := send(t, s, target.url); r.Dropped || r.StatusCode != 204 && r.StatusCode != 304 {
								t.Errorf("dropped=%t %s %q (%s)", r.Dropped, r.Outcome, r.ErrorClass, r.ErrorDetail)
							}
						}
					})
				}
				all.Wait()
				if conns, requests := target.conns.Load(), target.requests.Load(); requests != 200 {
					t.Errorf("%d requests on %d connections, want 200", requests, conns)
				}
			})
		}
	}
}

// TestWhatAnAnswerLeavesBehindAnswersNothing sends to receivers that send more
// than an answer, which must not be taken for the answer to the next request.
func TestWhatAnAnswerLeavesBehindAnswersNothing(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]string{"bytes": "0123456789", "an answer": "HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := receive(t, nil, keep(ok+left))
			s := newSender(t, Options{})
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					for range 25 {
						if r := again(t, s, target.url, send(t, s, target.url)); r.Outcome != delivered {
							t.Errorf("%s %q %d (%s)", r.Outcome, r.ErrorClass, r.StatusCode, r.ErrorDetail)
						}
					}
				})
			}
			all.Wait()
		})
	}
}
