package web

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/webhook"
)

// only finds one token; "" finds none.
func only(right string) TokenFinder {
	return func(ctx context.Context, token string) (context.Context, bool, error) {
		return ctx, right != "" && token == right, nil
	}
}

func TestBearerLetsOnlyItsTokenThrough(t *testing.T) {
	reg := prometheus.NewRegistry()
	s := Surface{Name: "internal", Log: slog.New(slog.DiscardHandler), Metrics: NewMetrics(reg)}
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "in") })
	url, _ := serve(t, s.Bearer(only("right"), ok), s.Log)
	noToken, _ := serve(t, s.Bearer(only(""), ok), s.Log)
	if got := samples(t, reg)["ledgerhook_auth_failures_total{reason=wrong,surface=internal}"]; got != 0 || len(samples(t, reg)) != 3 {
		t.Errorf("the reasons do not begin at 0: %v", samples(t, reg))
	}
	for _, tt := range []struct {
		url     string
		headers []string
		reason  string
	}{
		{url, []string{"Authorization", "Bearer right"}, ""},
		{url, []string{"Authorization", "bearer  right"}, ""},
		{url, nil, "missing"},
		{url, []string{"Authorization", "Basic right"}, "malformed"},
		{url, []string{"Authorization", "Bearer"}, "malformed"},
		{url, []string{"Authorization", "Bearer right", "Authorization", "Bearer right"}, "malformed"},
		{url, []string{"Authorization", "Bearer wrong"}, "wrong"},
		{url, []string{"Authorization", "Bearer Right"}, "wrong"},
		{url, []string{"Authorization", "Bearer righ"}, "wrong"},
		{url, []string{"Authorization", "Bearer right,"}, "wrong"},
		{noToken, []string{"Authorization", "Bearer "}, "malformed"},
		{noToken, []string{"Authorization", "Bearer x"}, "wrong"},
	} {
		key := "ledgerhook_auth_failures_total{reason=" + tt.reason + ",surface=internal}"
		before := samples(t, reg)[key]
		resp, body := do(t, "POST", tt.url, nil, tt.headers...)
		if tt.reason == "" {
			if resp.StatusCode != 200 || body != "in" {
				t.Errorf("%q: %d %s", tt.headers, resp.StatusCode, body)
			}
			continue
		}
		if resp.StatusCode != 401 || !strings.HasPrefix(resp.Header.Get("WWW-Authenticate"), "Bearer ") || !strings.Contains(body, `"status":401`) {
			t.Errorf("%q: %d %v %s", tt.headers, resp.StatusCode, resp.Header, body)
		}
		if got := samples(t, reg)[key] - before; got != 1 {
			t.Errorf("%q: counted %v as %s", tt.headers, got, tt.reason)
		}
	}
}

// meter is a listener that counts what is read from its one connection, and
// says when that is closed.
type meter struct {
	net.Listener
	read     atomic.Int64
	accepted atomic.Int64
	half     atomic.Bool // its sending side was closed first
	closed   chan struct{}
}

func (m *meter) Accept() (net.Conn, error) {
	conn, err := m.Listener.Accept()
	if err != nil {
		return nil, err
	}
	m.accepted.Add(1)
	return &meteredConn{Conn: conn, meter: m}, nil
}

type meteredConn struct {
	net.Conn
	meter *meter
	done  atomic.Bool
}

func (c *meteredConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.meter.read.Add(int64(n))
	return n, err
}

func (c *meteredConn) CloseWrite() error {
	c.meter.half.Store(true)
	return c.Conn.(*net.TCPConn).CloseWrite()
}

func (c *meteredConn) Close() error {
	if c.done.CompareAndSwap(false, true) {
		close(c.meter.closed)
	}
	return c.Conn.Close()
}

func metered(t *testing.T, h http.Handler) *meter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &meter{Listener: l, closed: make(chan struct{})}
	server := NewServer(h, slog.New(slog.DiscardHandler))
	go func() { _ = server.Serve(m) }()
	t.Cleanup(func() { server.Close() })
	return m
}

