package ledger

import (
	"fmt"
	"time"

	"ledgerhook/webhook"
)

// lookAhead is how far before its time a delivery may be admitted; the queue
// holds it back until then.
const lookAhead = time.Second

// The lanes in which deliveries wait for a window, in order of admission.
const (
	laneFirst  = 0
	laneRetry  = 1
	laneReplay = 2
	// laneBlocked holds deliveries behind an unfinished one of their subject;
	// its end moves the next one to laneFirst.
	laneBlocked = 3
)

// Lane is a part of an endpoint's backlog, of which the first Limit are wanted.
type Lane struct {
	EndpointID string
	Number     int
	Limit      int
}

// lanesOf returns those lanes of a window in which something may be waiting.
func lanesOf(w webhook.Window, limit int) (all []Lane) {
	if w.WaitingFirst > 0 {
		all = append(all, Lane{w.EndpointID, laneFirst, limit})
	}
	if w.WaitingAgain > 0 {
		all = append(all, Lane{w.EndpointID, laneRetry, limit}, Lane{w.EndpointID, laneReplay, limit})
	}
	return all
}

// first reads the first waiting deliveries of lanes, in order, those due until
// a time if there is one, and none of an id before from. PostgreSQL plans a LATERAL query once, but each part
// of a UNION for each day; SQLite has no LATERAL.
func (d dialect) first(lanes []Lane, columns string, until time.Time, from string) *statement {
	source := " FROM deliveries WHERE endpoint_id = %s AND lane = %s AND due_at IS NOT NULL%s ORDER BY due_at, sequence LIMIT %s"
	t := d.statement()
	due := ""
	if !until.IsZero() {
		due = " AND due_at <= " + t.arg(micros(until))
	}
	if from != "" {
		due += " AND id >= " + t.arg(from)
	}
	if d.driver == postgresDriver {
		t.add("SELECT first.* FROM ").table(len(lanes), func(i int) []any { return []any{lanes[i].EndpointID, lanes[i].Number, lanes[i].Limit} })
		return t.add(", LATERAL (SELECT " + columns + fmt.Sprintf(source, "v.column1", "v.column2", due, "v.column3") + ") AS first")
	}
	for i, l := range lanes {
		if i > 0 {
			t.add(" UNION ALL ")
		}
		t.add("SELECT * FROM (SELECT " + columns + fmt.Sprintf(source, t.arg(l.EndpointID), t.arg(l.Number), due, t.arg(l.Limit)) + ")")
	}
	return t
}
