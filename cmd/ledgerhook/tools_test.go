package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ledgerhook/signer"
	"ledgerhook/webhook"
)

// keyPair makes a key pair with keygen and returns its files.
func keyPair(t *testing.T) (private, public string) {
	t.Helper()
	private = filepath.Join(t.TempDir(), "key.pem")
	run(t, nil, "", "keygen", "--out", private).has(t, exitOK, "")
	return private, strings.TrimSuffix(private, ".pem") + ".pub.pem"
}

func TestKeygenWritesAPairAndNeverOverwrites(t *testing.T) {
	private, public := keyPair(t)
	info, err := os.Stat(private)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the private key has mode %v, %v", info.Mode(), err)
	}
	before, _ := os.ReadFile(private)
	key, err := signer.ParsePrivateKey(before)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(public); !bytes.Equal(text, key.PublicPEM()) {
		t.Error("the public key is not that of the private key")
	}
	run(t, nil, "", "keygen", "--out", private).has(t, exitFailed, "exists; keys are never overwritten")
	if err := os.Remove(public); err != nil {
		t.Fatal(err)
	}
	run(t, nil, "", "keygen", "--out", private).has(t, exitFailed, "key.pem exists")
	if after, _ := os.ReadFile(private); !bytes.Equal(before, after) {
		t.Error("the private key was overwritten")
	}
}

func TestAPartnersRequestIsSignedAndVerifies(t *testing.T) {
	private, public := keyPair(t)
	dir := t.TempDir()
	body := writeFile(t, dir, "body.json", `{"partnerCode":"P1","userEmail":"an@example.com","cryptoCurrency":"USDT","fiatAmount":5e4,"note":"it's <ok>"}`)
	run(t, nil, "", "sign", "review-cashout", "--file", body, "--key", private, "--secret", "sk").has(t, exitFailed, "webhookSecretKey is required")
	body = writeFile(t, dir, "body.json", `{"partnerCode":"P1","userEmail":"an@example.com","cryptoCurrency":"USDT","fiatAmount":5e4,"webhookSecretKey":"w","note":"it's <ok>"}`)
	got := run(t, nil, "", "sign", "review-cashout", "--file", body, "--key", private, "--secret", "sk", "--url", "https://pay.example/")
	got.has(t, exitOK, "")
	if want := "string     P1|an@example.com||50000|USDT|sk\n"; !strings.HasPrefix(got.out, want) {
		t.Errorf("printed %s\nwant it to begin %s", got.out, want)
	}
	if want := "curl -sS 'https://pay.example/api/v2/orders/review-cashout' -H 'Content-Type: application/json'"; !strings.Contains(got.out, want) {
		t.Errorf("printed %s\nwant it to hold %s", got.out, want)
	}
	signed := shellArgument(t, got.out, "--data-binary")
	if !strings.Contains(signed, `"note":"it's <ok>"`) || !strings.Contains(signed, `"fiatAmount":5e4`) {
		t.Errorf("the body's members are not as they were: %s", signed)
	}
	file := writeFile(t, dir, "signed.json", signed)
	verify := []string{"verify", "--operation", "review-cashout", "--public-key", public}
	run(t, nil, "", append(verify, "--secret", "sk", file)...).has(t, exitOK, "")
	bad := run(t, nil, "", append(verify, "--secret", "other", file)...)
	bad.has(t, exitBadSignature, "")
	if !strings.Contains(bad.out, "P1|an@example.com||50000|USDT|other") {
		t.Errorf("does not show what should have been signed: %s", bad.out)
	}
}

func TestAWrongRequestIsToldWhatItSigned(t *testing.T) {
	t.Parallel()
	private, public := keyPair(t)
	_, another := keyPair(t)
	pem, err := os.ReadFile(private)
	if err != nil {
		t.Fatal(err)
	}
	key, err := signer.ParsePrivateKey(pem)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ signed, public, says string }{
		{"P1|An@example.com|VND|50000|USDT|sk", public, ""},
		{"P1|An@example.com|VND|50000.00|USDT|sk", public, `fiatAmount was signed as "50000.00", not as "50000"`},
		{"P1|An@example.com|50000|USDT|sk", public, "fiatCurrency was left out together with its bar"},
		{"P1|an@example.com|VND|50000|USDT|sk", public, `userEmail was signed as "an@example.com"`},
		{"P1|An@example.com|VND|50000|USDT|sk", another, "another key signed"},
		{"P1|An@example.com|VND|50000|USDT|ks", public, "another secretKey was signed"},
	} {
		signature, err := key.Sign([]byte(test.signed))
		if err != nil {
			t.Fatal(err)
		}
		body := `{"partnerCode":"P1","userEmail":"An@example.com","cryptoCurrency":"USDT","fiatCurrency":"VND","fiatAmount":50000,"webhookSecretKey":"w","signature":"` + signature + `"}`
		got := run(t, nil, body, "verify", "--operation", "review-cashout", "--public-key", test.public, "--secret", "sk", "-")
		code := exitBadSignature
		if test.says == "" {
			code = exitOK
		}
		got.has(t, code, "")
		if !strings.Contains(got.out, test.says) {
			t.Errorf("signed %s: says %s, want %q", test.signed, got.out, test.says)
		}
	}
}

