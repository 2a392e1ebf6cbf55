package interfacetest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ledgerhook/bench/program"
)

// binary is the program under test.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var remove func()
	var err error
	if binary, remove, err = program.Build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove()
	return m.Run()
}

// gateway is a running "ledgerhook serve" on embedded stores.
type gateway struct {
	public, internal, token string
}

// serve starts a gateway that sends codes to the mail server at mail. It ends
// with the test.
func serve(t *testing.T, mail string) *gateway {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(binary, "serve")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LEDGERHOOK_LISTEN=127.0.0.1:0", "LEDGERHOOK_INTERNAL_LISTEN=127.0.0.1:0",
		"LEDGERHOOK_DELIVERY_ALLOW_CIDRS=127.0.0.0/8", "LEDGERHOOK_LOG=json", "LEDGERHOOK_SMTP_URL=smtp://" + mail + "?from=codes@example.com"}
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	g := &gateway{}
	lines := bufio.NewScanner(log)
	var said strings.Builder
	for g.public == "" && lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		var line struct{ Msg, Public, Internal string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "ledgerhook is running" {
			g.public, g.internal = line.Public, line.Internal
		}
	}
	rest := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(log)
		rest <- string(text)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		end := <-rest
		err := cmd.Wait()
		if err != nil || strings.Contains(end, `"level":"ERROR"`) {
			t.Errorf("the gateway ended with %v", err)
		}
		if t.Failed() {
			t.Log(end)
		}
	})
	token, err := os.ReadFile(filepath.Join(dir, "data", "internal-token"))
	if err != nil || g.public == "" {
		t.Fatalf("the gateway did not start (%v):\n%s", err, said.String())
	}
	g.token = strings.TrimSpace(string(token))
	return g
}

// ask sends a request to the internal API and returns its answer, which must
// have this status.
func (g *gateway) ask(t *testing.T, status int, method, path string, body any) map[string]any {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, g.internal+"/internal/v1"+path, bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+g.token)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return decode(t, send(t, r, status))
}

// send sends a request that must be answered with status, and returns the body.
func send(t *testing.T, r *http.Request, status int) []byte {
	t.Helper()
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		t.Fatalf("%s %s: %d, want %d (%v): %s", r.Method, r.URL, res.StatusCode, status, err, body)
	}
	return body
}

func decode(t *testing.T, body []byte) (m map[string]any) {
	t.Helper()
	reader := json.NewDecoder(bytes.NewReader(body))
	reader.UseNumber() // numbers are signed as they stand
	if err := reader.Decode(&m); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return m
}

// within fails the test if something takes longer than a busy machine needs.
func within[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(30 * time.Second):
		t.Fatalf("%s did not come", what)
		panic("unreachable")
	}
}
