package stage

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
	"time"

	"github.com/redis/go-redis/v9"
)

// Store is a database server of the test's own, which it may stop and start.
type Store struct {
	tb      T
	Port    int
	command func(port int) *exec.Cmd
	ready   string    // in the output
	quit    os.Signal // ends it at once
	process *Process
	Output  *Output // what it printed since its last start
}

// RedisPassword is that of every Redis that StartRedis starts.
const RedisPassword = "redis-password-of-the-test"

// StartRedis starts a Redis that keeps nothing beyond its process unless its
// settings, such as "--appendonly", "yes", say otherwise.
func StartRedis(tb T, settings ...string) *Store {
	tb.Helper()
	dir := tb.TempDir()
	s := &Store{tb: tb, ready: "Ready to accept connections", quit: os.Kill, command: func(port int) *exec.Cmd {
		cmd := exec.Command("redis-server", "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--save", "", "--appendonly", "no",
			"--maxmemory-policy", "noeviction", "--requirepass", RedisPassword)
		cmd.Args = append(cmd.Args, settings...)
		cmd.Dir = dir
		return cmd
	}}
	s.Start()
	return s
}

// RedisURL is the address of a Redis as the settings take it, password included.
func (s *Store) RedisURL() string {
	return fmt.Sprintf("redis://default:%s@127.0.0.1:%d/0", RedisPassword, s.Port)
}

// Redis is a client of a Redis, which ends with the stage.
func (s *Store) Redis() *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: s.Address(), Password: RedisPassword})
	s.tb.Cleanup(func() { _ = client.Close() })
	return client
}

// Flush empties a Redis.
func (s *Store) Flush() {
	s.tb.Helper()
	if err := s.Redis().FlushAll(s.tb.Context()).Err(); err != nil {
		s.tb.Fatal(err)
	}
}

// PostgresPassword is that of every PostgreSQL that StartPostgres starts.
const PostgresPassword = "postgres-password-of-the-test"

// postgresDir is a directory of a PostgreSQL's own and the user who may run it.
type postgresDir struct {
	dir        string
	attributes *syscall.SysProcAttr
}

func newPostgresDir(tb T) postgresDir {
	tb.Helper()
	dir, err := os.MkdirTemp("/tmp", "ledgerhook-pg-") // short enough for a socket's path
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	return postgresDir{dir, owner(tb, dir)}
}

func (d postgresDir) data() string { return filepath.Join(d.dir, "data") }

// command is a command line of the newest PostgreSQL that is installed.
func (d postgresDir) command(tb T, name string, args ...string) *exec.Cmd {
	tb.Helper()
	cmd := exec.Command(filepath.Join(postgresPrograms(tb), name), args...)
	cmd.Dir, cmd.SysProcAttr = d.dir, d.attributes
	return cmd
}

// start starts the server of what lies in the directory. On SIGQUIT its children
// end with it. The machine outlives it, and what was written with it: nothing is
// synced.
func (d postgresDir) start(tb T, ready string, settings []string) *Store {
	tb.Helper()
	s := &Store{tb: tb, ready: ready, quit: syscall.SIGQUIT, command: func(port int) *exec.Cmd {
		cmd := d.command(tb, "postgres", "-D", d.data(), "-p", strconv.Itoa(port))
		for _, setting := range append([]string{"listen_addresses=127.0.0.1", "unix_socket_directories=" + d.dir, "fsync=off"}, settings...) {
			cmd.Args = append(cmd.Args, "-c", setting)
		}
		return cmd
	}}
	s.Start()
	return s
}

// postgresPrograms is where the programs of the newest PostgreSQL are.
func postgresPrograms(tb T) string {
	tb.Helper()
	programs, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(programs) == 0 {
		tb.Fatal("no PostgreSQL is installed below /usr/lib/postgresql: run the tests with \"make test\"")
	}
	return slices.MaxFunc(programs, func(a, b string) int { return version(a) - version(b) })
}

