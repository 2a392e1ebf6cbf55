package reports

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/webhook"
)

// path is one way to read deliveries newest first along an index.
type path struct {
	along func(*database.Statement) // the condition the index answers; nil: none
	all   string                    // what the index over all partners asks for besides; empty: there is no other
	from  string                    // nothing older is on it; empty: not known
	point bool                      // it leads to a few rows, wherever they are
	also  func(*database.Statement) // what must be looked at row by row beside it; nil: nothing
	state []webhook.State           // looked at row by row; empty: any
}

// unhappy are all states but Delivered.
var unhappy = []webhook.State{webhook.Pending, webhook.Held, webhook.Queued, webhook.Sending, webhook.Exhausted, webhook.Cancelled}

// pathEndpoints is up to how many endpoints of a host get a path of their own.
const pathEndpoints = 20

// paths chooses how to search for q: by what it is about, by state, by
// endpoint, or by partner and time alone. It fills in what q implies.
func (l *Reports) paths(ctx context.Context, q *DeliveryQuery, now time.Time) ([]path, error) {
	var endpoints []string
	if q.Host != "" || q.EndpointID != "" {
		var err error
		if endpoints, err = l.searchedEndpoints(ctx, q); err != nil || len(endpoints) == 0 {
			return nil, err
		}
	}
	rest := path{state: q.States}
	if len(endpoints) > 0 {
		rest.also = func(t *database.Statement) { database.InList(t.Add(" AND d.endpoint_id IN "), endpoints) }
	}
	if q.Reference != "" {
		return l.pathsByReference(ctx, q, rest)
	}
	states := q.States
	if len(states) == 0 && q.Settled != nil && *q.Settled {
		states = []webhook.State{webhook.Exhausted, webhook.Cancelled}
	}
	if len(states) == 0 && (len(q.ErrorClasses) > 0 || q.StatusCode >= 300 || q.StatusClass >= 3) {
		states = unhappy // what is delivered has no error
	}
	if q.NeedsAttention {
		open, err := l.db.OldestOpen(ctx)
		return attention(rest, open, now), err
	}
	if len(states) > 0 && !slices.Contains(states, webhook.Delivered) {
		open, err := l.db.OldestOpen(ctx)
		return pathsByState(states, rest, open), err
	}
	if 0 < len(endpoints) && len(endpoints) <= pathEndpoints {
		var paths []path
		for _, id := range endpoints {
			paths = append(paths, path{state: q.States, along: func(t *database.Statement) { t.Add(" AND d.endpoint_id = ?", id) }})
		}
		return paths, nil
	}
	return []path{rest}, nil
}

// searchedEndpoints returns the endpoints that q names. If they are all of one
// partner, q is narrowed to it.
func (l *Reports) searchedEndpoints(ctx context.Context, q *DeliveryQuery) (ids []string, err error) {
	t := new(database.Statement).Add("SELECT id, partner_code FROM endpoints WHERE id <> ''").Within(q.Scope, "partner_code")
	t.Equal("id", q.EndpointID)
	t.Equal("host", strings.ToLower(q.Host))
	t.Equal("partner_code", q.PartnerCode)
	codes := map[string]bool{}
	err = t.Add(" ORDER BY id LIMIT ?", database.MaxRows).Query(ctx, l.db.Read, func(row database.Row) error {
		var id, code string
		err := row.Scan(&id, &code)
		ids, codes[code] = append(ids, id), true
		return err
	})
	if len(codes) == 1 {
		for q.PartnerCode = range codes {
		}
	}
	return ids, err
}

func pathsByState(states []webhook.State, rest path, open string) (paths []path) {
	for _, index := range rows.StateIndexes {
		p := rest
		p.state = slices.DeleteFunc(slices.Clone(index.States), func(s webhook.State) bool { return !slices.Contains(states, s) })
		if len(p.state) == 0 {
			continue
		}
		if len(p.state) == len(index.States) {
			p.state = nil
		}
		p.along, p.all = func(t *database.Statement) { t.Add(" AND " + index.Where) }, index.All
		if index.Open {
			p.from = open
		}
		paths = append(paths, p)
	}
	return paths
}

// attention are the paths of the deliveries that need attention.
func attention(rest path, open string, now time.Time) []path {
	and := func(condition string, args ...any) func(*database.Statement) {
		return func(t *database.Statement) {
			t.Add(condition, args...)
			if rest.also != nil {
				rest.also(t)
			}
		}
	}
	long := now.Add(-AttentionAfter)
	return []path{
		{from: open, along: func(t *database.Statement) { t.Add(" AND d.due_at IS NOT NULL") }, all: rows.AllWaiting,
			also: and(" AND (d.last_outcome <> '' OR "+rows.Closed+" OR d.id < ?)", webhook.TimeBound(webhook.DeliveryPrefix, long))},
		{from: open, along: func(t *database.Statement) { t.Add(" AND d.queued_at > 0 AND d.queued_at < ?", database.Micros(long)) }, also: rest.also},
		{from: webhook.TimeBound(webhook.DeliveryPrefix, now.Add(-AttentionFor)), along: func(t *database.Statement) { t.Add(" AND " + rows.FailedDelivery) }, all: rows.AllFailed,
			also: and(" AND d.state = 'exhausted' AND d.delivered_by = ''")},
	}
}

