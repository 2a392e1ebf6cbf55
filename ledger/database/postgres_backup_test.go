package database_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ledgerhook/ledger"
	"ledgerhook/ledger/database"
	"ledgerhook/signer"
)

// postgres is a server of its own, in a directory of its own, as docs/operations.md
// has it.
type postgres struct {
	bin, dir string
	as       *syscall.Credential // PostgreSQL refuses to run as root
}

func newPostgres(t *testing.T) *postgres {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		t.Fatalf("there is no initdb: run the tests with \"make test\" or \".ci/with-servers go test …\" (%v)", err)
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })
	dir, err := os.MkdirTemp("", "pg") // not the test's, which is for its owner alone, and long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &postgres{bin: filepath.Dir(newest), dir: dir}
	if os.Geteuid() == 0 {
		owner, err := user.Lookup("postgres")
		if err != nil {
			t.Fatal(err)
		}
		uid, _ := strconv.Atoi(owner.Uid)
		gid, _ := strconv.Atoi(owner.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
		p.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return p
}

// version is the number in /usr/lib/postgresql/15/bin/initdb.
func version(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	return n
}

// command is a program of the server's user, with its own on the path.
func (p *postgres) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = p.dir
	cmd.Env = []string{"PATH=" + p.bin + ":/usr/bin:/bin", "PGHOST=" + p.dir, "PGUSER=postgres", "TZ=UTC", "LEDGERHOOK_DATABASE_URL=" + p.url("ledgerhook")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.as, Setpgid: true}
	return cmd
}

func (p *postgres) run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := p.command(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

func (p *postgres) url(name string) string {
	return "postgres://postgres@/" + name + "?host=" + p.dir
}

// start runs the server on data and returns, when it has recovered, what stops
// it as its service does.
func (p *postgres) start(t *testing.T, data string) (stop func()) {
	t.Helper()
	server := p.command(context.WithoutCancel(t.Context()), filepath.Join(p.bin, "postgres"), "-D", data)
	log, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "ready to accept connections") {
			ended := make(chan error, 1)
			go func() {
				for lines.Scan() {
				}
				ended <- server.Wait()
			}()
			stopped := false
			stop = func() {
				if !stopped {
					stopped = true
					_ = server.Process.Signal(syscall.SIGINT)
					<-ended
				}
			}
			t.Cleanup(stop)
			return stop
		}
	}
	_ = server.Wait()
	t.Fatalf("the server did not start:\n%s", said.String())
	return nil
}

// procedures are the commands and settings of docs/operations.md under
// heading, for this server's directories and for a moment.
func (p *postgres) procedures(t *testing.T, heading string) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, chapter, _ := strings.Cut(string(text), "### "+heading+"\n")
	chapter, _, _ = strings.Cut(chapter, "\n#")
	var blocks []string
	for _, block := range regexp.MustCompile("(?s)```(?:sh|ini)\n(.*?)```").FindAllStringSubmatch(chapter, -1) {
		blocks = append(blocks, strings.NewReplacer("/var/backups/ledgerhook", p.dir+"/backups", "/var/lib/postgresql", p.dir).Replace(block[1]))
	}
	return blocks
}

func (p *postgres) shell(t *testing.T, commands string) {
	t.Helper()
	p.run(t, "sh", "-e", "-c", commands)
}

// ledgerAt opens a database as a process does, which checks its schema.
func (p *postgres) ledgerAt(t *testing.T, name string) *database.DB {
	t.Helper()
	db, err := database.Open(t.Context(), database.Options{DatabaseURL: p.url(name)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// The procedures of docs/operations.md, word for word: a dump goes into another
// database, and a base backup with the archive becomes the ledger of a moment.
func TestTheBackupsOfPostgresRestoreTheLedger(t *testing.T) {
	t.Parallel()
	p := newPostgres(t)
	ctx := t.Context()
	dump, moment := p.procedures(t, "A dump of PostgreSQL"), p.procedures(t, "PostgreSQL as it was at any moment")
	if len(dump) != 2 || len(moment) != 3 {
		t.Fatalf("docs/operations.md has %d and %d blocks", len(dump), len(moment))
	}
	data := filepath.Join(p.dir, "data")
	p.run(t, filepath.Join(p.bin, "initdb"), "--pgdata="+data, "--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync")
	p.run(t, "mkdir", "-p", p.dir+"/backups/wal")
	p.shell(t, fmt.Sprintf("cat >>%s/postgresql.conf <<'END'\nlisten_addresses = ''\nunix_socket_directories = '%s'\nfsync = off\n%sEND\n", data, p.dir, moment[0]))
	stop := p.start(t, data)
	p.run(t, "createdb", "ledgerhook")
	if _, err := ledger.Migrate(ctx, database.Options{DatabaseURL: p.url("ledgerhook")}); err != nil {
		t.Fatal(err)
	}
	box, err := signer.NewBox(make([]byte, signer.MasterKeySize))
	if err != nil {
		t.Fatal(err)
	}
	db := p.ledgerAt(t, "ledgerhook")
	if err := db.KeepMasterKey(ctx, box); err != nil {
		t.Fatal(err)
	}
	keep := func(key string) {
		t.Helper()
		if _, err := db.Write.ExecContext(ctx, "INSERT INTO meta (key, value) VALUES ($1, $2)", key, []byte("kept")); err != nil {
			t.Fatal(err)
		}
	}
	has := func(db *database.DB, want ...string) {
		t.Helper()
		var got []string
		for _, key := range []string{"base", "dump", "before", "after"} {
			var n int
			if err := db.Read.QueryRowContext(ctx, "SELECT COUNT(*) FROM meta WHERE key = $1", key).Scan(&n); err != nil {
				t.Fatal(err)
			}
			if n == 1 {
				got = append(got, key)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("restored were %v, want %v", got, want)
		}
		if kept, err := db.CheckMasterKey(ctx, box); !kept || err != nil {
			t.Errorf("the master key: kept %t, %v", kept, err)
		}
	}

	keep("base")
	p.shell(t, moment[1])
	keep("dump")
	p.shell(t, dump[0])
	keep("before")
	var at string
	if err := db.Read.QueryRowContext(ctx, "SELECT CAST(clock_timestamp() AS TEXT)").Scan(&at); err != nil {
		t.Fatal(err)
	}
	keep("after")
	p.shell(t, dump[1])
	has(p.ledgerAt(t, "ledgerhook_restored"), "base", "dump")
	if info, err := os.Stat(p.dir + "/backups/ledger.dump"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the dump: %v, %v", info, err)
	}

	stop()
	const example = "2026-03-04 05:06:07+00"
	if !strings.Contains(moment[2], example) {
		t.Fatalf("no moment in\n%s", moment[2])
	}
	p.shell(t, strings.Replace(moment[2], example, at, 1))
	p.start(t, filepath.Join(p.dir, "restored"))
	restored := p.ledgerAt(t, "ledgerhook")
	has(restored, "base", "dump", "before")
	if _, err := restored.Write.ExecContext(ctx, "INSERT INTO meta (key, value) VALUES ('again', '')"); err != nil {
		t.Errorf("the restored ledger takes nothing: %v", err)
	}
}
