package demo

import (
	"encoding/json"
	"fmt"
	"net/http"

	"ledgerhook/app/receiver"
	"ledgerhook/webhook"
)

// told is what a notification says it is about.
type told struct {
	kind           webhook.Type
	object, status string
}

func readTold(body []byte) told {
	var n struct {
		Kind webhook.Type               `json:"webhookType"`
		Data map[string]json.RawMessage `json:"data"`
	}
	if json.Unmarshal(body, &n) != nil {
		return told{}
	}
	entry, _ := webhook.Describe(n.Kind)
	text := func(name string) (s string) {
		_ = json.Unmarshal(n.Data[name], &s)
		return s
	}
	return told{n.Kind, text(entry.IDField), text("status")}
}

// shortType fits the name of a type, which is ASCII, into fifteen columns.
func shortType(kind webhook.Type) string {
	switch kind {
	case webhook.ProfileUpdated:
		return "Profile.Updated"
	case webhook.CashoutOrderUpdated:
		return "Order.Updated"
	}
	if len(kind) > 15 {
		return string(kind[:14]) + "…"
	}
	return string(kind)
}

// line is one request on one line of at most 80 columns: when, to whom, what,
// how the receiver answered, and how long after the event.
func (d *demo) line(p *partner, got receiver.Received, n told) string {
	s := d.screen
	status, full := cyan, n.status
	if len(n.status) > 12 { // of an order
		n.status = n.status[:11] + "…"
	}
	switch n.status {
	case "Completed", "VERIFIED", "CONFIRMED", "Init", "SUCCESS":
		status = green
	case "Rejected", "REJECTED", "InitFailed":
		status = magenta
	}
	answer := green
	if got.Status >= http.StatusBadRequest {
		answer = yellow
	}
	verdict := s.padded(green, "✓ verified", 10)
	if got.Err != nil {
		verdict = s.padded(red, "✗ refused", 10)
	} else if !got.SameBytes {
		verdict = s.padded(red, "✗ changed", 10)
	}
	tries := s.padded(grey, "#1", 2)
	if got.Attempt > 1 {
		tries = s.padded(yellow, fmt.Sprintf("#%d", got.Attempt), 2)
	}
	late := d.tally.took(p.code, thing(n.kind, n.object, full), got.At, got.Err == nil && got.Status < http.StatusMultipleChoices)
	return fmt.Sprintf("%s %s %s %s %s %s %s %s %s",
		s.in(grey, got.At.Format("15:04:05")), s.padded(p.paint, p.label, 6), s.padded(plain, shortType(n.kind), 15),
		s.padded(plain, n.object, 9), s.padded(status, n.status, 12), s.in(answer, fmt.Sprint(got.Status)),
		tries, verdict, s.in(grey, fmt.Sprintf("%6s", took(late))))
}
