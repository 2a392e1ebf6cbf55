package sender

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"reflect"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ledgerhook/delivery/guard"
	"ledgerhook/webhook"
)

func TestTheRequestIsWhatWasAskedForAndNothingMore(t *testing.T) {
	got := make(chan *http.Request, 1)
	target := receive(t, nil, func(c net.Conn, r *http.Request) bool {
		got <- r
		return keep(ok)(c, r)
	})
	header := http.Header{"Content-Type": {"application/json"}, "Webhook-Id": {"evt_1"}, "Authorization": {"Bearer x"}}
	s := newSender(t, Options{UserAgent: "Ledgerhook/1.2.3"})
	res := s.Send(t.Context(), Request{URL: target.url + "?a=b", Header: header, Body: body})
	if res.Outcome != delivered || res.StatusCode != 200 || res.ErrorClass != "" || res.ErrorDetail != "" {
		t.Fatalf("got %+v", res)
	}
	r := <-got
	sent, _ := io.ReadAll(r.Body)
	if r.Method != "POST" || r.RequestURI != "/hook?a=b" || string(sent) != string(body) || r.ContentLength != int64(len(body)) {
		t.Errorf("sent %s %s with %d bytes %q", r.Method, r.RequestURI, r.ContentLength, sent)
	}
	want := header.Clone()
	want.Set("User-Agent", "Ledgerhook/1.2.3")
	want.Set("Content-Length", fmt.Sprint(len(body)))
	if !reflect.DeepEqual(r.Header, want) {
		t.Errorf("sent headers %v, want %v", r.Header, want)
	}
	if len(header) != 3 {
		t.Errorf("the caller's headers were changed: %v", header)
	}
}

// An endpoint's timeoutSeconds is the one limit of waiting for its answer: on a
// new connection as on a reused one, with TLS or without.
func TestOnlyTheWholeAttemptLimitsTheWaitForAnAnswer(t *testing.T) {
	t.Parallel()
	const limit = 30 * time.Second // the longest that an endpoint may have
	for _, test := range []struct {
		answers time.Duration
		outcome webhook.Outcome
		class   webhook.ErrorClass
		detail  string
	}{
		{12 * time.Second, delivered, "", ""},
		{limit - time.Millisecond, delivered, "", ""},
		{limit + time.Millisecond, failed, webhook.ErrorTimeout, "no complete answer headers within 30s"},
	} {
		for _, scheme := range []string{"http", "https"} {
			for _, fresh := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					s := newSender(t, Options{})
					for _, transport := range []*http.Transport{s.plain, s.tls, s.freshPlain, s.freshTLS} {
						transport.DialContext = inMemory(t, func(c net.Conn) error {
							time.Sleep(test.answers)
							_, err := io.WriteString(c, ok)
							return err
						})
						transport.DialTLSContext = transport.DialContext
					}
					for range 2 {
						res := s.Send(t.Context(), Request{URL: scheme + "://receiver.example.com/", Body: body, Timeout: limit, Fresh: fresh})
						if res.Outcome != test.outcome || res.ErrorClass != test.class || res.ErrorDetail != test.detail || res.Phases.Total != min(test.answers, limit) || !res.Connected {
							t.Errorf("%s, fresh %t, answered after %s: %s %q (%s) %+v", scheme, fresh, test.answers, res.Outcome, res.ErrorClass, res.ErrorDetail, res.Phases)
						}
					}
					s.Close()
				})
			}
		}
	}
}

// inMemory dials receivers in memory, of the synctest bubble in which they are
// dialled, that answer every request by hand until that fails.
func inMemory(t *testing.T, answer func(net.Conn) error) func(context.Context, string, string) (net.Conn, error) {
	var answering sync.WaitGroup
	t.Cleanup(answering.Wait)
	return func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		t.Cleanup(func() { far.Close() })
		answering.Go(func() {
			in := bufio.NewReader(far)
			for {
				request, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				if _, err := io.Copy(io.Discard, request.Body); err != nil {
					return
				}
				if answer(far) != nil {
					return
				}
			}
		})
		return &conn{Conn: near}, nil
	}
}

