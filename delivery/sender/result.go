package sender

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode"

	"ledgerhook/delivery/guard"
	"ledgerhook/webhook"
)

// maxReadBody is how much of an answer's body is read before its connection
// is closed; webhook.MaxKeptBody of it is kept.
const maxReadBody = 64 << 10

// maxDetail is the longest ErrorDetail, in bytes.
const maxDetail = 512

// Result is what came of one attempt.
type Result struct {
	StartedAt time.Time // UTC
	Phases    webhook.Phases

	PeerIP      string    // the address dialled, or last tried; empty if none was
	TLSVersion  string    // "TLS 1.3"; empty without TLS
	TLSNotAfter time.Time // when the receiver's certificate expires, also if it was refused
	Certificate []byte    // its SHA-256, shared by the attempts of a connection: not to be written to

	// Dropped: a reused connection ended without a byte of an answer. The request
	// is to be sent again at once, Fresh.
	Dropped    bool
	Outcome    webhook.Outcome
	StatusCode int                // 0: no complete status line and headers
	ErrorClass webhook.ErrorClass // empty unless Outcome is failed
	// ErrorDetail says in plain words what happened: at most 512 bytes of
	// valid UTF-8 without control characters, query strings or credentials.
	// For a delivered attempt it notes what was odd about the body.
	ErrorDetail string
	// BlockedReason is the guard's rule behind ErrorBlocked, and BlockedAddr
	// what was not dialled, for the log alone.
	BlockedReason guard.Reason
	BlockedAddr   netip.AddrPort

	ResponseHeaders http.Header // those that something follows from, then the others by name, up to 8 KiB
	HeadersCut      bool        // there were more
	ResponseBody    []byte      // the first 16 KiB, as they came
	Truncated       bool        // the body was longer, or was not read to its end
	BodyCut         bool        // the body was still coming when its time was up
	Connected       bool        // there was a connection, with TLS if the URL asks for it
}

// read fills r from an answer whose headers are complete and reads its body.
// A 2xx is a delivery whatever becomes of the body, unless ackBody wants one;
// then it is unknown if the body broke off because ctx, the caller's, ended.
func (r *Result) read(ctx context.Context, resp *http.Response, ackBody bool) {
	defer resp.Body.Close()
	r.StatusCode = resp.StatusCode
	r.keepHeaders(resp.Header)
	if resp.StatusCode == http.StatusSwitchingProtocols {
		// Its body is the bare connection, of no protocol that was asked for.
		r.Outcome, r.ErrorClass = webhook.OutcomeFailed, webhook.ErrorProtocol
		r.ErrorDetail = answered(resp.StatusCode) + ", which nobody asked for"
		return
	}
	body, note := r.readBody(resp.Body)
	if resp.StatusCode/100 == 2 {
		r.Outcome, r.ErrorDetail = webhook.OutcomeDelivered, note
		if ackBody {
			r.checkAck(ctx, body, note)
		}
		return
	}
	r.Outcome, r.ErrorDetail = webhook.OutcomeFailed, answered(resp.StatusCode)
	switch resp.StatusCode / 100 {
	case 3:
		r.ErrorClass = webhook.ErrorRedirect
		r.ErrorDetail = redirect(resp)
	case 4:
		r.ErrorClass = webhook.ErrorHTTP4xx
	case 5:
		r.ErrorClass = webhook.ErrorHTTP5xx
	default:
		r.ErrorClass = webhook.ErrorProtocol
		r.ErrorDetail += ", which is no final status of HTTP"
	}
}

// weighty headers are kept before all others, because something follows from them.
var weighty = []string{"Retry-After", "Location", "Content-Type"}

// keepHeaders keeps h if it has 8 KiB at most, as nearly every answer's.
func (r *Result) keepHeaders(h http.Header) {
	size := 0
	for name, values := range h {
		for _, value := range values {
			size += len(name) + len(value)
		}
	}
	if r.ResponseHeaders = h; size > webhook.MaxKeptHeaders {
		r.cutHeaders(h)
	}
}