func TestAResponseVerifiesByTheGatewaysKey(t *testing.T) {
	private, public := keyPair(t)
	pem, err := os.ReadFile(private)
	if err != nil {
		t.Fatal(err)
	}
	key, err := signer.ParsePrivateKey(pem)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := key.Sign([]byte("O-1|CASHOUT|50000|SUCCESS|sk"))
	if err != nil {
		t.Fatal(err)
	}
	body := `{"externalOrderId":"O-1","type":"CASHOUT","fiatAmount":50000,"status":"SUCCESS","paidAmount":1,"signature":"` + signature + `"}`
	args := []string{"verify", "--response", "create-cashout", "--public-key", public, "--secret", "sk", "-"}
	run(t, nil, body, args...).has(t, exitOK, "")
	bad := run(t, nil, strings.Replace(body, "50000", "50001", 1), args...)
	if bad.has(t, exitBadSignature, ""); !strings.Contains(bad.out, "O-1|CASHOUT|50001|SUCCESS|sk") {
		t.Errorf("does not show what is signed: %s", bad.out)
	}
	run(t, nil, `{"externalOrderId":"O-1"}`, args...).has(t, exitFailed, "signature must be a string")
	run(t, nil, body, "verify", "--response", "access-token", "--public-key", public, "--secret", "sk", "-").has(t, exitUsage, "--response must be one of verify, review-cashout")
	run(t, nil, body, append(args, "--operation", "verify")...).has(t, exitUsage, "not both")
}

