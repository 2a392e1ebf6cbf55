package acceptance

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ledgerhook/ledger/ledgertest"
)

// gateway is a "ledgerhook serve" that may live several times.
type gateway struct {
	tb      testing.TB
	dir     string // its working directory
	env     map[string]string
	output  *output // of all its lives
	process *process

	mu      sync.Mutex
	secrets []string // that no output may show
	api     string   // the internal listener of its present life
	public  string
	token   string
}

// The settings of a test's gateway that are secrets.
var (
	testToken     = "internal-token-of-the-test"
	testMasterKey = base64.StdEncoding.EncodeToString([]byte("master-key-of-the-test-32-bytes!"))
)

// base are the settings of every gateway under test.
func base() map[string]string {
	return map[string]string{
		"LEDGERHOOK_LISTEN":               "127.0.0.1:0",
		"LEDGERHOOK_INTERNAL_LISTEN":      "127.0.0.1:0",
		"LEDGERHOOK_DELIVERY_ALLOW_CIDRS": "127.0.0.0/8",
		"LEDGERHOOK_LOG":                  "json",
	}
}

// embedded is a gateway with nothing around it, not yet started.
func embedded(tb testing.TB) *gateway {
	tb.Helper()
	g := &gateway{tb: tb, dir: tb.TempDir(), env: base(), output: &output{}}
	tb.Cleanup(g.checkOutput)
	return g
}

// served is a gateway on a PostgreSQL and a Redis, not yet started.
func served(tb testing.TB, databaseURL string, cache *store) *gateway {
	tb.Helper()
	g := embedded(tb)
	maps.Copy(g.env, map[string]string{
		"LEDGERHOOK_DATABASE_URL": databaseURL,
		"LEDGERHOOK_REDIS_URL":    cache.redisURL(),
		"LEDGERHOOK_TOKEN":        testToken,
		"LEDGERHOOK_MASTER_KEY":   testMasterKey,
	})
	g.secret(testToken, testMasterKey, redisPassword, postgresPassword)
	return g
}

// both runs test on an embedded gateway and on one with PostgreSQL and a
// Redis of its own.
func both(t *testing.T, test func(t *testing.T, g *gateway)) {
	t.Helper()
	t.Parallel()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		test(t, embedded(t))
	})
	t.Run("postgres and redis", func(t *testing.T) {
		t.Parallel()
		test(t, served(t, ledgertest.Schema(t), startRedis(t)))
	})
}

// secret adds what no output may show.
func (g *gateway) secret(values ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.secrets = append(g.secrets, values...)
}

// set overrides settings for the next start.
func (g *gateway) set(env map[string]string) { maps.Copy(g.env, env) }

// start starts the gateway and waits until it serves.
func (g *gateway) start() {
	g.tb.Helper()
	skip := len(g.output.all())
	g.process = launch(g.tb, ledgerhook(g.dir, g.env, g.output, g.output, "serve"))
	var running line
	eventually(g.tb, 30*time.Second, "the gateway runs", func() (ok bool) {
		running, ok = g.output.find(skip, `"ledgerhook is running"`)
		if !ok && !g.process.running() {
			g.tb.Fatalf("the gateway ended while starting:\n%s", g.output)
		}
		return ok
	})
	var said struct{ Internal, Public string }
	if err := json.Unmarshal([]byte(running.text), &said); err != nil {
		g.tb.Fatalf("%v: %s", err, running.text)
	}
	token := g.env["LEDGERHOOK_TOKEN"]
	if token == "" {
		kept, err := os.ReadFile(filepath.Join(g.dir, "data", "internal-token"))
		if err != nil {
			g.tb.Fatal(err)
		}
		token = strings.TrimSpace(string(kept))
		g.secret(token)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.api, g.public, g.token = said.Internal, said.Public, token
}

// kill ends the gateway as kill -9 does.
func (g *gateway) kill() { g.process.kill() }

// terminate asks the gateway to stop, and returns its exit code.
func (g *gateway) terminate(limit time.Duration) int {
	g.tb.Helper()
	_ = g.process.cmd.Process.Signal(syscall.SIGTERM)
	return g.process.wait(limit)
}

// reach is where the internal API is in the present life, and its token.
func (g *gateway) reach() (url, token string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.api, g.token
}

// checkOutput holds what is promised of everything a gateway prints: one JSON
// object a line, and no secret anywhere.
func (g *gateway) checkOutput() {
	for _, l := range g.output.all() {
		var event struct{ Time, Level, Msg string }
		if err := json.Unmarshal([]byte(l.text), &event); err != nil || event.Msg == "" || event.Level == "" || event.Time == "" {
			g.tb.Errorf("a line of the log is no event: %s", l.text)
		}
		if i := slices.IndexFunc(g.secrets, func(s string) bool { return strings.Contains(l.text, s) }); i >= 0 {
			g.tb.Errorf("a line of the log shows a secret: %s", l.text)
		}
	}
	if g.tb.Failed() {
		lines := g.output.all()
		for _, l := range lines[max(0, len(lines)-40):] {
			g.tb.Log(l.text)
		}
	}
}

// logged counts the events of the log with this message and these members.
func (g *gateway) logged(message string, members map[string]any) (n int) {
	for _, l := range g.output.all() {
		var event map[string]any
		if json.Unmarshal([]byte(l.text), &event) != nil || event["msg"] != message {
			continue
		}
		same := true
		for name, want := range members {
			same = same && event[name] == want
		}
		if same {
			n++
		}
	}
	return n
}

// complaints are the lines of the log above level INFO since the gateway runs.
// While it starts it may say what it misses.
func (g *gateway) complaints() (lines []string) {
	running := false
	for _, l := range g.output.all() {
		running = running || strings.Contains(l.text, `"ledgerhook is running"`)
		if running && (strings.Contains(l.text, `"level":"WARN"`) || strings.Contains(l.text, `"level":"ERROR"`)) {
			lines = append(lines, l.text)
		}
	}
	return lines
}
