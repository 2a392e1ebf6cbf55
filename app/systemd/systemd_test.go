package systemd

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// listen is a manager's socket at path; next returns the next datagram.
func listen(t *testing.T, path string) (next func() string) {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return func() string {
		t.Helper()
		if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		buffer := make([]byte, 4096)
		n, err := conn.Read(buffer)
		if err != nil {
			t.Fatal(err)
		}
		return string(buffer[:n])
	}
}

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for _, pair := range pairs {
			if value, ok := strings.CutPrefix(pair, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

func find(t *testing.T, pairs ...string) *Manager {
	t.Helper()
	m, err := Find(environment(pairs...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func TestTheManagerHearsHowTheProcessIs(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{
		"a path":             filepath.Join(t.TempDir(), "notify"),
		"an abstract socket": "@ledgerhook-test-" + strconv.Itoa(os.Getpid()),
	} {
		t.Run(name, func(t *testing.T) {
			next := listen(t, path)
			m := find(t, "NOTIFY_SOCKET="+path)
			if err := errors.Join(m.Ready("serving"), m.Stopping("draining")); err != nil {
				t.Fatal(err)
			}
			if got := next(); got != "READY=1\nSTATUS=serving" {
				t.Errorf("%q", got)
			}
			if got := next(); got != "STOPPING=1\nSTATUS=draining" {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestOnlyALivingProcessGivesSignsOfLife(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notify")
	next := listen(t, path)
	m := find(t, "NOTIFY_SOCKET="+path, "WATCHDOG_USEC=20000", "WATCHDOG_PID="+strconv.Itoa(os.Getpid()))
	ctx, cancel := context.WithCancel(t.Context())
	var asked atomic.Int32
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.Watch(ctx, func(context.Context) error {
			if asked.Add(1) <= 3 {
				return errors.New("hangs")
			}
			return nil
		}, slog.New(slog.DiscardHandler))
	}()
	for range 3 {
		if got := next(); got != "WATCHDOG=1" {
			t.Errorf("%q", got)
		}
	}
	if n := asked.Load(); n < 6 {
		t.Errorf("three signs of life after %d questions, of which the first three found none", n)
	}
	cancel()
	<-done
}

func TestAQuestionForLifeMayNotTakeForEver(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notify")
	listen(t, path)
	m := find(t, "NOTIFY_SOCKET="+path, "WATCHDOG_USEC=40000")
	err := m.beat(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestWithoutAManagerOrAWatchdogNothingIsDone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notify")
	listen(t, path)
	never := func(context.Context) error { t.Error("asked"); return nil }
	for _, m := range []*Manager{
		find(t),
		find(t, "WATCHDOG_USEC=1000"),
		find(t, "NOTIFY_SOCKET="+path),
		find(t, "NOTIFY_SOCKET="+path, "WATCHDOG_USEC=1000", "WATCHDOG_PID=1"),
	} {
		m.Watch(t.Context(), never, slog.New(slog.DiscardHandler))
	}
	if err := errors.Join(find(t).Ready(""), find(t).Stopping("")); err != nil {
		t.Error(err)
	}
}

func TestAManagerThatCannotBeUsedIsSaidSo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notify")
	for _, test := range []struct{ socket, usec, want string }{
		{"vsock:2:1234", "", "NOTIFY_SOCKET must be a path"},
		{path, "", "reach the service manager"},
		{path, "soon", "WATCHDOG_USEC must be a number"},
		{path, "0", "WATCHDOG_USEC must be a number"},
	} {
		m, err := Find(environment("NOTIFY_SOCKET="+test.socket, "WATCHDOG_USEC="+test.usec))
		if m != nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v", test, err)
		}
	}
}
