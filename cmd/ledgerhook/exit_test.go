package main

import (
	"crypto/tls"
	"io"
	"ledgerhook/web"
	"ledgerhook/web/webtest"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestEveryRefusalHasItsExitCodeAndOneLine(t *testing.T) {
	t.Parallel()
	const path = "POST /internal/v1/endpoints/ep_1/pause"
	for _, test := range []struct {
		answer string
		code   int
		says   string
	}{
		{`404 {"detail":"there is no endpoint ep_1"}`, exitNotFound, "ledgerhook: there is no endpoint ep_1\n"},
		{`401 {"detail":"no"}`, exitNotAllowed, "refuses the token of LEDGERHOOK_TOKEN"},
		{`403 {"detail":"not from here"}`, exitNotAllowed, "ledgerhook: not from here\n"},
		{`409 {"detail":"the endpoint is removed"}`, exitChanged, "ledgerhook: the endpoint is removed\n"},
		{`400 {"detail":"wrong","errors":[{"pointer":"/url","detail":"must be https"},{"parameter":"limit","detail":"at most 500"}]}`,
			exitFailed, "ledgerhook: wrong (url: must be https; limit: at most 500)\n"},
		{`400 {"detail":"/url must be https","errors":[{"pointer":"/url","detail":"must be https"}]}`,
			exitFailed, "ledgerhook: /url must be https\n"},
		{`503 {"title":"Service Unavailable"}`, exitFailed, "ledgerhook: Service Unavailable\n"},
		{`504 {}`, exitTimedOut, "the server answered 504 Gateway Timeout"},
		{`502 <html>`, exitFailed, "the server answered 502 Bad Gateway"},
		{`200 <html>`, exitFailed, "does not answer like a Ledgerhook server"},
		{"400 {\"detail\":\"two\\nlines \\u001b[31m\"}", exitFailed, "ledgerhook: two; lines \\x1b[31m\n"},
		{`200 {}`, exitOK, "endpoint ep_1 is paused"},
	} {
		s := newServer(t, map[string][]string{path: {test.answer}})
		got := runProgram(t, s.env(), "", "endpoint", "pause", "ep_1")
		got.has(t, test.code, test.says)
		if strings.Count(got.errors, "\n") != 1 || got.out != "" {
			t.Errorf("%s: want one line on stderr and nothing on stdout, got %q and %q", test.answer, got.errors, got.out)
		}
	}
}

func TestAWrongCommandLineIsAUsageError(t *testing.T) {
	for _, args := range []string{
		"bogus", "partner", "partner bogus", "partner show", "partner show a b", "deliveries list --bogus", "deliveries list --limit 0",
		"deliveries list --limit x", "token create a", "token create a --scopes read --days 0", "token create a --scopes read --days 366", "deliveries list --since yesterday", "send acme", "endpoint add acme", "keygen", "keygen --out k --bits 1024",
		"completion", "completion foo", "help foo", "help partner foo", "listen --status 99", "listen --secret whsec_short", "verify", "verify body.json", "demo --duration -1s", "sign", "sign bogus",
	} {
		got := run(t, []string{"LEDGERHOOK_TOKEN=t"}, "", strings.Fields(args)...)
		got.has(t, exitUsage, "ledgerhook: ")
		if strings.Count(got.errors, "\n") != 1 {
			t.Errorf("%s: want one line, got %q", args, got.errors)
		}
	}
}

func TestTheTokenIsFoundWhereAServerKeepsIt(t *testing.T) {
	t.Parallel()
	s := newServer(t, map[string][]string{"GET /internal/v1/partners": {`200 {"items":[]}`}})
	for _, test := range []struct {
		name string
		env  []string
		file string
	}{
		{"given", []string{"LEDGERHOOK_TOKEN=right", "LEDGERHOOK_TOKEN_FILE=other"}, ""},
		{"in a file", []string{"LEDGERHOOK_TOKEN_FILE=secret"}, "secret"},
		{"in the data directory", []string{"LEDGERHOOK_DATA_DIR=state"}, "state/internal-token"},
		{"in ./data", nil, "data/internal-token"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cmd := command(t.Context(), t, append(test.env, "LEDGERHOOK_URL="+s.URL), "partner", "list")
			if test.file != "" {
				writeFile(t, cmd.Dir, test.file, "right\n")
			}
			finish(t, cmd, "").has(t, exitOK, "none found")
			if got := s.last(t).auth; got != "Bearer right" {
				t.Errorf("sent %q", got)
			}
		})
	}
	runProgram(t, []string{"LEDGERHOOK_URL=" + s.URL}, "", "partner", "list").has(t, exitNotAllowed, "no token: set LEDGERHOOK_TOKEN")
	runProgram(t, []string{"LEDGERHOOK_TOKEN_FILE=none"}, "", "partner", "list").has(t, exitNotAllowed, "read the token")
}

