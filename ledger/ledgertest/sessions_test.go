package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
)

func TestASessionIsLentAgainWithNothingOfWhoHadIt(t *testing.T) {
	s := createSchema(t)
	t.Cleanup(func() {
		if err := s.drop(); err != nil {
			t.Error(err)
		}
	})
	begin := func(parameters ...string) *pgx.Conn {
		t.Helper()
		config, err := pgx.ParseConfig(s.address)
		if err != nil {
			t.Fatal(err)
		}
		for pair := range slices.Chunk(parameters, 2) {
			config.RuntimeParams[pair[0]] = pair[1]
		}
		config.DialFunc = s.sessions.dial(config.DialFunc)
		c, err := pgx.ConnectConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	end := func(c *pgx.Conn) {
		t.Helper()
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	find := func(c *pgx.Conn, query string) (found string) {
		t.Helper()
		if err := c.QueryRow(t.Context(), query).Scan(&found); err != nil {
			t.Fatal(err)
		}
		return found
	}
	const pid = "SELECT pg_backend_pid()::TEXT"
	left := `SELECT concat_ws(' ', current_setting('TimeZone'), current_setting('search_path'),
		(SELECT COUNT(*) FROM pg_prepared_statements WHERE from_sql), (SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()))`

	c := begin("timezone", "UTC")
	had := find(c, pid)
	for _, statement := range []string{"SET search_path = pg_catalog", "SET TimeZone = 'Asia/Seoul'", "PREPARE two AS SELECT 2", "SELECT pg_advisory_lock(7)"} {
		if _, err := c.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := find(c, left), "Asia/Seoul pg_catalog 1 1"; got != want {
		t.Fatalf("the session has %s, want %s", got, want)
	}
	end(c)
	other := begin("timezone", "Europe/Vienna")
	if find(other, pid) == had {
		t.Error("a session is lent to who began another one")
	}
	c = begin("timezone", "UTC")
	if got := find(c, pid); got != had {
		t.Error("the session is not lent again")
	}
	if got, want := find(c, left), "UTC "+s.name+" 0 0"; got != want {
		t.Errorf("the session has %s, want %s", got, want)
	}
	if c.PgConn().ParameterStatus("TimeZone") != "UTC" {
		t.Errorf("the session's time zone is said to be %s", c.PgConn().ParameterStatus("TimeZone"))
	}

	for name, leave := range map[string]func(c *pgx.Conn){
		"in a transaction": func(c *pgx.Conn) {
			if _, err := c.Exec(t.Context(), "BEGIN"); err != nil {
				t.Fatal(err)
			}
			end(c)
		},
		"in a statement": func(c *pgx.Conn) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			if _, err := c.Exec(ctx, "SELECT pg_sleep(60)"); err == nil {
				t.Fatal("a statement outlives its context")
			}
			<-c.PgConn().CleanupDone()
		},
		"and killed": func(c *pgx.Conn) {
			killed := find(c, pid)
			end(c)
			find(other, "SELECT pg_terminate_backend("+killed+", 10000)::TEXT")
		},
		"with an answer unread": func(c *pgx.Conn) {
			c.PgConn().Frontend().SendQuery(&pgproto3.Query{String: "SELECT 1"})
			if err := c.PgConn().Frontend().Flush(); err != nil {
				t.Fatal(err)
			}
			end(c)
		},
	} {
		had := find(c, pid)
		leave(c)
		if c = begin("timezone", "UTC"); find(c, pid) == had {
			t.Errorf("a session that was left %s is lent again", name)
		}
	}
	end(c)
	end(other)
	if n := len(s.sessions.idle); n != 2 {
		t.Errorf("%d sessions are kept, want 2", n)
	}
}

// pgx reads beside a first message that takes it long to write, and may begin to
// read before it has begun to write.
func TestAReadBeforeTheFirstMessageWaitsForIt(t *testing.T) {
	address := Options(t, "postgres").DatabaseURL
	config, err := pgx.ParseConfig(address)
	if err != nil {
		t.Fatal(err)
	}
	host := net.JoinHostPort(config.Host, fmt.Sprint(config.Port))
	s := &sessions{address: host}
	start, err := (&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersionNumber, Parameters: map[string]string{"user": config.User}}).Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		c, err := s.dial(new(net.Dialer).DialContext)(t.Context(), "tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		read := make(chan error)
		go func() {
			_, err := c.Read(make([]byte, 1))
			read <- err
		}()
		runtime.Gosched()
		if _, err := c.Write(start); err != nil {
			t.Fatal(err)
		}
		if err := <-read; err != nil {
			t.Errorf("a read before the first message: %v", err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	c, err := s.dial(new(net.Dialer).DialContext)(t.Context(), "tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a read of what was closed without a message: %v", err)
	}
}
