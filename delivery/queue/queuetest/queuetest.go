// Package queuetest runs Redis servers that belong to one test, which may
// empty, kill and restart them.
package queuetest

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Redis is a Redis server without persistence, a child process of the test.
type Redis struct {
	URL      string // stays the same when the server is started again
	port     int
	password string
	dir      string
	server   *exec.Cmd // nil: not running
}

// Start starts a server on a free loopback port; it ends with the test.
func Start(t *testing.T) *Redis {
	t.Helper()
	r := &Redis{password: rand.Text(), dir: t.TempDir()}
	t.Cleanup(r.Kill)
	for range 20 { // somebody else may take a free port before the server does
		r.port = freePort(t)
		if r.launch(t) {
			r.URL = fmt.Sprintf("redis://:%s@127.0.0.1:%d/0", r.password, r.port)
			return r
		}
	}
	t.Fatal("redis-server found no port to listen on")
	return nil
}

// Restart starts a killed server again at its old address. It is empty.
func (r *Redis) Restart(t *testing.T) {
	t.Helper()
	if !r.launch(t) {
		t.Fatalf("redis-server does not start on its old port %d", r.port)
	}
}

// Kill ends the server as a power cut does. Killing it twice is no error.
func (r *Redis) Kill() {
	if r.server == nil {
		return
	}
	_ = r.server.Process.Kill()
	_ = r.server.Wait()
	r.server = nil
}

// Stall makes the server answer nothing any more, as a machine that hangs
// does: connections stay open, and new ones are taken.
func (r *Redis) Stall(t *testing.T) {
	t.Helper()
	if err := r.server.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

// Client connects to the server until the test ends.
func (r *Redis) Client(t *testing.T) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(r.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(options)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Flush empties the server.
func (r *Redis) Flush(t *testing.T) {
	t.Helper()
	if err := r.Client(t).FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}

// launch reports whether the server came to accept connections. Only its own
// word is taken for that: somebody else may listen on the port.
func (r *Redis) launch(t *testing.T) bool {
	t.Helper()
	server := exec.Command("redis-server", "--bind", "127.0.0.1", "--port", strconv.Itoa(r.port), "--requirepass", r.password,
		"--save", "", "--appendonly", "no", "--dir", r.dir)
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatalf("redis-server cannot be run, install it first: %v", err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "Ready to accept connections") {
			r.server = server
			return true
		}
	}
	_ = server.Wait()
	return false
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
