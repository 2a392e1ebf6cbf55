package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds a wait for another process on a busy machine.
const patience = 2 * time.Minute

// waitLine reads lines until one holds text, and returns it.
func waitLine(t *testing.T, r io.Reader, text string) (string, *bufio.Reader) {
	t.Helper()
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if strings.Contains(line, text) {
			return line, lines
		}
		if err != nil {
			t.Fatalf("no line with %q: %v", text, err)
		}
	}
}

// startServer runs "serve" on ports of its own and returns where its internal
// listener is.
func startServer(ctx context.Context, t *testing.T, env ...string) (serve *exec.Cmd, internal string) {
	t.Helper()
	serve = command(ctx, t, append(env, "LEDGERHOOK_LISTEN=127.0.0.1:0", "LEDGERHOOK_INTERNAL_LISTEN=127.0.0.1:0"), "serve")
	log, err := serve.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	line, rest := waitLine(t, log, `"internal":"`)
	go func() { _, _ = io.Copy(io.Discard, rest) }()
	var said struct{ Internal string }
	if err := json.Unmarshal([]byte(line), &said); err != nil {
		t.Fatal(err)
	}
	return serve, said.Internal
}

func TestTheDemoDeliversAndVerifiesEverything(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := command(ctx, t, nil, "demo", "--duration", "4s", "--json")
	got := finish(t, cmd, "")
	got.has(t, exitOK, "")
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	var sum struct{ Accepted, Delivered, Verified, Retried, Lost int }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &sum); err != nil {
		t.Fatalf("the last line is not the summary: %v\n%s", err, got.out)
	}
	if sum.Accepted == 0 || sum.Delivered != sum.Accepted || sum.Verified != sum.Accepted || sum.Lost != 0 {
		t.Errorf("%+v", sum)
	}
	if left, _ := os.ReadDir(cmd.Dir); len(left) > 0 {
		t.Errorf("left %v behind", left)
	}
	if strings.Contains(got.out, "\x1b") {
		t.Error("colours where there is no terminal")
	}
}

func TestCtrlCEndsADemoWithItsSummary(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := command(ctx, t, []string{"LEDGERHOOK_LISTEN=127.0.0.1:0", "LEDGERHOOK_INTERNAL_LISTEN=127.0.0.1:0", "LEDGERHOOK_DATA_DIR=kept"}, "demo")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, rest := waitLine(t, out, "✓ verified")
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	end, _ := io.ReadAll(rest)
	if err := cmd.Wait(); err != nil || !strings.Contains(string(end), "every event was delivered and verified") {
		t.Errorf("ended with %v and\n%s", err, end)
	}
	if _, err := os.Stat(filepath.Join(cmd.Dir, "kept", "ledger.db")); err != nil {
		t.Errorf("a data directory that was given is not kept: %v", err)
	}
}

// A day at the command line, with every part real: a server, a partner, its
// receiver, an event.
func TestFromAnEmptyDirectoryToADeliveredEvent(t *testing.T) {
	t.Parallel()
	_, public := keyPair(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	serve, internal := startServer(ctx, t, "LEDGERHOOK_DELIVERY_ALLOW_CIDRS=127.0.0.0/8")
	client := []string{"LEDGERHOOK_URL=" + internal, "LEDGERHOOK_DATA_DIR=" + filepath.Join(serve.Dir, "data")}
	do := func(stdin string, code int, args ...string) result {
		t.Helper()
		got := runProgram(t, client, stdin, args...)
		got.has(t, code, "")
		return got
	}
	field := func(out, name string) string { t.Helper(); return result{out: out}.field(t, name) }

	made := do("", exitOK, "partner", "create", "acme", "--public-key", public, "--name", "Acme").out
	gateway := writeFile(t, t.TempDir(), "gateway.pem", made[strings.Index(made, "-----BEGIN"):])
	listen := command(ctx, t, nil, "listen", "--addr", "127.0.0.1:0", "--public-key", gateway, "--secret", field(made, "webhook secret"))
	messages, _ := listen.StderrPipe()
	out, _ := listen.StdoutPipe()
	if err := listen.Start(); err != nil {
		t.Fatal(err)
	}
	ready, _ := waitLine(t, messages, "listening on ")
	url := strings.Split(strings.TrimPrefix(ready, "listening on "), ",")[0]

	ep := field(do("", exitOK, "endpoint", "add", "acme", "--url", url+"/hook").out, "endpoint")
	if got := do("", exitOK, "endpoint", "test", ep); !strings.Contains(got.out, "✓ the endpoint answered 200") {
		t.Errorf("the test says %q", got.out)
	}
	data := `{"id":"top_1","cardId":"card_1","amount":250000,"fee":"1250.50","status":"Completed","createdAt":1767225600}`
	dlv := field(do(data, exitOK, "send", "acme", "--type", "TopupCard", "--data", "-").out, "delivery")
	if line, _ := waitLine(t, out, "TopupCard"); !strings.Contains(line, "✓ rsa  ✓ standard") {
		t.Errorf("the receiver says %q", line)
	}
	do(data, exitOK, "send", "acme", "--type", "TopupCard", "--data", "-").has(t, exitOK, "already known")
	do(strings.Replace(data, "250000", "1", 1), exitChanged, "send", "acme", "--type", "TopupCard", "--data", "-")
	do(`{"id":"top_2"}`, exitFailed, "send", "acme", "--type", "TopupCard", "--data", "-").has(t, exitFailed, "amount")
	if got := do("", exitOK, "deliveries", "show", dlv); field(got.out, "state") == "exhausted" {
		t.Errorf("the delivery reads\n%s", got.out)
	}
	do("", exitNotFound, "deliveries", "show", "dlv_01JD0000000000000000000000")
	do("", exitOK, "partner", "disable", "acme")
	do("", exitOK, "partner", "enable", "acme")
	secret := field(do("", exitOK, "secret", "create", "acme").out, "secret id")
	do("", exitOK, "secret", "activate", "acme", secret)
	if got := do("", exitOK, "secret", "list", "acme"); !strings.Contains(got.out, "retiring") {
		t.Errorf("no secret retires:\n%s", got.out)
	}
	do("", exitOK, "doctor", "--health")
	do("", exitOK, "endpoint", "remove", ep)

	if err := serve.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := serve.Wait(); err != nil {
		t.Errorf("a stop that was asked for is no failure: %v", err)
	}
	_ = listen.Process.Signal(syscall.SIGINT)
	_ = listen.Wait()
}

// The stream of an open page lasts for minutes; a stop ends it.
func TestAnOpenPageHoldsUpNoStop(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	const password = "four plain words here"
	serve, internal := startServer(ctx, t, "LEDGERHOOK_ADMIN_PASSWORD="+password)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	signedIn, err := browser.PostForm(internal+"/ops/login", url.Values{"username": {"admin"}, "password": {password}})
	if err != nil {
		t.Fatal(err)
	}
	_ = signedIn.Body.Close()
	page, err := browser.Get(internal + "/ops/live")
	if err != nil {
		t.Fatal(err)
	}
	defer page.Body.Close()
	_, stream := waitLine(t, page.Body, "retry:")

	if err := serve.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, stream); err != nil {
		t.Errorf("the page was cut off after the stop had waited for it: %v", err)
	}
	if err := serve.Wait(); err != nil {
		t.Errorf("a stop that was asked for is no failure: %v", err)
	}
}
