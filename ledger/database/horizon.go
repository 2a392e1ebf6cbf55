package database

import (
	"context"
	"fmt"
	"sync"
	"time"

	"ledgerhook/webhook"
)

// PostgreSQL plans a statement anew for every day that its ids may be of,
// which takes longer than to read a page of rows. So what pages read is
// bounded by time on both sides wherever that leaves nothing out.
const (
	// clockLead is more than any process's clock is ahead of another's: no id is
	// of a later time.
	clockLead = 24 * time.Hour
	// nearby is how far back the newest rows are looked for first.
	nearby = 48 * time.Hour

	// FaultsFor is for how long a fault of the gateway keeps a delivery in sight.
	FaultsFor = 5 * time.Minute

	horizonFor  = time.Minute
	horizonLess = time.Hour // more than a transaction takes and clocks differ by
)

// horizon is the oldest delivery that is open, which a process looks up now and
// then. It stays right meanwhile: what has ended never opens again, and what is
// made later has a later id.
type horizon struct {
	sync.Mutex
	id string
	at time.Time
}

// OldestOpen returns an id that no open delivery is older than: none that is
// unfinished, or whose newest attempt failed by a fault of the gateway within
// FaultsFor. It is empty where days cost nothing.
func (db *DB) OldestOpen(ctx context.Context) (id string, err error) {
	if db.Embedded() {
		return "", nil
	}
	now := time.Now()
	db.horizon.Lock()
	id, at := db.horizon.id, db.horizon.at
	db.horizon.Unlock()
	if age := now.Sub(at); 0 <= age && age < horizonFor {
		return id, nil
	}
	var waiting, active, faulty string
	bound := webhook.TimeBound(webhook.DeliveryPrefix, now.Add(-horizonLess))
	// OFFSET 0 keeps PostgreSQL from looking for the smallest id in the order of ids,
	// past every delivery that there is: few of them are active, and have an index.
	err = db.Read.QueryRowContext(ctx, `SELECT COALESCE((SELECT id FROM deliveries WHERE due_at >= 0 ORDER BY id LIMIT 1), $1),
		COALESCE((SELECT MIN(id) FROM (SELECT id FROM deliveries WHERE queued_at > 0 OFFSET 0) AS d), $1),
		COALESCE((SELECT MIN(id) FROM (SELECT id FROM deliveries WHERE last_class = 'internal' AND last_at >= $2 OFFSET 0) AS d), $1)`,
		bound, Micros(now.Add(-FaultsFor))).Scan(&waiting, &active, &faulty)
	if err != nil {
		return "", fmt.Errorf("find the oldest open delivery: %w", err)
	}
	id = min(bound, waiting, active, faulty)
	db.horizon.Lock()
	defer db.horizon.Unlock()
	db.horizon.id, db.horizon.at = id, now
	return id, nil
}

// Soon is until, or the time that no id is later than.
func Soon(until time.Time) time.Time {
	if until.IsZero() {
		return time.Now().Add(clockLead)
	}
	return until
}

// Near is the id from which on to look first for the newest rows between two
// ids. It is from where that is no help: from is near, or days cost nothing.
func (db *DB) Near(prefix, below, from string) string {
	at := webhook.IDTime(prefix, below)
	if db.Embedded() || at.IsZero() {
		return from
	}
	if now := time.Now(); at.After(now) {
		at = now
	}
	if from >= webhook.TimeBound(prefix, at.Add(-2*nearby)) {
		return from
	}
	return webhook.TimeBound(prefix, at.Add(-nearby))
}

// NearFirst reads the newest rows below an id, from an id on: first those
// nearby, then, if these were not enough, all.
func (db *DB) NearFirst(prefix, below string, read func(from string) (enough bool, err error)) error {
	if from := db.Near(prefix, below, prefix); from != prefix {
		if enough, err := read(from); enough || err != nil {
			return err
		}
	}
	_, err := read(prefix)
	return err
}

// MadeFor adds the condition that column, the id of something that was made
// after the event, is not older than it. Only days are told apart by it.
func (db *DB) MadeFor(t *Statement, column, prefix, eventID string) *Statement {
	if at := webhook.IDTime(webhook.EventPrefix, eventID); !db.Embedded() && !at.IsZero() {
		t.Add(" AND "+column+" >= ?", webhook.TimeBound(prefix, at.Add(-horizonLess)))
	}
	return t
}
