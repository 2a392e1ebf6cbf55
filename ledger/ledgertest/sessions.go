package ledgertest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// sessions keeps what a test has left of PostgreSQL's sessions for the next test
// that is lent the same schema. To begin and to end one costs PostgreSQL 40 ms
// of CPU, and its first look at the tables as much again. Whoever has one that
// was kept sees nothing of it: it is told what the server said when the session
// began, and DISCARD ALL left nothing of the test before.
type sessions struct {
	address string // host:port of the server; nothing is kept of another's

	mu     sync.Mutex
	idle   []*kept
	closed bool
}

// kept is a session that nobody uses.
type kept struct {
	net.Conn
	start    []byte // what the client began it with
	greeting []byte // what the server answered once it had let the client in
}

// The server's messages that sessions knows.
var (
	ready     = []byte{'Z', 0, 0, 0, 5, 'I'} // for the next statement, in no transaction
	terminate = []byte{'X', 0, 0, 0, 4}
	discard   = question("DISCARD ALL")
	discarded = append([]byte("C\x00\x00\x00\x10DISCARD ALL\x00"), ready...)
	nothing   = question("")
	noAnswer  = append([]byte{'I', 0, 0, 0, 4}, ready...)
)

// question is the message that has the server run a statement.
func question(statement string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{'Q'}, uint32(4+len(statement)+1)), statement+"\x00"...)
}

// dial is dialed with sessions that were kept.
func (s *sessions) dial(dialed pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if address != s.address {
			return dialed(ctx, network, address)
		}
		return &lent{of: s, dial: func() (net.Conn, error) { return dialed(ctx, network, address) }, first: make(chan struct{})}, nil
	}
}

// take takes a session that was begun in the same way and is still there, if
// one was kept.
func (s *sessions) take(start []byte) *kept {
	for {
		s.mu.Lock()
		i := slices.IndexFunc(s.idle, func(k *kept) bool { return bytes.Equal(k.start, start) })
		if i < 0 {
			s.mu.Unlock()
			return nil
		}
		k := s.idle[i]
		s.idle = slices.Delete(s.idle, i, i+1)
		s.mu.Unlock()
		if k.ask(nothing, noAnswer) == nil {
			return k
		}
		_ = k.Close()
	}
}

func (s *sessions) keep(k *kept) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return k.Close()
	}
	s.idle = slices.Insert(s.idle, 0, k) // whose caches are the warmest
	return nil
}

// close ends what was kept, and what is given back from now on.
func (s *sessions) close() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, k := range s.idle {
		err = errors.Join(err, k.Close())
	}
	s.idle = nil
	return err
}

// pids are the server's processes of what is kept, as SQL: "0" if nothing is.
func (s *sessions) pids() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	pids := []string{"0"}
	for _, k := range s.idle {
		for m := range messages(k.greeting) {
			if m[0] == 'K' {
				pids = append(pids, fmt.Sprint(binary.BigEndian.Uint32(m[5:])))
			}
		}
	}
	return strings.Join(pids, ", ")
}

// ask has the server answer a question, which it does at once: with answer, and
// what it says of parameters that change.
func (k *kept) ask(question, answer []byte) error {
	_ = k.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := k.Write(question); err != nil {
		return err
	}
	var all, got []byte
	for buf := make([]byte, 4096); !bytes.HasSuffix(all, ready); {
		n, err := k.Read(buf)
		if all = append(all, buf[:n]...); err != nil {
			return err
		}
	}
	for m := range messages(all) {
		if m[0] != 'S' {
			got = append(got, m...)
		}
	}
	if !bytes.Equal(got, answer) {
		return fmt.Errorf("the server answered %q", got)
	}
	return k.SetDeadline(time.Time{})
}

// lent is a connection to the server whose session may have been begun before.
// Its first message says which one it is to be.
type lent struct {
	of    *sessions
	dial  func() (net.Conn, error)
	first chan struct{} // closed with the first message, or without one by Close

	mu       sync.Mutex
	conn     net.Conn // nil: not yet begun, or closed
	begun    bool
	start    []byte // nil: nothing that can be kept
	greeting []byte
	greeted  bool   // that is all of the greeting
	unread   []byte // of the greeting of a session that was kept
	last     []byte // bytes that were read
	leaving  bool
}

