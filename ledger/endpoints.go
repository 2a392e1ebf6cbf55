package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

const endpointColumns = "e.id, e.partner_code, e.url, e.types, e.description, e.ack_mode, e.timeout, e.headers, e.created_at, e.updated_at, " + rows.WindowColumns

func endpointFields(e *webhook.Endpoint) []any {
	return append([]any{&e.ID, &e.PartnerCode, &e.URL, database.List(&e.Types), &e.Description, &e.AckMode, database.Duration(&e.Timeout), &e.Headers,
		database.Time(&e.CreatedAt), database.Time(&e.UpdatedAt)}, rows.WindowFields(&e.Window)...)
}

// CreateEndpoint registers an endpoint; URL, Types and Window.MaxInFlight are
// set. Its ID is the ledger's to give: change, if not nil, is called with the
// endpoint that has it, and may be called more than once. If events wait for the
// partner's first endpoint it takes their place over, see takeOver. At most
// partners.MaxEndpoints, else Conflict.
func (l *Ledger) CreateEndpoint(ctx context.Context, e webhook.Endpoint, change func(*webhook.Endpoint) error, by ...partners.AuditEntry) (webhook.Endpoint, error) {
	e, takesOver, err := l.createEndpoint(ctx, e, change, by)
	if err != nil {
		return e, err
	}
	if takesOver {
		if err := l.takeOver(ctx, e); err != nil {
			l.db.Log.Warn("deliveries that waited for an endpoint leave later", "endpoint", e.ID, "error", err)
		}
	}
	return l.Endpoint(ctx, partners.Everything(), e.ID)
}

// createEndpoint stores an endpoint and reports whether it takes over.
func (l *Ledger) createEndpoint(ctx context.Context, e webhook.Endpoint, change func(*webhook.Endpoint) error, by []partners.AuditEntry) (created webhook.Endpoint, takesOver bool, err error) {
	entries := audit.About(by, "", "") // their target is known once the endpoint has its id
	err = audit.Do(ctx, l.db, entries, func(tx database.Querier) error {
		var disabled bool
		var place string
		err := tx.QueryRowContext(ctx, "SELECT disabled, unrouted FROM partners WHERE code = $1"+l.db.ForUpdate, e.PartnerCode).Scan(&disabled, &place)
		if err := database.OrNone(err, webhook.NotFound("partner", e.PartnerCode)); err != nil {
			return err
		}
		var n int
		err = tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM endpoints WHERE partner_code = $1 AND removed_at = 0", e.PartnerCode).Scan(&n)
		if err != nil {
			return err
		}
		if n >= partners.MaxEndpoints {
			return webhook.Conflict(fmt.Sprintf("the partner has %d endpoints, the maximum: remove one first", n))
		}
		created, takesOver = e, place != ""
		created.ID = cmp.Or(place, webhook.NewID(webhook.EndpointPrefix))
		for i := range entries {
			entries[i].Target = created.ID
		}
		if change != nil {
			if err := change(&created); err != nil {
				return err
			}
		}
		return insertEndpoint(ctx, tx, created, disabled)
	})
	return created, takesOver, err
}

// insertEndpoint writes an endpoint and its window, which is that of its
// partner's waiting place if it has the id of that.
func insertEndpoint(ctx context.Context, tx database.Querier, e webhook.Endpoint, partnerDisabled bool) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO endpoints (id, partner_code, url, types, description, ack_mode, timeout, headers, created_at, updated_at, removed_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0)`, e.ID, e.PartnerCode, e.URL, database.JoinList(e.Types), e.Description,
		string(cmp.Or(e.AckMode, webhook.AckStatus)), e.Timeout.Microseconds(), database.Bytes(e.Headers), database.Micros(e.CreatedAt), database.Micros(e.CreatedAt))
	if err != nil {
		return fmt.Errorf("insert endpoint: %w", err)
	}
	if _, err = tx.ExecContext(ctx, "UPDATE partners SET unrouted = '' WHERE code = $1 AND unrouted <> ''", e.PartnerCode); err != nil {
		return err
	}
	e.Window.EndpointID, e.Window.PartnerDisabled = e.ID, partnerDisabled
	return insertWindow(ctx, tx, e.Window)
}

// insertWindow writes the window of a new endpoint or waiting place. One that
// was a waiting place keeps its sequence and what waits in it.
func insertWindow(ctx context.Context, tx database.Querier, w webhook.Window) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO windows (endpoint_id, max_in_flight, grown, used, waiting_first, waiting_again,
		admissions, next_sequence, paused, disabled, partner_disabled, removed, rate_every, ordered, unrouted)
		VALUES ($1, $2, $3, 0, 0, 0, 0, 1, $4, $4, $5, $4, $6, $7, $8)
		ON CONFLICT (endpoint_id) DO UPDATE SET max_in_flight = excluded.max_in_flight, grown = excluded.grown,
			rate_every = excluded.rate_every, ordered = excluded.ordered, unrouted = $4, filtering = $9`,
		w.EndpointID, w.MaxInFlight, min(webhook.StartWindow, w.MaxInFlight), false, w.PartnerDisabled,
		w.RateEvery.Microseconds(), w.Ordered, w.Unrouted, true)
	return err
}

