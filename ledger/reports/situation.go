package reports

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/webhook"
)

// The bounds of a Situation.
const (
	// FailingAfter is how long an endpoint's attempts must have failed, without
	// a success between them, for it to count as failing.
	FailingAfter = time.Minute
	// InternalWithin is how far back InternalErrors are counted.
	InternalWithin = database.FaultsFor
	// RecentWithin is how far back the newest attempts are counted, and
	// recentAttempts how many at most.
	RecentWithin   = 15 * time.Minute
	recentAttempts = 1000
	// QuietAfter is how long no event must have come for it to be asked how many
	// are usual.
	QuietAfter = 5 * time.Minute
	// MaxCounted is as far as Situation counts events and internal errors.
	MaxCounted = 10_000
	// backlogWindows is how many windows are asked for their oldest due delivery.
	backlogWindows = 200
)

// Situation is what tells whether trouble is ours, a source's or a receiver's.
// A zero time says that there is no such thing.
type Situation struct {
	AsOf time.Time

	// What comes in. LastEvents has the newest accepted event of each type,
	// tests left out; a type that never came is not there.
	LastEvents       map[webhook.Type]time.Time
	EventsLastMinute int // up to MaxCounted
	// EventsLastDay is counted, up to MaxCounted, only if none came for QuietAfter.
	EventsLastDay int

	// What waits, for the gateway: the oldest delivery that the queue has and no
	// worker has claimed, the oldest due one whose window has room and that was
	// not admitted, and the oldest window that the promoter should have looked at.
	OldestQueued, OldestDue, OldestWake time.Time
	// What waits for its receiver: the oldest due delivery of an open window
	// without room, which is full or at its rate.
	OldestWithoutRoom time.Time
	// Deliveries by what they are at: in flight, waiting for their first attempt,
	// for a retry or replay, behind another with their ordering key; Held are those
	// of the waiting whose endpoint is paused or disabled.
	InFlight, WaitingFirst, WaitingAgain, WaitingBlocked, Held int64
	WaitingFailing                                             int64 // for endpoints that fail
	WaitingForEndpoint                                         int64 // of partners without one

	// Deliveries whose newest attempt failed by a fault of the gateway within
	// InternalWithin; up to MaxCounted.
	InternalErrors int
	Workers        int // alive, by the database's clock
	// The newest attempts, up to recentAttempts of the last RecentWithin, at
	// deliveries of the last 24 hours, tests left out: how many, how many of them succeeded, and when the first began.
	Attempts, AttemptsDelivered int
	AttemptsSince               time.Time
	LastDelivered               time.Time // the newest success of any endpoint

	// Endpoints that are registered, and of these the open ones that fail for
	// FailingAfter or longer, those whose breaker is not closed, and those that
	// configuration keeps shut: paused, or disabled themselves or with their
	// partner. SelfDisabled of the disabled ones were disabled for their failures.
	Endpoints, EndpointsFailing, Breakers, Paused, Disabled, SelfDisabled int
	// Partners and hosts with endpoints, and those with a failing one;
	// PartnersDown are the partners all of whose open endpoints fail.
	Partners, PartnersFailing, PartnersDown, PartnersDisabled, Hosts, HostsFailing int
}

// openWindow is the condition that nobody has shut a window.
const openWindow = "NOT (w.paused OR w.disabled OR w.partner_disabled)"

// Situation reads what the verdict on the gateway, its sources and its
// receivers rests on, each figure by an index or from the small tables of
// endpoints, none by counting deliveries.
func (l *Reports) Situation(ctx context.Context) (s Situation, err error) {
	s.AsOf = time.Now().UTC()
	for _, read := range []struct {
		what string
		do   func(context.Context, *Situation) error
	}{
		{"incoming events", l.readIncoming}, {"endpoints", l.readEndpointCounts}, {"partners", l.readPartnerCounts},
		{"the queue", l.readQueue}, {"the backlog", l.readBacklog}, {"attempts", l.readAttempts},
	} {
		if err := read.do(ctx, &s); err != nil {
			return s, fmt.Errorf("read %s: %w", read.what, err)
		}
	}
	return s, nil
}

