package reports

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// PeriodCount is what became true in an hour or another time: deliveries by what
// they became, attempts by their outcome. Tests are outside all counts.
type PeriodCount struct {
	Since                                           time.Time // its beginning, UTC
	Created, Delivered, Exhausted, Cancelled        int64
	Settled                                         int64 // of those exhausted, by now; see webhook.Delivery.Settled
	AttemptDelivered, AttemptFailed, AttemptUnknown int64
	BreakersOpened, BreakersClosed                  int64 // by themselves; what people did is in the audit log
}

// count returns the field that counts one of the periodFacts.
func (c *PeriodCount) count(fact string) *int64 {
	switch fact {
	case rows.FactCreated:
		return &c.Created
	case string(webhook.Delivered):
		return &c.Delivered
	case string(webhook.Exhausted):
		return &c.Exhausted
	case string(webhook.Cancelled):
		return &c.Cancelled
	case rows.FactSettled:
		return &c.Settled
	case rows.FactAttempt + string(webhook.OutcomeDelivered):
		return &c.AttemptDelivered
	case rows.FactAttempt + string(webhook.OutcomeFailed):
		return &c.AttemptFailed
	case rows.FactAttempt + string(webhook.OutcomeUnknown):
		return &c.AttemptUnknown
	case rows.FactHeldBack:
		return &c.BreakersOpened
	case rows.FactLetGo:
		return &c.BreakersClosed
	}
	return nil
}

// periodFacts are those that a PeriodCount counts.
var periodFacts = []string{rows.FactCreated, string(webhook.Delivered), string(webhook.Exhausted), string(webhook.Cancelled), rows.FactSettled,
	rows.FactAttempt + string(webhook.OutcomeDelivered), rows.FactAttempt + string(webhook.OutcomeFailed), rows.FactAttempt + string(webhook.OutcomeUnknown),
	rows.FactHeldBack, rows.FactLetGo}

const (
	// maxSeriesHours bounds what Series answers: a year.
	maxSeriesHours = 366 * 24
	// MinutesFor is for how long is told in which minute something was counted,
	// before MinuteFivesFor it is the hour.
	MinutesFor = time.Hour
	// MinuteFivesFor is for how long is told in which five minutes.
	MinuteFivesFor = 6 * time.Hour
)

// Series counts by hour what became true from since until until, of one
// partner, or of all that the scope holds (empty code). Every hour that has begun in this time is
// there, the quiet ones with zeros, oldest first; the hours of since and until
// are counted whole. It reads rollups only, which are written in the same
// transaction as the deliveries: the counts are exact at the moment of the
// call, and zeros for a partner that the scope does not hold. More than a year
// is an Invalid error.
func (l *Reports) Series(ctx context.Context, s partners.Scope, partnerCode string, since, until time.Time) ([]PeriodCount, error) {
	from, to := database.Micros(since)/database.HourMicros, (database.Micros(until)-1)/database.HourMicros
	if to < from {
		return nil, nil
	}
	if to-from >= maxSeriesHours {
		return nil, webhook.Invalid("since", "must be at most a year before until")
	}
	edges := make([]time.Time, to-from+2)
	for i := range edges {
		edges[i] = database.FromMicros((from + int64(i)) * database.HourMicros)
	}
	return l.Periods(ctx, s, partnerCode, edges)
}

// Periods counts like Series, but from each of the edges, which are sorted, until
// the next. Edges are whole minutes within MinutesFor, whole five minutes within
// MinuteFivesFor and whole hours before: then the counts are exact. What is
// counted of a longer time is counted where that begins; Settled, and what an
// older version of the program has counted, always by the hour.
func (l *Reports) Periods(ctx context.Context, s partners.Scope, partnerCode string, edges []time.Time) ([]PeriodCount, error) {
	if len(edges) < 2 {
		return nil, nil
	}
	periods := make([]PeriodCount, len(edges)-1)
	for i := range periods {
		periods[i].Since = edges[i]
	}
	err := l.eachFact(ctx, s, partnerCode, edges, periodFacts, func(i int, fact string, n int64) { *periods[i].count(fact) += n })
	return periods, err
}

