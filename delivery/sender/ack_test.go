package sender

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"ledgerhook/webhook"
)

func TestAnEndpointThatAcknowledgesByBodyMustSaySo(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer string
		acked  bool
		detail string
	}{
		{"success", `{"success":true}`, true, ""},
		{"an object without the word", `{}`, true, ""},
		{"other JSON", `[1]`, true, ""},
		{"success as a text", `{"success":"no"}`, true, ""},
		{"a success that is null", `{"success":null}`, true, ""},
		{"a success of another name", `{"success":true,"SUCCESS":false}`, true, ""},
		{"a denial under another name", `{"Success":false}`, true, ""},
		{"a byte order mark", "\uFEFF" + `{"success":true}`, true, ""},
		{"a denial behind a byte order mark", "\uFEFF" + `{"success":false}`, false, "success: false"},
		{"a denial deep inside", `{"data":{"success":false}}`, true, ""},
		{"denied", `{"success":false}`, false, "success: false"},
		{"denied at last", `{"success":true,"success":false}`, false, "success: false"},
		{"nothing", ``, false, "no JSON"},
		{"a page", `<html>ok</html>`, false, "no JSON"},
		{"OK", `OK`, false, "no JSON"},
		{"half of it", `{"success":true`, false, "no JSON"},
		{"two values", `{} {}`, false, "no JSON"},
		{"NUL", "{}\x00", false, "no JSON"},
		{"deeper than anybody reads", strings.Repeat("[", 30_000), false, "no JSON"},
		{"64 KiB", `"` + strings.Repeat("x", maxReadBody-2) + `"`, true, ""},
		{"longer than 64 KiB", `"` + strings.Repeat("x", maxReadBody) + `"`, false, "longer than 64 KiB"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := acknowledge(t, reply(plainAnswer("200 OK", test.answer)))
			if test.acked != (r.Outcome == webhook.OutcomeDelivered) || (r.ErrorClass == webhook.ErrorBadAck) == test.acked {
				t.Errorf("%s %s: %s", r.Outcome, r.ErrorClass, r.ErrorDetail)
			}
			if !test.acked && !strings.Contains(r.ErrorDetail, test.detail) {
				t.Errorf("the detail is %q, want %q", r.ErrorDetail, test.detail)
			}
		})
	}
	cut := acknowledge(t, reply("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}"))
	if cut.ErrorClass != webhook.ErrorBadAck || !strings.Contains(cut.ErrorDetail, "broke off") {
		t.Errorf("a body cut in the middle: %s %s: %s", cut.Outcome, cut.ErrorClass, cut.ErrorDetail)
	}
	slow := newSender(t, Options{BodyTimeout: short}).Send(t.Context(), Request{Body: []byte("{}"), AckBody: true,
		URL: receive(t, nil, func(c net.Conn, _ *http.Request) bool {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n")
			<-time.After(2 * short)
			io.WriteString(c, `{"success":true}`)
			return true
		}).url})
	if slow.Outcome != webhook.OutcomeDelivered {
		t.Errorf("a body that comes later than others may: %s %s: %s", slow.Outcome, slow.ErrorClass, slow.ErrorDetail)
	}
	if r := acknowledge(t, reply(plainAnswer("500 x", `{"success":true}`))); r.ErrorClass != webhook.ErrorHTTP5xx {
		t.Errorf("an answer of 500 that says success: %s %s", r.Outcome, r.ErrorClass)
	}
}

func acknowledge(t *testing.T, answer handler) Result {
	t.Helper()
	s := newSender(t, Options{})
	return s.Send(t.Context(), Request{URL: receive(t, nil, answer).url, Body: []byte("{}"), AckBody: true})
}
