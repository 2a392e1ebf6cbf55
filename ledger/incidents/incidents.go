// Package incidents keeps the faults that people are told of.
package incidents

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"ledgerhook/incidents"
	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// Store is what a database holds of incidents. It is safe for concurrent use.
type Store struct {
	db *database.DB
	to Audience
}

// Audience says whom to tell of an incident, and which links lead there.
type Audience struct {
	Mail      bool     // there is a mail server
	Operators []string // addresses; none: every operator who may act and has one
	Webhook   string   // the code of the account whose endpoints get each incident; empty: none
	// OpsURL and PortalURL are how operators and partners reach their pages,
	// without a slash at their ends; empty: not known.
	OpsURL, PortalURL string
}

// New is the store of what db holds; to says whom to tell.
func New(db *database.DB, to Audience) *Store { return &Store{db, to} }

const columns = `id, kind, subject, partner_code, url, state, version, rule, n, detail, due_at, seen_at, looked_at, opened_at, cleared_at,
	closed_at, acked_at, acked_by, snoozed_until, reminded, late, lost, waiting`

func fields(i *incidents.Incident) []any {
	return []any{&i.ID, &i.Kind, &i.Subject, &i.PartnerCode, &i.URL, &i.State, &i.Version, &i.Rule, &i.N, &i.Detail, database.Time(&i.Time),
		database.Time(&i.SeenAt), database.Time(&i.LookedAt), database.Time(&i.OpenedAt), database.Time(&i.ClearedAt), database.Time(&i.ClosedAt),
		database.Time(&i.AckedAt), &i.AckedBy, database.Time(&i.SnoozedUntil), &i.Reminded, &i.Outcome.Late, &i.Outcome.NotDelivered, &i.Outcome.Waiting}
}

func values(i incidents.Incident) []any {
	return []any{i.ID, string(i.Kind), i.Subject, i.PartnerCode, i.URL, string(i.State), i.Version, string(i.Rule), i.N, database.Text(i.Detail), database.Micros(i.Time),
		database.Micros(i.SeenAt), database.Micros(i.LookedAt), database.Micros(i.OpenedAt), database.Micros(i.ClearedAt), database.Micros(i.ClosedAt),
		database.Micros(i.AckedAt), i.AckedBy, database.Micros(i.SnoozedUntil), i.Reminded, i.Outcome.Late, i.Outcome.NotDelivered, i.Outcome.Waiting}
}

// fault keeps a second incident of the same from being stored; NULL once it is
// closed.
func fault(i incidents.Incident) any {
	if i.State == incidents.Closed {
		return nil
	}
	return string(i.Kind) + "/" + i.Subject
}

// Unclosed implements incidents.Store.
func (s *Store) Unclosed(ctx context.Context) ([]incidents.Incident, error) {
	found, err := database.Collect(ctx, s.db.Read.ByPrimary(), new(database.Statement).Add("SELECT "+columns+" FROM incidents WHERE closed_at = 0 ORDER BY id"), fields)
	if err != nil {
		return nil, fmt.Errorf("list open incidents: %w", err)
	}
	return found, nil
}

// Open lists the open incidents, the newest first.
func (s *Store) Open(ctx context.Context) ([]incidents.Incident, error) {
	return database.Collect(ctx, s.db.Read.ByPrimary(), new(database.Statement).
		Add("SELECT "+columns+" FROM incidents WHERE closed_at = 0 AND state = 'open' ORDER BY opened_at DESC, id DESC LIMIT ?", incidents.MaxListed), fields)
}

// Closed lists the incidents that were closed last, the newest first.
func (s *Store) Closed(ctx context.Context) ([]incidents.Incident, error) {
	return database.Collect(ctx, s.db.Read, new(database.Statement).
		Add("SELECT "+columns+" FROM incidents WHERE closed_at > 0 AND opened_at > 0 ORDER BY closed_at DESC LIMIT ?", incidents.MaxListed), fields)
}