// eachFact tells how often each of some facts was counted from one of the edges
// until the next, for Periods.
func (l *Reports) eachFact(ctx context.Context, s partners.Scope, partnerCode string, edges []time.Time, facts []string, tell func(period int, fact string, n int64)) error {
	from, to := edges[0], edges[len(edges)-1]
	t := new(database.Statement).Add("SELECT hour, slot / ?, fact, SUM(n) FROM ", database.MinuteSlots)
	if hours := wholeHours(edges); hours > 0 { // sums of so many, of which there are few
		t = new(database.Statement).Add("SELECT hour - (hour - ?) % ?, 0, fact, SUM(n) FROM ", database.Micros(from)/database.HourMicros, hours)
	}
	if s.All() && partnerCode == "" {
		inTime(t.Add("rollups_all WHERE "), from, to)
	} else {
		inTime(t.Add("rollups WHERE "), from, to).Within(s, "partner_code")
		t.Equal("partner_code", partnerCode)
	}
	err := database.InList(t.Add(" AND fact IN "), facts).Add(" GROUP BY 1, 2, 3").Query(ctx, l.db.Read, func(row database.Row) error {
		var hour, minute, n int64
		var fact string
		if err := row.Scan(&hour, &minute, &fact, &n); err != nil {
			return err
		}
		at := database.FromMicros(hour*database.HourMicros + max(0, minute-1)*database.MinuteMicros)
		i, begins := slices.BinarySearchFunc(edges, at, time.Time.Compare)
		if !begins {
			i--
		}
		if i >= 0 && i < len(edges)-1 {
			tell(i, fact, n)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the rollups: %w", err)
	}
	return nil
}

// wholeHours is of how many hours all times between edges are multiples; 0 if
// one of them lies within an hour.
func wholeHours(edges []time.Time) (hours int64) {
	first := database.Micros(edges[0])
	for _, edge := range edges {
		at := database.Micros(edge)
		if at%database.HourMicros != 0 {
			return 0
		}
		for n := (at - first) / database.HourMicros; n != 0; {
			hours, n = n, hours%n
		}
	}
	return hours
}

// inTime adds the condition that a rollup may be of a time: its hour is.
func inTime(t *database.Statement, since, until time.Time) *database.Statement {
	return t.Add("hour >= ? AND hour <= ?", database.Micros(since)/database.HourMicros, (database.Micros(until)-1)/database.HourMicros)
}

// Successes are how many attempts came to an end, and how many of these succeeded.
type Successes struct{ Attempts, Delivered int64 }

// RecentSuccesses counts the attempts of each partner within RecentWithin, by the
// minute; a partner without any is not there.
func (l *Reports) RecentSuccesses(ctx context.Context) (map[string]Successes, error) {
	now := time.Now()
	since := now.Add(-RecentWithin)
	found := map[string]Successes{}
	t := inTime(new(database.Statement).Add("SELECT partner_code, fact, SUM(n) FROM rollups WHERE "), since, now.Add(time.Minute))
	first := database.Micros(since) / database.HourMicros
	t.Add(" AND (hour > ? OR slot >= ?) AND slot >= ? AND fact IN (?, ?) GROUP BY partner_code, fact", first, database.MinuteSlot(since), database.MinuteSlots,
		rows.FactAttempt+string(webhook.OutcomeDelivered), rows.FactAttempt+string(webhook.OutcomeFailed))
	err := t.Query(ctx, l.db.Read, func(row database.Row) error {
		var code, fact string
		var n int64
		err := row.Scan(&code, &fact, &n)
		of := found[code]
		of.Attempts += n
		if fact == rows.FactAttempt+string(webhook.OutcomeDelivered) {
			of.Delivered += n
		}
		found[code] = of
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the newest rollups: %w", err)
	}
	return found, nil
}

// RollupLag is how far the rollups are behind the deliveries: the newest
// delivery's creation less the end of the newest hour counted, never negative.
// Both are written in one transaction, so anything but 0 is a fault.
func (l *Reports) RollupLag(ctx context.Context) (time.Duration, error) {
	var newest time.Time
	var hour int64
	if err := l.db.Read.QueryRowContext(ctx, "SELECT COALESCE(MAX(hour), -1) FROM rollups_all").Scan(&hour); err != nil {
		return 0, err
	}
	counted := database.FromMicros((hour + 1) * database.HourMicros)
	// Once more, as it is at the moment of the deliveries.
	err := l.db.Read.QueryRowContext(ctx, `SELECT COALESCE((SELECT created_at FROM deliveries WHERE id >= $1 AND id < $2 AND trigger <> 'test' ORDER BY id DESC LIMIT 1), 0),
		COALESCE((SELECT MAX(hour) FROM rollups_all), -1)`, webhook.TimeBound(webhook.DeliveryPrefix, counted),
		database.Below("", database.Soon(time.Time{}), webhook.DeliveryPrefix)).Scan(database.Time(&newest), &hour)
	return max(0, newest.Sub(database.FromMicros((hour+1)*database.HourMicros))), err
}