func (l *Reports) readIncoming(ctx context.Context, s *Situation) error {
	s.LastEvents = map[webhook.Type]time.Time{}
	silent, below := slices.Clone(webhook.Types), database.Below("", database.Soon(time.Time{}), webhook.EventPrefix)
	err := l.db.NearFirst(webhook.EventPrefix, below, func(from string) (enough bool, err error) {
		err = l.db.NewestEvents(silent, from, below).Query(ctx, l.db.Read, func(row database.Row) error {
			var typ webhook.Type
			var at time.Time
			err := row.Scan(&typ, database.Time(&at))
			s.LastEvents[typ] = at
			return err
		})
		silent = slices.DeleteFunc(silent, func(typ webhook.Type) bool { return !s.LastEvents[typ].IsZero() })
		return len(silent) == 0, err
	})
	if err != nil {
		return err
	}
	count := func(within time.Duration, n *int) error {
		return l.db.Read.QueryRowContext(ctx, "SELECT COUNT(*) FROM (SELECT id FROM events WHERE id >= $1 AND id < $2 AND NOT test ORDER BY id DESC LIMIT $3) AS newest",
			webhook.TimeBound(webhook.EventPrefix, s.AsOf.Add(-within)), below, MaxCounted).Scan(n)
	}
	if s.AsOf.Sub(s.NewestEvent()) > QuietAfter {
		return count(24*time.Hour, &s.EventsLastDay) // the last minute had none
	}
	return count(time.Minute, &s.EventsLastMinute)
}

// NewestEvent is when the newest event of any type was accepted; zero if none was.
func (s Situation) NewestEvent() (newest time.Time) {
	for _, t := range s.LastEvents {
		if t.After(newest) {
			newest = t
		}
	}
	return newest
}

func (l *Reports) readEndpointCounts(ctx context.Context, s *Situation) error {
	const failing = "(w.failing_since > 0 AND w.failing_since <= $1 AND " + openWindow + ")"
	const waiting = "w.waiting_first + w.waiting_again + w.waiting_blocked"
	return l.db.Read.QueryRowContext(ctx, `SELECT COUNT(*), COALESCE(SUM(CASE WHEN `+failing+` THEN 1 ELSE 0 END), 0),
		COALESCE(SUM(CASE WHEN w.breaker <> 'closed' THEN 1 ELSE 0 END), 0), COALESCE(SUM(CASE WHEN w.paused THEN 1 ELSE 0 END), 0),
		COALESCE(SUM(CASE WHEN w.disabled OR w.partner_disabled THEN 1 ELSE 0 END), 0),
		COALESCE(SUM(CASE WHEN w.disabled AND w.disabled_reason <> '' THEN 1 ELSE 0 END), 0),
		COUNT(DISTINCT e.host), COUNT(DISTINCT CASE WHEN `+failing+` THEN e.host END), COALESCE(MAX(w.last_success), 0),
		COALESCE(SUM(w.used), 0), COALESCE(SUM(w.waiting_first), 0), COALESCE(SUM(w.waiting_again), 0), COALESCE(SUM(w.waiting_blocked), 0),
		COALESCE(SUM(CASE WHEN `+openWindow+` THEN 0 ELSE `+waiting+` END), 0), COALESCE(SUM(CASE WHEN `+failing+` THEN `+waiting+` ELSE 0 END), 0)
		FROM windows w JOIN endpoints e ON e.id = w.endpoint_id WHERE e.removed_at = 0`, database.Micros(s.AsOf.Add(-FailingAfter))).
		Scan(&s.Endpoints, &s.EndpointsFailing, &s.Breakers, &s.Paused, &s.Disabled, &s.SelfDisabled, &s.Hosts, &s.HostsFailing,
			database.Time(&s.LastDelivered), &s.InFlight, &s.WaitingFirst, &s.WaitingAgain, &s.WaitingBlocked, &s.Held, &s.WaitingFailing)
}

func (l *Reports) readPartnerCounts(ctx context.Context, s *Situation) error {
	return l.db.Read.QueryRowContext(ctx, `SELECT COUNT(*), COALESCE(SUM(CASE WHEN failing > 0 THEN 1 ELSE 0 END), 0),
		COALESCE(SUM(CASE WHEN failing > 0 AND failing = open THEN 1 ELSE 0 END), 0),
		(SELECT COUNT(*) FROM partners WHERE disabled) FROM (SELECT
			SUM(CASE WHEN `+openWindow+` THEN 1 ELSE 0 END) AS open,
			SUM(CASE WHEN w.failing_since > 0 AND w.failing_since <= $1 AND `+openWindow+` THEN 1 ELSE 0 END) AS failing
			FROM windows w JOIN endpoints e ON e.id = w.endpoint_id WHERE e.removed_at = 0 GROUP BY e.partner_code) AS p`,
		database.Micros(s.AsOf.Add(-FailingAfter))).Scan(&s.Partners, &s.PartnersFailing, &s.PartnersDown, &s.PartnersDisabled)
}

