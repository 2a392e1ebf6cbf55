package reports

import (
	"context"
	"slices"
	"strings"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// EventQuery narrows a list of what internal systems sent. Empty fields do not.
type EventQuery struct {
	Scope        partners.Scope // required
	PartnerCode  string
	Type         webhook.Type
	Results      []delivery.IngestResult
	Reference    string // what the event is about: its object
	Since, Until time.Time
	Cursor       string // Next of the page before
	Limit        int    // 0: SearchDefaultLimit; at most SearchMaxLimit
}

// SentEvent is an event that an internal system sent, or one of the gateway's
// own, and what became of it.
type SentEvent struct {
	EventID     string // of a duplicate: of the event that was stored; empty if refused
	PartnerCode string
	Type        webhook.Type
	Reference   string
	Result      delivery.IngestResult
	Reason      string // why it was refused, in words
	At          time.Time

	// Of accepted ones only.
	Status                     string
	Filtered, Unexpected, Test bool

	place string // the time and random part of its id
}

// SentEvents lists what internal systems sent, newest first, and the cursor of
// the next page. Duplicates and refusals are kept as far as possible only, see
// delivery.Refusal.
func (l *Reports) SentEvents(ctx context.Context, q EventQuery) (found []SentEvent, next string, err error) {
	if q.Limit <= 0 {
		q.Limit = SearchDefaultLimit
	}
	q.Limit, q.Until = min(q.Limit, SearchMaxLimit), database.Soon(q.Until)
	wants := func(r delivery.IngestResult) bool { return len(q.Results) == 0 || slices.Contains(q.Results, r) }
	if wants(delivery.Accepted) {
		found, err = l.acceptedEvents(ctx, q)
	}
	if err == nil && (wants(delivery.Duplicate) || wants(delivery.Refused)) {
		t := q.narrow(new(database.Statement).Add("SELECT id, event_id, partner_code, webhook_type, reference, result, reason, at FROM refusals"), webhook.RefusalPrefix)
		t.Equal("reference", q.Reference)
		among(t, "result", q.Results)
		err = t.Add(" ORDER BY id DESC LIMIT ?", q.Limit+1).Query(ctx, l.db.Read, func(row database.Row) error {
			var e SentEvent
			var id string
			err := row.Scan(&id, &e.EventID, &e.PartnerCode, &e.Type, &e.Reference, &e.Result, &e.Reason, database.Time(&e.At))
			e.place = strings.TrimPrefix(id, webhook.RefusalPrefix)
			found = append(found, e)
			return err
		})
	}
	slices.SortFunc(found, func(x, y SentEvent) int { return strings.Compare(y.place, x.place) })
	found, next = database.Page(found, q.Limit, func(e SentEvent) string { return e.place })
	return found, next, err
}

// acceptedEvents reads a page of those that were stored.
func (l *Reports) acceptedEvents(ctx context.Context, q EventQuery) (found []SentEvent, err error) {
	err = l.db.NearFirst(webhook.EventPrefix, q.below(webhook.EventPrefix), func(from string) (enough bool, err error) {
		found = nil
		t := q.narrow(new(database.Statement).Add("SELECT id, partner_code, webhook_type, object_id, status, filtered, unexpected, test, created_at FROM events"), webhook.EventPrefix)
		t.Equal("object_id", q.Reference)
		err = t.Add(" AND id >= ? ORDER BY id DESC LIMIT ?", from, q.Limit+1).Query(ctx, l.db.Read, func(row database.Row) error {
			e := SentEvent{Result: delivery.Accepted}
			err := row.Scan(&e.EventID, &e.PartnerCode, &e.Type, &e.Reference, &e.Status, &e.Filtered, &e.Unexpected, &e.Test, database.Time(&e.At))
			e.place = strings.TrimPrefix(e.EventID, webhook.EventPrefix)
			found = append(found, e)
			return err
		})
		return len(found) > q.Limit, err
	})
	return found, err
}

// below is the id that what is listed must be older than.
func (q EventQuery) below(prefix string) string {
	cursor := ""
	if q.Cursor != "" {
		cursor = prefix + q.Cursor
	}
	return database.Below(cursor, q.Until, prefix)
}

// narrow adds the conditions that events and refusals share.
func (q EventQuery) narrow(t *database.Statement, prefix string) *database.Statement {
	t.Add(" WHERE id < ?", q.below(prefix))
	t.Since("id", prefix, q.Since)
	t.Within(q.Scope, "partner_code")
	t.Equal("partner_code", q.PartnerCode)
	t.Equal("webhook_type", string(q.Type))
	return t
}

// SeenEvent returns one event of the scope with its deliveries, oldest first;
// NotFound also for an event that the scope does not hold.
func (l *Reports) SeenEvent(ctx context.Context, s partners.Scope, id string) (e webhook.Event, deliveries []delivery.DeliveryWithWindow, err error) {
	if e, err = l.Event(ctx, s, id); err == nil {
		deliveries, err = rows.DeliveriesOf(ctx, l.db, id)
	}
	return e, deliveries, err
}

// SeenDelivery returns one delivery of the scope with its endpoint's URL;
// NotFound also for a delivery that the scope does not hold.
func (l *Reports) SeenDelivery(ctx context.Context, s partners.Scope, id string) (FoundDelivery, error) {
	q := DeliveryQuery{Scope: s, Limit: 1}
	found, err := l.follow(ctx, q, path{along: func(t *database.Statement) { t.Add(" AND d.id = ?", id) }}, "")
	if err == nil && len(found) == 0 {
		return FoundDelivery{}, webhook.NotFound("delivery", id)
	}
	if err != nil {
		return FoundDelivery{}, err
	}
	return found[0], nil
}
