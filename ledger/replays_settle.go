package ledger

import (
	"context"
	"fmt"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/database"
	"ledgerhook/webhook"
)

// The newest sent items are judged, once there are enough of them.
const (
	replayJudged    = 200
	replayMinJudged = 20
)

// StopFailingReplays implements maintenance.Replays. Only deliveries that a
// replay made since it last went on are judged. One whose worker died is not:
// its outcome is unknown and says nothing of the receiver.
func (l *Ledger) StopFailingReplays(ctx context.Context) error {
	if running, err := l.runningReplays(ctx); err != nil || len(running) == 0 {
		return err
	}
	newest := ` FROM (SELECT new_id, outcome FROM replay_items WHERE replay_id = r.id AND new_id <> '' AND new_id > r.judge_after
		ORDER BY new_id DESC LIMIT ?) AS n LEFT JOIN deliveries d ON d.id = n.new_id WHERE `
	failing := map[string]string{}
	t := new(database.Statement).Add("SELECT r.id, (SELECT COUNT(*)"+newest+"n.outcome IN ('delivered', 'failed') OR d.last_outcome NOT IN ('', 'unknown')), "+
		"(SELECT COUNT(*)"+newest+"n.outcome = 'failed' OR n.outcome = 'admitted' AND d.last_outcome NOT IN ('', 'unknown') AND d.state <> 'delivered') "+
		"FROM replays r WHERE r.state = 'running'", replayJudged, replayJudged)
	err := t.Query(ctx, l.db.Read, func(row database.Row) error {
		var id string
		var judged, failed int
		err := row.Scan(&id, &judged, &failed)
		if judged >= replayMinJudged && float64(failed) > delivery.ReplayMaxFailing*float64(judged) {
			failing[id] = fmt.Sprintf("%d of the newest %d deliveries fail", failed, judged)
		}
		return err
	})
	for id, note := range failing {
		if err == nil {
			_, err = l.db.Write.ExecContext(ctx, "UPDATE replays SET state = 'stopped', note = $2 WHERE id = $1 AND state = 'running'", id, note)
		}
	}
	return err
}

// settleRows is how many items are settled at once.
const settleRows = 500

// settled is how an item's delivery ended.
type settled struct {
	newID, outcome, class string
	status                int
}

// SettleReplays implements maintenance.Replays.
func (l *Ledger) SettleReplays(ctx context.Context) error {
	var open bool // mostly nothing is, which is known without all days of the deliveries
	err := l.db.Read.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM replay_items WHERE outcome = 'admitted')").Scan(&open)
	if err != nil || !open {
		return err
	}
	return l.settleReplays(ctx, "", "")
}

// settleReplays settles items whose deliveries have an id from … to, all if empty.
func (l *Ledger) settleReplays(ctx context.Context, from, to string) error {
	if to == "" {
		to = database.Below("", time.Time{}, webhook.DeliveryPrefix)
	}
	for {
		t := new(database.Statement).Add(`SELECT i.new_id, CASE WHEN d.state = 'delivered' THEN 'delivered' WHEN d.last_outcome = '' THEN 'unsent' ELSE 'failed' END,
			d.last_class, d.last_status FROM replay_items i JOIN deliveries d ON d.id = i.new_id
			WHERE i.outcome = 'admitted' AND i.new_id >= ? AND i.new_id < ? AND d.finished_at > 0 ORDER BY i.new_id LIMIT ?`, from, to, settleRows)
		ended, err := database.Collect(ctx, l.db.Read, t, func(s *settled) []any { return []any{&s.newID, &s.outcome, &s.class, &s.status} })
		if err != nil || len(ended) == 0 {
			return err
		}
		err = l.withLockedWindows(ctx, nil, func(ctx context.Context, b *batch) error {
			t := new(database.Statement).Add("UPDATE replay_items SET outcome = v.column2, last_class = v.column3, last_status = v.column4 FROM ")
			t.Table(len(ended), func(i int) []any { return []any{ended[i].newID, ended[i].outcome, ended[i].class, ended[i].status} })
			_, err := t.Add(" WHERE outcome = 'admitted' AND new_id = v.column1").Exec(ctx, b.tx)
			return err
		})
		if err != nil || len(ended) < settleRows {
			return err
		}
	}
}

// retainReplays ends replays whose list is past the retention, and deletes
// those that ended before cutoff with all that they sent.
func (l *Ledger) retainReplays(ctx context.Context, cutoff time.Time) error {
	_, err := l.db.Write.ExecContext(ctx, `UPDATE replays SET state = 'cancelled', note = $3, finished_at = $2
		WHERE finished_at = 0 AND created_at < $1`, database.Micros(cutoff), database.Micros(time.Now()), reasonExpired)
	if err != nil {
		return err
	}
	_, err = l.db.Write.ExecContext(ctx, `DELETE FROM replays WHERE finished_at > 0 AND finished_at < $1
		AND NOT EXISTS (SELECT 1 FROM replay_items i WHERE i.replay_id = replays.id AND i.outcome = 'admitted')`, database.Micros(cutoff))
	if err != nil {
		return err
	}
	// Also the lists of those that were never started because the process died.
	return l.retire(ctx, "replay_items", `DELETE FROM replay_items WHERE (replay_id, position) IN (SELECT i.replay_id, i.position
		FROM replay_items i LEFT JOIN replays r ON r.id = i.replay_id WHERE i.replay_id < $1 AND r.id IS NULL LIMIT $2)`,
		webhook.TimeBound(webhook.ReplayPrefix, cutoff))
}
