package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// StartReplay freezes the list of what r's filter matches in the scope, whatever
// the filter says, newest last, and starts sending it again. Of several deliveries of an event to an endpoint the newest
// is sent, the others are skipped from the start. The list is read and written
// a page at a time, so that nobody else waits for it; the replay exists when
// its list is whole. A partner's replay is seen in its scope.
func (l *Ledger) StartReplay(ctx context.Context, s partners.Scope, r delivery.Replay, by ...partners.AuditEntry) (made delivery.Replay, err error) {
	if r.Filter, err = confine(s, r.Filter); err != nil {
		return r, err
	}
	filter, err := json.Marshal(r.Filter)
	if err != nil {
		return r, err
	}
	all, err := l.listReplayable(ctx, r.Filter, delivery.MaxReplay)
	switch {
	case errors.Is(err, errTooMany):
		return r, webhook.Invalid("/filter", fmt.Sprintf("must match at most %d finished deliveries: narrow it, by time for example", delivery.MaxReplay))
	case err != nil:
		return r, fmt.Errorf("read the list: %w", err)
	case len(all) == 0:
		return r, webhook.Invalid("/filter", "must match at least one finished delivery")
	}
	r.Total = len(all)
	position := 0
	for page := range slices.Chunk(all, replayPage) {
		err := l.db.InTx(ctx, func(tx database.Querier) error {
			t := new(database.Statement).Add("INSERT INTO replay_items (replay_id, position, delivery_id, endpoint_id, new_id, outcome, last_status, last_class) ")
			t.Values(len(page), func(i int) []any {
				return []any{r.ID, position + i + 1, page[i].deliveryID, page[i].endpointID, "", page[i].outcome, 0, ""}
			})
			_, err := t.Exec(ctx, l.db.Batched(tx))
			return err
		})
		if err != nil { // what is written of the list goes with the retention
			return r, fmt.Errorf("freeze the list: %w", err)
		}
		position += len(page)
	}
	err = audit.Do(ctx, l.db, audit.About(by, r.ID, r.Reason), func(tx database.Querier) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO replays (id, state, reason, filter, rate, total, rate_next, judge_after, note, created_at, finished_at, partner_code)
		VALUES ($1, $2, $3, $4, $5, $6, 0, '', '', $7, 0, $8)`, r.ID, string(r.State), r.Reason, filter, r.Rate, r.Total, database.Micros(r.CreatedAt), s.Partner())
		return err
	})
	return r, err
}

const replayColumns = "id, state, reason, filter, rate, total, note, created_at, finished_at"

func scanReplay(scan func(...any) error) (r delivery.Replay, err error) {
	var filter []byte
	err = scan(&r.ID, &r.State, &r.Reason, &filter, &r.Rate, &r.Total, &r.Note, database.Time(&r.CreatedAt), database.Time(&r.FinishedAt))
	if err == nil {
		err = json.Unmarshal(filter, &r.Filter)
	}
	return r, err
}

// Replay returns one replay that was started in the scope, with its progress, or
// NotFound: an operator sees all, a partner's people see their own.
func (l *Ledger) Replay(ctx context.Context, s partners.Scope, id string) (r delivery.Replay, err error) {
	t := new(database.Statement).Add("SELECT "+replayColumns+" FROM replays WHERE id = ?", id).Within(s, "partner_code")
	r, err = scanReplay(l.db.Read.QueryRowContext(ctx, t.String(), t.Args...).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return r, webhook.NotFound("replay", id)
	}
	if err != nil {
		return r, err
	}
	r.Progress, err = l.replayProgress(ctx, id)
	r.Settled = r.State == delivery.ReplayFinished && r.Progress.Waiting+r.Progress.Failing == 0
	return r, err
}

// replayProgress counts a replay's items: those that have ended by what is
// copied into them, the others by their deliveries.
func (l *Ledger) replayProgress(ctx context.Context, id string) (p delivery.ReplayProgress, err error) {
	t := new(database.Statement).Add(`SELECT at, sent, answered, CASE WHEN at IN ('failing', 'failed', 'unsent') THEN class ELSE '' END AS class, COUNT(*) FROM (
		SELECT CASE WHEN i.outcome <> 'admitted' THEN i.outcome
				WHEN d.state = 'delivered' THEN 'delivered'
				WHEN d.finished_at > 0 THEN CASE WHEN d.last_outcome = '' THEN 'unsent' ELSE 'failed' END
				WHEN d.last_outcome <> '' THEN 'failing' ELSE 'waiting' END AS at,
			i.outcome IN ('delivered', 'failed') OR COALESCE(d.last_outcome, '') <> '' AS sent,
			COALESCE(d.last_status, i.last_status) BETWEEN 200 AND 299 AS answered, COALESCE(d.last_class, i.last_class) AS class
		FROM replay_items i LEFT JOIN deliveries d ON i.outcome = 'admitted' AND d.id = i.new_id WHERE i.replay_id = ?) AS item
		GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC, 4, 1`, id)
	failures := map[webhook.ErrorClass]*delivery.ReplayFailure{}
	err = t.Query(ctx, l.db.Read, func(row database.Row) error {
		var at string
		var sent, answered bool
		var class webhook.ErrorClass
		var n int
		if err := row.Scan(&at, &sent, &answered, &class, &n); err != nil {
			return err
		}
		if at != "" && at != "skipped" {
			p.Queued += n
		}
		if sent {
			p.Sent += n
		}
		if answered {
			p.Answered += n
		}
		failure := failures[class]
		if failure == nil {
			failure = &delivery.ReplayFailure{Class: class}
			failures[class] = failure
		}
		switch at {
		case "":
			p.Open += n
		case "skipped":
			p.Skipped += n
		case "waiting":
			p.Waiting += n
		case "delivered":
			p.Delivered += n
		case "failing":
			p.Failing += n
			failure.Failing += n
		default: // failed, unsent
			p.Failed += n
			failure.Failed += n
		}
		return nil
	})
	for _, f := range failures {
		if f.Failing+f.Failed > 0 {
			p.Failures = append(p.Failures, *f)
		}
	}
	slices.SortFunc(p.Failures, func(x, y delivery.ReplayFailure) int {
		return cmp.Or(cmp.Compare(y.Failing+y.Failed, x.Failing+x.Failed), cmp.Compare(x.Class, y.Class))
	})
	return p, err
}

// Replays lists what was started in the scope, newest first, without its
// progress, and the cursor of the next page.
func (l *Ledger) Replays(ctx context.Context, s partners.Scope, cursor string, limit int) (found []delivery.Replay, next string, err error) {
	t := new(database.Statement).Add("SELECT "+replayColumns+" FROM replays WHERE id < ?", database.Below(cursor, time.Time{}, webhook.ReplayPrefix)).Within(s, "partner_code")
	t.Add(" ORDER BY id DESC LIMIT ?", limit+1)
	err = t.Query(ctx, l.db.Read, func(row database.Row) error {
		r, err := scanReplay(row.Scan)
		found = append(found, r)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	if len(found) > limit {
		found = found[:limit]
		next = found[limit-1].ID
	}
	return found, next, l.readSettled(ctx, found)
}

// readSettled sets Settled, a few seconds after a replay's last delivery ended.
func (l *Ledger) readSettled(ctx context.Context, replays []delivery.Replay) error {
	open := map[string]bool{}
	err := new(database.Statement).Add("SELECT DISTINCT replay_id FROM replay_items WHERE outcome = 'admitted'").Query(ctx, l.db.Read, func(row database.Row) error {
		var id string
		err := row.Scan(&id)
		open[id] = true
		return err
	})
	for i, r := range replays {
		replays[i].Settled = r.State == delivery.ReplayFinished && !open[r.ID]
	}
	return err
}

// errUnmoved says that a replay is in no state from which it could be moved.
var errUnmoved = errors.New("the replay is not moved")

// MoveReplay pauses, resumes or cancels a replay, which is one row: whatever
// runs it sees that with its next step. From a state that does not allow it
// it is a Conflict. One that stopped itself is judged afresh when it goes on.
func (l *Ledger) MoveReplay(ctx context.Context, id string, to delivery.ReplayState, by ...partners.AuditEntry) error {
	from := map[delivery.ReplayState][]string{
		delivery.ReplayPaused:    {"running"},
		delivery.ReplayRunning:   {"paused", "stopped"},
		delivery.ReplayCancelled: {"running", "paused", "stopped"},
	}[to]
	finished := int64(0)
	if to == delivery.ReplayCancelled {
		finished = database.Micros(time.Now())
	}
	t := new(database.Statement).Add(`UPDATE replays SET state = ?, note = '', finished_at = ?, judge_after = CASE WHEN state = 'stopped'
		THEN COALESCE((SELECT MAX(new_id) FROM replay_items WHERE replay_id = replays.id AND new_id <> ''), '') ELSE judge_after END
		WHERE id = ? AND state IN `, string(to), finished, id)
	database.InList(t, from)
	err := audit.Do(ctx, l.db, audit.About(by, id, ""), func(tx database.Querier) error {
		n, err := t.Exec(ctx, tx)
		if err == nil && n == 0 {
			err = errUnmoved
		}
		return err
	})
	if !errors.Is(err, errUnmoved) {
		return err
	}
	r, err := l.Replay(ctx, partners.Everything(), id)
	if err != nil {
		return err
	}
	return webhook.Conflict(fmt.Sprintf("the replay is %s and cannot become %s", r.State, to))
}

// confine puts the scope's partner into f, whose own one must be that or none.
func confine(s partners.Scope, f delivery.Filter) (delivery.Filter, error) {
	if s.All() {
		return f, nil
	}
	if s.Partner() == "" || f.PartnerCode != "" && f.PartnerCode != s.Partner() {
		return f, webhook.NotFound("partner", f.PartnerCode)
	}
	for _, code := range f.PartnerCodes {
		if code != s.Partner() {
			return f, webhook.NotFound("partner", code)
		}
	}
	f.PartnerCode = s.Partner()
	return f, nil
}
