package reports

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

const (
	// MaxReferences is how many references Reconcile takes at once.
	MaxReferences = 2000
	// maxReconciled is how many deliveries of one event Reconcile shows.
	maxReconciled = 20
)

// Why is what became of a reference for which there is no delivery to show.
type Why string

const (
	WhyNot         Why = ""               // there are deliveries
	NeverReceived  Why = "never_received" // no event about it came
	WasRefused     Why = "refused"        // an event about it came and was refused; Detail says why
	WasFiltered    Why = "filtered"       // an event came, and no endpoint of the partner takes its type
	NothingYet     Why = "nothing_yet"    // an order that has not changed since it was created
	OfOtherPartner Why = "other_partner"  // told to operators only
	PastRetention  Why = "past_retention" // it came, and is older than what is kept
)

// Reconciled is what became of one reference.
type Reconciled struct {
	Reference string // as it was pasted, without spaces around it
	Why       Why
	Detail    string

	PartnerCode string
	EventID     string // the newest event about it
	Type        webhook.Type
	Status      string // that the event reports
	At          time.Time
	// Deliveries of the event, of each endpoint the newest one that was delivered,
	// or the newest if none was. If a delivery was asked for it comes first, and
	// there are no others but the one that settled it. Shown of each says how it
	// stands.
	Deliveries []delivery.DeliveryWithWindow
}

