package accounts

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// sessionTouch is how exactly a session's newest request is remembered: not
// every page is a write.
const sessionTouch = time.Minute

const sessionColumns = "s.id, s.person_id, s.created_at, s.seen_at, s.expires_at, s.ip, s.user_agent"

func sessionFields(s *partners.Session) []any {
	return []any{&s.ID, &s.PersonID, database.Time(&s.CreatedAt), database.Time(&s.SeenAt), database.Time(&s.ExpiresAt), &s.IP, &s.UserAgent}
}

// StartSession stores a new session under the hash of its token, notes the
// login of its person and writes by.
func (a *Accounts) StartSession(ctx context.Context, hash []byte, s partners.Session, by partners.AuditEntry) error {
	by.Target = s.PersonID
	return audit.Do(ctx, a.db.AtDoor(), []partners.AuditEntry{by}, func(tx database.Querier) error {
		err := updateOne(ctx, tx, s.PersonID, "UPDATE people SET last_login_at = $2 WHERE id = $1 AND disabled = $3", s.PersonID, database.Micros(s.CreatedAt), false)
		if err != nil {
			return err
		}
		return database.Run(ctx, tx, "insert a session", `INSERT INTO sessions (hash, id, person_id, created_at, seen_at, expires_at, ip, user_agent)
			VALUES ($1, $2, $3, $4, $4, $5, $6, $7)`, hash, s.ID, s.PersonID, database.Micros(s.CreatedAt), database.Micros(s.ExpiresAt), s.IP, database.Text(s.UserAgent))
	})
}

// Session finds the session whose token has the hash, with its person, and notes
// that they are there. It is not found when it has ended at now, or when its
// person or their partner is disabled.
func (a *Accounts) Session(ctx context.Context, hash []byte, now time.Time) (s partners.Session, p partners.Person, found bool, err error) {
	err = a.db.Read.QueryRowContext(ctx, "SELECT "+sessionColumns+", "+personColumns+` FROM sessions s JOIN people p ON p.id = s.person_id
		LEFT JOIN partners a ON a.code = p.partner_code WHERE s.hash = $1 AND p.disabled = $2 AND COALESCE(a.disabled, $2) = $2`, hash, false).
		Scan(append(sessionFields(&s), personFields(&p)...)...)
	if errors.Is(err, sql.ErrNoRows) || err == nil && !s.Live(now) {
		return partners.Session{}, partners.Person{}, false, nil
	}
	if err != nil {
		return s, p, false, fmt.Errorf("find a session: %w", err)
	}
	if now.Sub(s.SeenAt) >= sessionTouch {
		if _, err := a.db.Write.ExecContext(ctx, "UPDATE sessions SET seen_at = $2 WHERE hash = $1 AND seen_at < $2", hash, database.Micros(now)); err != nil {
			a.db.Log.WarnContext(ctx, "a session's last request was not recorded", "session", s.ID, "error", err)
		}
	}
	return s, p, true, nil
}

// LiveSessions reads which of the sessions with ids still sign somebody in at
// now. Unlike Session it is no sign of life.
func (a *Accounts) LiveSessions(ctx context.Context, ids []string, now time.Time) (map[string]bool, error) {
	live := map[string]bool{}
	t := new(database.Statement).Add("SELECT "+sessionColumns+` FROM sessions s JOIN people p ON p.id = s.person_id
		LEFT JOIN partners a ON a.code = p.partner_code WHERE p.disabled = ? AND COALESCE(a.disabled, ?) = ? AND s.id IN `, false, false, false)
	err := database.InList(t, ids).Query(ctx, a.db.Read, func(rows database.Row) error {
		var s partners.Session
		err := rows.Scan(sessionFields(&s)...)
		live[s.ID] = s.Live(now)
		return err
	})
	return live, err
}

// Sessions lists a person's sessions that are live at now, newest first.
func (a *Accounts) Sessions(ctx context.Context, personID string, now time.Time) (found []partners.Session, err error) {
	err = new(database.Statement).Add("SELECT "+sessionColumns+" FROM sessions s WHERE s.person_id = ? ORDER BY s.id DESC", personID).
		Query(ctx, a.db.Read, func(rows database.Row) error {
			var s partners.Session
			err := rows.Scan(sessionFields(&s)...)
			if s.Live(now) {
				found = append(found, s)
			}
			return err
		})
	return found, err
}

// EndSession ends one of a person's sessions and writes by. One that is
// another's is NotFound, as is one that has ended.
func (a *Accounts) EndSession(ctx context.Context, personID, sessionID string, by partners.AuditEntry) error {
	by.Target = personID
	return audit.Do(ctx, a.db, []partners.AuditEntry{by}, func(tx database.Querier) error {
		return database.RunOne(ctx, tx, webhook.NotFound("session", sessionID), "delete a session",
			"DELETE FROM sessions WHERE id = $1 AND person_id = $2", sessionID, personID)
	})
}

// endSessions ends all sessions of a person but the one with the hash keep.
func endSessions(ctx context.Context, tx database.Querier, personID string, keep []byte) error {
	return database.Run(ctx, tx, "end sessions", "DELETE FROM sessions WHERE person_id = $1 AND hash <> $2", personID, database.Bytes(keep))
}

// sweepPeople deletes sessions, invitations, failures and forms that mean
// nothing any more.
func (a *Accounts) sweepPeople(ctx context.Context, now time.Time) error {
	for _, step := range []struct {
		what, query string
		before      time.Time
	}{
		{"sessions", "DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions WHERE expires_at < $1 LIMIT $2)", now},
		{"invitations", "DELETE FROM invites WHERE hash IN (SELECT hash FROM invites WHERE expires_at < $1 LIMIT $2)", now.Add(-partners.InviteLife)},
		{"failed sign-ins", "DELETE FROM login_failures WHERE last_at < $1 AND subject IN (SELECT subject FROM login_failures WHERE last_at < $1 LIMIT $2)", now.Add(-partners.LoginLock)},
		{"forms", "DELETE FROM form_tokens WHERE hash IN (SELECT hash FROM form_tokens WHERE used_at < $1 LIMIT $2)", now.Add(-formLife)},
	} {
		if err := a.db.InSteps(ctx, step.query, database.Micros(step.before), nil); err != nil {
			return fmt.Errorf("delete old %s: %w", step.what, err)
		}
	}
	return nil
}
