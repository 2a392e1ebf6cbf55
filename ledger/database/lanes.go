package database

import (
	"fmt"
	"time"

	"ledgerhook/webhook"
)

// LookAhead is how far before its time a delivery may be admitted; the queue
// holds it back until then.
const LookAhead = time.Second

// The lanes in which deliveries wait for a window, in order of admission.
const (
	LaneFirst  = 0
	LaneRetry  = 1
	LaneReplay = 2
	// LaneBlocked holds deliveries behind an unfinished one of their ordering key;
	// its end moves the next one to laneFirst.
	LaneBlocked = 3
)

// Lane is a part of an endpoint's backlog, of which the first Limit are wanted.
type Lane struct {
	EndpointID string
	Number     int
	Limit      int
}

// LanesOf returns those lanes of a window in which something may be waiting.
func LanesOf(w webhook.Window, limit int) (all []Lane) {
	if w.WaitingFirst > 0 {
		all = append(all, Lane{w.EndpointID, LaneFirst, limit})
	}
	if w.WaitingAgain > 0 {
		all = append(all, Lane{w.EndpointID, LaneRetry, limit}, Lane{w.EndpointID, LaneReplay, limit})
	}
	return all
}

// First reads the first waiting deliveries of lanes, in order, those due until
// a time if there is one, and none of an id before from. PostgreSQL plans a LATERAL query once, but each part
// of a UNION for each day; SQLite has no LATERAL.
func (d dialect) First(lanes []Lane, columns string, until time.Time, from string) *Statement {
	source := " FROM deliveries WHERE endpoint_id = %s AND lane = %s AND due_at IS NOT NULL%s ORDER BY due_at, sequence LIMIT %s"
	t := d.Statement()
	due := ""
	if !until.IsZero() {
		due = " AND due_at <= " + t.Arg(Micros(until))
	}
	if from != "" {
		due += " AND id >= " + t.Arg(from)
	}
	if d.driver == postgresDriver {
		t.Add("SELECT first.* FROM ").Table(len(lanes), func(i int) []any { return []any{lanes[i].EndpointID, lanes[i].Number, lanes[i].Limit} })
		return t.Add(", LATERAL (SELECT " + columns + fmt.Sprintf(source, "v.column1", "v.column2", due, "v.column3") + ") AS first")
	}
	for i, l := range lanes {
		if i > 0 {
			t.Add(" UNION ALL ")
		}
		t.Add("SELECT * FROM (SELECT " + columns + fmt.Sprintf(source, t.Arg(l.EndpointID), t.Arg(l.Number), due, t.Arg(l.Limit)) + ")")
	}
	return t
}