// Replayable are those of Deliveries that ended without success, were not
// settled and can be sent again.
func (a Reconciled) Replayable() (ids []string) {
	for _, d := range a.Deliveries {
		if d.State.Final() && d.State != webhook.Delivered && !d.Settled() && d.EndpointID != "" && !d.Window.Removed {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

// Reconcile tells what became of each reference: the id of a delivery, event
// or order, an externalOrderId, or the object or ordering key of events, such as a
// card or an account. The answers are in the order of refs, each different
// reference once. With a partnerCode it looks among this partner's only, and
// says OfOtherPartner to operators where another's is meant. keep is the
// retention. More than MaxReferences is an Invalid error.
func (l *Reports) Reconcile(ctx context.Context, s partners.Scope, partnerCode string, refs []string, keep time.Duration) ([]Reconciled, error) {
	r := reconciliation{ledger: l, scope: s, partner: partnerCode, oldest: time.Now().Add(-keep), byRef: map[string]*Reconciled{}}
	for _, ref := range refs {
		if ref = database.Text(strings.TrimSpace(ref)); ref != "" && r.byRef[ref] == nil {
			r.byRef[ref] = &Reconciled{Reference: ref, Why: NeverReceived}
			r.order = append(r.order, ref)
		}
	}
	if len(r.order) > MaxReferences {
		return nil, webhook.Invalid("references", fmt.Sprintf("must be at most %d", MaxReferences))
	}
	for _, step := range []func(context.Context) error{r.findOrders, r.findDeliveries, r.findEvents, r.readEvents, r.readDeliveries, r.findRefusals, r.findForgotten} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("reconcile: %w", err)
		}
	}
	answers := make([]Reconciled, len(r.order))
	for i, ref := range r.order {
		answers[i] = *r.byRef[ref]
	}
	return answers, nil
}

// reconciliation is one call of Reconcile. It reads in steps, each for all
// references that still have no answer.
type reconciliation struct {
	ledger  *Reports
	scope   partners.Scope
	partner string
	oldest  time.Time
	order   []string
	byRef   map[string]*Reconciled
}

// open returns what the references without an answer are to be looked up by.
func (r *reconciliation) open(prefix string) (refs []string) {
	for _, ref := range r.order {
		if r.byRef[ref].EventID == "" && strings.HasPrefix(ref, prefix) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// each runs a query for groups of values and calls found with the rows, each
// with its reference and its partner's code first.
func (r *reconciliation) each(ctx context.Context, values []string, query, after string, scan func(database.Row) error) error {
	for group := range slices.Chunk(values, database.MaxRows) {
		if err := database.InList(new(database.Statement).Add(query), group).Add(after).Query(ctx, r.ledger.db.Read, scan); err != nil {
			return err
		}
	}
	return nil
}

// theirs reports whether code is one that the caller asks about, and otherwise
// tells an operator of it.
func (r *reconciliation) theirs(a *Reconciled, code string) bool {
	if !r.scope.All() && (code != r.scope.Partner() || code == "") {
		return false
	}
	if r.partner != "" && code != r.partner {
		if r.scope.All() && a.EventID == "" {
			a.Why, a.PartnerCode = OfOtherPartner, code
		}
		return false
	}
	return true
}

func (r *reconciliation) found(a *Reconciled, code, eventID string) {
	if r.theirs(a, code) && eventID > a.EventID {
		a.Why, a.PartnerCode, a.EventID = WhyNot, code, eventID
	}
}

// findOrders finds orders by their ids and their partners' ids, and the newest
// notification of each.
func (r *reconciliation) findOrders(ctx context.Context) error {
	const query = "SELECT o.id, o.external_order_id, o.partner_code, COALESCE((SELECT MAX(c.event_id) FROM order_changes c WHERE c.order_id = o.id), '') FROM orders o WHERE o."
	scan := func(row database.Row) error {
		var id, external, code, eventID string
		if err := row.Scan(&id, &external, &code, &eventID); err != nil {
			return err
		}
		for _, ref := range []string{id, external} {
			a := r.byRef[ref]
			switch {
			case a == nil || !r.theirs(a, code):
			case eventID == "" && a.EventID == "":
				a.Why, a.PartnerCode = NothingYet, code
			default:
				r.found(a, code, eventID)
			}
		}
		return nil
	}
	if err := r.each(ctx, r.open(webhook.OrderPrefix), query+"id IN ", "", scan); err != nil {
		return err
	}
	return r.each(ctx, r.open(""), query+"external_order_id IN ", "", scan)
}

func (r *reconciliation) findDeliveries(ctx context.Context) error {
	return r.each(ctx, r.open(webhook.DeliveryPrefix), "SELECT id, partner_code, event_id FROM deliveries WHERE id IN ", "", r.scanFound)
}

func (r *reconciliation) scanFound(row database.Row) error {
	var ref, code, eventID string
	if err := row.Scan(&ref, &code, &eventID); err != nil {
		return err
	}
	r.found(r.byRef[ref], code, eventID)
	return nil
}

// findEvents finds the newest event of each partner about what is left.
func (r *reconciliation) findEvents(ctx context.Context) error {
	if err := r.each(ctx, r.open(webhook.EventPrefix), "SELECT id, partner_code, id FROM events WHERE id IN ", "", r.scanFound); err != nil {
		return err
	}
	left := r.open("")
	err := r.each(ctx, left, "SELECT object_id, partner_code, MAX(id) FROM events WHERE object_id IN ", " GROUP BY object_id, partner_code", r.scanFound)
	if err != nil {
		return err
	}
	return r.each(ctx, left, "SELECT subject, partner_code, MAX(id) FROM events WHERE subject <> object_id AND subject IN ", " GROUP BY subject, partner_code", r.scanFound)
}

// byEvent returns the answers by their events.
func (r *reconciliation) byEvent() (ids []string, byEvent map[string][]*Reconciled) {
	byEvent = map[string][]*Reconciled{}
	for _, ref := range r.order {
		if a := r.byRef[ref]; a.EventID != "" {
			byEvent[a.EventID] = append(byEvent[a.EventID], a)
		}
	}
	return slices.Sorted(maps.Keys(byEvent)), byEvent
}

func (r *reconciliation) readEvents(ctx context.Context) error {
	ids, byEvent := r.byEvent()
	kept := map[string]bool{}
	err := r.each(ctx, ids, "SELECT id, webhook_type, status, filtered, created_at FROM events WHERE id IN ", "", func(row database.Row) error {
		var id, status string
		var typ webhook.Type
		var filtered bool
		var at time.Time
		if err := row.Scan(&id, &typ, &status, &filtered, database.Time(&at)); err != nil {
			return err
		}
		kept[id] = true
		for _, a := range byEvent[id] {
			a.Type, a.Status, a.At = typ, status, at
			if filtered {
				a.Why = WasFiltered
			}
		}
		return nil
	})
	for id, answers := range byEvent {
		for _, a := range answers {
			if err == nil && !kept[id] { // known of from its order alone
				a.Why = PastRetention
			}
		}
	}
	return err
}

// readDeliveries reads what became of each event at each endpoint.
func (r *reconciliation) readDeliveries(ctx context.Context) error {
	ids, byEvent := r.byEvent()
	for group := range slices.Chunk(ids, database.MaxRows) {
		found, err := rows.Deliveries(ctx, r.ledger.db.Read, database.InList(rows.SelectDeliveries("d.event_id IN "), group).Add(" ORDER BY d.id DESC"))
		if err != nil {
			return err
		}
		of := map[string][]delivery.DeliveryWithWindow{}
		for _, d := range found {
			of[d.EventID] = append(of[d.EventID], d)
		}
		for event, all := range of {
			for _, a := range byEvent[event] {
				a.choose(all)
			}
		}
	}
	return nil
}

// choose takes from all deliveries of the event, newest first, those to show.
func (a *Reconciled) choose(all []delivery.DeliveryWithWindow) {
	if at := slices.IndexFunc(all, func(d delivery.DeliveryWithWindow) bool { return d.ID == a.Reference }); at >= 0 {
		a.Deliveries = append(a.Deliveries, all[at])
		for _, d := range all {
			if d.ID == all[at].DeliveredBy {
				a.Deliveries = append(a.Deliveries, d)
			}
		}
		return
	}
	for _, d := range all {
		have := slices.IndexFunc(a.Deliveries, func(have delivery.DeliveryWithWindow) bool { return have.EndpointID == d.EndpointID })
		switch {
		case have < 0 && len(a.Deliveries) < maxReconciled:
			a.Deliveries = append(a.Deliveries, d)
		case have >= 0 && d.State == webhook.Delivered && a.Deliveries[have].State != webhook.Delivered:
			a.Deliveries[have] = d
		}
	}
}

// findRefusals tells of events that came in vain, to those whose they are.
func (r *reconciliation) findRefusals(ctx context.Context) error {
	return r.each(ctx, r.open(""), "SELECT reference, partner_code, reason, at FROM refusals WHERE result = 'refused' AND reference IN ", " ORDER BY id",
		func(row database.Row) error {
			var ref, code, reason string
			var at time.Time
			if err := row.Scan(&ref, &code, &reason, database.Time(&at)); err != nil {
				return err
			}
			if a := r.byRef[ref]; a.Why == NeverReceived && r.theirs(a, code) {
				a.Why, a.PartnerCode, a.Detail, a.At = WasRefused, code, reason, at
			}
			return nil
		})
}

// findForgotten tells of what is past its retention: ids carry their time, and
// the latest status of an object is remembered for a while longer.
func (r *reconciliation) findForgotten(ctx context.Context) error {
	code := r.partner
	if !r.scope.All() {
		code = r.scope.Partner()
	}
	var left []string
	for _, ref := range r.open("") {
		a := r.byRef[ref]
		if a.Why != NeverReceived {
			continue
		}
		left = append(left, ref)
		for _, prefix := range []string{webhook.EventPrefix, webhook.DeliveryPrefix, webhook.OrderPrefix} {
			if webhook.CheckID("", prefix, ref) == nil && ref < webhook.TimeBound(prefix, r.oldest) {
				a.Why = PastRetention
			}
		}
	}
	if code == "" {
		return nil // objects are remembered by partner
	}
	types := make([]string, len(webhook.Types))
	for i, t := range webhook.Types {
		types[i] = string(t)
	}
	for group := range slices.Chunk(left, database.MaxRows) {
		t := new(database.Statement).Add("SELECT object_id, webhook_type, status, updated_at FROM objects WHERE partner_code = ? AND webhook_type IN ", code)
		err := database.InList(database.InList(t, types).Add(" AND object_id IN "), group).Query(ctx, r.ledger.db.Read, func(row database.Row) error {
			var ref string
			var a Reconciled
			if err := row.Scan(&ref, &a.Type, &a.Status, database.Time(&a.At)); err != nil {
				return err
			}
			if have := r.byRef[ref]; have.At.Before(a.At) {
				have.Why, have.PartnerCode, have.Type, have.Status, have.At = PastRetention, code, a.Type, a.Status, a.At
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
