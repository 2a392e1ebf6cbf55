package incidents

import (
	"context"
	"fmt"
	"time"

	"ledgerhook/incidents"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/webhook"
)

// The bounds of what Endpoints looks at.
const (
	maxEndpoints = 5000 // that something may be wrong with
	maxWaiting   = 200  // that are asked for their oldest delivery
	maxPartners  = 200  // that are asked for what was given up
	maxGivenUp   = 1000 // deliveries of a partner that failed last
)

// Endpoints lists the registered endpoints with anything to tell but their
// certificates, each figure by an index or from small tables.
func (s *Store) Endpoints(ctx context.Context, now time.Time) ([]incidents.EndpointSignals, error) {
	found, lanes, err := s.troubled(ctx)
	if err != nil {
		return nil, fmt.Errorf("list endpoints in trouble: %w", err)
	}
	if err := s.readUntried(ctx, lanes, found); err != nil {
		return nil, fmt.Errorf("find the deliveries that wait longest: %w", err)
	}
	if err := s.readExhausted(ctx, now, found); err != nil {
		return nil, fmt.Errorf("count deliveries that were given up: %w", err)
	}
	all := make([]incidents.EndpointSignals, 0, len(found))
	for _, e := range found {
		all = append(all, *e)
	}
	return all, nil
}

// Registered lists the endpoints that are registered.
func (s *Store) Registered(ctx context.Context) ([]incidents.EndpointSignals, error) {
	t := new(database.Statement).Add("SELECT id, partner_code, url FROM endpoints WHERE removed_at = 0 ORDER BY id LIMIT ?", maxEndpoints)
	found, err := database.Collect(ctx, s.db.Read, t, func(e *incidents.EndpointSignals) []any { return []any{&e.ID, &e.PartnerCode, &e.URL} })
	if err != nil {
		return nil, fmt.Errorf("list endpoints: %w", err)
	}
	return found, nil
}

// troubled reads the windows that are shut by failures or in which something
// waits, and the lanes of the latter.
func (s *Store) troubled(ctx context.Context) (found map[string]*incidents.EndpointSignals, lanes []database.Lane, err error) {
	found = map[string]*incidents.EndpointSignals{}
	t := new(database.Statement).Add("SELECT e.partner_code, e.url, "+rows.WindowColumns+` FROM windows w JOIN endpoints e ON e.id = w.endpoint_id
		WHERE e.removed_at = 0 AND (w.breaker <> 'closed' OR w.disabled AND w.disabled_reason <> '' OR w.waiting_first > 0)
		ORDER BY w.failing_since DESC, w.endpoint_id LIMIT ?`, maxEndpoints)
	err = t.Query(ctx, s.db.Read, func(row database.Row) error {
		var e incidents.EndpointSignals
		var w webhook.Window
		if err := row.Scan(append([]any{&e.PartnerCode, &e.URL}, rows.WindowFields(&w)...)...); err != nil {
			return err
		}
		e.ID, e.FailingSince, e.Last = w.EndpointID, w.Health.FailingSince, w.Health.Last
		byHand := w.Breaker.State == webhook.BreakerOpen && w.Breaker.OpenUntil.IsZero()
		e.BreakerOpen = w.Breaker.State != webhook.BreakerClosed && !byHand && !w.PartnerDisabled
		e.Disabled = w.Disabled && w.Health.DisabledReason != ""
		found[e.ID] = &e
		if w.WaitingFirst > 0 && w.Open() && len(lanes) < maxWaiting {
			lanes = append(lanes, database.Lane{EndpointID: e.ID, Number: database.LaneFirst, Limit: 1})
		}
		return nil
	})
	return found, lanes, err
}

func (s *Store) readUntried(ctx context.Context, lanes []database.Lane, found map[string]*incidents.EndpointSignals) error {
	if len(lanes) == 0 {
		return nil
	}
	from, err := s.db.OldestOpen(ctx)
	if err != nil {
		return err
	}
	return s.db.First(lanes, "endpoint_id, created_at", time.Time{}, from).Query(ctx, s.db.Read, func(row database.Row) error {
		var id string
		var created time.Time
		err := row.Scan(&id, database.Time(&created))
		if e := found[id]; e != nil {
			e.OldestUntried = created
		}
		return err
	})
}

