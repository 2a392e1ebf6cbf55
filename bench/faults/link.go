package main

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"

	"ledgerhook/bench/stage"
)

// link is the way from a gateway to its Redis, which can be cut: what the
// gateway says from then on gets lost, and it is not told.
type link struct {
	listener net.Listener
	to       string

	lost atomic.Bool
}

func newLink(t stage.T, to string) *link {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{listener: listener, to: to}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go l.carry(conn)
		}
	}()
	return l
}

func (l *link) carry(from net.Conn) {
	defer func() { _ = from.Close() }()
	to, err := net.Dial("tcp", l.to)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	go func() { _, _ = io.Copy(from, to) }()
	_, _ = io.Copy(cuttable{l, to}, from)
}

// cuttable drops what is written once the link is cut.
type cuttable struct {
	l  *link
	to io.Writer
}

func (c cuttable) Write(b []byte) (int, error) {
	if c.l.lost.Load() {
		return len(b), nil
	}
	return c.to.Write(b)
}

// cut makes the link lose everything, or mends it.
func (l *link) cut(lost bool) { l.lost.Store(lost) }

func (l *link) redisURL(cache *stage.Store) string {
	return strings.Replace(cache.RedisURL(), fmt.Sprint(":", cache.Port), fmt.Sprint(":", l.listener.Addr().(*net.TCPAddr).Port), 1)
}
