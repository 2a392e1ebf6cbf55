package reports

import (
	"context"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/webhook"
)

// PartnerWindows sums up the windows of one partner's endpoints.
type PartnerWindows struct {
	PartnerCode string
	Breakers    map[webhook.BreakerState]int // endpoints by state
	Failing     int                          // open endpoints that fail for FailingAfter or longer
	Slow        int                          // open endpoints that take many times as long as usual
	Shut        int                          // endpoints that are paused or disabled
	Stopped     int                          // open endpoints whose breaker lets nothing through
	Probing     int                          // open endpoints whose breaker tries again
	Pace        webhook.Pace                 // of the open endpoint whose newest answers took longest
	SlowPace    webhook.Pace                 // of the slow endpoint that takes most times its usual
	Waiting     int64                        // deliveries that wait: for room, their next attempt, or somebody
	Held        int64                        // those of them that wait until somebody acts
	LastSuccess time.Time                    // the newest of any of the endpoints; zero: none ever had one
}

// PartnerWindows sums up the windows of all partners with endpoints.
func (l *Reports) PartnerWindows(ctx context.Context) (found []PartnerWindows, err error) {
	now := time.Now()
	t := new(database.Statement).Add(`SELECT e.partner_code, w.breaker, w.waiting_first + w.waiting_again + w.waiting_blocked, w.last_success, w.failing_since, w.took_us, w.usual_us,
		`+openWindow+", "+slowEndpoint+" FROM endpoints e JOIN windows w ON w.endpoint_id = e.id WHERE e.removed_at = 0 ORDER BY e.partner_code", database.Micros(now.Add(-slowWithin)))
	err = t.Query(ctx, l.db.Read, func(row database.Row) error {
		var code string
		var state webhook.BreakerState
		var waiting int64
		var h webhook.Health
		var open, slow bool
		if err := row.Scan(&code, &state, &waiting, database.Time(&h.LastSuccess), database.Time(&h.FailingSince), database.Duration(&h.Pace.Took), database.Duration(&h.Pace.Usual), &open, &slow); err != nil {
			return err
		}
		if len(found) == 0 || found[len(found)-1].PartnerCode != code {
			found = append(found, PartnerWindows{PartnerCode: code, Breakers: map[webhook.BreakerState]int{}})
		}
		p := &found[len(found)-1]
		p.Breakers[state]++
		p.Waiting += waiting
		if h.LastSuccess.After(p.LastSuccess) {
			p.LastSuccess = h.LastSuccess
		}
		if !open {
			p.Shut++
			p.Held += waiting
			return nil
		}
		if !h.FailingSince.IsZero() && now.Sub(h.FailingSince) >= FailingAfter {
			p.Failing++
		}
		if slow {
			p.Slow++
			if h.Pace.Times() > p.SlowPace.Times() {
				p.SlowPace = h.Pace
			}
		}
		switch state {
		case webhook.BreakerOpen:
			p.Stopped++
		case webhook.BreakerHalfOpen:
			p.Probing++
		}
		if h.Pace.Took > p.Pace.Took {
			p.Pace = h.Pace
		}
		return nil
	})
	return found, err
}

// EndpointURLs lists the different URLs of all endpoints, at most limit.
func (l *Reports) EndpointURLs(ctx context.Context, limit int) (urls []string, err error) {
	t := new(database.Statement).Add("SELECT DISTINCT url FROM endpoints WHERE removed_at = 0 ORDER BY url LIMIT ?", limit)
	return database.Collect(ctx, l.db.Read, t, database.One[string])
}
