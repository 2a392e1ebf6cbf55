package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ledgerhook/bench/program"
)

var update = flag.Bool("update", false, "write the golden files")

// binary is the program as a user has it.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	time.Local = time.UTC // as processes of the program have it
	var remove func()
	var err error
	if binary, remove, err = program.Build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	remove()
	os.Exit(code)
}

// result is what a command left behind.
type result struct {
	code        int
	out, errors string
}

// command is the binary in a directory of its own, with nothing of the tester's
// environment.
func command(ctx context.Context, t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{"TZ=UTC", "HOME=" + cmd.Dir, "TMPDIR=" + cmd.Dir}, env...)
	return cmd
}

// runProgram runs the program as a user does, in a process of its own.
func runProgram(t *testing.T, env []string, stdin string, args ...string) result {
	t.Helper()
	cmd := command(t.Context(), t, env, args...)
	return finish(t, cmd, stdin)
}

// run runs a command line in this process, which takes a tenth of the time of
// one of its own and has the race detector look on.
func run(t *testing.T, env []string, stdin string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	c := &cli{in: strings.NewReader(stdin), out: &out, err: &errs, env: func(name string) string {
		for _, set := range env {
			if value, ok := strings.CutPrefix(set, name+"="); ok {
				return value
			}
		}
		return ""
	}}
	code := c.run(t.Context(), args)
	return result{code, out.String(), errs.String()}
}

func finish(t *testing.T, cmd *exec.Cmd, stdin string) result {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("run %v: %v", cmd.Args, err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// golden compares got with testdata/name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update writes it):\n%s", file, diff)
	}
}

// request is what a server was asked.
type request struct{ line, auth, body string }

// server answers as the internal API does: per "METHOD /path" the answers in
// turn, the last one again and again. An answer is "STATUS JSON".
type server struct {
	*httptest.Server
	mu      sync.Mutex
	answers map[string][]string
	asked   []request
}

func newServer(t *testing.T, answers map[string][]string) *server {
	s := &server{answers: answers}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.asked = append(s.asked, request{r.Method + " " + r.URL.RequestURI(), r.Header.Get("Authorization"), string(body)})
	key := r.Method + " " + r.URL.Path
	answer := "404 {}"
	if have := s.answers[key]; len(have) > 0 {
		answer = have[0]
		if len(have) > 1 {
			s.answers[key] = have[1:]
		}
	}
	s.mu.Unlock()
	var status int
	var doc string
	_, _ = fmt.Sscan(answer, &status)
	_, doc, _ = strings.Cut(answer, " ")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, doc)
}

// env is the environment of a client of s.
func (s *server) env() []string {
	return []string{"LEDGERHOOK_URL=" + s.URL, "LEDGERHOOK_TOKEN=t0ken"}
}

func (s *server) last(t *testing.T) request {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) == 0 {
		t.Fatal("the server was not asked")
	}
	return s.asked[len(s.asked)-1]
}

// has checks a result in one go.
func (r result) has(t *testing.T, code int, says string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", r.code, code, r.out, r.errors)
	}
	if !strings.Contains(r.errors, says) {
		t.Errorf("stderr %q does not say %q", r.errors, says)
	}
}

func problemAnswer(status int, detail string) []string {
	return []string{fmt.Sprintf(`%d {"type":"about:blank","title":"T","status":%d,"detail":%q}`, status, status, detail)}
}
