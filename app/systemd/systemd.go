// Package systemd tells the service manager that started the process how it is,
// by the datagrams of sd_notify(3).
package systemd

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"
)

// Manager is who started the process and wants to hear of it. A nil *Manager is
// nobody: it takes everything and does nothing.
type Manager struct {
	conn *net.UnixConn
	// patience is after which silence the manager ends the process; 0: never.
	patience time.Duration
}

// Find returns the manager that env, the process's environment, names in
// NOTIFY_SOCKET; nil without one. WATCHDOG_USEC is how long it waits for a sign
// of life, in microseconds, if WATCHDOG_PID is this process or not set. An error
// says which of them cannot be used; the manager may then think that the process
// never gets ready.
func Find(env func(string) string) (*Manager, error) {
	path := env("NOTIFY_SOCKET")
	if path == "" {
		return nil, nil
	}
	if path[0] != '/' && path[0] != '@' {
		return nil, fmt.Errorf("NOTIFY_SOCKET must be a path or an abstract socket, not %q", path)
	}
	m := &Manager{}
	if usec, pid := env("WATCHDOG_USEC"), env("WATCHDOG_PID"); usec != "" && (pid == "" || pid == strconv.Itoa(os.Getpid())) {
		n, err := strconv.ParseInt(usec, 10, 64)
		if err != nil || n <= 0 {
			return nil, fmt.Errorf("WATCHDOG_USEC must be a number of microseconds, not %q", usec)
		}
		m.patience = time.Duration(n) * time.Microsecond
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("reach the service manager: %w", err)
	}
	m.conn = conn
	return m, nil
}

// Ready says that the process serves, with a sentence for people.
func (m *Manager) Ready(status string) error { return m.tell("READY=1\nSTATUS=" + status) }

// Stopping says that the process is about to end.
func (m *Manager) Stopping(status string) error { return m.tell("STOPPING=1\nSTATUS=" + status) }

// Watch gives a sign of life twice in the time that the manager waits for one,
// as long as alive returns nil, until ctx ends. alive gets a quarter of that
// time. Without a watchdog it returns at once.
func (m *Manager) Watch(ctx context.Context, alive func(context.Context) error, log *slog.Logger) {
	if m == nil || m.patience == 0 {
		return
	}
	tick := time.NewTicker(m.patience / 2)
	defer tick.Stop()
	for {
		if err := m.beat(ctx, alive); err != nil && ctx.Err() == nil {
			log.Error("the watchdog is not notified", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (m *Manager) beat(ctx context.Context, alive func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, m.patience/4)
	defer cancel()
	if err := alive(ctx); err != nil {
		return err
	}
	return m.tell("WATCHDOG=1")
}

// Close says nothing more.
func (m *Manager) Close() error {
	if m == nil {
		return nil
	}
	return m.conn.Close()
}

func (m *Manager) tell(state string) error {
	if m == nil {
		return nil
	}
	if _, err := m.conn.Write([]byte(state)); err != nil {
		return fmt.Errorf("tell the service manager: %w", err)
	}
	return nil
}
