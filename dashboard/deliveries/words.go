package deliveries

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"ledgerhook/dashboard/locale"
	"ledgerhook/ledger/reports"
	"ledgerhook/webhook"
)

// Say is shell.Request.T: a text in the reader's language.
type Say func(text string, args ...any) string

// classWords are the error classes in words.
var classWords = map[webhook.ErrorClass]string{
	webhook.ErrorDNS:      locale.Text("host name not found"),
	webhook.ErrorConnect:  locale.Text("no connection"),
	webhook.ErrorTLS:      locale.Text("TLS failed"),
	webhook.ErrorTimeout:  locale.Text("no answer in time"),
	webhook.ErrorReset:    locale.Text("connection broke off"),
	webhook.ErrorProtocol: locale.Text("answer is not HTTP"),
	webhook.ErrorRedirect: locale.Text("answered %s, a redirect"),
	webhook.ErrorHTTP4xx:  locale.Text("answered %s"),
	webhook.ErrorHTTP5xx:  locale.Text("answered %s"),
	webhook.ErrorBlocked:  locale.Text("address not allowed"),
	webhook.ErrorBadAck:   locale.Text("answered %s without acknowledging"),
	webhook.ErrorInternal: locale.Text("a fault of the gateway"),
}

// ResultWords is what the newest attempt came to; empty: there was none.
func ResultWords(t Say, last webhook.LastResult) string {
	code := strconv.Itoa(last.StatusCode)
	switch {
	case last.Outcome == "":
		return ""
	case last.Outcome == webhook.OutcomeUnknown:
		return t(locale.Text("outcome unknown"))
	case last.Outcome == webhook.OutcomeDelivered:
		return t(locale.Text("answered %s"), code)
	case classWords[last.ErrorClass] == "":
		return t(locale.Text("failed"))
	}
	switch last.ErrorClass {
	case webhook.ErrorRedirect, webhook.ErrorHTTP4xx, webhook.ErrorHTTP5xx, webhook.ErrorBadAck:
		return t(classWords[last.ErrorClass], code)
	}
	return t(classWords[last.ErrorClass])
}

// triggerWords are what made a delivery or an attempt.
var triggerWords = map[webhook.Trigger]string{
	webhook.TriggerFirst: locale.Text("first"), webhook.TriggerRetry: locale.Text("retry"), webhook.TriggerManual: locale.Text("manual"),
	webhook.TriggerReplay: locale.Text("replay"), webhook.TriggerTest: locale.Text("test"), webhook.TriggerProbe: locale.Text("probe"),
}

// addsToStatus is the detail of an attempt unless it only repeats the status
// that it was answered with.
func addsToStatus(status int, detail string) string {
	if status > 0 && detail == fmt.Sprintf("answered %d %s", status, http.StatusText(status)) {
		return ""
	}
	return detail
}

// waitWords are what an unfinished delivery waits for.
var waitWords = map[webhook.WaitReason]string{
	webhook.WaitQueue:      locale.Text("a worker"),
	webhook.WaitSlot:       locale.Text("room at the endpoint"),
	webhook.WaitRate:       locale.Text("the endpoint's rate limit"),
	webhook.WaitRetry:      locale.Text("the next attempt"),
	webhook.WaitRetryAfter: locale.Text("the time the receiver asked for"),
	webhook.WaitBreaker:    locale.Text("the circuit breaker"),
	webhook.WaitPaused:     locale.Text("the endpoint to be resumed"),
	webhook.WaitDisabled:   locale.Text("the endpoint to be enabled"),
	webhook.WaitNoEndpoint: locale.Text("an endpoint to be registered"),
	webhook.WaitOrder:      locale.Text("an earlier one about the same subject"),
}

// waitingNote is what a delivery waits for, in words, and until when; a zero
// time is not known.
type waitingNote struct {
	For     string // empty: for nothing
	Besides string // the same where the next attempt stands; empty: it waits for nothing else
	Until   time.Time
}

func waitingOf(t Say, d reports.FoundDelivery, now time.Time) waitingNote {
	reason, until := d.WaitingFor(d.Window, now)
	if reason == "" {
		return waitingNote{}
	}
	note := waitingNote{For: t(waitWords[reason]), Until: until}
	if reason != webhook.WaitRetry || until.IsZero() {
		note.Besides = note.For
	}
	return note
}

// retriedWords tell what follows after somebody had a delivery tried at once.
func retriedWords(t Say, d reports.FoundDelivery, now time.Time) string {
	switch reason, _ := d.WaitingFor(d.Window, now); reason {
	case webhook.WaitBreaker, webhook.WaitPaused, webhook.WaitDisabled, webhook.WaitNoEndpoint, webhook.WaitOrder:
		return t(locale.Text("It is due now and goes out as soon as nothing holds it back: it waits for %s."), t(waitWords[reason]))
	}
	return t(locale.Text("It is due now. The attempt appears here in a moment."))
}