// A body that goes on and on has the time that is its own, one that
// acknowledges all of the attempt's.
func TestABodyThatDoesNotEndIsCutInTime(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status  string
		request Request
		outcome webhook.Outcome
		class   webhook.ErrorClass
		takes   time.Duration
	}{
		"its own time is up":             {"200 OK", Request{}, delivered, "", DefaultBodyTimeout},
		"the attempt's time is up":       {"200 OK", Request{Timeout: time.Second}, delivered, "", time.Second},
		"a failure's own time":           {"500 x", Request{}, failed, webhook.ErrorHTTP5xx, DefaultBodyTimeout},
		"a failure, the attempt's":       {"500 x", Request{Timeout: time.Second}, failed, webhook.ErrorHTTP5xx, time.Second},
		"it was to acknowledge":          {"200 OK", Request{AckBody: true}, failed, webhook.ErrorBadAck, DefaultTimeout},
		"a failure acknowledges nothing": {"500 x", Request{AckBody: true}, failed, webhook.ErrorHTTP5xx, DefaultBodyTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(Options{Guard: guard.New(loopback)})
				t.Cleanup(s.Close)
				s.plain.DialContext = inMemory(t, func(c net.Conn) error {
					_, err := io.WriteString(c, "HTTP/1.1 "+test.status+"\r\n\r\n")
					for err == nil {
						_, err = io.WriteString(c, "a")
						time.Sleep(20 * time.Millisecond)
					}
					return err
				})
				test.request.URL, test.request.Body = "http://receiver.example.com/", body
				r := s.Send(t.Context(), test.request)
				if r.Outcome != test.outcome || r.ErrorClass != test.class || r.Phases.Total != test.takes || !r.Truncated {
					t.Errorf("%s %q (%s) after %s, want it after %s", r.Outcome, r.ErrorClass, r.ErrorDetail, r.Phases.Total, test.takes)
				}
				cut(t, r)
			})
		})
	}
}

func TestNoProxyIsUsed(t *testing.T) {
	s := newSender(t, Options{})
	if s.tls.Proxy != nil || s.plain.Proxy != nil {
		t.Error("a transport takes a proxy from the environment")
	}
}

func TestARequestThatCannotBeSentIsAnInternalFailure(t *testing.T) {
	target := receive(t, nil, keep(ok))
	s := newSender(t, Options{})
	for name, r := range map[string]Request{
		"URL":    {URL: "http://[::1/?s3cret", Body: body},
		"scheme": {URL: "file:///etc/passwd", Body: body},
		"header": {URL: target.url, Body: body, Header: http.Header{"X-A": {"s3cret\n"}}},
		"body":   {URL: target.url},
	} {
		res := s.Send(t.Context(), r)
		if res.Outcome != failed || res.ErrorClass != webhook.ErrorInternal || res.PeerIP != "" {
			t.Errorf("%s: %s %q (%s)", name, res.Outcome, res.ErrorClass, res.ErrorDetail)
		}
		checkFit(t, res)
	}
	if n := target.requests.Load(); n != 0 {
		t.Errorf("the receiver saw %d requests", n)
	}
}

func TestAMachineWithoutMeansDoesNotBlameTheReceiver(t *testing.T) {
	s := newSender(t, Options{})
	for _, lack := range []error{os.NewSyscallError("socket", syscall.EMFILE), os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)} {
		for _, at := range []stage{dialling, resolving, connecting} {
			err := &net.OpError{Op: "dial", Net: "tcp", Err: lack}
			if class, detail := s.explain(err, at, Request{}); class != webhook.ErrorInternal {
				t.Errorf("%v in stage %d: %s (%s)", lack, at, class, detail)
			}
		}
	}
}

func TestACallerThatStopsLeavesTheOutcomeUnknown(t *testing.T) {
	shutdown := errors.New("shutting down")
	for _, stage := range []string{"before the dial", "in the handshake", "before the answer"} {
		t.Run(stage, func(t *testing.T) {
			ctx, stop := context.WithCancelCause(t.Context())
			defer stop(nil)
			scheme := "http"
			if stage == "in the handshake" {
				scheme = "https"
			}
			address := listen(t, func(c net.Conn) {
				c.Read(make([]byte, 1))
				stop(shutdown)
				io.Copy(io.Discard, c)
			})
			if stage == "before the dial" {
				stop(shutdown)
			}
			s := newSender(t, Options{})
			r := s.Send(ctx, Request{URL: scheme + "://" + address + "/", Body: body})
			if r.Outcome != webhook.OutcomeUnknown || r.ErrorClass != "" || r.ErrorDetail == "" || r.StartedAt.IsZero() {
				t.Errorf("got %+v", r)
			}
		})
	}
}

