package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

const endpointColumns = "e.id, e.partner_code, e.url, e.types, e.description, e.ack_mode, e.timeout, e.headers, e.created_at, e.updated_at, " + windowColumns

func endpointFields(e *webhook.Endpoint) []any {
	return append([]any{&e.ID, &e.PartnerCode, &e.URL, database.List(&e.Types), &e.Description, &e.AckMode, database.Duration(&e.Timeout), &e.Headers,
		database.Time(&e.CreatedAt), database.Time(&e.UpdatedAt)}, windowFields(&e.Window)...)
}

// CreateEndpoint registers an endpoint; e.ID, URL, Types and Window.MaxInFlight
// are set. Deliveries that waited for the partner's first endpoint and that it
// takes become its own. At most partners.MaxEndpoints, else Conflict.
func (l *Ledger) CreateEndpoint(ctx context.Context, e webhook.Endpoint, by ...partners.AuditEntry) (webhook.Endpoint, error) {
	err := l.audited(ctx, about(by, e.ID, ""), func(tx database.Querier) error {
		var disabled bool
		err := tx.QueryRowContext(ctx, "SELECT disabled FROM partners WHERE code = $1"+l.db.ForUpdate, e.PartnerCode).Scan(&disabled)
		if errors.Is(err, sql.ErrNoRows) {
			return webhook.NotFound("partner", e.PartnerCode)
		}
		if err != nil {
			return err
		}
		var n int
		err = tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM endpoints WHERE partner_code = $1 AND removed_at = 0", e.PartnerCode).Scan(&n)
		if err != nil {
			return err
		}
		if n >= partners.MaxEndpoints {
			return webhook.Conflict(fmt.Sprintf("the partner has %d endpoints, which is the most: remove one first", n))
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO endpoints (id, partner_code, url, types, description, ack_mode, timeout, headers, created_at, updated_at, removed_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0)`, e.ID, e.PartnerCode, e.URL, database.JoinList(e.Types), e.Description,
			string(cmp.Or(e.AckMode, webhook.AckStatus)), e.Timeout.Microseconds(), database.Bytes(e.Headers), database.Micros(e.CreatedAt), database.Micros(e.CreatedAt))
		if err != nil {
			return fmt.Errorf("insert endpoint: %w", err)
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO windows (endpoint_id, max_in_flight, grown, used, waiting_first, waiting_again,
			admissions, next_sequence, paused, disabled, partner_disabled, removed, rate_every, ordered, adopting)
			VALUES ($1, $2, $3, 0, 0, 0, 0, 1, $4, $4, $5, $4, $6, $7, TRUE)`,
			e.ID, e.Window.MaxInFlight, min(webhook.StartWindow, e.Window.MaxInFlight), false, disabled,
			e.Window.RateEvery.Microseconds(), e.Window.Ordered)
		return err
	})
	if err != nil {
		return e, err
	}
	l.adoptSoon(ctx, e)
	return l.Endpoint(ctx, e.ID)
}

func (l *Ledger) adoptSoon(ctx context.Context, e webhook.Endpoint) {
	if err := l.Adopt(ctx, e); err != nil {
		l.db.Log.Warn("deliveries without endpoint are adopted later", "endpoint", e.ID, "error", err)
	}
}

// adoptBatch is how many deliveries change hands in one transaction.
const adoptBatch = 500

