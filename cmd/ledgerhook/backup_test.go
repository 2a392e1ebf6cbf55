package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// inbox is an endpoint that counts how often it got each event.
type inbox struct {
	*httptest.Server
	mu   sync.Mutex
	got  map[string]int
	more *sync.Cond
}

func newInbox(t *testing.T) *inbox {
	r := &inbox{got: map[string]int{}}
	r.more = sync.NewCond(&r.mu)
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		r.got[req.Header.Get("Webhook-Id")]++
		r.mu.Unlock()
		r.more.Broadcast()
	}))
	t.Cleanup(r.Close)
	return r
}

// wait returns when r has all of events, or when ctx ends.
func (r *inbox) wait(ctx context.Context, t *testing.T, events []string) {
	t.Helper()
	defer context.AfterFunc(ctx, func() { r.mu.Lock(); defer r.mu.Unlock(); r.more.Broadcast() })()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, event := range events {
		for r.got[event] == 0 {
			if ctx.Err() != nil {
				t.Fatalf("%s was not delivered; %d events were", event, len(r.got))
			}
			r.more.Wait()
		}
	}
}

func (r *inbox) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.got)
}

// callers send events to acme, each one after the other, until they are told to
// stop, and keep those that got their 202.
type callers struct {
	mu       sync.Mutex
	accepted []string
	enough   chan struct{} // closed when there are some
	stop     context.CancelFunc
	running  sync.WaitGroup
}

func startCallers(ctx context.Context, t *testing.T, internal, token string) *callers {
	const many, some = 4, 200
	l := &callers{enough: make(chan struct{})}
	ctx, l.stop = context.WithCancel(ctx)
	for caller := range many {
		l.running.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				body := fmt.Sprintf(`{"partnerCode":"acme","webhookType":"TopupCard","data":{"id":"top_%d_%d","cardId":"card_%[1]d","amount":250000,"fee":"1250.50","status":"Completed","createdAt":1767225600}}`, caller, n)
				event, err := sendEvent(ctx, internal, token, body)
				if err != nil {
					continue // the server was killed
				}
				l.mu.Lock()
				l.accepted = append(l.accepted, event)
				if len(l.accepted) == some {
					close(l.enough)
				}
				l.mu.Unlock()
			}
		})
	}
	t.Cleanup(func() { l.stop(); l.running.Wait() })
	return l
}

func sendEvent(ctx context.Context, internal, token, body string) (event string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, internal+"/internal/v1/events", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusAccepted {
		return "", fmt.Errorf("answered %s", res.Status)
	}
	var accepted acceptedEvent
	err = json.NewDecoder(res.Body).Decode(&accepted)
	return accepted.EventID, err
}

func (l *callers) soFar() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.accepted[:len(l.accepted):len(l.accepted)]
}

