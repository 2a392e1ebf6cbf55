package reports

import (
	"context"
	"slices"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/orders"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// OrderStanding is an order with what its partner was told of its status.
type OrderStanding struct {
	orders.Order
	EventID    string                        // of the change to the status; empty: there was none since the order was made
	ChangedAt  time.Time                     // of that change
	Filtered   bool                          // no endpoint of the partner takes the event
	Erased     bool                          // the content of the event, so that it is not sent any more
	Deliveries []delivery.DeliveryWithWindow // of the event, oldest first
	Conflict   time.Time                     // of the oldest report that is to settle; zero: there is none
}

// Told returns when the last of the partner's endpoints was told of the status,
// and the newest delivery to each of those that were not and still can be. Of an
// order that was never changed there is neither, nor of what was not kept, was
// cancelled or erased, or was for an endpoint that is removed.
func (s OrderStanding) Told() (at time.Time, untold []delivery.DeliveryWithWindow) {
	newest, told := map[string]delivery.DeliveryWithWindow{}, map[string]time.Time{}
	var endpoints []string
	for _, d := range s.Deliveries {
		to := d.Window.EndpointID
		if _, known := newest[to]; !known {
			endpoints = append(endpoints, to)
		}
		newest[to] = d
		if d.State == webhook.Delivered && told[to].IsZero() {
			told[to] = d.FinishedAt
		}
	}
	for _, to := range endpoints {
		switch by := told[to]; {
		case by.After(at):
			at = by
		case by.IsZero() && !s.Erased && sendable(newest[to]):
			untold = append(untold, newest[to])
		}
	}
	return at, untold
}

// sendable reports whether a delivery has yet to bring its event, and can.
func sendable(d delivery.DeliveryWithWindow) bool {
	return d.State != webhook.Cancelled && !d.Settled() && !d.Window.Removed
}

// Standings are orders, in their order, with what their partners were told.
func (l *Reports) Standings(ctx context.Context, found []orders.Order) (standings []OrderStanding, err error) {
	at := map[string]int{} // of an order, or of the event that tells of it
	for i, o := range found {
		at[o.ID] = i
		standings = append(standings, OrderStanding{Order: o})
	}
	if len(found) == 0 {
		return nil, nil
	}
	t := new(database.Statement).Add("SELECT c.order_id, c.event_id, c.at, COALESCE(e.filtered, ?), COALESCE(e.erased_at, 0) > 0 FROM ", false)
	t.Table(len(found), func(i int) []any { return []any{found[i].ID, found[i].Sequence} })
	t.Add(" JOIN order_changes c ON c.order_id = v.column1 AND c.sequence = v.column2 LEFT JOIN events e ON e.id = c.event_id")
	var events []string
	err = t.Query(ctx, l.db.Read, func(row database.Row) error {
		var id string
		var s OrderStanding
		if err := row.Scan(&id, &s.EventID, database.Time(&s.ChangedAt), &s.Filtered, &s.Erased); err != nil {
			return err
		}
		s.Order = found[at[id]]
		standings[at[id]], at[s.EventID] = s, at[id]
		events = append(events, s.EventID)
		return nil
	})
	if err == nil {
		err = l.addDeliveries(ctx, standings, at, events)
	}
	if err == nil {
		err = l.addConflicts(ctx, standings, at)
	}
	return standings, err
}

// addDeliveries adds the deliveries of the events that tell of the standings.
func (l *Reports) addDeliveries(ctx context.Context, standings []OrderStanding, at map[string]int, events []string) error {
	if len(events) == 0 {
		return nil
	}
	t := database.In(rows.SelectDeliveries(""), "d.event_id", events)
	found, err := rows.Deliveries(ctx, l.db.Read, l.db.MadeFor(t, "d.id", webhook.DeliveryPrefix, slices.Min(events)).Add(" ORDER BY d.id"))
	for _, d := range found {
		s := &standings[at[d.EventID]]
		s.Deliveries = append(s.Deliveries, d)
	}
	return err
}

// addConflicts adds since when there is something to settle of the standings.
func (l *Reports) addConflicts(ctx context.Context, standings []OrderStanding, at map[string]int) error {
	ids := make([]string, len(standings))
	for i, s := range standings {
		ids[i] = s.ID
	}
	t := database.In(new(database.Statement).Add("SELECT order_id, MIN(at) FROM order_conflicts WHERE settled_at = 0 AND "), "order_id", ids)
	return t.Add(" GROUP BY order_id").Query(ctx, l.db.Read, func(row database.Row) error {
		var id string
		var since time.Time
		err := row.Scan(&id, database.Time(&since))
		standings[at[id]].Conflict = since
		return err
	})
}

// UnfinishedOrders lists the orders that have not ended, or have and hold a
// conflict that is to settle, newest first, and the cursor of the next page.
func (l *Reports) UnfinishedOrders(ctx context.Context, f orders.Filter) (found []orders.Order, next string, err error) {
	below := database.Below(f.Cursor, f.Until, webhook.OrderPrefix)
	t := new(database.Statement).Add("SELECT " + rows.OrderColumns + " FROM orders WHERE id IN (")
	partner, between := f.PartnerCode, ""
	f.PartnerCode = ""
	for _, status := range orders.Statuses {
		from := "SELECT id FROM orders WHERE status = '" + string(status) + "'"
		switch {
		case f.Status != "" && f.Status != status:
			continue
		case status == orders.StatusFail: // from the conflicts, which are few: SQLite keeps the order of a CROSS JOIN
			from = "SELECT DISTINCT id FROM order_conflicts CROSS JOIN orders WHERE id = order_id AND settled_at = 0"
		case status.Final():
			continue
		}
		narrowOrders(t.Add(between+"SELECT id FROM ("+from+" AND id < ?", below), f)
		if partner != "" { // not along its index, which holds all that have ended
			t.Add(" AND partner_code || '' = ?", partner)
		}
		t.Add(" ORDER BY id DESC LIMIT ?) AS part", f.Limit+1)
		between = " UNION ALL "
	}
	if between == "" { // orders of that status have ended, without a conflict
		return nil, "", nil
	}
	found, err = database.Collect(ctx, l.db.Read, t.Add(") ORDER BY id DESC LIMIT ?", f.Limit+1), rows.OrderFields)
	found, next = database.Page(found, f.Limit, func(o orders.Order) string { return o.ID })
	return found, next, err
}

// untold are the states of notifications that have not got through.
var untold = []webhook.State{webhook.Pending, webhook.Held, webhook.Queued, webhook.Sending, webhook.Exhausted}

// UntoldOrders lists the orders whose partner was not told of the present
// status, by page after page of the notifications that have not got through,
// newest first: a page may hold few orders although another follows. The cursor
// is a delivery.
func (l *Reports) UntoldOrders(ctx context.Context, f orders.Filter) (found []OrderStanding, next string, err error) {
	no := false
	page, err := l.SearchDeliveries(ctx, DeliveryQuery{Scope: partners.Everything(), PartnerCode: f.PartnerCode, Types: []webhook.Type{webhook.CashoutOrderUpdated},
		Reference: f.Reference, Since: f.Since, States: untold, Settled: &no, Cursor: f.Cursor, Limit: f.Limit})
	if err != nil || len(page.Items) == 0 {
		return nil, page.Next, err
	}
	t := new(database.Statement).Add("SELECT DISTINCT " + rows.OrderColumns + " FROM ")
	t.Table(len(page.Items), func(i int) []any { return []any{page.Items[i].PartnerCode, page.Items[i].ObjectID} })
	t.Add(" CROSS JOIN orders WHERE partner_code = v.column1 AND external_order_id = v.column2")
	of, err := database.Collect(ctx, l.db.Read, narrowOrders(t, f).Add(" ORDER BY id DESC"), rows.OrderFields)
	if err != nil {
		return nil, "", err
	}
	found, err = l.Standings(ctx, of)
	found = slices.DeleteFunc(found, func(s OrderStanding) bool { return !slices.ContainsFunc(page.Items, s.untoldBy) })
	return found, page.Next, err
}

// untoldBy reports whether d is the newest delivery by which the partner was not
// told of the status.
func (s OrderStanding) untoldBy(d FoundDelivery) bool {
	_, untold := s.Told()
	return slices.ContainsFunc(untold, func(u delivery.DeliveryWithWindow) bool { return u.ID == d.ID })
}

// narrowOrders adds the conditions of a filter but for its cursor.
func narrowOrders(t *database.Statement, f orders.Filter) *database.Statement {
	t.Since("id", webhook.OrderPrefix, f.Since)
	t.Equal("partner_code", f.PartnerCode)
	t.Equal("status", string(f.Status))
	if f.Reference != "" {
		t.Add(" AND (external_order_id = ? OR id = ?)", f.Reference, f.Reference)
	}
	return t
}
