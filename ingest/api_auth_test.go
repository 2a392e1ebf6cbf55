package ingest_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"ledgerhook/ingest"
)

// meter counts the bytes that a server reads.
type meter struct {
	net.Listener
	read atomic.Int64
}

func (m *meter) Accept() (net.Conn, error) {
	conn, err := m.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return meteredConn{conn, m}, nil
}

type meteredConn struct {
	net.Conn
	meter *meter
}

func (c meteredConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.meter.read.Add(int64(n))
	return n, err
}

// CloseWrite lets net/http close slowly enough for its answer to arrive.
func (c meteredConn) CloseWrite() error { return c.Conn.(*net.TCPConn).CloseWrite() }

// samplePath is a path that a route's pattern takes.
func samplePath(pattern string) (method, path string) {
	method, path, _ = strings.Cut(pattern, " /internal/v1")
	return method, strings.NewReplacer("{code}", "acme", "{id}", "evt_01JD0000000000000000000000").Replace(path)
}

func TestNothingIsServedWithoutTheToken(t *testing.T) {
	a := one(t)
	paths := []string{"GET /internal/v1/nothing", "POST /internal/v1/replays/x", "GET /internal/v1/"}
	for _, pattern := range append(paths, ingest.Routes()...) {
		method, path := samplePath(pattern)
		for _, header := range []string{"", "Bearer wrong", "Bearer", "Basic " + token, token, "Bearer " + token + "x"} {
			got := a.do(t, method, path, "{}", "Authorization", header)
			if got.status == 429 && strings.HasPrefix(header, "Bearer ") { // wrong tokens are limited
				continue
			}
			if got.status != 401 || !strings.HasPrefix(got.header.Get("WWW-Authenticate"), "Bearer ") {
				t.Errorf("%s with Authorization %q: %d %v", pattern, header, got.status, got.header)
			}
		}
	}
	if n := a.Count(t, "SELECT COUNT(*) FROM audit"); n != 0 {
		t.Errorf("%d acts were done", n)
	}
}

func TestWhatIsNoRouteIsNotFound(t *testing.T) {
	a := one(t)
	for _, route := range []string{
		"POST /replays/rpl_1/start", "POST /endpoints/ep_1/trip-breaker", "GET /endpoints/ep_1/sequence/1", "GET /nothing", "GET /", "GET /events/evt_1/more", "GET /partners/",
		"GET ", "POST //events", "DELETE /events//",
	} {
		method, path, _ := strings.Cut(route, " ")
		if got := a.do(t, method, path, nil); got.status != 404 || got.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %v %s", route, got.status, got.header, got.body)
		}
	}
}

func TestAWrongMethodNamesTheRightOnes(t *testing.T) {
	a := one(t)
	for route, allow := range map[string]string{
		"DELETE /events": "GET, HEAD, POST", "PUT /partners/acme": "GET, HEAD, PATCH", "GET /deliveries/dlv_1/retry": "POST",
		"DELETE /replays/rpl_1": "GET, HEAD", "GET /endpoints/ep_1/open-breaker": "POST",
	} {
		method, path, _ := strings.Cut(route, " ")
		if got := a.do(t, method, path, nil); got.status != 405 || got.header.Get("Allow") != allow {
			t.Errorf("%s: %d, Allow %q, want %q", route, got.status, got.header.Get("Allow"), allow)
		}
	}
}

// A gigabyte from somebody without the token must cost next to nothing, and
// the sender must get its answer.
func TestAGigabyteWithoutTheTokenIsLeftUnread(t *testing.T) {
	a := one(t)
	for _, path := range []string{"/events", "/events/batch", "/partners", "/nothing"} {
		before := a.listener.read.Load()
		address := strings.TrimSuffix(strings.TrimPrefix(a.url, "http://"), "/internal/v1")
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST /internal/v1%s HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n"+
			"Authorization: Bearer wrong\r\nTransfer-Encoding: chunked\r\n\r\n", path)
		written := make(chan int)
		go func() {
			chunk := []byte("10000\r\n" + strings.Repeat(" ", 0x10000) + "\r\n")
			sum := 0
			for sum < 1<<30 {
				n, err := conn.Write(chunk)
				if sum += n; err != nil {
					break
				}
			}
			written <- sum
		}()
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(response.Body); response.StatusCode != 401 || err != nil || !response.Close {
			t.Errorf("%s: %d, close %v, %s, %v", path, response.StatusCode, response.Close, body, err)
		}
		conn.Close()
		if sum := <-written; sum >= 1<<30 {
			t.Errorf("%s: all %d bytes could be sent", path, sum)
		}
		if read := a.listener.read.Load() - before; read > 64<<10 {
			t.Errorf("%s: the server read %d bytes", path, read)
		}
	}
}