// sentence tells in one line how a delivery stands.
func sentence(s locale.Speller, d reports.FoundDelivery, now time.Time) string {
	t := s.T
	to := cmp.Or(d.Host, t(locale.Text("no endpoint yet")))
	last := ResultWords(t, d.Last)
	w := waitingOf(t, d, now)
	switch d.Shown(d.Window) {
	case webhook.Delivered:
		took := s.Duration(d.FinishedAt.Sub(d.CreatedAt))
		if d.Attempts == 1 {
			return t(locale.Text("Delivered to %s at the first attempt, %s after it was created."), to, took)
		}
		return t(locale.Text("Delivered to %s at attempt %s, %s after it was created."), to, strconv.Itoa(d.Attempts), took)
	case webhook.Exhausted:
		if d.Settled() {
			return t(locale.Text("Given up after %s attempts at %s. Its event was delivered by another delivery."), strconv.Itoa(d.Attempts), to)
		}
		return t(locale.Text("Given up after %s attempts at %s. The last one: %s."), strconv.Itoa(d.Attempts), to, last)
	case webhook.Cancelled:
		if d.Attempts == 0 {
			return t(locale.Text("Cancelled before the first attempt. Nothing was sent to %s."), to)
		}
		return t(locale.Text("Cancelled after %s attempts at %s. The last one: %s."), strconv.Itoa(d.Attempts), to, last)
	case webhook.Sending:
		return t(locale.Text("Being sent to %s just now, attempt %s."), to, strconv.Itoa(d.Attempts))
	}
	if d.Attempts == 0 || last == "" {
		if w.Until.After(now) {
			return t(locale.Text("Not sent to %s yet. It waits for %s, for %s more."), to, w.For, s.Duration(w.Until.Sub(now)))
		}
		return t(locale.Text("Not sent to %s yet. It waits for %s."), to, w.For)
	}
	if w.Until.After(now) {
		return t(locale.Text("Attempts at %s so far: %s. The last one: %s. It waits for %s, for %s more."), to, strconv.Itoa(d.Attempts), last, w.For, s.Duration(w.Until.Sub(now)))
	}
	return t(locale.Text("Attempts at %s so far: %s. The last one: %s. It waits for %s."), to, strconv.Itoa(d.Attempts), last, w.For)
}

// blame is on whose side a failure lies and what helps.
type blame struct{ Side, Do string }

// The sides that a failure can lie on.
var (
	faultReceiver = locale.Text("On the receiver's side")
	faultGateway  = locale.Text("On the gateway's side")
	faultBetween  = locale.Text("Between the two")
	faultNobody   = locale.Text("Nobody's fault")
)

// blameOf says whose side an attempt's failure is on and what to do about it;
// empty for one that succeeded.
func blameOf(a webhook.Attempt) blame {
	if a.Outcome == webhook.OutcomeUnknown {
		return blame{faultNobody, locale.Text("A worker was stopped in the middle of the attempt. It is sent again at once; the receiver may get it twice and can tell by the webhook-id.")}
	}
	if a.Outcome != webhook.OutcomeFailed {
		return blame{}
	}
	switch a.StatusCode {
	case 401, 403:
		return blame{faultReceiver, locale.Text("It refuses the request. Check that it verifies the signature with the active secret and asks for no other credential.")}
	case 404, 405:
		return blame{faultReceiver, locale.Text("The URL does not take notifications. Check its path, and that it answers POST.")}
	case 410:
		return blame{faultReceiver, locale.Text("It says that it is gone for good. A second 410 in a row disables the endpoint: register its successor.")}
	case 413:
		return blame{faultReceiver, locale.Text("It refuses the size of the request. Raise the limit of its web server.")}
	case 429:
		return blame{faultReceiver, locale.Text("It asks for fewer requests. Lower the endpoint's rate limit or raise what the receiver takes.")}
	case 502, 503, 504:
		return blame{faultReceiver, locale.Text("A proxy or web server answers in place of the application. Check that the application runs.")}
	}
	if b, ok := blames[a.ErrorClass]; ok {
		return b
	}
	return blame{faultBetween, locale.Text("Look at the request and the answer below.")}
}

var blames = map[webhook.ErrorClass]blame{
	webhook.ErrorDNS:      {faultReceiver, locale.Text("Its host name does not lead to an address. Check the name and its DNS records.")},
	webhook.ErrorConnect:  {faultBetween, locale.Text("The connection is not accepted. Check that the receiver listens on the port and that no firewall blocks it.")},
	webhook.ErrorTLS:      {faultReceiver, locale.Text("The TLS handshake fails. Check the certificate: its names, its chain and its expiry.")},
	webhook.ErrorTimeout:  {faultReceiver, locale.Text("It takes too long. Answer with 2xx first and work afterwards.")},
	webhook.ErrorReset:    {faultBetween, locale.Text("The connection broke off before the answer was there. Check for restarts, crashes and proxies with short timeouts.")},
	webhook.ErrorProtocol: {faultReceiver, locale.Text("Its answer is not HTTP. Check that the port is the web server's.")},
	webhook.ErrorRedirect: {faultReceiver, locale.Text("Redirects are not followed. Register the final URL.")},
	webhook.ErrorHTTP4xx:  {faultReceiver, locale.Text("It refuses the request. Its log says why; the answer is shown below.")},
	webhook.ErrorHTTP5xx:  {faultReceiver, locale.Text("It fails while it works on the request. Its log says why; the answer is shown below.")},
	webhook.ErrorBlocked:  {faultReceiver, locale.Text("Its host name leads to an address that is not public. Register a public one, or have the operators allow the network.")},
	webhook.ErrorBadAck:   {faultReceiver, locale.Text("It answers 2xx with success: false, or without JSON. The endpoint's ackMode asks for an acknowledgement in the body.")},
	webhook.ErrorInternal: {faultGateway, locale.Text("The gateway could not send. It is retried automatically; the operators see it on the system page.")},
}