func TestAnUnknownAuthorityIsNamedWithItsRemedy(t *testing.T) {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	run(t, []string{"LEDGERHOOK_TOKEN=t", "LEDGERHOOK_URL=" + s.URL}, "", "partner", "list").
		has(t, exitFailed, s.URL+" shows a certificate of an authority that this machine does not know: set SSL_CERT_FILE")
}

// The health check of a container needs no authority: it reads the files that
// the listener shows.
func TestDoctorAsksAListenerThatSpeaksTLS(t *testing.T) {
	dir := t.TempDir()
	chain, key := filepath.Join(dir, "chain.pem"), filepath.Join(dir, "key.pem")
	webtest.Certificate(t, chain, key, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	certificate, err := web.LoadCertificate(chain, key)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Listener = tls.NewListener(s.Listener, certificate.ServerConfig())
	s.Start()
	defer s.Close()
	settings := []string{"LEDGERHOOK_DATA_DIR=" + dir, "LEDGERHOOK_INTERNAL_LISTEN=" + s.Listener.Addr().String(),
		"LEDGERHOOK_INTERNAL_TLS_CERT=" + chain, "LEDGERHOOK_INTERNAL_TLS_KEY=" + key}
	runProgram(t, settings, "", "doctor", "--health").has(t, exitOK, "healthy")
	webtest.Certificate(t, chain, key, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	runProgram(t, settings, "", "doctor", "--health").has(t, exitFailed, "the certificate shown is another than the file's")
}

func TestNoServerSaysHowToStartOne(t *testing.T) {
	s := httptest.NewServer(nil)
	s.Close()
	run(t, []string{"LEDGERHOOK_TOKEN=t", "LEDGERHOOK_URL=" + s.URL}, "", "partner", "list").
		has(t, exitFailed, "no server answers at "+s.URL+": start one with ledgerhook serve, or set LEDGERHOOK_URL")
}

func TestAClientReadsItsOwnSettingsAlone(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{"localhost:8081", "ftp://a.example", "http://127.0.0.1:8081/internal", "http://"} {
		got := runProgram(t, []string{"LEDGERHOOK_TOKEN=t", "LEDGERHOOK_URL=" + wrong}, "", "partner", "show", "acme")
		got.has(t, exitFailed, "ledgerhook: the settings: LEDGERHOOK_URL (url): must be http:// or https:// and a host, without a path, not ")
	}
	s := newServer(t, map[string][]string{"GET /internal/v1/partners": {`200 {"items":[]}`}})
	env := []string{"LEDGERHOOK_TOKEN=t", "LEDGERHOOK_URL=" + s.URL + "/", "LEDGERHOOK_ROLES=worker", "LEDGERHOOK_OF_A_NEWER_SERVER=1"}
	runProgram(t, env, "", "partner", "list").has(t, exitOK, "none found")
}

func TestCtrlCEndsACallWith130(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd := command(t.Context(), t, []string{"LEDGERHOOK_TOKEN=t", "LEDGERHOOK_URL=http://" + l.Addr().String()}, "partner", "list")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit code %d, want %d", code, exitInterrupted)
	}
}

// No pipe holds what is written here, so the program reads when it is written.
func TestCtrlCEndsAReadOfStandardInputWith130(t *testing.T) {
	for _, args := range []string{"send acme --type TopupCard --data -", "verify --secret whsec_x -"} {
		cmd := command(t.Context(), t, []string{"LEDGERHOOK_TOKEN=t"}, strings.Fields(args)...)
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := stdin.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
			t.Errorf("%s: exit code %d, want %d", args, code, exitInterrupted)
		}
	}
}

func writeFile(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := dir + "/" + name
	if i := strings.LastIndex(name, "/"); i >= 0 {
		if err := os.MkdirAll(dir+"/"+name[:i], 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
