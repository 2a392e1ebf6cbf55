package sender

import (
	"bytes"
	"net"
	"net/http"
	"testing"
	"time"
)

// notification is one as a worker sends it.
var notification = Request{
	Header: http.Header{
		"Content-Type": {"application/json"}, "Webhook-Id": {"evt_01M8JADM86YV7Z91AE6ST1Z610"}, "Webhook-Timestamp": {"1796000000"},
		"Webhook-Signature":       {"v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="},
		"Ledgerhook-Webhook-Type": {"TopupCard"}, "Ledgerhook-Attempt": {"1"}, "Ledgerhook-Key-Id": {"key_G-RTTbXNOQxoHuSz"}, "Ledgerhook-Sequence": {"1"},
	},
	Body:    append(append([]byte(`{"data":"`), bytes.Repeat([]byte("x"), 600)...), "\"}\n"...),
	Timeout: time.Minute,
}

// answerOnly starts a receiver that allocates nothing for a request, whose
// body ends with a line feed.
func answerOnly(tb testing.TB) (url string) {
	tb.Helper()
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: Sun, 29 Nov 2026 00:14:07 GMT\r\nContent-Length: 16\r\n\r\n{\"success\":true}")
	return "http://" + listen(tb, func(c net.Conn) {
		buffer := make([]byte, 64<<10)
		for {
			n, err := c.Read(buffer)
			if err != nil {
				return
			}
			if bytes.HasSuffix(buffer[:n], []byte("\"}\n")) {
				c.Write(answer)
			}
		}
	}) + "/hook"
}

// maxAllocs are those of an attempt on a reused connection, with net/http's
// own. The race detector adds some at random.
const maxAllocs = 95

func TestAnAttemptAllocatesLittle(t *testing.T) {
	s := newSender(t, Options{UserAgent: "Ledgerhook/test"})
	r := notification
	r.URL = answerOnly(t)
	allocs := testing.AllocsPerRun(200, func() {
		if res := s.Send(t.Context(), r); res.Outcome != delivered {
			t.Errorf("%+v", res)
		}
	})
	if t.Logf("%.0f allocations", allocs); allocs > maxAllocs {
		t.Errorf("an attempt allocates %.0f times, want %d at most", allocs, maxAllocs)
	}
}

func BenchmarkSend(b *testing.B) {
	s := newSender(b, Options{UserAgent: "Ledgerhook/test"})
	r := notification
	r.URL = answerOnly(b)
	b.ReportAllocs()
	for b.Loop() {
		if res := s.Send(b.Context(), r); res.Outcome != delivered {
			b.Fatalf("%+v", res)
		}
	}
}
