package main

import (
	"bytes"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestAServiceManagerHearsOfTheProcessFromStartToStop(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	next := func() string {
		t.Helper()
		if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		buffer := make([]byte, 4096)
		n, err := conn.Read(buffer)
		if err != nil {
			t.Fatal(err)
		}
		return string(buffer[:n])
	}
	cmd := command(t.Context(), t, []string{"NOTIFY_SOCKET=" + socket, "WATCHDOG_USEC=4000000",
		"LEDGERHOOK_LISTEN=127.0.0.1:0", "LEDGERHOOK_INTERNAL_LISTEN=127.0.0.1:0"}, "serve")
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if got := next(); !strings.HasPrefix(got, "READY=1\nSTATUS=serving on http://127.0.0.1:") {
		t.Errorf("first %q", got)
	}
	for range 2 {
		if got := next(); got != "WATCHDOG=1" {
			t.Errorf("while it runs %q", got)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	got := next()
	for got == "WATCHDOG=1" {
		got = next()
	}
	if !strings.HasPrefix(got, "STOPPING=1\n") {
		t.Errorf("at the end %q", got)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, log.String())
	}
	if strings.Contains(log.String(), "service manager") {
		t.Error(log.String())
	}
}
