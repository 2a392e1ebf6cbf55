package stage

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"ledgerhook/webhook"
)

// Gateway is a "ledgerhook serve" that may live several times, as one test
// sees it.
type Gateway struct {
	tb T
	*served
}

// served is what all tests see of a gateway.
type served struct {
	Dir     string // its working directory
	Env     map[string]string
	output  *Output // of all its lives
	Process *Process
	Program string // that its next life runs; empty: the one that was built for all

	mu      sync.Mutex
	Secrets []string // that no output may show
	api     string   // the internal listener of its present life
	Public  string
	token   string
}

// The settings of a test's gateway that are secrets.
var (
	TestToken     = "internal-token-of-the-test-and-the-bench"
	TestPassword  = "password-of-the-first-operator"
	TestMasterKey = base64.StdEncoding.EncodeToString([]byte("master-key-of-the-test-32-bytes!"))
)

// Quick are waits before attempts that let a run see many.
const Quick = "0s,1s,1s,1s,1s,1s,1s,2s,4s,8s,8s,8s,8s,8s"

// base are the settings of every gateway under test.
func base() map[string]string {
	return map[string]string{
		"LEDGERHOOK_LISTEN":               "127.0.0.1:0",
		"LEDGERHOOK_INTERNAL_LISTEN":      "127.0.0.1:0",
		"LEDGERHOOK_DELIVERY_ALLOW_CIDRS": "127.0.0.0/8",
		"LEDGERHOOK_LOG":                  "json",
		"LEDGERHOOK_ADMIN_PASSWORD":       TestPassword, // else one is made and printed
	}
}

// Embedded is a gateway with nothing around it, not yet started.
func Embedded(tb T) *Gateway {
	tb.Helper()
	g := &Gateway{tb, &served{Dir: tb.TempDir(), Env: base(), output: &Output{}}}
	g.Secret(TestPassword)
	tb.Cleanup(g.checkOutput)
	return g
}

// Served is a gateway on a PostgreSQL and a Redis, not yet started.
func Served(tb T, databaseURL string, cache *Store) *Gateway {
	tb.Helper()
	g := Embedded(tb)
	maps.Copy(g.Env, map[string]string{
		"LEDGERHOOK_DATABASE_URL": databaseURL,
		"LEDGERHOOK_REDIS_URL":    cache.RedisURL(),
		"LEDGERHOOK_TOKEN":        TestToken,
		"LEDGERHOOK_MASTER_KEY":   TestMasterKey,
	})
	g.Secret(TestToken, TestMasterKey, RedisPassword, PostgresPassword)
	return g
}

// For is the gateway as a part of its test sees it: what that part finds
// broken, and what it leaves to clean up, is its own.
func (g *Gateway) For(part T) *Gateway { return &Gateway{part, g.served} }

// Secret adds what no output may show.
func (g *Gateway) Secret(values ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.Secrets = append(g.Secrets, values...)
}

// Set overrides settings for the next start.
func (g *Gateway) Set(env map[string]string) { maps.Copy(g.Env, env) }

