package sender

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"ledgerhook/webhook"
)

// answerTest says what is made of one answer. The rows of ssrf_cases.csv go by
// their id; the others by what they are.
type answerTest struct {
	name      string
	serve     handler
	opts      Options
	timeout   time.Duration // default: patience
	outcome   webhook.Outcome
	class     webhook.ErrorClass
	status    int
	truncated bool
	detail    string // part of it; a limit follows if it was up
	check     func(*testing.T, Result)
}

const (
	delivered = webhook.OutcomeDelivered
	failed    = webhook.OutcomeFailed
)

func redirectTest(name, raw, detail string) answerTest {
	status, _ := strconv.Atoi(raw[:3])
	return answerTest{name: name, serve: keep("HTTP/1.1 " + raw + "Content-Length: 0\r\n\r\n"),
		outcome: failed, class: webhook.ErrorRedirect, status: status, detail: detail}
}

func gzipped(zeros int) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(make([]byte, zeros))
	w.Close()
	return b.String()
}

func bodyIs(want string) func(*testing.T, Result) {
	return func(t *testing.T, r Result) {
		if string(r.ResponseBody) != want {
			t.Errorf("kept %d bytes %.40q, want %d bytes %.40q", len(r.ResponseBody), r.ResponseBody, len(want), want)
		}
	}
}

// cut holds that a body that was still coming is told apart from one that broke
// off, and that what came of it is kept.
func cut(t *testing.T, r Result) {
	if !r.BodyCut || len(r.ResponseBody) == 0 || r.Phases.Total > 30*time.Second {
		t.Errorf("cut=%t after %s with %d bytes", r.BodyCut, r.Phases.Total, len(r.ResponseBody))
	}
}

// headersAre holds that the headers are cut or whole, that 8 KiB of them are
// kept at most, and how many bytes of one are.
func headersAre(cut bool, name string, length int) func(*testing.T, Result) {
	return func(t *testing.T, r Result) {
		kept := 0
		for name, values := range r.ResponseHeaders {
			kept += len(values)*len(name) + len(strings.Join(values, ""))
		}
		if got := len(r.ResponseHeaders.Get(name)); r.HeadersCut != cut || kept > webhook.MaxKeptHeaders || got != length {
			t.Errorf("%d bytes of headers are kept, %d of %s, cut=%t", kept, got, name, r.HeadersCut)
		}
	}
}

// short is a limit for what never comes.
const short = 300 * time.Millisecond

var (
	bomb     = gzipped(10 << 20)
	hostile  = "\x1b[2J\x00\xff\xfe\u202e<script>"
	sixteenK = strings.Repeat("x", webhook.MaxKeptBody)
)

func plainAnswer(status, body string) string {
	return "HTTP/1.1 " + status + "\r\nConnection: close\r\n\r\n" + body
}

