package acceptance

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// store is a database server of the test's own, which it may stop and start.
type store struct {
	tb      testing.TB
	port    int
	command func(port int) *exec.Cmd
	ready   string    // in the output
	quit    os.Signal // ends it at once
	process *process
}

const redisPassword = "redis-password-of-the-test"

// startRedis starts a Redis that keeps nothing beyond its process.
func startRedis(tb testing.TB) *store {
	tb.Helper()
	dir := tb.TempDir()
	s := &store{tb: tb, ready: "Ready to accept connections", quit: os.Kill, command: func(port int) *exec.Cmd {
		cmd := exec.Command("redis-server", "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--save", "", "--appendonly", "no",
			"--maxmemory-policy", "noeviction", "--requirepass", redisPassword)
		cmd.Dir = dir
		return cmd
	}}
	s.start()
	return s
}

func (s *store) redisURL() string {
	return fmt.Sprintf("redis://default:%s@127.0.0.1:%d/0", redisPassword, s.port)
}

// flush empties a Redis.
func (s *store) flush() {
	s.tb.Helper()
	client := redis.NewClient(&redis.Options{Addr: s.address(), Password: redisPassword})
	defer func() { _ = client.Close() }()
	if err := client.FlushAll(s.tb.Context()).Err(); err != nil {
		s.tb.Fatal(err)
	}
}

const postgresPassword = "postgres-password-of-the-test"

// startPostgres makes an empty PostgreSQL and starts it.
func startPostgres(tb testing.TB) *store {
	tb.Helper()
	programs, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(programs) == 0 {
		tb.Fatal("no PostgreSQL is installed below /usr/lib/postgresql: run the tests with \"make test\"")
	}
	bin := slices.MaxFunc(programs, func(a, b string) int { return version(a) - version(b) })
	dir, err := os.MkdirTemp("/tmp", "ledgerhook-pg-") // short enough for a socket's path
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	attributes := owner(tb, dir)
	password := filepath.Join(dir, "password")
	data := filepath.Join(dir, "data")
	run := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, name), args...)
		cmd.Dir, cmd.SysProcAttr = dir, attributes
		return cmd
	}
	if err := os.WriteFile(password, []byte(postgresPassword+"\n"), 0o644); err != nil {
		tb.Fatal(err)
	}
	if output, err := run("initdb", "--pgdata="+data, "--username=ledgerhook", "--pwfile="+password, "--auth=scram-sha-256",
		"--encoding=UTF8", "--no-locale", "--no-sync").CombinedOutput(); err != nil {
		tb.Fatalf("initdb: %v\n%s", err, output)
	}
	// On SIGQUIT its children end with it.
	s := &store{tb: tb, ready: "ready to accept connections", quit: syscall.SIGQUIT, command: func(port int) *exec.Cmd {
		return run("postgres", "-D", data, "-p", strconv.Itoa(port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="+dir)
	}}
	s.start()
	return s
}

func version(bin string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
	return n
}

// owner gives dir to the user postgres if we are root, whom PostgreSQL refuses.
func owner(tb testing.TB, dir string) *syscall.SysProcAttr {
	tb.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		tb.Fatal(err)
	}
	uid, _ := strconv.Atoi(account.Uid)
	gid, _ := strconv.Atoi(account.Gid)
	if err := os.Chown(dir, uid, gid); err != nil {
		tb.Fatal(err)
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}

func (s *store) postgresURL() string {
	return fmt.Sprintf("postgres://ledgerhook:%s@127.0.0.1:%d/postgres?sslmode=disable", postgresPassword, s.port)
}

func (s *store) address() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// start starts the server, on its old port or the first time on a free one.
// Somebody may take a port after it was picked; then the next one is tried.
func (s *store) start() {
	s.tb.Helper()
	for range 20 {
		port := s.port
		if port == 0 {
			port = freePort(s.tb)
		}
		printed := &output{}
		cmd := s.command(port)
		cmd.Stdout, cmd.Stderr = printed, printed
		p := launch(s.tb, cmd)
		ready := false
		eventually(s.tb, time.Minute, cmd.Path+" is ready", func() bool {
			_, ready = printed.find(0, s.ready)
			return ready || !p.running()
		})
		if ready {
			s.port, s.process = port, p
			s.tb.Cleanup(s.stop)
			return
		}
	}
	s.tb.Fatal("a server did not start")
}

// stop ends the server without giving it time for anything.
func (s *store) stop() { s.process.end(s.quit) }

func freePort(tb testing.TB) int {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}
