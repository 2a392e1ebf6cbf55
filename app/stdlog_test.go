package app

import (
	"bytes"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// lines is a log that others write to while it is read.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
	some chan struct{}
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.some <- struct{}{}:
	default:
	}
	return l.text.Write(p)
}

// TestNoReceiversBytesReachTheLog lets a receiver send more than its answer,
// which net/http prints by the default logger.
func TestNoReceiversBytesReachTheLog(t *testing.T) {
	to, flags := log.Writer(), log.Flags()
	t.Cleanup(func() { log.SetOutput(to); log.SetFlags(flags) })
	out := &lines{some: make(chan struct{}, 1)}
	TakeStandardLog(slog.New(slog.NewJSONHandler(out, nil)))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		c.Read(make([]byte, 1024))
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\noks3cret")
		io.Copy(io.Discard, c)
	}()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	<-out.some
	out.mu.Lock()
	defer out.mu.Unlock()
	if text := out.text.String(); strings.Contains(text, "s3cret") || !strings.HasPrefix(text, `{"time":`) || !strings.Contains(text, "idle HTTP channel") {
		t.Errorf("the log says %s", text)
	}
}