var answerTests = []answerTest{
	{name: "200", serve: keep(ok), outcome: delivered, status: 200, check: bodyIs("ok")},
	{name: "204", serve: keep("HTTP/1.1 204 No Content\r\n\r\n"), outcome: delivered, status: 204, check: bodyIs("")},
	{name: "299", serve: reply(plainAnswer("299 Fine", "")), outcome: delivered, status: 299},
	{name: "headers of 8 KiB", serve: reply("HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("a", webhook.MaxKeptHeaders-3) + "\r\n\r\n"), outcome: delivered, status: 200,
		check: headersAre(false, "X-A", webhook.MaxKeptHeaders-3)},
	{name: "headers of 8 KiB and a byte", serve: reply("HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("a", webhook.MaxKeptHeaders-2) + "\r\n\r\n"), outcome: delivered, status: 200,
		check: headersAre(true, "X-A", webhook.MaxKeptHeaders-3)},
	{name: "headers of 60 KiB before the one that counts", serve: reply("HTTP/1.1 503 x\r\n" + strings.Repeat("A: "+strings.Repeat("a", 1021)+"\r\n", 60) + "Retry-After: 9\r\n\r\n"),
		outcome: failed, class: webhook.ErrorHTTP5xx, status: 503, check: headersAre(true, "Retry-After", 1)},
	{name: "400", serve: reply(plainAnswer("400 Bad", "why")), outcome: failed, class: webhook.ErrorHTTP4xx, status: 400,
		detail: "answered 400 Bad Request", check: bodyIs("why")},
	{name: "410", serve: reply(plainAnswer("410 Gone", "")), outcome: failed, class: webhook.ErrorHTTP4xx, status: 410},
	{name: "429", serve: reply("HTTP/1.1 429 x\r\nRetry-After: 120\r\n\r\n"), outcome: failed, class: webhook.ErrorHTTP4xx,
		status: 429},
	{name: "500", serve: reply(plainAnswer("500 x", "")), outcome: failed, class: webhook.ErrorHTTP5xx, status: 500,
		detail: "answered 500 Internal Server Error"},
	{name: "599", serve: reply(plainAnswer("599 x", "")), outcome: failed, class: webhook.ErrorHTTP5xx, status: 599, detail: "answered 599"},
	{name: "101", serve: hold("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nhello"),
		outcome: failed, class: webhook.ErrorProtocol, status: 101, detail: "answered 101"},
	{name: "099", serve: reply(plainAnswer("099 x", "")), outcome: failed, class: webhook.ErrorProtocol, status: 99},
	{name: "600", serve: reply(plainAnswer("600 x", "")), outcome: failed, class: webhook.ErrorProtocol, status: 600},
	{name: "999", serve: reply(plainAnswer("999 x", "")), outcome: failed, class: webhook.ErrorProtocol, status: 999},

	{name: "2 MB body", serve: hold("HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n" + strings.Repeat("x", 2000000)),
		outcome: delivered, status: 200, truncated: true, detail: "longer than 64 KiB", check: bodyIs(sixteenK)},
	{name: "body of 16 KiB", serve: reply(plainAnswer("200 OK", sixteenK)), outcome: delivered, status: 200, check: bodyIs(sixteenK)},
	{name: "body of 16 KiB and a byte", serve: reply(plainAnswer("200 OK", sixteenK+"y")), outcome: delivered, status: 200,
		truncated: true, check: bodyIs(sixteenK)},
	{name: "body of 64 KiB", serve: reply(plainAnswer("200 OK", sixteenK+sixteenK+sixteenK+sixteenK)), outcome: delivered,
		status: 200, truncated: true, check: bodyIs(sixteenK)},
	{name: "cut in the middle", serve: reply("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), outcome: delivered,
		status: 200, truncated: true, detail: "broke off after 4 bytes", check: bodyIs("half")},
	{name: "reset in the middle", serve: reset("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"), outcome: delivered,
		status: 200, truncated: true, detail: "broke off after 0 bytes"},
	{name: "malformed chunks", serve: reply("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello"), outcome: delivered,
		status: 200, truncated: true, detail: "broke off"},
	{name: "500 cut in the middle", serve: reply("HTTP/1.1 500 x\r\nContent-Length: 100\r\n\r\nhalf"), outcome: failed,
		class: webhook.ErrorHTTP5xx, status: 500, truncated: true, check: bodyIs("half")},
	{name: "not UTF-8", serve: reply(plainAnswer("200 OK", "\xff\xfe")), outcome: delivered, status: 200, check: bodyIs("\xff\xfe")},
	{name: "NUL", serve: reply(plainAnswer("200 OK", "a\x00b")), outcome: delivered, status: 200, check: bodyIs("a\x00b")},
	{name: "gzip", serve: reply(plainAnswer("200 OK\r\nContent-Encoding: gzip", gzipped(9))), outcome: delivered, status: 200,
		check: bodyIs(gzipped(9))},

	{name: "headers that never end", serve: repeat("HTTP/1.1 200 OK\r\n", "X-A: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n", 0),
		outcome: failed, class: webhook.ErrorProtocol, detail: "headers exceeded 65536 bytes"},
	{name: "one header line that never ends", serve: repeat("HTTP/1.1 200 OK\r\nX-A: ", sixteenK, 0),
		outcome: failed, class: webhook.ErrorProtocol, detail: "headers exceeded 65536 bytes"},
	{name: "1xx that never end", serve: repeat("", "HTTP/1.1 103 Early Hints\r\n\r\n", 0),
		outcome: failed, class: webhook.ErrorProtocol, detail: "headers exceeded 65536 bytes"},
	{name: "slow 1xx that never end", serve: repeat("", "HTTP/1.1 103 Early Hints\r\n\r\n", 20*time.Millisecond),
		timeout: short, outcome: failed, class: webhook.ErrorTimeout, detail: "no complete answer headers within "},
	{name: "silence", serve: hold(""), timeout: short, outcome: failed, class: webhook.ErrorTimeout,
		detail: "no complete answer headers within "},
	{name: "closed without an answer", serve: reply(""), outcome: failed, class: webhook.ErrorReset, detail: "before an answer came"},
	{name: "reset without an answer", serve: reset(""), outcome: failed, class: webhook.ErrorReset, detail: "before an answer came"},
	{name: "closed within the headers", serve: reply("HTTP/1.1 200 OK\r\nX-A: b\r\n"), outcome: failed, class: webhook.ErrorReset,
		detail: "before the answer's headers were complete"},
	{name: "garbage", serve: reply("\x00\x01\x1b[2J\xffgarbage\r\n\r\n"), outcome: failed, class: webhook.ErrorProtocol,
		detail: "no valid HTTP/1.1"},
	{name: "HTTP/0.9", serve: reply("<html>hello</html>\n"), outcome: failed, class: webhook.ErrorProtocol},
	{name: "bad header line", serve: reply("HTTP/1.1 200 OK\r\nno colon\r\n\r\n"), outcome: failed, class: webhook.ErrorProtocol},
	{name: "two lengths", serve: reply("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx"), outcome: failed,
		class: webhook.ErrorProtocol},

	redirectTest("302", "302 Found\r\nLocation: https://user:s3cret@other.example.com/a?token=t#f\r\n",
		"register the target https://other.example.com/a"),
	redirectTest("304", "304 Not Modified\r\n", "no usable target"),
	redirectTest("302 to nonsense", "302 Found\r\nLocation: http://[::1\r\n", "no usable target"),

	redirectTest("redir00", "301 x\r\nLocation: https://partner.example.com/new\r\n", "https://partner.example.com/new"),
	redirectTest("redir02", "303 x\r\nLocation: https://other.example.com/\r\n", "https://other.example.com/"),
	redirectTest("redir03", "307 x\r\nLocation: https://127.0.0.1/\r\n", "https://127.0.0.1/"),
	redirectTest("redir04", "308 x\r\nLocation: file:///etc/passwd\r\n", "file:///etc/passwd"),
	redirectTest("redir06", "300 x\r\nLocation:\r\n", "no usable target"),

	{name: "resp00", serve: repeat("HTTP/1.1 200 OK\r\n\r\n", sixteenK, 0), outcome: delivered, status: 200, truncated: true,
		detail: "longer than 64 KiB", check: bodyIs(sixteenK)},
	{name: "resp01", serve: reply(plainAnswer("200 OK\r\nContent-Encoding: gzip", bomb)), outcome: delivered, status: 200,
		truncated: len(bomb) > webhook.MaxKeptBody, check: bodyIs(bomb[:min(len(bomb), webhook.MaxKeptBody)])},
	{name: "resp03", serve: repeat("HTTP/1.1 200 OK\r\nX-A: ", "a", 20*time.Millisecond), timeout: short,
		outcome: failed, class: webhook.ErrorTimeout, detail: "no complete answer headers within "},
	{name: "resp04", serve: repeat("HTTP/1.1 200 OK\r\n\r\na", "a", 20*time.Millisecond), opts: Options{BodyTimeout: short}, outcome: delivered,
		status: 200, truncated: true, detail: "did not end in time", check: cut},
	{name: "an error that drips", serve: repeat("HTTP/1.1 500 x\r\n\r\na", "a", 20*time.Millisecond), opts: Options{BodyTimeout: short},
		outcome: failed, class: webhook.ErrorHTTP5xx, status: 500, truncated: true, check: cut},
	{name: "resp05", serve: reply(strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 100) + ok), outcome: delivered, status: 200},
	{name: "resp11", serve: reset("HTTP/1.1 200 OK\r\nX-A: "), outcome: failed, class: webhook.ErrorReset},
	{name: "resp12", serve: hold("HTTP/1.1 200 OK\r\nContent-Length: 5368709120\r\n\r\n"), opts: Options{BodyTimeout: short}, outcome: delivered,
		status: 200, truncated: true, detail: "in time: 0 bytes came", check: bodyIs("")},
	{name: "resp13", serve: reply("hello\r\n"), outcome: failed, class: webhook.ErrorProtocol},
	{name: "resp15", serve: reply("HTTP/1.1 503 x\r\nRetry-After: 99999999999\r\n\r\n"), outcome: failed, class: webhook.ErrorHTTP5xx,
		status: 503},
	{name: "resp16", serve: reply("HTTP/1.1 503 x\r\nRetry-After: -1\r\n\r\n"), outcome: failed, class: webhook.ErrorHTTP5xx,
		status: 503},
	{name: "resp17", serve: reply(plainAnswer("400 x", hostile)), outcome: failed, class: webhook.ErrorHTTP4xx, status: 400,
		detail: "answered 400 Bad Request", check: bodyIs(hostile)},
}

func TestEveryAnswerIsOneAttemptWithOneOutcome(t *testing.T) {
	for _, tt := range answerTests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var target *receiver
			var r Result
			for limit := cmp.Or(tt.timeout, patience); ; limit *= 4 {
				target, tt.opts.Timeout = receive(t, nil, tt.serve), limit
				r = newSender(t, tt.opts).Send(t.Context(), Request{URL: target.url, Body: body})
				// A limit that was up before the request came says nothing of its answer.
				if tt.class != webhook.ErrorTimeout || target.requests.Load() > 0 || limit > patience {
					break
				}
			}
			if tt.class == webhook.ErrorTimeout {
				tt.detail += tt.opts.Timeout.String()
			}
			if r.Outcome != tt.outcome || r.ErrorClass != tt.class || r.StatusCode != tt.status || r.Truncated != tt.truncated {
				t.Errorf("got %s %q %d truncated=%t (%s), want %s %q %d truncated=%t", r.Outcome, r.ErrorClass, r.StatusCode,
					r.Truncated, r.ErrorDetail, tt.outcome, tt.class, tt.status, tt.truncated)
			}
			if !strings.Contains(r.ErrorDetail, tt.detail) {
				t.Errorf("detail %q, want one with %q", r.ErrorDetail, tt.detail)
			}
			if tt.check != nil {
				tt.check(t, r)
			}
			checkFit(t, r)
			if n := target.requests.Load(); n != 1 {
				t.Errorf("the receiver saw %d requests, want 1", n)
			}
			if r.PeerIP != "127.0.0.1" || r.StartedAt.IsZero() || r.Phases.Total <= 0 || r.Phases.Connect <= 0 {
				t.Errorf("parts of the result are missing: %+v", r)
			}
		})
	}
}