// shellArgument lets a shell read the curl line and returns what follows flag.
func shellArgument(t *testing.T, out, flag string) string {
	t.Helper()
	_, line, _ := strings.Cut(out, "curl ")
	script := `while [ $# -gt 0 ]; do [ "$1" = ` + flag + ` ] && printf %s "$2"; shift; done`
	got, err := exec.Command("sh", "-c", "set -- "+line+"\n"+script).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

// signedNotification signs data and returns the headers, one a line, and the body.
func signedNotification(t *testing.T, private, secret string) (headers, body string) {
	t.Helper()
	text, err := os.ReadFile(private)
	if err != nil {
		t.Fatal(err)
	}
	key, err := signer.ParsePrivateKey(text)
	if err != nil {
		t.Fatal(err)
	}
	lines, raw, err := notification(webhook.TopupCard, "evt_1", []byte(`{"status":"Completed","id":"tp_1","amount":1.50}`), key, secret)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n"), string(raw)
}

func TestAKeptNotificationVerifiesOrTellsWhyNot(t *testing.T) {
	t.Parallel()
	private, public := keyPair(t)
	_, other := keyPair(t)
	secret := signer.NewWebhookSecret()
	headers, body := signedNotification(t, private, secret)
	long := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	old, err := signer.StandardSignature([]string{secret}, "evt_1", long, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	flags := []string{}
	for h := range strings.SplitSeq(headers, "\n") {
		flags = append(flags, "--header", h)
	}
	flags = slices.Clip(flags) // every case appends to it
	request := "POST /hook HTTP/1.1\r\nHost: a\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n" +
		strings.ReplaceAll(headers, "\n", "\r\n") + "\r\n\r\n" + body
	for _, test := range []struct {
		name  string
		file  string
		flags []string
		code  int
		says  string // on stdout, or on stderr for errors
	}{
		{"RSA alone", body, []string{"--public-key", public}, exitOK, "RSA signature  ✓ right"},
		{"another key", body, []string{"--public-key", other}, exitBadSignature, "✗ wrong  signed by another key"},
		{"a changed amount", strings.Replace(body, "1.5", "9.5", 1), []string{"--public-key", public}, exitBadSignature, "data is not the signed data"},
		{"headers from flags", body, append(flags, "--secret", secret), exitOK, "Standard Webhooks  ✓ right  sent "},
		{"a whole request", request, []string{"--public-key", public, "--secret", secret}, exitOK, "Standard Webhooks  ✓ right"},
		{"a request whose line ends were changed", strings.ReplaceAll(request, "\r\n", "\n") + "\n", []string{"--secret", secret}, exitOK, "✓ right"},
		{"the retiring secret beside the new one", body, append(flags, "--secret", signer.NewWebhookSecret(), "--secret", secret), exitOK, "✓ right"},
		{"another secret", body, append(flags, "--secret", signer.NewWebhookSecret()), exitBadSignature, "another secret, or the body is not exactly"},
		{"a line end an editor added", body + "\n", append(flags, "--secret", secret), exitOK, "without the line end"},
		{"no headers", body, []string{"--secret", secret}, exitBadSignature, "the header webhook-id is missing: give it with --header"},
		{"an old one", body, []string{"--secret", secret, "--header", "webhook-id: evt_1", "--header", "webhook-timestamp: " + strconv.FormatInt(long.Unix(), 10),
			"--header", "webhook-signature: " + old}, exitOK, "sent 2024-01-02 03:04:05; a receiver would refuse it now"},
		{"a cut request", request[:len(request)-3], []string{"--secret", secret}, exitFailed, "it was cut or changed"},
		{"something else", "hello", []string{"--secret", secret}, exitFailed, "neither a JSON body nor an HTTP request"},
		{"a header without a name", body, []string{"--secret", secret, "--header", "x"}, exitUsage, "--header must be like"},
		{"a private key", body, []string{"--public-key", private}, exitFailed, "this is a private key"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := run(t, nil, test.file, append(append([]string{"verify"}, test.flags...), "-")...)
			got.has(t, test.code, "")
			if !strings.Contains(got.out+got.errors, test.says) {
				t.Errorf("does not say %q:\n%s%s", test.says, got.out, got.errors)
			}
			if strings.Contains(got.out+got.errors, secret) {
				t.Error("shows the secret")
			}
		})
	}
}

// listener is a running "ledgerhook listen" and what it prints.
type listener struct {
	*exec.Cmd
	url             string
	messages, lines *bufio.Scanner
}

// listen starts one on a port of its own and reads where it is.
func listen(t *testing.T, flags ...string) listener {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := command(ctx, t, nil, append([]string{"listen", "--addr", "127.0.0.1:0"}, flags...)...)
	errs, _ := cmd.StderrPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	l := listener{Cmd: cmd, messages: bufio.NewScanner(errs), lines: bufio.NewScanner(out)}
	l.messages.Scan()
	l.url = regexp.MustCompile(`http://[0-9.:]+`).FindString(l.messages.Text())
	return l
}

func (l listener) interrupt(t *testing.T) {
	t.Helper()
	if err := l.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
}

func TestAListenerVerifiesPrintsAndAnswersAsTold(t *testing.T) {
	t.Parallel()
	private, public := keyPair(t)
	secret := signer.NewWebhookSecret()
	l := listen(t, "--public-key", public, "--secret", secret, "--fail-first", "1", "--status", "204")
	headers, body := signedNotification(t, private, secret)
	post := func(body string) int {
		req, _ := http.NewRequest(http.MethodPost, l.url+"/any/path", strings.NewReader(body))
		for h := range strings.SplitSeq(headers, "\n") {
			name, value, _ := strings.Cut(h, ": ")
			req.Header.Set(name, value)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	for i, test := range []struct {
		body   string
		status int
		line   string
	}{
		{body, 503, "✓ rsa  ✓ standard"}, {body, 204, "✓ rsa  ✓ standard  seen 2 times"},
		{strings.Replace(body, "1.5", "2.5", 1), 401, "✗ rsa  ✗ standard"},
	} {
		if got := post(test.body); got != test.status {
			t.Errorf("request %d: answered %d, want %d", i, got, test.status)
		}
		l.lines.Scan()
		if line := l.lines.Text(); !strings.Contains(line, test.line) || !strings.Contains(line, strconv.Itoa(test.status)) {
			t.Errorf("request %d: printed %q, want %q in it", i, line, test.line)
		}
		l.lines.Scan()
		if test.status == 401 {
			if !strings.Contains(l.lines.Text(), "the signature does not verify") {
				t.Errorf("request %d: printed %q, want what is wrong", i, l.lines.Text())
			}
			l.lines.Scan()
		}
		if want := `"id":"tp_1","status":"Completed"}`; !strings.HasSuffix(l.lines.Text(), want) {
			t.Errorf("request %d: printed %q, want the data", i, l.lines.Text())
		}
	}
	l.interrupt(t)
	l.messages.Scan()
	if want := "3 requests, 1 refused"; !strings.Contains(l.messages.Text(), want) {
		t.Errorf("ended with %q, want %q", l.messages.Text(), want)
	}
	if err := l.Wait(); err != nil {
		t.Errorf("Ctrl-C is how a listener ends: %v", err)
	}
}

// A first look with curl has neither a signature nor an id.
func TestAListenerThatVerifiesNothingAnswersEveryPostAsTold(t *testing.T) {
	l := listen(t, "--fail-first", "1", "--status", "202")
	if l.messages.Scan(); !strings.Contains(l.messages.Text(), "nothing is verified") {
		t.Errorf("says %q", l.messages.Text())
	}
	for i, want := range []int{503, 202, 202} {
		body := "hello " + strconv.Itoa(i)
		res, err := http.Post(l.url, "text/plain", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("request %d: answered %d, want %d", i, res.StatusCode, want)
		}
		l.lines.Scan()
		if got := strings.Fields(l.lines.Text()); len(got) != 3 || got[1] != strconv.Itoa(want) || got[2] != "-" {
			t.Errorf("request %d: printed %q", i, l.lines.Text())
		}
		if l.lines.Scan(); strings.TrimSpace(l.lines.Text()) != body {
			t.Errorf("request %d: printed %q, want the body", i, l.lines.Text())
		}
	}
	l.interrupt(t)
	if err := l.Wait(); err != nil {
		t.Errorf("Ctrl-C is how a listener ends: %v", err)
	}
}

// What libraries print by the default logger is a warning of the listener's, as
// net/http does of a handler that panics. Not in parallel: it is the process's.
func TestWhatLibrariesPrintIsTheListenersAndHoldsNoPayload(t *testing.T) {
	to, flags := log.Writer(), log.Flags()
	t.Cleanup(func() { log.SetOutput(to); log.SetFlags(flags) })
	said, out := io.Pipe()
	c := &cli{out: io.Discard, err: out}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	ended := make(chan error, 1)
	go func() {
		ended <- c.receive(ctx, "127.0.0.1:0", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(errors.New(`"s3cret"`)) }), &printer{cli: c, rsa: true})
		out.Close()
	}()
	messages := bufio.NewScanner(said)
	messages.Scan()
	url := regexp.MustCompile(`http://[0-9.:]+`).FindString(messages.Text())
	go func() {
		if response, err := http.Get(url); err == nil {
			response.Body.Close()
		}
		end()
	}()
	messages.Scan()
	if line := messages.Text(); !strings.Contains(line, `"level":"WARN"`) || !strings.Contains(line, "panic serving") || strings.Contains(line, "s3cret") {
		t.Errorf("says %s", line)
	}
	for messages.Scan() {
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestVersionAndCompletionNeedNothing(t *testing.T) {
	if got := runProgram(t, nil, "", "version"); got.code != exitOK || !strings.HasPrefix(got.out, "ledgerhook  dev\n") {
		t.Errorf("version: %+v", got)
	}
	if got := runProgram(t, nil, "", "completion", "bash"); got.code != exitOK || !strings.Contains(got.out, "complete ") {
		t.Errorf("completion exits %d", got.code)
	}
	got := runProgram(t, nil, "", "__complete", "deliveries", "list", "--state", "")
	if !strings.Contains(got.out, "exhausted\n") {
		t.Errorf("states are not completed: %s", got.out)
	}
}

func TestHealthAsksTheServerItself(t *testing.T) {
	t.Parallel()
	s := newServer(t, map[string][]string{"GET /healthz": {`200 {}`, `503 {}`}})
	env := []string{"LEDGERHOOK_URL=" + s.URL}
	runProgram(t, env, "", "doctor", "--health").has(t, exitOK, "healthy")
	runProgram(t, env, "", "doctor", "--health").has(t, exitFailed, "not healthy")
	internal := []string{"LEDGERHOOK_INTERNAL_LISTEN=0.0.0.0:" + s.URL[strings.LastIndex(s.URL, ":")+1:]}
	runProgram(t, internal, "", "doctor", "--health").has(t, exitFailed, s.URL+" answered 503")
	runProgram(t, []string{"LEDGERHOOK_RETENTION=soon"}, "", "doctor", "--health").has(t, exitFailed, "LEDGERHOOK_RETENTION")
}

func TestTheDoctorNamesSettingsThatNoServerStartsWith(t *testing.T) {
	for setting, value := range map[string]string{"LEDGERHOOK_RETENTION": "soon", "LEDGERHOOK_ADMIN_PASSWORD": "password1"} {
		if got := runProgram(t, []string{setting + "=" + value}, "", "doctor"); got.code != exitDegraded || !strings.Contains(got.out, setting) {
			t.Errorf("exit code %d\n%s", got.code, got.out)
		}
	}
}