// maxReferenced is how many events with one ordering key a search looks for.
const maxReferenced = 500

// pathsByReference are the paths of deliveries of events about q.Reference.
func (l *Reports) pathsByReference(ctx context.Context, q *DeliveryQuery, rest path) ([]path, error) {
	by := func(condition string, values ...any) path {
		p := rest
		p.point, p.along = true, func(t *database.Statement) { t.Add(condition, values...) }
		return p
	}
	switch reference := q.Reference; {
	case strings.HasPrefix(reference, webhook.DeliveryPrefix):
		return []path{by(" AND d.id = ?", reference), by(" AND d.object_id = ?", reference)}, nil
	case strings.HasPrefix(reference, webhook.EventPrefix):
		return []path{by(" AND d.event_id = ?", reference)}, nil
	case strings.HasPrefix(reference, webhook.OrderPrefix):
		var code, external string
		err := new(database.Statement).Add("SELECT partner_code, external_order_id FROM orders WHERE id = ?", reference).Within(q.Scope, "partner_code").
			Query(ctx, l.db.Read, func(row database.Row) error { return row.Scan(&code, &external) })
		if err != nil {
			return nil, fmt.Errorf("find the order: %w", err)
		}
		if external != "" {
			return []path{by(" AND d.object_id = ? AND d.partner_code = ?", external, code)}, nil
		}
	}
	t := new(database.Statement).Add("SELECT id FROM events WHERE subject = ? AND subject <> object_id", q.Reference).Within(q.Scope, "partner_code")
	events, err := database.Collect(ctx, l.db.Read, t.Add(" ORDER BY id DESC LIMIT ?", maxReferenced), database.One[string])
	paths := []path{by(" AND d.object_id = ?", q.Reference)}
	if len(events) > 0 {
		p := rest
		p.point, p.along = true, func(t *database.Statement) { database.InList(t.Add(" AND d.event_id IN "), events) }
		paths = append(paths, p)
	}
	return paths, err
}

// where adds the conditions that p's index answers.
func (p path) where(t *database.Statement, q DeliveryQuery) *database.Statement {
	t.Add(" WHERE d.id < ?", database.Below(q.Cursor, q.Until, webhook.DeliveryPrefix))
	t.Since("d.id", webhook.DeliveryPrefix, q.Since)
	if p.from != "" {
		t.Add(" AND d.id >= ?", p.from)
	}
	t.Within(q.Scope, "d.partner_code")
	t.Equal("d.partner_code", q.PartnerCode)
	if p.along != nil {
		p.along(t)
	}
	if p.all != "" && q.Scope.Partner() == "" && q.PartnerCode == "" {
		t.Add(" AND " + p.all)
	}
	return t
}

// rest adds the conditions that are looked at row by row and reports whether
// there are any.
func (q DeliveryQuery) rest(t *database.Statement, p path) bool {
	n := t.Len()
	if p.also != nil {
		p.also(t)
	}
	rows.Shown(t, p.state)
	if q.Settled != nil {
		t.Add(map[bool]string{true: " AND d.delivered_by <> ''", false: " AND d.delivered_by = ''"}[*q.Settled])
	}
	among(t, "d.partner_code", q.PartnerCodes)
	among(t, "d.webhook_type", q.Types)
	among(t, "d.last_class", q.ErrorClasses)
	among(t, "d.trigger", q.Triggers)
	if q.StatusCode > 0 {
		t.Add(" AND d.last_status = ?", q.StatusCode)
	}
	if q.StatusClass > 0 {
		t.Add(" AND d.last_status >= ? AND d.last_status < ?", 100*q.StatusClass, 100*q.StatusClass+100)
	}
	for _, c := range []struct {
		condition string
		value     int64
	}{
		{" AND d.attempts >= ?", int64(q.AttemptsMin)},
		{" AND d.attempts <= ?", int64(q.AttemptsMax)},
		{" AND d.last_us >= ?", q.DurationMin.Microseconds()},
		{" AND d.last_at > 0 AND d.last_us <= ?", q.DurationMax.Microseconds()},
		{" AND d.first_at > 0 AND d.first_at - d.created_at >= ?", q.DelayMin.Microseconds()},
	} {
		if c.value > 0 {
			t.Add(c.condition, c.value)
		}
	}
	return t.Len() > n
}

// among adds the condition that column is one of values, if there are any.
func among[T ~string](t *database.Statement, column string, values []T) {
	if len(values) == 0 {
		return
	}
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	database.InList(t.Add(" AND "+column+" IN "), words)
}