// makePlaces gives each of the partners a waiting place that has no endpoint: a
// window for deliveries whose endpoint is still to come. It keeps order, so that
// an endpoint which does can take it over as it is.
func (l *Ledger) makePlaces(ctx context.Context, codes []string) error {
	ctx, cancel := context.WithTimeout(ctx, database.CommitTimeout)
	defer cancel()
	return l.db.InTx(ctx, func(tx database.Querier) error {
		if err := lockPartners(ctx, tx, codes, l.db.ForUpdate); err != nil {
			return err
		}
		var places []webhook.Window
		t := database.InList(new(database.Statement).Add("SELECT code, disabled FROM partners p WHERE unrouted = '' AND code IN "), codes)
		t.Add(" AND NOT EXISTS (SELECT 1 FROM endpoints e WHERE e.partner_code = p.code AND e.removed_at = 0) ORDER BY code")
		var without []string
		err := t.Query(ctx, tx, func(row database.Row) error {
			var code string
			w := webhook.Window{EndpointID: webhook.NewID(webhook.EndpointPrefix), MaxInFlight: webhook.DefaultMaxInFlight, Ordered: true, Unrouted: true}
			err := row.Scan(&code, &w.PartnerDisabled)
			without, places = append(without, code), append(places, w)
			return err
		})
		for i, w := range places {
			if err == nil {
				err = insertWindow(ctx, tx, w)
			}
			if err == nil {
				_, err = tx.ExecContext(ctx, "UPDATE partners SET unrouted = $2 WHERE code = $1", without[i], w.EndpointID)
			}
		}
		return err
	})
}

// lockPartners locks partners in the order of their codes.
func lockPartners(ctx context.Context, q database.Querier, codes []string, forUpdate string) error {
	t := database.InList(new(database.Statement).Add("SELECT code FROM partners WHERE code IN "), codes).Add(" ORDER BY code" + forUpdate)
	return t.Query(ctx, q, func(database.Row) error { return nil })
}

const reasonFiltered = "filtered"

// cancelStep is how many deliveries one transaction ends.
const cancelStep = 500

// takeOver ends what waited for e and is of a type that it does not take, and
// then lets the rest go. Until then nothing leaves, and new events wait behind.
func (l *Ledger) takeOver(ctx context.Context, e webhook.Endpoint) error {
	for after, more := "", true; more; {
		t := new(database.Statement).Add("SELECT id FROM deliveries WHERE endpoint_id = ? AND id > ? AND due_at IS NOT NULL", e.ID, after)
		ids, err := database.Collect(ctx, l.db.Read, untaken(t, e).Add(" ORDER BY id LIMIT ?", cancelStep), database.One[string])
		if err != nil {
			return err
		}
		if more = len(ids) == cancelStep; more {
			after = ids[cancelStep-1]
		}
		err = l.withLockedWindows(ctx, []string{e.ID}, func(ctx context.Context, b *batch) error { return b.filter(ctx, e.ID, ids, !more) })
		if err != nil {
			return err
		}
	}
	return nil
}

// untaken adds the condition that a delivery is of a type which e does not take.
func untaken(t *database.Statement, e webhook.Endpoint) *database.Statement {
	types := []webhook.Type{""} // which no delivery has
	for _, typ := range webhook.Types {
		if !e.Takes(typ) {
			types = append(types, typ)
		}
	}
	return database.InList(t.Add(" AND webhook_type IN "), types)
}

// filter ends those of the deliveries that their endpoint does not take.
func (b *batch) filter(ctx context.Context, endpointID string, ids []string, last bool) error {
	w, err := b.window(endpointID)
	if err != nil || w.Removed {
		return err
	}
	if len(ids) > 0 {
		e, err := b.endpoint(ctx, partners.Everything(), w) // its types may have changed meanwhile
		if err != nil {
			return err
		}
		_, err = b.cancel(ctx, reasonFiltered, w, func(t *database.Statement) { untaken(database.InList(t.Add("id IN "), ids), e) })
		if err != nil {
			return err
		}
	}
	if last {
		w.Filtering = false
		w.wake(b.now)
	}
	return nil
}

// TakeOver carries on what takeOver did not bring to its end.
func (l *Ledger) TakeOver(ctx context.Context) error {
	t := new(database.Statement).Add("SELECT " + endpointColumns + ` FROM endpoints e JOIN windows w ON w.endpoint_id = e.id
		WHERE e.removed_at = 0 AND w.filtering ORDER BY e.id`)
	found, err := database.Collect(ctx, l.db.Read, t, endpointFields)
	for _, e := range found {
		if err == nil {
			err = l.takeOver(ctx, e)
		}
	}
	return err
}