// stopAmid sends to a receiver that begins its answer and does not end it, and
// stops when all of that is read.
func stopAmid(t *testing.T, answer string, r Request) (res Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		s := newSender(t, Options{})
		s.plain.DialContext = inMemory(t, func(c net.Conn) error {
			if _, err := io.WriteString(c, answer); err != nil {
				return err
			}
			_, err := io.Copy(io.Discard, c)
			return err
		})
		go func() {
			synctest.Wait() // until Send waits for more of the body
			stop()
		}()
		r.URL, r.Body = "http://receiver.example.com/", body
		res = s.Send(ctx, r)
		if res.Phases.Total > 0 {
			t.Errorf("it was stopped at once and took %s", res.Phases.Total)
		}
	})
	return res
}

func TestACallerThatStopsAmidAnAcknowledgementLeavesTheOutcomeUnknown(t *testing.T) {
	t.Parallel()
	r := stopAmid(t, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"success\":", Request{AckBody: true})
	if r.Outcome != webhook.OutcomeUnknown || r.StatusCode != 200 || r.ErrorClass != "" || r.ErrorDetail == "" {
		t.Errorf("got %s %s (%s)", r.Outcome, r.ErrorClass, r.ErrorDetail)
	}
}

func TestACallerThatStopsAfterTheHeadersHasDelivered(t *testing.T) {
	t.Parallel()
	r := stopAmid(t, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"+sixteenK+sixteenK, Request{})
	if r.Outcome != delivered || !r.Truncated || len(r.ResponseBody) != webhook.MaxKeptBody {
		t.Errorf("got %s %q (%s) with %d bytes", r.Outcome, r.ErrorClass, r.ErrorDetail, len(r.ResponseBody))
	}
}

// TestManyHostsLeaveFewIdleConnections sends to more hosts than there may be
// idle connections; Close takes the rest.
func TestManyHostsLeaveFewIdleConnections(t *testing.T) {
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	changed := make(chan struct{}, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ConnState = func(c net.Conn, state http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		switch state {
		case http.StateNew:
			open[c] = true
		case http.StateClosed:
			delete(open, c)
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	}
	server.Start()
	defer server.Close()
	waitFor := func(want int) {
		t.Helper()
		for {
			mu.Lock()
			n := len(open)
			mu.Unlock()
			if n <= want {
				return
			}
			select {
			case <-changed:
			case <-time.After(patience):
				t.Fatalf("%d connections are open, want %d at most", n, want)
			}
		}
	}
	here := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	const kept = 20
	s := newSender(t, Options{Connections: kept, Resolver: nameServer(t, func(string) ([]netip.Addr, bool) { return here, true })})
	for i := range 2 * kept {
		if r := send(t, s, withHost(server.URL, fmt.Sprintf("h%d.example.com", i))); r.Outcome != delivered {
			t.Fatalf("host %d: %s (%s)", i, r.ErrorClass, r.ErrorDetail)
		}
	}
	waitFor(kept)
	s.Close()
	waitFor(0)
}

// What was registered before URLs were kept as they are sent must be valid in
// the request line, too.
func TestAURLThatWasKeptAsTypedIsSentEncoded(t *testing.T) {
	t.Parallel()
	line := make(chan string, 1)
	target := receive(t, nil, func(c net.Conn, r *http.Request) bool {
		line <- r.RequestURI
		return keep(ok)(c, r)
	})
	if r := send(t, newSender(t, Options{}), " "+target.url+"?shop=My Shop&name=Nguyễn"); r.Outcome != delivered {
		t.Fatalf("%s (%s)", r.Outcome, r.ErrorDetail)
	}
	if got := <-line; got != "/hook?shop=My%20Shop&name=Nguy%E1%BB%85n" {
		t.Errorf("the request is for %s", got)
	}
}
