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
	Shut        int                          // endpoints that are paused or disabled
	Waiting     int64                        // deliveries that wait: for room, their next attempt, or somebody
	Held        int64                        // those of them that wait until somebody acts
	LastSuccess time.Time                    // the newest of any of the endpoints; zero: none ever had one
}

// PartnerWindows sums up the windows of all partners with endpoints.
func (l *Reports) PartnerWindows(ctx context.Context) (found []PartnerWindows, err error) {
	t := new(database.Statement).Add(`SELECT e.partner_code, w.breaker, COUNT(*), SUM(w.waiting_first + w.waiting_again + w.waiting_blocked), SUM(CASE WHEN w.paused OR w.disabled OR w.partner_disabled
		THEN w.waiting_first + w.waiting_again + w.waiting_blocked ELSE 0 END), MAX(w.last_success),
		SUM(CASE WHEN w.failing_since > 0 AND w.failing_since <= ? AND `+openWindow+` THEN 1 ELSE 0 END), SUM(CASE WHEN `+openWindow+` THEN 0 ELSE 1 END)
		FROM endpoints e JOIN windows w ON w.endpoint_id = e.id WHERE e.removed_at = 0 GROUP BY e.partner_code, w.breaker ORDER BY 1`, database.Micros(time.Now().Add(-FailingAfter)))
	err = t.Query(ctx, l.db.Read, func(row database.Row) error {
		var code string
		var state webhook.BreakerState
		var n, failing, shut int
		var waiting, held int64
		var last time.Time
		if err := row.Scan(&code, &state, &n, &waiting, &held, database.Time(&last), &failing, &shut); err != nil {
			return err
		}
		if len(found) == 0 || found[len(found)-1].PartnerCode != code {
			found = append(found, PartnerWindows{PartnerCode: code, Breakers: map[webhook.BreakerState]int{}})
		}
		p := &found[len(found)-1]
		p.Breakers[state] += n
		p.Failing += failing
		p.Shut += shut
		p.Waiting += waiting
		p.Held += held
		if last.After(p.LastSuccess) {
			p.LastSuccess = last
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