// Incident reads one that people were told of, or NotFound.
func (s *Store) Incident(ctx context.Context, id string) (i incidents.Incident, err error) {
	err = s.db.Read.ByPrimary().QueryRowContext(ctx, "SELECT "+columns+" FROM incidents WHERE id = $1 AND opened_at > 0", id).Scan(fields(&i)...)
	if errors.Is(err, sql.ErrNoRows) {
		return i, webhook.NotFound("incident", id)
	}
	return i, err
}

// History lists what happened to an incident, oldest first.
func (s *Store) History(ctx context.Context, id string) ([]incidents.Entry, error) {
	t := new(database.Statement).Add("SELECT at, act, actor, detail FROM incident_history WHERE incident_id = ? ORDER BY version", id)
	return database.Collect(ctx, s.db.Read, t, func(e *incidents.Entry) []any {
		return []any{database.Time(&e.At), &e.Act, &e.Actor, &e.Detail}
	})
}

// Keep implements incidents.Store.
func (s *Store) Keep(ctx context.Context, changes []incidents.Change, now time.Time) error {
	err := s.db.InTx(ctx, func(tx database.Querier) error {
		for _, c := range changes {
			if err := s.keep(ctx, tx, c, now); err != nil {
				return fmt.Errorf("%s incident %s: %w", c.Act, c.ID, err)
			}
		}
		if _, err := tx.ExecContext(ctx, "UPDATE incidents SET looked_at = $1 WHERE closed_at = 0 AND state = 'watched'", database.Micros(now)); err != nil {
			return fmt.Errorf("note the look: %w", err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("keep incidents: %w", err)
	}
	return nil
}

// Kept is for how long a closed incident stays on the list.
const Kept = 90 * 24 * time.Hour

// Forget implements incidents.Store: it deletes incidents that were closed
// before Kept, with all that was written about them, and messages that old of
// tests.
func (s *Store) Forget(ctx context.Context, now time.Time) error {
	const old = "incidents WHERE closed_at > 0 AND closed_at < $1"
	return s.db.InTx(ctx, func(tx database.Querier) error {
		for _, query := range []string{
			"DELETE FROM incident_history WHERE incident_id IN (SELECT id FROM " + old + ")",
			"DELETE FROM incident_messages WHERE incident_id IN (SELECT id FROM " + old + ")", "DELETE FROM " + old,
			"DELETE FROM incident_messages WHERE incident_id = '' AND created_at < $1",
		} {
			if _, err := tx.ExecContext(ctx, query, database.Micros(now.Add(-Kept))); err != nil {
				return fmt.Errorf("delete old incidents: %w", err)
			}
		}
		return nil
	})
}

// untold are the acts that leave no trace in an incident's history.
var untold = []incidents.Act{incidents.ActWatch, incidents.ActRestart, incidents.ActForget, incidents.ActPass}

func (s *Store) keep(ctx context.Context, tx database.Querier, c incidents.Change, now time.Time) error {
	done, err := s.put(ctx, tx, c)
	if err != nil || !done || slices.Contains(untold, c.Act) {
		return err
	}
	said := ""
	switch c.Act {
	case incidents.ActOpen, incidents.ActRemind:
		said = incidents.Says(c.Incident)
	case incidents.ActClose:
		said = incidents.Ends(c.Incident)
	}
	if err := record(ctx, tx, c.Incident, incidents.Entry{At: now, Act: c.Act, Detail: said}); err != nil {
		return err
	}
	if !c.Act.Told() {
		return nil
	}
	return s.tell(ctx, tx, c, now)
}

// put writes the incident as it is to be; false: another process was quicker.
func (s *Store) put(ctx context.Context, tx database.Querier, c incidents.Change) (done bool, err error) {
	var n int64
	switch {
	case c.Act == incidents.ActForget:
		n, err = new(database.Statement).Add("DELETE FROM incidents WHERE id = ? AND version = ?", c.ID, c.Version-1).Exec(ctx, tx)
	case c.Version == 1:
		t := new(database.Statement).Add("INSERT INTO incidents (" + columns + ", fault) ")
		n, err = t.Values(1, func(int) []any { return append(values(c.Incident), fault(c.Incident)) }).Add(" ON CONFLICT DO NOTHING").Exec(ctx, tx)
	default:
		t := new(database.Statement).Add(`UPDATE incidents SET state = ?, version = ?, rule = ?, n = ?, detail = ?, due_at = ?, seen_at = ?, looked_at = ?, opened_at = ?,
			cleared_at = ?, closed_at = ?, acked_at = ?, acked_by = ?, snoozed_until = ?, reminded = ?, late = ?, lost = ?, waiting = ?, fault = ? WHERE id = ? AND version = ?`,
			append(values(c.Incident)[5:], fault(c.Incident), c.ID, c.Version-1)...)
		n, err = t.Exec(ctx, tx)
	}
	return n > 0, err
}

// record writes a line of an incident's history.
func record(ctx context.Context, tx database.Querier, i incidents.Incident, e incidents.Entry) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO incident_history (incident_id, version, at, act, actor, detail) VALUES ($1, $2, $3, $4, $5, $6)",
		i.ID, i.Version, database.Micros(e.At), string(e.Act), e.Actor, database.Text(e.Detail))
	return err
}

// Acknowledge notes that somebody looks after an open incident: nobody is
// reminded of it any more. One that is closed, or was acknowledged before, is a
// Conflict.
func (s *Store) Acknowledge(ctx context.Context, id string, by partners.AuditEntry) error {
	return s.alter(ctx, id, incidents.ActAcknowledge, by, func(i *incidents.Incident) (detail string, err error) {
		if i.Acknowledged() {
			return "", webhook.Conflict("the incident was acknowledged by " + i.AckedBy + " before")
		}
		i.AckedAt, i.AckedBy = by.At, by.Actor
		return "", nil
	})
}

// Snooze has nobody reminded of an open incident for so long. One that is
// closed is a Conflict.
func (s *Store) Snooze(ctx context.Context, id string, d time.Duration, by partners.AuditEntry) error {
	return s.alter(ctx, id, incidents.ActSnooze, by, func(i *incidents.Incident) (detail string, err error) {
		i.SnoozedUntil = by.At.Add(d)
		return "until " + i.SnoozedUntil.UTC().Format(time.RFC3339), nil
	})
}

func (s *Store) alter(ctx context.Context, id string, act incidents.Act, by partners.AuditEntry, do func(*incidents.Incident) (detail string, err error)) error {
	entries := audit.About([]partners.AuditEntry{by}, id, "")
	return audit.Do(ctx, s.db, entries, func(tx database.Querier) error {
		var i incidents.Incident
		err := tx.QueryRowContext(ctx, "SELECT "+columns+" FROM incidents WHERE id = $1 AND opened_at > 0", id).Scan(fields(&i)...)
		if errors.Is(err, sql.ErrNoRows) {
			return webhook.NotFound("incident", id)
		}
		if err != nil {
			return fmt.Errorf("read incident %s: %w", id, err)
		}
		if i.State != incidents.Open {
			return webhook.Conflict("the incident is closed")
		}
		detail, err := do(&i)
		if err != nil {
			return err
		}
		entries[0].Detail = detail
		i.Version++
		done, err := s.put(ctx, tx, incidents.Change{Incident: i, Act: act})
		if err != nil {
			return fmt.Errorf("store incident %s: %w", id, err)
		}
		if !done {
			return webhook.Conflict("the incident has just changed: look at it again")
		}
		return record(ctx, tx, i, incidents.Entry{At: by.At, Act: act, Actor: by.Actor, Detail: detail})
	})
}

var _ incidents.Store = (*Store)(nil)