// A client without a valid token, or with too large a body, must not be able
// to make the server read more than 64 KiB, and must get its answer.
// Everybody behind a proxy has one address: whoever has the token comes in.
func TestWrongTokensOfAnAddressAreLimited(t *testing.T) {
	s := Surface{Name: "internal", Log: slog.New(slog.DiscardHandler), Metrics: NewMetrics(prometheus.NewRegistry())}
	url, _ := serve(t, s.Bearer(only("right"), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "in") })), s.Log)
	limited := 0
	for range 60 {
		resp, _ := do(t, "GET", url, nil, "Authorization", "Bearer wrong")
		switch {
		case resp.StatusCode == 429 && resp.Header.Get("Retry-After") != "":
			limited++
		case resp.StatusCode != 401:
			t.Errorf("a wrong token: %d", resp.StatusCode)
		}
	}
	if limited == 0 || limited > 30 {
		t.Errorf("%d of 60 wrong tokens are told to wait", limited)
	}
	if resp, body := do(t, "GET", url, nil, "Authorization", "Bearer right"); resp.StatusCode != 200 || body != "in" {
		t.Errorf("the right token: %d %s", resp.StatusCode, body)
	}
}

func TestARefusedBodyIsLeftUnread(t *testing.T) {
	s := Surface{Log: slog.New(slog.DiscardHandler)}
	protected := s.Bearer(only("right"), s.Handle(func(_ http.ResponseWriter, r *http.Request) error {
		var v map[string]any
		return DecodeJSON(r, 16<<10, &v)
	}))
	observed := Observe(s.Log, nil, s.Mux(muxOf("/", protected)))
	const chunked, sized = "Transfer-Encoding: chunked", "Content-Length: 250000"
	for _, tt := range []struct {
		name, token, framing string
		status               int
	}{
		{"no right, endless", "wrong", chunked, 401},
		{"no right, sized", "wrong", sized, 401},
		{"no right, waits for leave to send", "wrong", chunked + "\r\nExpect: 100-continue", 401},
		{"too large, endless", "right", chunked, 413},
		{"too large, sized", "right", sized, 413},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := metered(t, observed)
			conn, err := net.Dial("tcp", m.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\n%s\r\n\r\n", tt.token, tt.framing)
			go func() { // until the connection breaks
				chunk := []byte("8000\r\n" + strings.Repeat(" ", 0x8000) + "\r\n")
				for {
					if _, err := conn.Write(chunk); err != nil {
						return
					}
				}
			}()
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != tt.status || !resp.Close || !strings.Contains(string(body), fmt.Sprint(tt.status)) {
				t.Errorf("%d, close %v, %s, %v", resp.StatusCode, resp.Close, body, err)
			}
			<-m.closed
			if !m.half.Load() {
				t.Error("closed at once: with input unread, that resets the connection and the answer may be lost")
			}
			if n := m.read.Load(); n > 64<<10 {
				t.Errorf("the server read %d bytes", n)
			}
		})
	}
}

func muxOf(pattern string, h http.Handler) *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle(pattern, h)
	return mux
}

func TestARefusedRequestWithoutBodyKeepsItsConnection(t *testing.T) {
	s := Surface{Log: slog.New(slog.DiscardHandler)}
	m := metered(t, s.Bearer(only("right"), http.NotFoundHandler()))
	for range 3 {
		if resp, _ := get(t, "http://"+m.Addr().String()); resp.StatusCode != 401 {
			t.Fatalf("%d", resp.StatusCode)
		}
	}
	if n := m.accepted.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

// Nobody is told that a token is wrong while nobody can look it up.
func TestATokenThatNobodyCanLookUpIsNotWrong(t *testing.T) {
	reg := prometheus.NewRegistry()
	s := Surface{Name: "internal", Log: slog.New(slog.DiscardHandler), Metrics: NewMetrics(reg)}
	away := func(context.Context, string) (context.Context, bool, error) {
		return nil, false, &webhook.Error{Kind: webhook.KindUnavailable, Message: "the ledger is away"}
	}
	url, _ := serve(t, s.Bearer(away, http.NotFoundHandler()), s.Log)
	if resp, body := do(t, "POST", url, strings.NewReader("{}"), "Authorization", "Bearer x"); resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || !strings.Contains(body, "away") {
		t.Errorf("%d %v %s", resp.StatusCode, resp.Header, body)
	}
	if got := samples(t, reg)["ledgerhook_auth_failures_total{reason=wrong,surface=internal}"]; got != 0 {
		t.Errorf("%v wrong tokens are counted", got)
	}
}