// checkFit holds what every result promises to those who show and log it.
func checkFit(t *testing.T, r Result) {
	t.Helper()
	if !utf8.ValidString(r.ErrorDetail) || strings.ContainsFunc(r.ErrorDetail, unicode.IsControl) {
		t.Errorf("%q is not fit to be shown", r.ErrorDetail)
	}
	if len(r.ErrorDetail) > maxDetail || strings.Contains(r.ErrorDetail, "s3cret") || strings.Contains(r.ErrorDetail, "token=") {
		t.Errorf("detail %q is too long or holds a secret", r.ErrorDetail)
	}
	if len(r.ResponseBody) > webhook.MaxKeptBody {
		t.Errorf("%d bytes are kept", len(r.ResponseBody))
	}
}

// TestEveryResponseVectorHasItsTest compares the names of the tests with the
// rows that speak of answers; those about certificates are in tls_test.go.
func TestEveryResponseVectorHasItsTest(t *testing.T) {
	f, err := os.Open("testdata/ssrf_cases.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, tt := range answerTests {
		have[tt.name] = true
	}
	for _, tt := range certificateTests {
		have[tt.name] = true
	}
	for _, row := range rows {
		if id, stage := row[0], row[3]; stage == "response" && !have[id] {
			t.Errorf("no test is called %s: %s", id, row[7])
		}
	}
}