// Start starts the gateway and waits until it serves.
func (g *Gateway) Start() {
	g.tb.Helper()
	skip := len(g.output.All())
	g.Process = Launch(g.tb, g.command(g.output, "serve"))
	var running Line
	Eventually(g.tb, time.Minute, "the gateway runs", func() (ok bool) {
		running, ok = g.output.Find(skip, `"ledgerhook is running"`)
		if !ok && !g.Process.Running() {
			g.tb.Fatalf("the gateway ended while starting:\n%s", g.output)
		}
		return ok
	})
	var said struct{ Internal, Public string }
	if err := json.Unmarshal([]byte(running.Text), &said); err != nil {
		g.tb.Fatalf("%v: %s", err, running.Text)
	}
	token := g.Env["LEDGERHOOK_TOKEN"]
	if token == "" {
		kept, err := os.ReadFile(filepath.Join(g.Dir, "data", "internal-token"))
		if err != nil {
			g.tb.Fatal(err)
		}
		token = strings.TrimSpace(string(kept))
		g.Secret(token)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.api, g.Public, g.token = said.Internal, said.Public, token
}

// command is a command line of the gateway's program, with its settings.
func (g *Gateway) command(output *Output, args ...string) *exec.Cmd {
	return programOf(cmp.Or(g.Program, binary), g.Dir, g.Env, output, output, args...)
}

// Run runs a command of the gateway's program, with its settings, to its end,
// and returns what it printed. It has to succeed.
func (g *Gateway) Run(limit time.Duration, args ...string) string {
	g.tb.Helper()
	output := &Output{}
	if code := Launch(g.tb, g.command(output, args...)).Wait(limit); code != 0 {
		g.tb.Fatalf("%s: exit code %d: %s", strings.Join(args, " "), code, output)
	}
	return output.String()
}

// Begin starts a command that reaches the running gateway, and returns what it
// prints.
func (g *Gateway) Begin(args ...string) (*Process, *Output) {
	g.tb.Helper()
	output := &Output{}
	cmd := g.command(output, args...)
	url, token := g.Reach()
	cmd.Env = append(cmd.Env, "LEDGERHOOK_URL="+url, "LEDGERHOOK_TOKEN="+token)
	return Launch(g.tb, cmd), output
}

// Kill ends the gateway as kill -9 does.
func (g *Gateway) Kill() { g.Process.Kill() }

// Terminate asks the gateway to stop, and returns its exit code.
func (g *Gateway) Terminate(limit time.Duration) int {
	g.tb.Helper()
	_ = g.Process.Cmd.Process.Signal(syscall.SIGTERM)
	return g.Process.Wait(limit)
}

// Reach is where the internal API is in the present life, and its token.
func (g *Gateway) Reach() (url, token string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.api, g.token
}

// checkOutput holds what is promised of everything a gateway prints: one JSON
// object a line, and no secret anywhere.
func (g *Gateway) checkOutput() {
	for _, l := range g.output.All() {
		var event struct{ Time, Level, Msg string }
		if err := json.Unmarshal([]byte(l.Text), &event); err != nil || event.Msg == "" || event.Level == "" || event.Time == "" {
			g.tb.Errorf("a line of the log is no event: %s", l.Text)
		}
		if i := slices.IndexFunc(g.Secrets, func(s string) bool { return strings.Contains(l.Text, s) }); i >= 0 {
			g.tb.Errorf("a line of the log shows a secret: %s", l.Text)
		}
	}
	if g.tb.Failed() {
		lines := g.output.All()
		for _, l := range lines[max(0, len(lines)-40):] {
			g.tb.Log(l.Text)
		}
	}
}

// Logged counts the events of the log with this message and these members.
func (g *Gateway) Logged(message string, members map[string]any) (n int) {
	for _, l := range g.output.All() {
		var event map[string]any
		if json.Unmarshal([]byte(l.Text), &event) != nil || event["msg"] != message {
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

// CutOff is how many attempts for a partner the gateway says that its own stop
// cut off.
func (g *Gateway) CutOff(partner string) int {
	return g.Logged("attempt", map[string]any{"partner": partner, "outcome": string(webhook.OutcomeUnknown)})
}

// PutBack is of how many attempts the gateway says that their worker died.
func (g *Gateway) PutBack() (n int) {
	for _, text := range g.Lines("deliveries were recovered") {
		var line struct {
			Reason     string
			Deliveries int
		}
		if json.Unmarshal([]byte(text), &line) == nil && line.Reason == "worker_dead" {
			n += line.Deliveries
		}
	}
	return n
}

// Complaints are the lines of the log above level INFO since the gateway runs.
// While it starts it may say what it misses.
func (g *Gateway) Complaints() (lines []string) {
	running := false
	for _, l := range g.output.All() {
		running = running || strings.Contains(l.Text, `"ledgerhook is running"`)
		if running && (strings.Contains(l.Text, `"level":"WARN"`) || strings.Contains(l.Text, `"level":"ERROR"`)) {
			lines = append(lines, l.Text)
		}
	}
	return lines
}

// Lines are those of the log that contain part.
func (g *Gateway) Lines(part string) (lines []string) {
	for _, l := range g.output.All() {
		if strings.Contains(l.Text, part) {
			lines = append(lines, l.Text)
		}
	}
	return lines
}
