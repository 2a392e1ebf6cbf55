package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// crowd is a number of connections, each of which asks for its own thing once a
// second and waits for the answer. Their turns are spread evenly over the
// second, as those of people and robots are who know nothing of each other: a
// thousand that ask in the same instant, on the two processors that they share
// with the gateway, would measure how long a thousand system calls take. What
// they send is made beforehand and written as it is, for a client that costs
// more than a refusal would measure itself.
type crowd struct {
	size  int
	began time.Time
	over  chan struct{} // closed when it ends

	mu      sync.Mutex
	answers map[string]int // by status, or why there was none
	ended   time.Time      // of the newest
}

// gather begins a crowd and returns when each connection had its first turn.
func gather(s *scene, size int, address string, end <-chan struct{}, request func(turn int) []byte) *crowd {
	c := &crowd{size: size, began: time.Now(), over: make(chan struct{}), answers: map[string]int{}}
	go func() {
		defer close(c.over)
		select {
		case <-end:
		case <-s.Context().Done():
		}
	}()
	var first sync.WaitGroup
	for turn := range size {
		first.Add(1)
		m := &member{crowd: c, address: address, request: request(turn)}
		time.AfterFunc(time.Duration(turn)*time.Second/time.Duration(size), func() {
			m.ask()
			first.Done()
			m.goOn()
		})
	}
	first.Wait()
	return c
}

// member is one connection of a crowd.
type member struct {
	*crowd
	address string
	request []byte

	conn   net.Conn // nil: not connected
	reader *bufio.Reader
	stream io.Reader // that it listens to; nil: none
}

// goOn asks once a second until the end, but not while it listens.
func (m *member) goOn() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	defer func() { m.leave() }()
	for {
		if m.stream != nil {
			m.listen()
		}
		select {
		case <-tick.C:
			m.ask()
		case <-m.over:
			return
		}
	}
}

// ask has one turn.
func (m *member) ask() {
	if m.conn == nil {
		conn, err := net.DialTimeout("tcp", m.address, time.Minute)
		if err != nil {
			m.count("not connected")
			return
		}
		m.conn, m.reader = conn, bufio.NewReaderSize(conn, 2048)
	}
	_ = m.conn.SetDeadline(time.Now().Add(time.Minute))
	response, err := m.exchange()
	if err != nil {
		m.count("no answer")
		m.leave()
		return
	}
	m.count(fmt.Sprint(response.StatusCode))
	if response.Close {
		m.leave()
	}
}

// exchange sends the request and reads the answer, but not a stream.
func (m *member) exchange() (*http.Response, error) {
	if _, err := m.conn.Write(m.request); err != nil {
		return nil, err
	}
	response, err := http.ReadResponse(m.reader, nil)
	if err != nil {
		return nil, err
	}
	if response.Header.Get("Content-Type") == "text/event-stream" {
		m.stream = response.Body
		return response, nil
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response, err
}

// listen reads a stream to its end, or to that of the crowd.
func (m *member) listen() {
	_ = m.conn.SetDeadline(time.Time{})
	conn, ended := m.conn, make(chan struct{})
	go func() {
		select {
		case <-m.over:
			_ = conn.Close()
		case <-ended:
		}
	}()
	_, _ = io.Copy(io.Discard, m.stream)
	close(ended)
	m.leave()
}

// leave gives the connection up.
func (m *member) leave() {
	if m.conn != nil {
		_ = m.conn.Close()
	}
	m.conn, m.stream = nil, nil
}

func (c *crowd) count(answer string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.over:
		return // the gateway may have left before
	default:
	}
	c.answers[answer]++
	c.ended = time.Now()
}

// String says how much was asked, and what of it was answered how.
func (c *crowd) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, parts := 0, []string{}
	for _, answer := range slices.Sorted(maps.Keys(c.answers)) {
		all += c.answers[answer]
		parts = append(parts, fmt.Sprintf("%s: %d", answer, c.answers[answer]))
	}
	return fmt.Sprintf("%d connections, %.0f requests/s (%s)", c.size, float64(all)/c.ended.Sub(c.began).Seconds(), strings.Join(parts, ", "))
}
