package demo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"
)

// traffic makes things happen at the partners, about four a second, until ctx
// ends.
func (d *demo) traffic(ctx context.Context) {
	for {
		p := d.partners[rand.IntN(len(d.partners))]
		// What has begun is finished: a stop must not leave an event of which
		// nobody knows whether it was accepted.
		d.tell(context.WithoutCancel(ctx), p, p.world.happen())
		d.stand()
		select {
		case <-time.After(time.Duration(80+rand.IntN(340)) * time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
}

const (
	tries    = 5
	patience = 10 * time.Second
)

// tell hands an event to the gateway, again if it does not answer or cannot
// take it right now: the same content is the same event.
func (d *demo) tell(ctx context.Context, p *partner, e event) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	d.tally.sending(p.code, e)
	var err error
	for range tries {
		var accepted struct {
			ID string `json:"eventId"`
		}
		var status int
		status, err = d.api.call(ctx, http.MethodPost, "/internal/v1/events",
			map[string]any{"partnerCode": p.code, "webhookType": e.kind, "data": e.data}, &accepted)
		if err == nil {
			d.tally.accept(accepted.ID)
			return
		}
		if status != 0 && status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests {
			break
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
	d.tally.refuse(err)
	d.screen.print(d.screen.in(red, fmt.Sprintf("the gateway did not accept a %s: %v", e.kind, err)))
}

// drain waits until every accepted event has arrived and the gateway reports
// it as delivered, at most for drainPatience, and returns the last report.
func (d *demo) drain(ctx context.Context) (report, error) {
	end := time.After(drainPatience)
	for {
		if have := d.tally.standing(); have.arrived == have.accepted {
			if r, err := d.report(ctx); err == nil && r.delivered == r.accepted {
				return r, nil
			}
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-end:
			return d.report(ctx)
		case <-d.app.Done():
			return d.stopped()
		}
	}
}

// stopped is the report when the gateway has ended by itself.
func (d *demo) stopped() (report, error) {
	have := d.tally.standing()
	return report{accepted: have.accepted, verified: have.arrived, lost: have.accepted - have.arrived},
		errors.Join(errors.New("the gateway has stopped by itself"), d.app.Err())
}
