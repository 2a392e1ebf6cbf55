package ledger

import (
	"context"
	"errors"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// The bounds of a preview: it must not keep anybody waiting, however much a
// filter matches.
const (
	previewGrouped = 10_000 // deliveries that are grouped, and counted exactly
	previewChecked = 1000   // deliveries whose warnings are counted
	previewBudget  = time.Second
	replayPage     = 1000 // deliveries that are put on a list at once
)

// replayable adds the deliveries of f that can be sent again, that a replay of f
// takes and that were made after the delivery with the id after.
func replayable(t *database.Statement, f delivery.Filter, after string) *database.Statement {
	ended(t, f, after)
	if !f.IncludeSettled {
		t.Add(" AND d.delivered_by = ''")
	}
	return t
}

// ended adds the deliveries of f that can be sent again, whether a replay of f
// takes them or not, and that were made after the delivery with the id after.
func ended(t *database.Statement, f delivery.Filter, after string) *database.Statement {
	t.Add(" FROM deliveries d LEFT JOIN windows w ON w.endpoint_id = d.endpoint_id WHERE d.finished_at > 0 AND d.endpoint_id <> '' AND NOT COALESCE(w.unrouted, FALSE) AND d.trigger <> 'test' AND d.id < ? AND d.id > ?",
		database.Below("", f.Until, webhook.DeliveryPrefix), after)
	rows.Narrow(t, f)
	return t
}

// PreviewReplay tells what a replay of what f matches in the scope would be. Up
// to 10,000 deliveries are counted exactly, more in hundreds as far as that takes
// no second.
func (l *Ledger) PreviewReplay(ctx context.Context, s partners.Scope, f delivery.Filter) (p delivery.ReplayPreview, err error) {
	if f, err = confine(s, f); err != nil {
		return p, err
	}
	for _, part := range []func(context.Context, delivery.Filter, *delivery.ReplayPreview) error{
		l.previewGroups, l.previewCount, l.previewSettled, l.previewWarnings, l.previewSample,
	} {
		if err := part(ctx, f, &p); err != nil {
			return p, err
		}
	}
	return p, nil
}

// previewGroups groups the newest deliveries.
func (l *Ledger) previewGroups(ctx context.Context, f delivery.Filter, p *delivery.ReplayPreview) error {
	t := new(database.Statement).Add("SELECT partner_code, endpoint_id, webhook_type, state, last_class, COUNT(*) FROM (SELECT d.partner_code, d.endpoint_id, d.webhook_type, d.state, d.last_class")
	replayable(t, f, "").Add(" ORDER BY d.id DESC LIMIT ?) AS found GROUP BY partner_code, endpoint_id, webhook_type, state, last_class ORDER BY 6 DESC, 1, 2, 3, 4, 5", previewGrouped)
	return t.Query(ctx, l.db.Read, func(row database.Row) error {
		var g delivery.ReplayGroup
		err := row.Scan(&g.PartnerCode, &g.EndpointID, &g.Type, &g.State, &g.ErrorClass, &g.Count)
		if len(p.Breakdown) < delivery.MaxReplayGroups {
			p.Breakdown = append(p.Breakdown, g)
		}
		p.Grouped += g.Count
		return err
	})
}

// previewCount counts on where the groups end.
func (l *Ledger) previewCount(ctx context.Context, f delivery.Filter, p *delivery.ReplayPreview) error {
	p.Count, p.CountIs = p.Grouped, delivery.CountExact
	if p.Grouped < previewGrouped {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, previewBudget)
	defer cancel()
	t := replayable(new(database.Statement).Add("SELECT COUNT(*) FROM (SELECT d.id"), f, "").Add(" LIMIT ?) AS found", delivery.MaxReplay+1)
	var n int
	err := l.db.Read.QueryRowContext(limited, t.String(), t.Args...).Scan(&n)
	switch {
	case err != nil && ctx.Err() == nil && limited.Err() != nil:
		p.CountIs = delivery.CountAtLeast
	case err != nil:
		return err
	case n > delivery.MaxReplay:
		p.Count, p.CountIs = n, delivery.CountAtLeast
	case n > previewGrouped:
		p.Count, p.CountIs = (n+50)/100*100, delivery.CountAbout
	}
	return nil
}

// previewSettled counts what is settled, along the index of what ended without
// success.
func (l *Ledger) previewSettled(ctx context.Context, f delivery.Filter, p *delivery.ReplayPreview) error {
	limited, cancel := context.WithTimeout(ctx, previewBudget)
	defer cancel()
	t := ended(new(database.Statement).Add("SELECT COUNT(*) FROM (SELECT d.id"), f, "").Add(" AND "+rows.FailedDelivery+" AND d.delivered_by <> '' LIMIT ?) AS found", delivery.MaxReplay+1)
	err := l.db.Read.QueryRowContext(limited, t.String(), t.Args...).Scan(&p.Settled)
	p.SettledIs = delivery.CountExact
	switch {
	case err != nil && ctx.Err() == nil && limited.Err() != nil:
		p.SettledIs = delivery.CountAtLeast
		return nil
	case p.Settled > delivery.MaxReplay:
		p.SettledIs = delivery.CountAtLeast
	}
	return err
}

// previewWarnings looks at the newest deliveries. The endpoint is hidden from
// the planner: SQLite would read all of an endpoint for each, not the few of an event.
func (l *Ledger) previewWarnings(ctx context.Context, f delivery.Filter, p *delivery.ReplayPreview) error {
	t := new(database.Statement).Add(`SELECT COUNT(*),
		COALESCE(SUM(CASE WHEN d.state = 'delivered' OR EXISTS (SELECT 1 FROM deliveries o WHERE o.event_id = d.event_id
			AND o.endpoint_id || '' = d.endpoint_id AND o.state = 'delivered') THEN 1 END), 0),
		COALESCE(SUM(CASE WHEN EXISTS (SELECT 1 FROM deliveries o WHERE o.event_id = d.event_id
			AND o.endpoint_id || '' = d.endpoint_id AND o.finished_at = 0) THEN 1 END), 0),
		COALESCE(SUM(CASE WHEN e.url_changed_at > d.finished_at THEN 1 END), 0),
		COALESCE(SUM(CASE WHEN EXISTS (SELECT 1 FROM secrets s WHERE s.partner_code = d.partner_code
			AND s.activated_at > d.finished_at) THEN 1 END), 0),
		COALESCE(SUM(CASE WHEN e.removed_at > 0 THEN 1 END), 0)
		FROM (SELECT d.id, d.event_id, d.endpoint_id, d.partner_code, d.state, d.finished_at`)
	replayable(t, f, "").Add(" ORDER BY d.id DESC LIMIT ?) AS d LEFT JOIN endpoints e ON e.id = d.endpoint_id", previewChecked)
	w := &p.Warnings
	return l.db.Read.QueryRowContext(ctx, t.String(), t.Args...).Scan(&w.Checked, &w.Delivered, &w.Retrying, &w.URLChanged, &w.SecretRotated, &w.Removed)
}

// previewSample reads the newest deliveries.
func (l *Ledger) previewSample(ctx context.Context, f delivery.Filter, p *delivery.ReplayPreview) (err error) {
	t := replayable(new(database.Statement).Add("SELECT d.id"), f, "").Add(" ORDER BY d.id DESC LIMIT ?", delivery.ReplaySample)
	ids, err := database.Collect(ctx, l.db.Read, t, database.One[string])
	if err != nil || len(ids) == 0 {
		return err
	}
	p.Sample, err = rows.Deliveries(ctx, l.db.Read, database.InList(rows.SelectDeliveries("d.id IN "), ids).Add(" ORDER BY d.id DESC"))
	return err
}

// listed is a delivery on a replay's list, skipped or to be sent.
type listed struct{ deliveryID, endpointID, outcome string }

var errTooMany = errors.New("the filter matches more than a replay takes")

// listReplayable reads what f matches, oldest first, a page at a time, until
// it is more than most.
func (l *Ledger) listReplayable(ctx context.Context, f delivery.Filter, most int) (all []listed, err error) {
	after := ""
	newest := map[[2]string]int{} // of each event and endpoint, in all
	for {
		n := 0
		t := replayable(new(database.Statement).Add("SELECT d.id, d.endpoint_id, d.event_id"), f, after).Add(" ORDER BY d.id LIMIT ?", replayPage)
		err := t.Query(ctx, l.db.Read, func(row database.Row) error {
			var d listed
			var event string
			err := row.Scan(&d.deliveryID, &d.endpointID, &event)
			to := [2]string{event, d.endpointID}
			if older, twice := newest[to]; twice {
				all[older].outcome = "skipped"
			}
			newest[to] = len(all)
			all = append(all, d)
			after, n = d.deliveryID, n+1
			return err
		})
		if len(all) > most {
			return nil, errTooMany
		}
		if err != nil || n < replayPage {
			return all, err
		}
	}
}