// cutHeaders keeps 8 KiB of h. The value that does not fit is cut, and what
// comes after it left out.
func (r *Result) cutHeaders(h http.Header) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(h)), func(name string) bool { return slices.Contains(weighty, name) })
	r.ResponseHeaders = http.Header{}
	room := webhook.MaxKeptHeaders
	for _, name := range slices.Concat(weighty, names) {
		for _, value := range h[name] {
			if room -= len(name); room < 0 || r.HeadersCut {
				r.HeadersCut = true
				return
			}
			kept := value[:min(len(value), room)]
			room -= len(kept)
			r.HeadersCut = len(kept) < len(value)
			r.ResponseHeaders[name] = append(r.ResponseHeaders[name], kept)
		}
	}
}

// readBody keeps the first 16 KiB, reads on to 64 KiB so that the connection
// of a moderate answer can be reused, and returns what it read and what was
// odd, or "".
func (r *Result) readBody(from io.Reader) (body []byte, note string) {
	body, err := io.ReadAll(io.LimitReader(from, maxReadBody))
	if err == nil {
		var more [1]byte
		if n, _ := io.ReadFull(from, more[:]); n > 0 {
			note = "the answer's body is longer than 64 KiB; the rest was not read"
		}
	} else if r.BodyCut = errors.Is(err, errBodyTimeout) || errors.Is(err, errAttemptTimeout); r.BodyCut {
		note = fmt.Sprintf("the answer's body did not end in time: %d bytes came", len(body))
	} else {
		note = fmt.Sprintf("the answer's body broke off after %d bytes", len(body))
	}
	r.ResponseBody = body[:min(len(body), webhook.MaxKeptBody)]
	r.Truncated = note != "" || len(body) > webhook.MaxKeptBody
	return body, note
}

// checkAck turns a delivery into a failure unless its answer's body is whole
// and JSON that does not deny success.
func (r *Result) checkAck(ctx context.Context, body []byte, note string) {
	body = bytes.TrimPrefix(body, []byte("\uFEFF")) // RFC 8259 lets a reader pass over it
	var answer map[string]json.RawMessage           // a struct would take SUCCESS for success
	switch {
	case note != "" && ctx.Err() != nil:
		r.stopped()
		return
	case note != "":
	case !json.Valid(body):
		note = "the answer's body is no JSON, which this endpoint's ackMode asks for"
	case json.Unmarshal(body, &answer) == nil && string(answer["success"]) == "false":
		note = "the answer's body says success: false"
	default:
		return
	}
	r.Outcome, r.ErrorClass, r.ErrorDetail = webhook.OutcomeFailed, webhook.ErrorBadAck, note
}

// stopped says that the attempt was cut off by its caller.
func (r *Result) stopped() {
	r.Outcome, r.ErrorDetail = webhook.OutcomeUnknown, "stopped before the answer was complete"
}

// dropped says that a reused connection took the request and ended: the receiver
// had most likely closed it before.
func (r *Result) dropped() {
	r.Dropped = true
	r.Outcome, r.ErrorClass = webhook.OutcomeFailed, webhook.ErrorReset
	r.ErrorDetail = "the reused connection was closed before an answer came"
}

// redirect says where resp points and what to do about it.
func redirect(resp *http.Response) (detail string) {
	u, err := resp.Location()
	if err != nil {
		return answered(resp.StatusCode) + " and names no usable target; redirects are not followed"
	}
	u.User, u.RawQuery, u.Fragment, u.ForceQuery = nil, "", "", false
	return clean(answered(resp.StatusCode)+"; redirects are not followed: register the target "+u.String(), maxDetail)
}

func answered(status int) string {
	return strings.TrimSpace(fmt.Sprintf("answered %d %s", status, http.StatusText(status)))
}

// clean makes text that a receiver had a hand in fit to be shown and logged.
func clean(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit-len("…")], "") + "…"
	}
	return s
}
