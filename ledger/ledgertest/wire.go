package ledgertest

import (
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// Wire is a connection to a database that can be cut, or stand still.
type Wire struct {
	listener net.Listener
	mu       sync.Mutex
	conns    []net.Conn
	cut      bool
	still    atomic.Bool
}

// NewWire returns a wire to the database at address, and that address through
// it. It is cut when the test ends.
func NewWire(t *testing.T, address string) (*Wire, string) {
	t.Helper()
	there, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	target := there.Host
	w := &Wire{}
	if w.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Cut)
	go func() {
		for {
			near, err := w.listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", target)
			if err != nil || !w.keep(near, far) {
				near.Close()
				continue
			}
			go func() { _, _ = io.Copy(far, swallowing{near, &w.still}); far.Close() }()
			go func() { _, _ = io.Copy(near, far); near.Close() }()
		}
	}()
	there.Host = w.listener.Addr().String()
	return w, there.String()
}

// swallowing reads of a connection until it is still: then nothing more comes.
type swallowing struct {
	net.Conn
	still *atomic.Bool
}

func (s swallowing) Read(b []byte) (int, error) {
	for {
		n, err := s.Conn.Read(b)
		if err != nil || !s.still.Load() {
			return n, err
		}
	}
}

func (w *Wire) keep(near, far net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns = append(w.conns, near, far)
	return !w.cut
}

// Stop swallows what is sent from now on, as a process does that is stopped: it
// keeps its connections and answers nothing.
func (w *Wire) Stop() { w.still.Store(true) }

// Cut closes all connections and takes no more.
func (w *Wire) Cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = true
	w.listener.Close()
	for _, conn := range w.conns {
		conn.Close()
	}
}