// readExhausted counts what was given up of late, and not while a fault of the
// gateway kept receivers from being reached. The hourly counts say which
// partners have to be asked.
func (s *Store) readExhausted(ctx context.Context, now time.Time, found map[string]*incidents.EndpointSignals) error {
	since := now.Add(-incidents.ExhaustedWithin)
	t := new(database.Statement).Add("SELECT DISTINCT partner_code FROM rollups WHERE hour >= ? AND fact = 'exhausted' LIMIT ?", database.Micros(since)/database.HourMicros, maxPartners)
	codes, err := database.Collect(ctx, s.db.Read, t, database.One[string])
	if err != nil || len(codes) == 0 {
		return err
	}
	ours, err := s.hampered(ctx, now)
	if err != nil {
		return err
	}
	if ours.After(since) {
		since = ours
	}
	for _, code := range codes {
		t := new(database.Statement).Add(`SELECT f.endpoint_id, e.url, w.last_status, w.last_class, COUNT(*) FROM (SELECT endpoint_id, last_class, trigger, finished_at, delivered_by FROM deliveries
			WHERE partner_code = ? AND finished_at > 0 AND last_outcome <> 'delivered' AND state = 'exhausted' ORDER BY id DESC LIMIT ?) AS f
			JOIN endpoints e ON e.id = f.endpoint_id JOIN windows w ON w.endpoint_id = f.endpoint_id WHERE f.finished_at >= ? AND f.delivered_by = '' AND f.last_class <> 'internal' AND f.trigger <> 'test' AND e.removed_at = 0
			GROUP BY f.endpoint_id, e.url, w.last_status, w.last_class`,
			code, maxGivenUp, database.Micros(since))
		err := t.Query(ctx, s.db.Read, func(row database.Row) error {
			e := incidents.EndpointSignals{PartnerCode: code}
			if err := row.Scan(&e.ID, &e.URL, &e.Last.StatusCode, &e.Last.ErrorClass, &e.Exhausted); err != nil {
				return err
			}
			if known := found[e.ID]; known != nil {
				known.Exhausted = e.Exhausted
				return nil
			}
			found[e.ID] = &e
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// hampered is until when a fault of the gateway last made receivers look as if
// they failed: now while it does, zero if it did not of late.
func (s *Store) hampered(ctx context.Context, now time.Time) (until time.Time, err error) {
	const ours = " kind IN ('canary', 'backlog', 'egress')"
	var open int
	err = s.db.Read.ByPrimary().QueryRowContext(ctx, "SELECT (SELECT COUNT(*) FROM incidents WHERE closed_at = 0 AND"+ours+
		"), (SELECT COALESCE(MAX(closed_at), 0) FROM incidents WHERE closed_at > 0 AND closed_at >= $1 AND"+ours+")",
		database.Micros(now.Add(-incidents.ExhaustedWithin))).Scan(&open, database.Time(&until))
	if open > 0 {
		return now, err
	}
	return until, err
}

// Outcome implements incidents.Store. Tests are no deliveries here, nor are
// replays: what one of them has brought was late.
func (s *Store) Outcome(ctx context.Context, endpointID string, since, until time.Time) (o incidents.Outcome, err error) {
	t := new(database.Statement).Add("SELECT state, late, COUNT(*) FROM (SELECT state, delivered_by <> '' OR state = 'delivered' AND finished_at - created_at > ? AS late FROM deliveries WHERE trigger <> 'test' AND replay_of = '' AND id >= ? AND id < ?",
		incidents.LateAfter.Microseconds(), webhook.TimeBound(webhook.DeliveryPrefix, since), webhook.TimeBound(webhook.DeliveryPrefix, until))
	t.Equal("endpoint_id", endpointID)
	err = t.Add(" ORDER BY id LIMIT ?) AS made GROUP BY state, late", incidents.MaxOutcome).Query(ctx, s.db.Read, func(row database.Row) error {
		var state webhook.State
		var late bool
		var n int64
		err := row.Scan(&state, &late, &n)
		switch {
		case late:
			o.Late += n
		case state == webhook.Exhausted, state == webhook.Cancelled:
			o.NotDelivered += n
		case state != webhook.Delivered:
			o.Waiting += n
		}
		return err
	})
	if err != nil {
		return o, fmt.Errorf("count what became of deliveries: %w", err)
	}
	return o, nil
}