// Adopt gives the partner's deliveries without endpoint that e takes to e, in
// the order they came, but those that an older endpoint still adopts. Until it
// has come to the end, an ordered endpoint's new events line up behind them,
// see lineUp.
func (l *Ledger) Adopt(ctx context.Context, e webhook.Endpoint) error {
	for more := true; more; {
		err := l.withLockedWindows(ctx, []string{e.ID}, func(ctx context.Context, b *batch) (err error) {
			more, err = b.adopt(ctx, e.ID)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) adopt(ctx context.Context, endpointID string) (more bool, err error) {
	w, err := b.window(endpointID)
	if err != nil || w.Removed {
		return false, err
	}
	e, err := b.endpoint(ctx, partners.Everything(), w) // its types may have changed since the adoption began
	if err != nil {
		return false, err
	}
	var ids []string
	var subjects []subject
	t := new(database.Statement).Add("SELECT id, COALESCE((SELECT e.subject FROM events e WHERE e.id = event_id), '')")
	if err := b.toAdopt(ctx, t, e); err != nil {
		return false, err
	}
	err = t.Add(" ORDER BY id LIMIT ?"+b.ledger.db.ForUpdate, adoptBatch).Query(ctx, b.tx, func(rows database.Row) error {
		var id string
		s := subject{endpointID: e.ID}
		err := rows.Scan(&id, &s.name)
		ids, subjects = append(ids, id), append(subjects, s)
		return err
	})
	w.Adopting = err == nil && len(ids) == adoptBatch
	if err != nil || len(ids) == 0 {
		return false, err
	}
	if !w.Ordered {
		subjects = make([]subject, len(ids))
	}
	if err := b.findBusy(ctx, subjects); err != nil {
		return false, err
	}
	t = b.statement().Add("UPDATE deliveries SET endpoint_id = ?, sequence = v.column2, subject = v.column3, lane = v.column4 FROM ", e.ID)
	t.Table(len(ids), func(i int) []any {
		lane := b.laneOfNext(subjects[i])
		w.waits(lane, 1)
		return []any{ids[i], w.NextSequence + int64(i), subjects[i].name, lane}
	})
	if _, err := database.JoinID(t.Add(" WHERE "), "deliveries", ids).Exec(ctx, b.tx); err != nil {
		return false, err
	}
	w.NextSequence += int64(len(ids))
	w.wake(b.now)
	return w.Adopting, nil
}

// toAdopt adds the deliveries that e adopts: those without endpoint whose types
// it takes, unless an older endpoint that takes them is still adopting.
func (b *batch) toAdopt(ctx context.Context, t *database.Statement, e webhook.Endpoint) error {
	var before []webhook.Endpoint
	older := new(database.Statement).Add(`SELECT e.id, e.types, w.adopting FROM endpoints e JOIN windows w ON w.endpoint_id = e.id
		WHERE e.partner_code = ? AND e.id < ? AND e.removed_at = 0`, e.PartnerCode, e.ID)
	err := older.Query(ctx, b.tx, func(rows database.Row) error {
		var o webhook.Endpoint
		err := rows.Scan(&o.ID, database.List(&o.Types), &o.Window.Adopting)
		if w := b.windows[o.ID]; w != nil { // as this batch leaves it
			o.Window.Adopting = w.Adopting
		}
		if o.Window.Adopting {
			before = append(before, o)
		}
		return err
	})
	types := []webhook.Type{""} // which no delivery has
	for _, typ := range webhook.Types {
		taken := func(o webhook.Endpoint) bool { return o.Takes(typ) }
		if e.Takes(typ) && !slices.ContainsFunc(before, taken) {
			types = append(types, typ)
		}
	}
	database.InList(t.Add(" FROM deliveries WHERE endpoint_id = '' AND due_at IS NOT NULL AND partner_code = ? AND webhook_type IN ", e.PartnerCode), types)
	return err
}

// adoptsMore reports whether e has more to adopt than one transaction takes.
func (b *batch) adoptsMore(ctx context.Context, e webhook.Endpoint) (bool, error) {
	t := new(database.Statement).Add("SELECT COUNT(*) FROM (SELECT 1")
	if err := b.toAdopt(ctx, t, e); err != nil {
		return false, err
	}
	var n int
	t.Add(" LIMIT ?) AS found", adoptBatch)
	err := b.tx.QueryRowContext(ctx, t.String(), t.Args...).Scan(&n)
	return n == adoptBatch, err
}

// AdoptHomeless carries on adoptions that came to no end, and looks for
// deliveries without endpoint whose partner has one by now.
func (l *Ledger) AdoptHomeless(ctx context.Context) error {
	t := new(database.Statement).Add("SELECT " + endpointColumns + ` FROM endpoints e JOIN windows w ON w.endpoint_id = e.id
		WHERE e.removed_at = 0 AND e.id IN (SELECT endpoint_id FROM windows WHERE adopting UNION ALL SELECT o.id FROM
		(SELECT DISTINCT partner_code FROM deliveries WHERE endpoint_id = '' AND due_at IS NOT NULL) d JOIN endpoints o ON o.partner_code = d.partner_code)
		ORDER BY e.id`)
	found, err := database.Collect(ctx, l.db.Read, t, endpointFields)
	for _, e := range found {
		if err == nil {
			err = l.Adopt(ctx, e)
		}
	}
	return err
}

// Endpoint returns one endpoint with its window, or NotFound.
func (l *Ledger) Endpoint(ctx context.Context, id string) (webhook.Endpoint, error) {
	return l.EndpointIn(ctx, partners.Everything(), id)
}

// EndpointIn is Endpoint within a scope; one that it does not hold is NotFound.
func (l *Ledger) EndpointIn(ctx context.Context, s partners.Scope, id string) (webhook.Endpoint, error) {
	e, err := selectEndpoint(ctx, l.db.Read, s, id)
	return e, err
}

func selectEndpoint(ctx context.Context, q database.Querier, s partners.Scope, id string) (e webhook.Endpoint, err error) {
	t := new(database.Statement).Add("SELECT "+endpointColumns+` FROM endpoints e JOIN windows w ON w.endpoint_id = e.id
		WHERE e.id = ? AND e.removed_at = 0`, id).Within(s, "e.partner_code")
	err = t.Query(ctx, q, func(rows database.Row) error { return rows.Scan(endpointFields(&e)...) })
	if err == nil && e.ID == "" {
		err = webhook.NotFound("endpoint", id)
	}
	return e, err
}

// Endpoints lists a partner's endpoints, oldest first; NotFound without such a partner.
func (l *Ledger) Endpoints(ctx context.Context, code string) (found []webhook.Endpoint, err error) {
	if _, err := l.Partner(ctx, code); err != nil {
		return nil, err
	}
	t := new(database.Statement).Add("SELECT "+endpointColumns+` FROM endpoints e JOIN windows w ON w.endpoint_id = e.id
		WHERE e.partner_code = ? AND e.removed_at = 0 ORDER BY e.id`, code)
	return database.Collect(ctx, l.db.Read, t, endpointFields)
}

// UpdateEndpoint changes an endpoint and its window under the window's lock.
// change may set what belongs to the endpoint itself, and of its window
// MaxInFlight, Paused, Disabled, Breaker, Health, RateEvery and Ordered. Order
// takes hold of what is unfinished, too; of more than 2,000 it is a Conflict.
// Entries without a detail name what changed.
func (l *Ledger) UpdateEndpoint(ctx context.Context, id string, change func(*webhook.Endpoint) error, by ...partners.AuditEntry) (webhook.Endpoint, error) {
	return l.UpdateEndpointIn(ctx, partners.Everything(), id, change, by...)
}

// UpdateEndpointIn is UpdateEndpoint within a scope; one that it does not hold
// is NotFound.
func (l *Ledger) UpdateEndpointIn(ctx context.Context, s partners.Scope, id string, change func(*webhook.Endpoint) error, by ...partners.AuditEntry) (e webhook.Endpoint, err error) {
	var newTypes bool
	err = l.withLockedWindows(ctx, []string{id}, func(ctx context.Context, b *batch) error {
		w, err := b.window(id)
		if err != nil {
			return err
		}
		if e, err = b.endpoint(ctx, s, w); err != nil {
			return err
		}
		before := e
		before.Types = slices.Clone(e.Types)
		if err := change(&e); err != nil {
			return err
		}
		c := e.Window
		if c.Ordered && !w.Ordered {
			if err := b.keepOrder(ctx, w); err != nil {
				return err
			}
			if w.Breaker.Probe == "" { // it was called back
				c.Breaker.Probe = ""
			}
		}
		newTypes = !slices.Equal(before.Types, e.Types)
		w.Adopting = w.Adopting || newTypes
		if w.Breaker.State != webhook.BreakerClosed && c.Breaker.State == webhook.BreakerClosed {
			w.Grown = webhook.StartWindow // who closed it cannot know what the receiver bears
		}
		w.MaxInFlight, w.Paused, w.Disabled, w.Breaker, w.Health = c.MaxInFlight, c.Paused, c.Disabled, c.Breaker, c.Health
		w.RateEvery, w.Ordered = c.RateEvery, c.Ordered
		w.Grown = min(w.Grown, w.MaxInFlight)
		w.wake(b.now)
		e.UpdatedAt, e.Window = b.now, w.Window
		_, err = b.tx.ExecContext(ctx, `UPDATE endpoints SET url_changed_at = CASE WHEN url <> $2 THEN $7 ELSE url_changed_at END, url = $2, types = $3, description = $4, ack_mode = $5, headers = $6,
			updated_at = $7, timeout = $8 WHERE id = $1`, id, e.URL, database.JoinList(e.Types), e.Description, string(e.AckMode), database.Bytes(e.Headers), database.Micros(b.now), e.Timeout.Microseconds())
		if err == nil {
			b.acted(by, id, before.Changes(e))
		}
		return err
	})
	if err == nil && newTypes {
		l.adoptSoon(ctx, e)
	}
	return e, err
}

// endpoint is the endpoint of a window that the batch holds.
func (b *batch) endpoint(ctx context.Context, s partners.Scope, w *window) (webhook.Endpoint, error) {
	e, err := selectEndpoint(ctx, b.tx, s, w.EndpointID)
	if err == nil {
		e.Window = w.Window
	}
	return e, err
}

const reasonRemoved = "its endpoint was removed"

// reasonOf is why a delivery that is handed back ends, if it does.
func reasonOf(s webhook.State) string {
	if s == webhook.Cancelled {
		return reasonRemoved
	}
	return ""
}

// RemoveEndpoint takes an endpoint away. What waits for it ends cancelled;
// what is in flight ends without a retry.
func (l *Ledger) RemoveEndpoint(ctx context.Context, id string, by ...partners.AuditEntry) error {
	return l.RemoveEndpointIn(ctx, partners.Everything(), id, by...)
}

// RemoveEndpointIn is RemoveEndpoint within a scope; one that it does not hold
// is NotFound.
func (l *Ledger) RemoveEndpointIn(ctx context.Context, s partners.Scope, id string, by ...partners.AuditEntry) error {
	err := l.withLockedWindows(ctx, []string{id}, func(ctx context.Context, b *batch) error {
		w, err := b.window(id)
		if err != nil {
			return err
		}
		if _, err := b.endpoint(ctx, s, w); err != nil {
			return err
		}
		w.Removed = true
		if _, err := b.tx.ExecContext(ctx, "UPDATE endpoints SET removed_at = $2, updated_at = $2 WHERE id = $1", id, database.Micros(b.now)); err != nil {
			return err
		}
		if _, err = b.cancelWaiting(ctx, w); err == nil {
			b.acted(by, id, "")
		}
		return err
	})
	if err != nil {
		return err
	}
	return l.CancelRemoved(ctx)
}

// CancelRemoved ends what still waits for endpoints that are gone.
func (l *Ledger) CancelRemoved(ctx context.Context) error {
	for {
		t := new(database.Statement).Add("SELECT endpoint_id FROM windows WHERE removed AND waiting_first + waiting_again + waiting_blocked > 0 ORDER BY endpoint_id")
		ids, err := database.Collect(ctx, l.db.Read, t, database.One[string])
		if err != nil || len(ids) == 0 {
			return err
		}
		ended := 0
		for _, id := range ids {
			err := l.withLockedWindows(ctx, []string{id}, func(ctx context.Context, b *batch) error {
				w, err := b.window(id)
				if err != nil {
					return err
				}
				n, err := b.cancelWaiting(ctx, w)
				ended += n
				return err
			})
			if err != nil {
				return err
			}
		}
		if ended == 0 {
			return nil
		}
	}
}

// cancelWaiting ends up to adoptBatch deliveries that wait for a removed
// endpoint and reports how many.
func (b *batch) cancelWaiting(ctx context.Context, w *window) (int, error) {
	return b.cancel(ctx, reasonRemoved, w.EndpointID, func(t *database.Statement) {
		t.Add("endpoint_id = ? AND id IN (SELECT id FROM deliveries WHERE endpoint_id = ? AND due_at IS NOT NULL ORDER BY id LIMIT ?)",
			w.EndpointID, w.EndpointID, adoptBatch)
	})
}

// cancel ends those waiting deliveries of one endpoint (or of none) that where
// describes, under the window's lock, and reports how many.
func (b *batch) cancel(ctx context.Context, reason, endpointID string, where func(*database.Statement)) (n int, err error) {
	t := new(database.Statement).Add("UPDATE deliveries SET state = 'cancelled', reason = ?, due_at = NULL, finished_at = ?, generation = generation + 1 WHERE due_at IS NOT NULL AND ",
		reason, database.Micros(b.now))
	where(t)
	err = t.Add(" RETURNING lane, trigger, partner_code, subject").Query(ctx, b.tx, func(rows database.Row) error {
		var lane int
		var trigger webhook.Trigger
		var partner, subject string
		if err := rows.Scan(&lane, &trigger, &partner, &subject); err != nil {
			return err
		}
		n++
		b.ended(trigger, partner, webhook.Cancelled, endpointID, subject)
		if endpointID == "" {
			return nil
		}
		w, err := b.window(endpointID)
		if err != nil {
			return err
		}
		w.waits(lane, -1)
		return nil
	})
	return n, err
}

// EndpointURLs lists the different URLs of all endpoints, at most limit.
func (l *Ledger) EndpointURLs(ctx context.Context, limit int) (urls []string, err error) {
	t := new(database.Statement).Add("SELECT DISTINCT url FROM endpoints WHERE removed_at = 0 ORDER BY url LIMIT ?", limit)
	return database.Collect(ctx, l.db.Read, t, database.One[string])
}

// PartnerWindows sums up the windows of one partner's endpoints.
type PartnerWindows struct {
	PartnerCode string
	Breakers    map[webhook.BreakerState]int // endpoints by state
	Waiting     int64                        // deliveries that wait: for room, their next attempt, or somebody
	Held        int64                        // those of them that wait until somebody acts
	LastSuccess time.Time                    // the newest of any of the endpoints; zero: none ever had one
}

// PartnerWindows sums up the windows of all partners with endpoints.
func (l *Ledger) PartnerWindows(ctx context.Context) (found []PartnerWindows, err error) {
	t := new(database.Statement).Add(`SELECT e.partner_code, w.breaker, COUNT(*), SUM(w.waiting_first + w.waiting_again + w.waiting_blocked), SUM(CASE WHEN w.paused OR w.disabled OR w.partner_disabled
		THEN w.waiting_first + w.waiting_again + w.waiting_blocked ELSE 0 END), MAX(w.last_success)
		FROM endpoints e JOIN windows w ON w.endpoint_id = e.id WHERE e.removed_at = 0 GROUP BY e.partner_code, w.breaker ORDER BY 1`)
	err = t.Query(ctx, l.db.Read, func(rows database.Row) error {
		var code string
		var state webhook.BreakerState
		var n int
		var waiting, held int64
		var last time.Time
		if err := rows.Scan(&code, &state, &n, &waiting, &held, database.Time(&last)); err != nil {
			return err
		}
		if len(found) == 0 || found[len(found)-1].PartnerCode != code {
			found = append(found, PartnerWindows{PartnerCode: code, Breakers: map[webhook.BreakerState]int{}})
		}
		p := &found[len(found)-1]
		p.Breakers[state] += n
		p.Waiting += waiting
		p.Held += held
		if last.After(p.LastSuccess) {
			p.LastSuccess = last
		}
		return nil
	})
	return found, err
}