func (l *Reports) readQueue(ctx context.Context, s *Situation) error {
	from, err := l.db.OldestOpen(ctx)
	if err != nil {
		return err
	}
	const open = "id >= $5 AND id < $6 AND "
	return l.db.Read.ByPrimary().QueryRowContext(ctx, `SELECT
		COALESCE((SELECT queued_at FROM deliveries WHERE `+open+`queued_at > 0 AND state = 'queued' ORDER BY queued_at LIMIT 1), 0),
		COALESCE((SELECT MIN(wake_at) FROM windows WHERE wake_at IS NOT NULL AND wake_at <= $1), 0),
		(SELECT COUNT(*) FROM (SELECT id FROM deliveries WHERE `+open+`last_class = 'internal' AND last_at >= $2 LIMIT $3) AS internal),
		(SELECT COALESCE(SUM(waiting_first + waiting_again + waiting_blocked), 0) FROM windows WHERE unrouted),
		(SELECT COUNT(*) FROM workers WHERE seen_at > `+l.db.Clock+` - $4)`,
		database.Micros(s.AsOf), database.Micros(s.AsOf.Add(-InternalWithin)), MaxCounted, delivery.LeaseTime.Microseconds(), from, database.Below("", database.Soon(time.Time{}), webhook.DeliveryPrefix)).
		Scan(database.Time(&s.OldestQueued), database.Time(&s.OldestWake), &s.InternalErrors, &s.WaitingForEndpoint, &s.Workers)
}

// readAttempts counts what the newest attempts came to.
func (l *Reports) readAttempts(ctx context.Context, s *Situation) error {
	return l.db.Read.QueryRowContext(ctx, `SELECT COUNT(*), COALESCE(SUM(CASE WHEN outcome = 'delivered' THEN 1 ELSE 0 END), 0), COALESCE(MIN(started_at), 0) FROM
		(SELECT outcome, started_at FROM attempts WHERE id >= $1 AND delivery_id >= $2 AND trigger <> 'test' ORDER BY id DESC LIMIT $3) AS newest`,
		webhook.TimeBound(webhook.AttemptPrefix, s.AsOf.Add(-RecentWithin)), webhook.TimeBound(webhook.DeliveryPrefix, s.AsOf.Add(-24*time.Hour)), recentAttempts).
		Scan(&s.Attempts, &s.AttemptsDelivered, database.Time(&s.AttemptsSince))
}

// readBacklog asks the windows that should be looked at soonest for their
// oldest due deliveries.
func (l *Reports) readBacklog(ctx context.Context, s *Situation) error {
	room := map[string]bool{}
	var lanes []database.Lane
	t := new(database.Statement).Add("SELECT "+rows.WindowColumns+" FROM windows w WHERE w.wake_at IS NOT NULL AND w.wake_at <= ? AND w.breaker = 'closed' AND w.not_before <= ? ORDER BY w.wake_at LIMIT ?",
		database.Micros(s.AsOf.Add(database.LookAhead)), database.Micros(s.AsOf), backlogWindows)
	err := t.Query(ctx, l.db.Read, func(row database.Row) error {
		var w webhook.Window
		err := row.Scan(rows.WindowFields(&w)...)
		if w.Open() {
			room[w.EndpointID] = w.Room(s.AsOf) > 0
			lanes = append(lanes, database.LanesOf(w, 1)...)
		}
		return err
	})
	if err != nil || len(lanes) == 0 {
		return err
	}
	from, err := l.db.OldestOpen(ctx)
	if err != nil {
		return err
	}
	return l.db.First(lanes, "endpoint_id, due_at, created_at", s.AsOf, from).Query(ctx, l.db.Read, func(row database.Row) error {
		var id string
		var due, created time.Time
		if err := row.Scan(&id, database.Time(&due), database.Time(&created)); err != nil {
			return err
		}
		if due.IsZero() { // a first attempt is due from the beginning
			due = created
		}
		oldest := &s.OldestWithoutRoom
		if room[id] {
			oldest = &s.OldestDue
		}
		if oldest.IsZero() || due.Before(*oldest) {
			*oldest = due
		}
		return nil
	})
}
