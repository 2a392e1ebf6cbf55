package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"ledgerhook/webhook"
)

// report is how the demo ended.
type report struct {
	accepted  int // events that got their 202
	delivered int // deliveries of them that the gateway reports delivered
	verified  int // of them arrived, both signatures right, the same bytes each time
	retried   int // deliveries that needed more than one attempt
	lost      int // accepted, and not verified
}

// report compares what arrived with what the gateway says of it.
func (d *demo) report(ctx context.Context) (report, error) {
	have := d.tally.standing()
	r := report{accepted: have.accepted, verified: have.arrived, lost: have.accepted - have.arrived}
	for _, p := range d.partners {
		list, err := d.api.deliveries(ctx, p.code, d.began)
		if err != nil {
			return r, fmt.Errorf("ask the gateway what became of the deliveries: %w", err)
		}
		for _, one := range list {
			if !d.tally.isAccepted(one.EventID) {
				continue // sent by somebody else
			}
			if one.State == string(webhook.Delivered) {
				r.delivered++
			}
			if one.AttemptCount > 1 {
				r.retried++
			}
		}
	}
	return r, nil
}

// summarize prints the report as a table.
func (d *demo) summarize(r report) {
	s := d.screen
	row := func(p paint, name string, n int, means string) string {
		return fmt.Sprintf("  %-10s %s   %s", name, s.in(p, fmt.Sprintf("%6d", n)), s.in(grey, means))
	}
	lost := green
	if r.lost != 0 {
		lost = red
	}
	s.print("",
		s.in(bold, fmt.Sprintf("After %v", time.Since(d.began).Round(time.Second))), "",
		row(bold, "accepted", r.accepted, "events that the gateway accepted with a 202"),
		row(bold, "delivered", r.delivered, "deliveries that ended well, by the gateway's ledger"),
		row(bold, "verified", r.verified, "arrived: both signatures right, the same bytes each time"),
		row(bold, "retried", r.retried, "deliveries that needed more than one attempt"),
		row(lost, "lost", r.lost, "accepted, and never arrived"), "")
}

func (r report) json() string {
	line, err := json.Marshal(struct {
		Accepted  int `json:"accepted"`
		Delivered int `json:"delivered"`
		Verified  int `json:"verified"`
		Retried   int `json:"retried"`
		Lost      int `json:"lost"`
	}{r.accepted, r.delivered, r.verified, r.retried, r.lost})
	if err != nil {
		panic("demo: numbers have a JSON form: " + err.Error())
	}
	return string(line)
}

// check returns nil if everything went as promised.
func (d *demo) check(r report) error {
	var wrong []string
	say := func(bad bool, format string, args ...any) {
		if bad {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	have := d.tally.standing()
	say(r.accepted == 0, "no event was accepted")
	say(have.refused > 0, "%d events were not accepted, the last because %v", have.refused, have.refusal)
	say(r.delivered < r.accepted, "%d of %d events are not delivered", r.accepted-r.delivered, r.accepted)
	say(r.lost > 0, "%d of %d events were not received and verified", r.lost, r.accepted)
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}
