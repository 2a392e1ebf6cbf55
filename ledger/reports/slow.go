package reports

import (
	"cmp"
	"context"
	"slices"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/webhook"
)

// slowWithin is how long after its newest success an endpoint still counts as
// slow: then nothing is known of how it would answer now.
const slowWithin = 15 * time.Minute

// slowEndpoint is the condition that an open endpoint is slow and does not
// fail; its ? is the time from which on a success is new enough.
const slowEndpoint = "w.slow_since > 0 AND w.failing_since = 0 AND w.last_success >= ? AND " + openWindow

// SlowPartner is a partner of whose open endpoints at least one takes many
// times as long as usual.
type SlowPartner struct {
	PartnerCode string
	Host        string       // of the slowest of them, by its usual time
	Pace        webhook.Pace // of that one
	Waiting     int64        // deliveries that wait for the slow ones
}

// SlowPartners lists up to FailingShown partners with slow endpoints, the
// slowest by their usual time first.
func (l *Reports) SlowPartners(ctx context.Context) (found []SlowPartner, err error) {
	t := new(database.Statement).Add("SELECT e.partner_code, e.host, "+rows.WindowColumns+` FROM windows w JOIN endpoints e ON e.id = w.endpoint_id
		WHERE `+slowEndpoint+" AND e.removed_at = 0 ORDER BY e.partner_code, e.id LIMIT ?", database.Micros(time.Now().Add(-slowWithin)), maxFailing)
	err = t.Query(ctx, l.db.Read, func(row database.Row) error {
		var code, host string
		var w webhook.Window
		if err := row.Scan(append([]any{&code, &host}, rows.WindowFields(&w)...)...); err != nil {
			return err
		}
		if len(found) == 0 || found[len(found)-1].PartnerCode != code {
			found = append(found, SlowPartner{PartnerCode: code})
		}
		p := &found[len(found)-1]
		p.Waiting += int64(w.WaitingFirst + w.WaitingAgain + w.WaitingBlocked)
		if w.Health.Pace.Times() > p.Pace.Times() {
			p.Host, p.Pace = host, w.Health.Pace
		}
		return nil
	})
	slices.SortStableFunc(found, func(x, y SlowPartner) int { return cmp.Compare(y.Pace.Times(), x.Pace.Times()) })
	return found[:min(len(found), FailingShown)], err
}