// padded is a JSON object of exactly size bytes.
func padded(size int) string {
	const frame = `{"partnerCode":""}`
	return `{"partnerCode":"` + strings.Repeat("x", size-len(frame)) + `"}`
}

func TestBodiesHaveALimit(t *testing.T) {
	a := one(t)
	for _, tt := range []struct {
		route string
		limit int
	}{
		{"POST /events", 256 << 10}, {"POST /events/batch", 4 << 20}, {"POST /partners", 256 << 10},
		{"PATCH /partners/acme", 256 << 10}, {"POST /partners/acme/rotate-key", 256 << 10},
		{"POST /partners/acme/endpoints", 256 << 10}, {"PATCH /endpoints/ep_1", 256 << 10},
		{"POST /endpoints/ep_1/open-breaker", 256 << 10}, {"POST /endpoints/ep_1/close-breaker", 256 << 10}, {"POST /replays", 256 << 10},
	} {
		method, path, _ := strings.Cut(tt.route, " ")
		a.want(t, 400, method, path, padded(tt.limit))
		a.want(t, 413, method, path, padded(tt.limit+1), fmt.Sprint(tt.limit))
		// Without a length the limit is found while reading.
		request, err := http.NewRequestWithContext(t.Context(), method, a.url+path, io.MultiReader(strings.NewReader(padded(tt.limit+1))))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if response.Body.Close(); response.StatusCode != 413 {
			t.Errorf("%s chunked: %d", tt.route, response.StatusCode)
		}
	}
}

func TestDeepNestingIsRefusedWithFlatMemory(t *testing.T) {
	a := one(t)
	nested := func(levels int) string { return strings.Repeat(`[`, levels) + strings.Repeat(`]`, levels) }
	for _, tt := range []struct {
		name, path, body string
		most             uint64 // bytes allocated meanwhile, by client and server
	}{
		{"an event", "/events", nested(100_000), 8 << 20},
		{"an event's data", "/events", `{"data":` + nested(100_000) + `}`, 8 << 20},
		{"never closed", "/events", strings.Repeat(`{"data":`, 30_000), 8 << 20},
		{"instead of a batch", "/events/batch", nested(2_000_000), 64 << 20},
	} {
		a.want(t, 400, "POST", tt.path, tt.body) // warm
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a.want(t, 400, "POST", tt.path, tt.body)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > tt.most {
			t.Errorf("%s: %d bytes were allocated", tt.name, used)
		}
		if stack := after.StackInuse; stack > 16<<20 {
			t.Errorf("%s: stacks of %d bytes", tt.name, stack)
		}
	}
}

func TestOnlyJSONIsRead(t *testing.T) {
	a := one(t)
	for _, route := range []string{"POST /events", "POST /events/batch", "POST /partners", "PATCH /partners/acme",
		"POST /partners/acme/rotate-key", "POST /partners/acme/endpoints", "PATCH /endpoints/ep_1",
		"POST /endpoints/ep_1/open-breaker", "POST /endpoints/ep_1/close-breaker", "POST /replays"} {
		method, path, _ := strings.Cut(route, " ")
		for _, media := range []string{"", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1", "json"} {
			if got := a.do(t, method, path, "{}", "Content-Type", media); got.status != 415 {
				t.Errorf("%s as %q: %d", route, media, got.status)
			}
		}
		if got := a.do(t, method, path, "{}", "Content-Encoding", "gzip"); got.status != 415 {
			t.Errorf("%s compressed: %d", route, got.status)
		}
		for _, body := range []string{"", " ", "x", "{", "[]", "1", "null x", `{}{}`, "{}x", `{"a":1,}`, "\xff", "{\"\xff\":1}",
			`{"partnerCode":"a","partnerCode":"a"}`, `{"nothing":1}`, `{"\ud800":1}`, "\xef\xbb\xbf{}"} {
			a.want(t, 400, method, path, body)
		}
	}
}