// StartPostgres makes an empty PostgreSQL and starts it. It syncs nothing unless
// its settings, such as "fsync=on", say otherwise.
func StartPostgres(tb T, settings ...string) *Store {
	tb.Helper()
	d := newPostgresDir(tb)
	password := filepath.Join(d.dir, "password")
	if err := os.WriteFile(password, []byte(PostgresPassword+"\n"), 0o644); err != nil {
		tb.Fatal(err)
	}
	if output, err := d.command(tb, "initdb", "--pgdata="+d.data(), "--username=ledgerhook", "--pwfile="+password, "--auth=scram-sha-256",
		"--encoding=UTF8", "--no-locale", "--no-sync").CombinedOutput(); err != nil {
		tb.Fatalf("initdb: %v\n%s", err, output)
	}
	return d.start(tb, "ready to accept connections", settings)
}

func version(bin string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
	return n
}

// owner gives dir to the user postgres if we are root, whom PostgreSQL refuses.
func owner(tb T, dir string) *syscall.SysProcAttr {
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

// PostgresURL is the address of a PostgreSQL as the settings take it, password
// included.
func (s *Store) PostgresURL() string {
	return fmt.Sprintf("postgres://ledgerhook:%s@127.0.0.1:%d/postgres?sslmode=disable", PostgresPassword, s.Port)
}

// PrimaryURL is the address of whichever of several PostgreSQL takes writes, as
// the settings take it, password included.
func PrimaryURL(of ...*Store) string {
	return fmt.Sprintf("postgres://ledgerhook:%s@%s/postgres?sslmode=disable&target_session_attrs=read-write", PostgresPassword, addresses(of))
}

// PSQL has psql run statements on a PostgreSQL, and returns what it prints: rows
// without a header.
func (s *Store) PSQL(statements string) ([]byte, error) {
	return exec.Command("psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", s.PostgresURL(), "--command", statements).CombinedOutput()
}

// Address is the host and the port of the server.
func (s *Store) Address() string { return fmt.Sprintf("127.0.0.1:%d", s.Port) }

// Start starts the server, on its old port or the first time on a free one.
// Somebody may take a port after it was picked; then the next one is tried.
func (s *Store) Start() {
	s.tb.Helper()
	for range 20 {
		port := s.Port
		if port == 0 {
			port = FreePort(s.tb)
		}
		printed := &Output{}
		cmd := s.command(port)
		cmd.Stdout, cmd.Stderr = printed, printed
		p := Launch(s.tb, cmd)
		ready := false
		Eventually(s.tb, time.Minute, cmd.Path+" is ready", func() bool {
			_, ready = printed.Find(0, s.ready)
			return ready || !p.Running()
		})
		if ready {
			s.Port, s.process, s.Output = port, p, printed
			s.tb.Cleanup(s.Stop)
			return
		}
	}
	s.tb.Fatal("a server did not start")
}

// PID is the server's process; PostgreSQL works in its children.
func (s *Store) PID() int { return s.process.Cmd.Process.Pid }

// Stop ends the server without giving it time for anything.
func (s *Store) Stop() { s.process.End(s.quit) }

// FreePort is a port of this machine that nobody listens on just now.
func FreePort(tb T) int {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// Nobody is a server that does not run.
func Nobody(tb T) *Store { return &Store{tb: tb, Port: FreePort(tb)} }

// CreateDatabase makes an empty database on a PostgreSQL, and returns its URL.
func (s *Store) CreateDatabase(tb T) string {
	tb.Helper()
	name := "d" + strconv.FormatInt(time.Now().UnixNano(), 36)
	cmd := exec.Command(filepath.Join(postgresPrograms(tb), "createdb"), "--host=127.0.0.1", "--port="+strconv.Itoa(s.Port), "--username=ledgerhook", name)
	cmd.Env = []string{"PGPASSWORD=" + PostgresPassword}
	if output, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("createdb: %v\n%s", err, output)
	}
	return fmt.Sprintf("postgres://ledgerhook:%s@127.0.0.1:%d/%s?sslmode=disable", PostgresPassword, s.Port, name)
}