// Endpoint returns one endpoint of the scope with its window, or NotFound.
func (l *Ledger) Endpoint(ctx context.Context, s partners.Scope, id string) (webhook.Endpoint, error) {
	return selectEndpoint(ctx, l.db.Read, s, id)
}

func selectEndpoint(ctx context.Context, q database.Querier, s partners.Scope, id string) (e webhook.Endpoint, err error) {
	t := new(database.Statement).Add("SELECT "+endpointColumns+` FROM endpoints e JOIN windows w ON w.endpoint_id = e.id
		WHERE e.id = ? AND e.removed_at = 0`, id).Within(s, "e.partner_code")
	err = t.Query(ctx, q, func(row database.Row) error { return row.Scan(endpointFields(&e)...) })
	if err == nil && e.ID == "" {
		err = webhook.NotFound("endpoint", id)
	}
	return e, err
}

// Endpoints lists a partner's endpoints, oldest first; NotFound without such a partner.
func (l *Ledger) Endpoints(ctx context.Context, code string) (found []webhook.Endpoint, err error) {
	if _, err := rows.Partner(ctx, l.db.Read, code); err != nil {
		return nil, err
	}
	t := new(database.Statement).Add("SELECT "+endpointColumns+` FROM endpoints e JOIN windows w ON w.endpoint_id = e.id
		WHERE e.partner_code = ? AND e.removed_at = 0 ORDER BY e.id`, code)
	return database.Collect(ctx, l.db.Read, t, endpointFields)
}

// UpdateEndpoint changes an endpoint of the scope and its window under the
// window's lock, or is NotFound. change may set what belongs to the endpoint
// itself, and of its window MaxInFlight, Paused, Disabled, Breaker, Health,
// RateEvery and Ordered. Order takes hold of what is unfinished, too; of more
// than 2,000 it is a Conflict. Entries without a detail name what changed.
func (l *Ledger) UpdateEndpoint(ctx context.Context, s partners.Scope, id string, change func(*webhook.Endpoint) error, by ...partners.AuditEntry) (e webhook.Endpoint, err error) {
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
		if e.URL != before.URL {
			c.Health.Pace = webhook.Pace{} // another receiver's
		}
		if c.Ordered && !w.Ordered {
			if err := b.keepOrder(ctx, w); err != nil {
				return err
			}
			if w.Breaker.Probe == "" { // it was called back
				c.Breaker.Probe = ""
			}
		}
		if w.Breaker.State != webhook.BreakerClosed && c.Breaker.State == webhook.BreakerClosed {
			w.Grown = webhook.StartWindow // whoever closed it cannot know what the receiver bears
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

// RemoveEndpoint takes an endpoint of the scope away, or is NotFound. What waits
// for it ends cancelled; what is in flight ends without a retry.
func (l *Ledger) RemoveEndpoint(ctx context.Context, s partners.Scope, id string, by ...partners.AuditEntry) error {
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
		if _, err := b.tx.ExecContext(ctx, "DELETE FROM endpoint_contacts WHERE endpoint_id = $1", id); err != nil {
			return fmt.Errorf("delete the contacts of %s: %w", id, err)
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

// cancelWaiting ends up to cancelStep deliveries that wait for a removed
// endpoint and reports how many.
func (b *batch) cancelWaiting(ctx context.Context, w *window) (int, error) {
	return b.cancel(ctx, reasonRemoved, w, func(t *database.Statement) {
		t.Add("id IN (SELECT id FROM deliveries WHERE endpoint_id = ? AND due_at IS NOT NULL ORDER BY id LIMIT ?)", w.EndpointID, cancelStep)
	})
}

// cancel ends those deliveries that wait for a window and that where describes,
// under the window's lock, and reports how many.
func (b *batch) cancel(ctx context.Context, reason string, w *window, where func(*database.Statement)) (n int, err error) {
	t := new(database.Statement).Add("UPDATE deliveries SET state = 'cancelled', reason = ?, due_at = NULL, finished_at = ?, generation = generation + 1 WHERE due_at IS NOT NULL AND endpoint_id = ? AND ",
		reason, database.Micros(b.now), w.EndpointID)
	where(t)
	err = t.Add(" RETURNING lane, trigger, partner_code, subject").Query(ctx, b.tx, func(row database.Row) error {
		var lane int
		var trigger webhook.Trigger
		var partner, orderingKey string
		if err := row.Scan(&lane, &trigger, &partner, &orderingKey); err != nil {
			return err
		}
		n++
		b.ended(trigger, partner, webhook.Cancelled, w.EndpointID, orderingKey)
		w.waits(lane, -1)
		return nil
	})
	return n, err
}
