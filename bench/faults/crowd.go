package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ledgerhook/bench/stage"
)

// crowd is a number of connections, each of which asks for its own thing again
// and again and waits for the answer. Their first turns are spread evenly over
// the time between two turns, as those of people and robots are who know nothing
// of each other: a thousand that ask in the same instant, on the two processors
// that they share with the gateway, would measure how long a thousand system
// calls take. What they send is made beforehand and written as it is, for a
// client that costs more than a refusal would measure itself. For the same
// reason a crowd is a process of its own, see aside.
type crowd struct {
	Address  string
	Every    time.Duration // of one connection's turns; 0: at once when it has its answer
	Turns    int64         // of all connections in all; 0: without end
	Requests [][]byte      // of each connection

	turns atomic.Int64
	began time.Time
	over  <-chan struct{} // closed when it ends

	mu      sync.Mutex
	answers map[string]int // by status, or why there was none
	ended   time.Time      // of the newest
}

// crowdPart is the first argument of the process that is a crowd.
const crowdPart = "crowd"

// told is what a crowd has said in the end.
type told struct{ printed *stage.Output }

// String implements fmt.Stringer.
func (t told) String() string {
	line, _ := t.printed.Find(1, "")
	return line.Text
}

// gather has a crowd begin and returns when each connection had its first turn.
// It goes on until the scene ends.
func gather(s *scene, c *crowd) fmt.Stringer {
	s.Helper()
	stdin, printed := aside(s, crowdPart)
	if err := json.NewEncoder(stdin).Encode(c); err != nil {
		s.Fatal(err)
	}
	stage.Eventually(s, time.Minute, "the crowd is there", func() bool {
		_, ok := printed.Find(0, "there")
		return ok
	})
	return told{printed}
}

// aside starts this program's part of others, which the gateway goes before:
// in truth they have machines of their own. It ends with the scene.
func aside(s *scene, part string) (stdin io.Writer, printed *stage.Output) {
	s.Helper()
	program, err := os.Executable()
	if err != nil {
		s.Fatal(err)
	}
	printed = &stage.Output{}
	cmd := exec.Command("nice", "-n", "19", program, part)
	cmd.Stdout, cmd.Stderr = printed, os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		s.Fatal(err)
	}
	p := stage.Launch(s, cmd)
	s.Cleanup(func() {
		_ = input.Close()
		p.End(syscall.SIGCONT) // which lets it end by itself
	})
	return input, printed
}

// playCrowd is what the process of a crowd does, until its input ends.
func playCrowd(ctx context.Context, input io.Reader, output io.Writer) error {
	in := bufio.NewReader(input)
	c := &crowd{answers: map[string]int{}}
	if err := json.NewDecoder(in).Decode(c); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.over, c.began = ctx.Done(), time.Now()
	var first, all sync.WaitGroup
	for turn, request := range c.Requests {
		first.Add(1)
		m := &member{crowd: c, request: request}
		all.Add(1)
		time.AfterFunc(time.Duration(turn)*c.Every/time.Duration(len(c.Requests)), func() {
			defer all.Done()
			m.ask()
			first.Done()
			m.goOn()
		})
	}
	first.Wait()
	fmt.Fprintln(output, "all are there")
	_, err := io.Copy(io.Discard, in)
	said := c.String()
	cancel()
	all.Wait()
	fmt.Fprintln(output, said)
	return err
}

// member is one connection of a crowd.
type member struct {
	*crowd
	request []byte

	conn   net.Conn // nil: not connected
	reader *bufio.Reader
	stream io.Reader // that it listens to; nil: none
}

// goOn asks until the end, but not while it listens.
func (m *member) goOn() {
	defer m.leave()
	var turn <-chan time.Time
	if m.Every > 0 {
		tick := time.NewTicker(m.Every)
		defer tick.Stop()
		turn = tick.C
	} else {
		now := make(chan time.Time)
		close(now)
		turn = now
	}
	for m.Turns == 0 || m.turns.Load() < m.Turns {
		if m.stream != nil {
			m.listen()
		}
		select {
		case <-m.over:
			return
		case <-turn:
			m.ask()
		}
	}
}

// ask has one turn.
func (m *member) ask() {
	m.turns.Add(1)
	if m.conn == nil {
		conn, err := net.DialTimeout("tcp", m.Address, time.Minute)
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
		return
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
	return fmt.Sprintf("%d connections, %.0f requests/s (%s)", len(c.Requests), float64(all)/c.ended.Sub(c.began).Seconds(), strings.Join(parts, ", "))
}