// Write implements net.Conn.
func (l *lent) Write(b []byte) (int, error) {
	l.mu.Lock()
	if !l.begun {
		l.begun = true
		defer close(l.first)
		if err := l.begin(b); err != nil || len(l.unread) > 0 {
			l.mu.Unlock()
			return len(b), err
		}
	}
	if bytes.Equal(b, terminate) {
		l.leaving = true
		l.mu.Unlock()
		return len(b), nil
	}
	conn := l.conn
	l.mu.Unlock()
	if conn == nil {
		return 0, net.ErrClosed
	}
	return conn.Write(b)
}

// sorted is the message that begins a session, its parameters in order.
func sorted(start []byte) []byte {
	words := bytes.Split(start[8:], []byte{0})
	pairs := make([]string, 0, len(words)/2)
	for pair := range slices.Chunk(words, 2) {
		pairs = append(pairs, string(bytes.Join(pair, []byte{'='})))
	}
	slices.Sort(pairs)
	return []byte(strings.Join(pairs, "\n"))
}

// begin takes a session that was kept, or begins one, which the first message
// does then.
func (l *lent) begin(first []byte) (err error) {
	if len(first) > 8 && binary.BigEndian.Uint16(first[4:]) == 3 { // not a request to cancel or to encrypt
		l.start = sorted(first)
		if k := l.of.take(l.start); k != nil {
			l.conn, l.greeting, l.greeted, l.unread, l.last = k.Conn, k.greeting, true, k.greeting, ready
			return nil
		}
	}
	l.conn, err = l.dial()
	return err
}

// Read implements net.Conn. A client whose first message takes long to write
// reads beside it, perhaps before.
func (l *lent) Read(b []byte) (int, error) {
	<-l.first
	l.mu.Lock()
	if n := copy(b, l.unread); n > 0 {
		defer l.mu.Unlock()
		l.unread = l.unread[n:]
		return n, nil
	}
	conn, leaving := l.conn, l.leaving
	l.leaving = false
	l.mu.Unlock()
	if conn == nil {
		return 0, net.ErrClosed
	}
	if leaving { // and waits for the server to end it, as after a statement that was cut short
		if _, err := conn.Write(terminate); err != nil {
			return 0, err
		}
	}
	n, err := conn.Read(b)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = append(l.last[:len(l.last):len(l.last)], b[max(0, n-len(ready)):n]...)
	l.last = l.last[max(0, len(l.last)-len(ready)):]
	if l.start != nil && !l.greeted {
		l.greeting = append(l.greeting, b[:n]...)
		if l.greeted = bytes.Equal(l.last, ready); l.greeted {
			l.greeting = letIn(l.greeting)
		}
	}
	return n, err
}

// letIn is what the server says once it knows who it is.
func letIn(greeting []byte) (rest []byte) {
	for m := range messages(greeting) {
		if m[0] == 'R' && binary.BigEndian.Uint32(m[5:]) == 0 || rest != nil {
			rest = append(rest, m...)
		}
	}
	return rest
}

// messages are the server's, one after the other.
func messages(b []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(b) >= 5 {
			n := 1 + int(binary.BigEndian.Uint32(b[1:]))
			if n > len(b) || !yield(b[:n]) {
				return
			}
			b = b[n:]
		}
	}
}

// Close implements net.Conn. What is idle and has said that it leaves is kept.
func (l *lent) Close() error {
	l.mu.Lock()
	if !l.begun {
		l.begun = true
		close(l.first)
	}
	k := &kept{l.conn, l.start, l.greeting}
	idle := l.leaving && l.greeted && len(l.unread) == 0 && bytes.Equal(l.last, ready)
	l.conn = nil
	l.mu.Unlock()
	if k.Conn == nil {
		return nil
	}
	if idle && k.ask(discard, discarded) == nil {
		return l.of.keep(k)
	}
	return k.Close()
}

// LocalAddr implements net.Conn.
func (l *lent) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr implements net.Conn.
func (l *lent) RemoteAddr() net.Addr { return hostPort(l.of.address) }

// hostPort is the address of a server.
type hostPort string

// Network implements net.Addr.
func (hostPort) Network() string { return "tcp" }

func (a hostPort) String() string { return string(a) }

// SetDeadline implements net.Conn.
func (l *lent) SetDeadline(t time.Time) error { return l.until(t, net.Conn.SetDeadline) }

// SetReadDeadline implements net.Conn.
func (l *lent) SetReadDeadline(t time.Time) error { return l.until(t, net.Conn.SetReadDeadline) }

// SetWriteDeadline implements net.Conn.
func (l *lent) SetWriteDeadline(t time.Time) error { return l.until(t, net.Conn.SetWriteDeadline) }

func (l *lent) until(t time.Time, set func(net.Conn, time.Time) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil {
		return nil
	}
	return set(l.conn, t)
}