func TestAHostileAnswerCostsNoMemory(t *testing.T) {
	for name, serve := range map[string]handler{
		"endless body":    repeat("HTTP/1.1 200 OK\r\n\r\n", sixteenK, 0),
		"endless headers": repeat("HTTP/1.1 200 OK\r\nX-A: ", sixteenK, 0),
		"huge length":     hold("HTTP/1.1 200 OK\r\nContent-Length: 5368709120\r\n\r\n" + sixteenK),
		"gzip bomb":       reply(plainAnswer("200 OK\r\nContent-Encoding: gzip", bomb)),
	} {
		t.Run(name, func(t *testing.T) {
			target := receive(t, nil, serve)
			s := newSender(t, Options{BodyTimeout: short})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			s.Send(t.Context(), Request{URL: target.url, Body: body})
			runtime.ReadMemStats(&after)
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
				t.Errorf("one attempt allocated %d bytes", grown)
			}
		})
	}
}

// FuzzAnswer holds that whatever bytes come back, there is one outcome with a
// class exactly when it failed, and that it is fit to be shown.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{ok, "", "HTTP/1.1 302 x\r\nLocation: \x00\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n",
		plainAnswer("400 x", hostile), "HTTP/1.1 100 x\r\n\r\n" + ok} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		target := receive(t, nil, reply(string(raw)))
		r := newSender(t, Options{}).Send(t.Context(), Request{URL: target.url, Body: body, Timeout: 5 * time.Second})
		if (r.Outcome == failed) != slices.Contains(webhook.ErrorClasses, r.ErrorClass) || r.Outcome == webhook.OutcomeUnknown {
			t.Errorf("outcome %q with class %q", r.Outcome, r.ErrorClass)
		}
		if (r.Outcome == delivered) != (r.StatusCode/100 == 2) {
			t.Errorf("outcome %q with status %d", r.Outcome, r.StatusCode)
		}
		checkFit(t, r)
	})
}
