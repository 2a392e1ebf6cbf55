package reports

import (
	"context"
	"slices"
	"time"

	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// FunnelSample is how many of a partner's newest events and deliveries a
// Funnel looks at.
const FunnelSample = 5000

// Funnel follows one partner's events of a time to their ends. Replays, retries
// by hand of finished deliveries and tests are not in it.
type Funnel struct {
	AsOf time.Time
	// Since is from when on both events and deliveries are counted: the beginning
	// of the time that was asked for, or later if there are more than FunnelSample
	// of either: then Sampled is true and the newest ones are counted.
	Since, Until time.Time
	Sampled      bool

	Accepted int // events
	Filtered int // of these, without a delivery since no endpoint takes the type

	// Matched are the deliveries made of the others, and what follows adds up
	// to it: delivered by their first attempt or by a later one, waiting for
	// another, not attempted yet, exhausted, cancelled; Settled are those that
	// ended in vain and whose event was delivered all the same, by a replay.
	Matched, FirstTry, AfterRetry, Retrying, Waiting, Exhausted, Cancelled, Settled int

	// How long attempts took that were delivered or failed, of the newest of each
	// delivery; and how long first attempts were waited for. Zero without any.
	Duration, FirstDelay Percentiles
}

// Percentiles are those of N measured times.
type Percentiles struct {
	N             int
	P50, P95, P99 time.Duration
	Max           time.Duration
}

func percentiles(times []time.Duration) Percentiles {
	if len(times) == 0 {
		return Percentiles{}
	}
	slices.Sort(times)
	at := func(share float64) time.Duration { return times[min(len(times)-1, int(share*float64(len(times))))] }
	return Percentiles{N: len(times), P50: at(0.5), P95: at(0.95), P99: at(0.99), Max: times[len(times)-1]}
}

// PartnerFunnel follows what came for one partner from since until until, by
// its newest FunnelSample events and deliveries. It is empty for a partner that
// the scope does not hold.
func (l *Reports) PartnerFunnel(ctx context.Context, s partners.Scope, code string, since, until time.Time) (f Funnel, err error) {
	f = Funnel{AsOf: time.Now().UTC(), Since: since, Until: until}
	events, err := l.funnelEvents(ctx, s, code, since, until)
	if err != nil {
		return f, err
	}
	from := webhook.TimeBound(webhook.EventPrefix, since) // the oldest event that is counted
	if len(events) == FunnelSample {
		oldest := events[FunnelSample-1]
		f.Sampled, f.Since, from = true, oldest.createdAt, oldest.id
	}
	deliveries, err := l.funnelDeliveries(ctx, s, code, f.Since, until)
	if err != nil {
		return f, err
	}
	if len(deliveries) == FunnelSample {
		// Deliveries are made after their event: those of one that is accepted
		// later than the oldest of the sample was made are all in it.
		f.Sampled, f.Since = true, webhook.IDTime(webhook.DeliveryPrefix, deliveries[FunnelSample-1].id).Add(time.Millisecond)
		from = max(from, webhook.TimeBound(webhook.EventPrefix, f.Since))
	}
	for _, e := range events {
		if e.id < from {
			break
		}
		f.Accepted++
		if e.filtered {
			f.Filtered++
		}
	}
	var took, waited []time.Duration
	for _, d := range deliveries {
		if d.trigger != webhook.TriggerFirst || d.eventID < from {
			continue
		}
		f.count(d)
		if !d.lastAt.IsZero() {
			took = append(took, d.took)
		}
		if !d.firstAt.IsZero() {
			waited = append(waited, max(0, d.firstAt.Sub(d.createdAt)))
		}
	}
	f.Duration, f.FirstDelay = percentiles(took), percentiles(waited)
	return f, nil
}

func (f *Funnel) count(d funnelDelivery) {
	f.Matched++
	switch state, attempts := d.state, d.attempts; {
	case d.settled:
		f.Settled++
	case state == webhook.Delivered && attempts == 1:
		f.FirstTry++
	case state == webhook.Delivered:
		f.AfterRetry++
	case state == webhook.Exhausted:
		f.Exhausted++
	case state == webhook.Cancelled:
		f.Cancelled++
	case attempts > 1 || attempts == 1 && state != webhook.Sending:
		f.Retrying++
	default:
		f.Waiting++
	}
}

// funnelEvent is what a Funnel asks of an event.
type funnelEvent struct {
	id        string
	createdAt time.Time
	filtered  bool
}

// funnelEvents lists the partner's newest FunnelSample events, newest first.
func (l *Reports) funnelEvents(ctx context.Context, s partners.Scope, code string, since, until time.Time) (found []funnelEvent, err error) {
	t := new(database.Statement).Add("SELECT id, created_at, filtered FROM events WHERE partner_code = ? AND id < ? AND id >= ? AND NOT test",
		code, webhook.TimeBound(webhook.EventPrefix, until), webhook.TimeBound(webhook.EventPrefix, since))
	return database.Collect(ctx, l.db.Read, t.Within(s, "partner_code").Add(" ORDER BY id DESC LIMIT ?", FunnelSample), func(e *funnelEvent) []any {
		return []any{&e.id, database.Time(&e.createdAt), &e.filtered}
	})
}

// funnelDelivery is what a Funnel asks of a delivery.
type funnelDelivery struct {
	id, eventID                string
	state                      webhook.State
	attempts                   int
	settled                    bool
	trigger                    webhook.Trigger
	createdAt, firstAt, lastAt time.Time
	took                       time.Duration
}

// funnelDeliveries lists the partner's newest FunnelSample deliveries of every
// trigger, newest first.
func (l *Reports) funnelDeliveries(ctx context.Context, s partners.Scope, code string, since, until time.Time) (found []funnelDelivery, err error) {
	t := new(database.Statement).Add("SELECT id, event_id, state, attempts - repeats, trigger, created_at, first_at, last_at, last_us, delivered_by <> '' FROM deliveries WHERE partner_code = ? AND id < ? AND id >= ?",
		code, webhook.TimeBound(webhook.DeliveryPrefix, until), webhook.TimeBound(webhook.DeliveryPrefix, since))
	found, err = database.Collect(ctx, l.db.Read, t.Within(s, "partner_code").Add(" ORDER BY id DESC LIMIT ?", FunnelSample), func(d *funnelDelivery) []any {
		return []any{&d.id, &d.eventID, &d.state, &d.attempts, &d.trigger, database.Time(&d.createdAt), database.Time(&d.firstAt), database.Time(&d.lastAt), database.Duration(&d.took), &d.settled}
	})
	return found, err
}

// certificateAttempts is how many of an endpoint's newest deliveries are asked
// for the receiver's certificate.
const certificateAttempts = 20

// CertificateEnds is when the certificate ends that an endpoint's receiver
// showed last; zero if it showed none of late, or the scope does not hold it.
func (l *Reports) CertificateEnds(ctx context.Context, s partners.Scope, endpointID string) (at time.Time, err error) {
	ids, err := rows.NewestOf(ctx, l.db, s, endpointID, certificateAttempts) // named one by one, so that only their days are opened
	if err == nil && len(ids) > 0 {
		t := database.InList(new(database.Statement).Add("SELECT tls_not_after FROM attempts WHERE delivery_id IN "), ids)
		err = t.Add(" AND tls_not_after > 0 ORDER BY started_at DESC LIMIT 1").
			Query(ctx, l.db.Read, func(row database.Row) error { return row.Scan(database.Time(&at)) })
	}
	return at, err
}

// configuration are the groups of acts that change how a partner is served.
var configuration = []string{"partner.", "endpoint.", "secret."}

// PartnerChanges lists the newest changes of a partner's configuration, of its
// endpoints and of its secrets from the audit log, newest first. What the
// gateway did itself, such as disabling an endpoint, is among them; tests are not.
// A partner that the scope does not hold has none.
func (l *Reports) PartnerChanges(ctx context.Context, s partners.Scope, code string, limit int) ([]partners.AuditEntry, error) {
	return l.changes(ctx, auditOf(configuration).Add(" AND partner_code = ?", code).Within(s, "partner_code"), limit)
}

// gatewayActs are the acts that concern every partner: another version of the
// program serves, another key signs or seals.
var gatewayActs = []string{"gateway.", "key.", "master-key."}

// RecentChanges lists the newest changes of any partner's configuration, of
// rates and of settings, what was done to replays, which version serves, and
// which keys sign and seal.
func (l *Reports) RecentChanges(ctx context.Context, limit int) ([]partners.AuditEntry, error) {
	return l.changes(ctx, auditOf(slices.Concat([]string{"rate.", "settings.", "replay."}, gatewayActs, configuration)), limit)
}

// ChangesSince lists the newest changes since a time, newest first: those that
// PartnerChanges lists of a partner, or, if code is empty, what changed for all at
// once.
func (l *Reports) ChangesSince(ctx context.Context, s partners.Scope, code string, since time.Time, limit int) ([]partners.AuditEntry, error) {
	t := auditOf(gatewayActs)
	if code != "" {
		t = auditOf(configuration).Add(" AND partner_code = ?", code)
	}
	t.Within(s, "partner_code").Since("id", webhook.AuditPrefix, since)
	return l.changes(ctx, t, limit)
}

// auditOf selects the entries of groups of acts, but tests.
func auditOf(groups []string) *database.Statement {
	t := new(database.Statement).Add("SELECT " + audit.Columns + " FROM audit WHERE action <> 'endpoint.test'")
	for i, group := range groups {
		t.Add([]string{" AND (", " OR "}[min(i, 1)]+"SUBSTR(action, 1, ?) = ?", len(group), group)
	}
	return t.Add(")")
}

func (l *Reports) changes(ctx context.Context, t *database.Statement, limit int) ([]partners.AuditEntry, error) {
	found, err := audit.Read(ctx, l.db.Read, t.Add(" ORDER BY id DESC LIMIT ?", limit))
	return found, err
}