func (r result) field(t *testing.T, name string) string {
	t.Helper()
	for line := range strings.Lines(r.out) {
		if value, ok := strings.CutPrefix(line, name+"  "); ok {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("no %q in\n%s", name, r.out)
	return ""
}

// A server is backed up under load and killed, and its backup restored
// elsewhere: whatever had its 202 before the backup is there and is delivered.
func TestABackupUnderLoadHasAllThatWasAccepted(t *testing.T) {
	t.Parallel()
	_, public := keyPair(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	allow := "LEDGERHOOK_DELIVERY_ALLOW_CIDRS=127.0.0.0/8"
	serve, internal := startServer(ctx, t, allow)
	data := filepath.Join(serve.Dir, "data")
	client := []string{"LEDGERHOOK_URL=" + internal, "LEDGERHOOK_DATA_DIR=" + data}
	made := runProgram(t, client, "", "partner", "create", "acme", "--public-key", public)
	live, held := newInbox(t), newInbox(t)
	runProgram(t, client, "", "endpoint", "add", "acme", "--url", live.URL).has(t, exitOK, "")
	paused := runProgram(t, client, "", "endpoint", "add", "acme", "--url", held.URL).field(t, "endpoint")
	runProgram(t, client, "", "endpoint", "pause", paused).has(t, exitOK, "")

	l := startCallers(ctx, t, internal, strings.TrimSpace(read(t, filepath.Join(data, "internal-token"))))
	select {
	case <-l.enough:
	case <-ctx.Done():
		t.Fatal("the load was not accepted")
	}
	accepted := l.soFar()
	copied := filepath.Join(t.TempDir(), "copy.db")
	runProgram(t, client, "", "backup", copied).has(t, exitOK, "newest event")
	runProgram(t, client, "", "restore", copied).has(t, exitFailed, "in use by process")
	if err := serve.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = serve.Wait()
	l.stop()
	if info, err := os.Stat(copied); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup: %v, %v", info.Mode(), err)
	}
	for _, secret := range []string{made.field(t, "secret key"), made.field(t, "webhook secret"), "PRIVATE KEY"} {
		if bytes.Contains([]byte(read(t, copied)), []byte(secret)) {
			t.Errorf("the backup has a secret in plain, of %d characters", len(secret))
		}
	}

	elsewhere := filepath.Join(t.TempDir(), "data")
	to := "LEDGERHOOK_DATA_DIR=" + elsewhere
	runProgram(t, []string{to}, "", "restore", copied).has(t, exitFailed, "master-key is missing")
	writeFile(t, elsewhere, "master-key", read(t, filepath.Join(data, "master-key")))
	runProgram(t, []string{to}, "", "restore", copied).has(t, exitOK, "newest event")
	_, internal = startServer(ctx, t, allow, to)
	live.wait(ctx, t, accepted)
	if held.count() > 0 {
		t.Fatal("the paused endpoint got something")
	}
	runProgram(t, []string{to, "LEDGERHOOK_URL=" + internal}, "", "endpoint", "resume", paused).has(t, exitOK, "")
	held.wait(ctx, t, accepted)
	t.Logf("%d events before the backup, %d events in it", len(accepted), held.count())
}

// What is refused leaves the file, or the ledger, as it was, and nothing else
// beside it.
func TestABackupThatCannotBeUsedReplacesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, good := filepath.Join(dir, "data"), filepath.Join(dir, "good.db")
	env := []string{"LEDGERHOOK_DATA_DIR=" + data}
	runProgram(t, env, "", "backup", good).has(t, exitFailed, "no ledger to back up")
	stopServer(t, env)
	runProgram(t, env, "", "backup", good).has(t, exitOK, "no events")
	runProgram(t, env, "", "backup", good).has(t, exitFailed, "--force replaces it")
	runProgram(t, env, "", "backup", good, "--force").has(t, exitOK, "")
	runProgram(t, env, "", "backup", filepath.Join(data, "ledger.db"), "--force").has(t, exitFailed, "is in the data directory")
	runProgram(t, env, "", "backup", dir).has(t, exitFailed, "is a directory")

	whole := read(t, good)
	damaged := writeFile(t, dir, "damaged.db", whole[:4096]+strings.Repeat("x", 4096)+whole[8192:])
	cut := writeFile(t, dir, "cut.db", whole[:len(whole)/2])
	words := writeFile(t, dir, "words.db", "not a database")
	empty := writeFile(t, dir, "empty.db", "")
	half := writeFile(t, dir, "half.db", whole)
	writeFile(t, dir, "half.db-wal", "the rest")
	newer := writeFile(t, dir, "newer.db", whole)
	change(t, newer, "INSERT INTO ledgerhook_migrations (version_id, is_applied) VALUES (99999, true)")
	foreign := writeFile(t, dir, "foreign.db", "")
	change(t, foreign, "CREATE TABLE theirs (id INTEGER)")
	other := filepath.Join(dir, "other.db")
	otherEnv := []string{"LEDGERHOOK_DATA_DIR=" + filepath.Join(dir, "other")}
	stopServer(t, otherEnv)
	runProgram(t, otherEnv, "", "backup", other).has(t, exitOK, "")

	before := files(t, data)
	for file, want := range map[string]string{
		damaged: "damaged", cut: "", words: "no database that can be read", empty: "holds no ledger", half: "is not whole", newer: "does not know", foreign: "holds no ledger",
		other: "is not the key that this database was encrypted with", filepath.Join(dir, "none.db"): "no such file", dir: "is a directory",
		filepath.Join(data, "ledger.db"): "is the ledger itself",
	} {
		runProgram(t, env, "", "restore", file).has(t, exitFailed, want)
	}
	if after := files(t, data); len(after) != len(before) || after["ledger.db"] != before["ledger.db"] {
		t.Errorf("the data directory had %d files and has %d, the ledger the same: %t", len(before), len(after), after["ledger.db"] == before["ledger.db"])
	}

	restored := runProgram(t, env, "", "restore", good)
	restored.has(t, exitOK, "is kept as "+filepath.Join(data, "ledger.db.before-restore-"))
	after := files(t, data)
	if after["ledger.db"] != whole {
		t.Error("the ledger is not the backup's")
	}
	kept := ""
	for name, content := range after {
		if strings.HasPrefix(name, "ledger.db.before-restore-") {
			kept = content
		}
	}
	if kept != before["ledger.db"] {
		t.Error("the ledger that was there is not kept")
	}
	postgres := []string{"LEDGERHOOK_DATABASE_URL=postgres://ledgerhook@127.0.0.1/none", "LEDGERHOOK_MASTER_KEY=" + strings.TrimSpace(after["master-key"]), "LEDGERHOOK_TOKEN=" + strings.Repeat("t", 40)}
	for _, verb := range []string{"backup", "restore"} {
		runProgram(t, append(postgres, "LEDGERHOOK_REDIS_URL=redis://127.0.0.1"), "", verb, good).has(t, exitFailed, "this ledger is in PostgreSQL")
	}
}

// A ledger that does not open any more is why there are backups. What SQLite
// had written beside it must not get into the one that takes its place.
func TestABackupReplacesALedgerThatIsDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, good := filepath.Join(dir, "data"), filepath.Join(dir, "good.db")
	env := []string{"LEDGERHOOK_DATA_DIR=" + data}
	stopServer(t, env)
	runProgram(t, env, "", "backup", good).has(t, exitOK, "")
	writeFile(t, data, "ledger.db", "damaged")
	writeFile(t, data, "ledger.db-wal", "some of it")
	runProgram(t, env, "", "restore", good).has(t, exitOK, "is kept as")
	after := files(t, data)
	if after["ledger.db"] != read(t, good) || after["ledger.db-wal"] != "" {
		t.Error("the ledger is not the backup's alone")
	}
	stopServer(t, env)
}

// stopServer starts a server and stops it as soon as it serves.
func stopServer(t *testing.T, env []string) {
	t.Helper()
	serve, _ := startServer(t.Context(), t, env...)
	if err := serve.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := serve.Wait(); err != nil {
		t.Fatal(err)
	}
}

// files are the contents of a directory by name.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	contents := map[string]string{}
	for _, e := range entries {
		contents[e.Name()] = read(t, filepath.Join(dir, e.Name()))
	}
	return contents
}

// change runs a statement on a database file.
func change(t *testing.T, file, statement string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "sqlite3", file, statement).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
