package ledger

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
)

// How rollups are folded: what was counted by the minute is counted by
// foldMinutes once its hour and the next have passed, and by the hour
// foldHours later.
const (
	foldMinutes = 5
	foldHours   = 7
	// foldBack is how many hours are looked at: what nobody folded in that time
	// stays as it is, which is as exact and read a little slower.
	foldBack = 7 * 24
)

// foldAtOnce is how many partners' facts of an hour one transaction folds, which
// on SQLite holds up every other.
const foldAtOnce = 10

// How long things took is counted for stepsFor hours, further back than any chart
// looks; stepsAtOnce are the hours whose steps are deleted in one go, the oldest
// first.
const (
	stepsFor    = 32 * 24
	stepsAtOnce = 12
)

// FoldFacts keeps the rollups small: it adds the counts of old minutes up, and
// deletes those of how long things took after 32 days. No other sum changes, not
// even while they are written; several processes may do it at once. While this
// machine's clock may be wrong it does nothing, as that may be what others count
// just now: the error is database.ErrClock.
func (l *Ledger) FoldFacts(ctx context.Context) error {
	now, err := l.db.Now(ctx)
	if err != nil {
		return err
	}
	hour := database.Micros(now) / database.HourMicros
	for _, stage := range []struct{ before, minutes int64 }{{hour - 1, foldMinutes}, {hour - foldHours, 60}} {
		t := new(database.Statement).Add("SELECT DISTINCT hour FROM rollups_all WHERE hour >= ? AND hour < ? AND slot >= ?", hour-foldBack, stage.before, database.MinuteSlots)
		if stage.minutes < 60 {
			t.Add(" AND (slot / ? - 1) % ? <> 0", database.MinuteSlots, stage.minutes)
		}
		due, err := database.Collect(ctx, l.db.Read, t.Add(" ORDER BY hour"), database.One[int64])
		if err != nil {
			return fmt.Errorf("look for rollups to fold: %w", err)
		}
		for _, hour := range due {
			if err := l.foldHour(ctx, hour, stage.minutes); err != nil {
				return fmt.Errorf("fold the rollups of an hour: %w", err)
			}
		}
	}
	if err := l.dropSteps(ctx, hour-stepsFor); err != nil {
		return fmt.Errorf("delete how long things took: %w", err)
	}
	return nil
}

// stepFacts is the list of the facts of how long things took.
var stepFacts = "('" + strings.Join(slices.Concat(rows.Answers.Facts(), rows.FirstAttempts.Facts()), "', '") + "')"

// dropSteps deletes how long things took in hours before one: that of partners, and
// then that of all, by which the hour is found again if this does not come to its end.
func (l *Ledger) dropSteps(ctx context.Context, before int64) error {
	t := new(database.Statement).Add("SELECT DISTINCT hour FROM rollups_all WHERE hour >= ? AND hour < ? AND fact IN "+stepFacts+" ORDER BY hour LIMIT ?", before-foldBack, before, stepsAtOnce)
	due, err := database.Collect(ctx, l.db.Read, t, database.One[int64])
	if err != nil {
		return err
	}
	for _, hour := range due {
		for _, of := range []struct{ table, key string }{{"rollups", "partner_code, fact, slot"}, {"rollups_all", "fact, slot"}} {
			some := "SELECT " + of.key + " FROM " + of.table + " WHERE hour = $1 AND fact IN " + stepFacts + " LIMIT $2"
			if err := l.db.InSteps(ctx, "DELETE FROM "+of.table+" WHERE hour = $1 AND ("+of.key+") IN ("+some+")", hour, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// foldHour counts the facts of an hour by so many minutes: those of its partners,
// some at a time, and then those of all, by which the hour is found again if this
// does not come to its end.
func (l *Ledger) foldHour(ctx context.Context, hour, minutes int64) error {
	last := ""
	for {
		t := new(database.Statement).Add("SELECT DISTINCT partner_code FROM rollups WHERE hour = ? AND partner_code > ? AND slot >= ? ORDER BY partner_code LIMIT ?",
			hour, last, database.MinuteSlots, foldAtOnce)
		codes, err := database.Collect(ctx, l.db.Read.ByPrimary(), t, database.One[string])
		if err != nil {
			return err
		}
		if len(codes) == 0 {
			return l.db.InTx(ctx, func(tx database.Querier) error { return l.foldAll(ctx, tx, hour, minutes) })
		}
		if err := l.db.InTx(ctx, func(tx database.Querier) error { return l.foldPartners(ctx, tx, codes, hour, minutes) }); err != nil {
			return err
		}
		last = codes[len(codes)-1]
	}
}

func (l *Ledger) foldPartners(ctx context.Context, tx database.Querier, codes []string, hour, minutes int64) error {
	t := database.In(l.db.Statement().Add("DELETE FROM rollups WHERE "), "partner_code", codes)
	sums, err := takeMinutes(ctx, tx, t.Add(" AND hour = ? AND slot >= ? RETURNING partner_code, fact, slot, n", hour, database.MinuteSlots), minutes)
	if err != nil {
		return err
	}
	for group := range slices.Chunk(inOrder(sums), database.MaxRows) {
		t := l.db.Statement().Add("INSERT INTO rollups (hour, partner_code, fact, slot, n) ")
		t.Values(len(group), func(i int) []any {
			return []any{hour, group[i].partner, group[i].name, group[i].minute, sums[group[i]]}
		})
		if _, err := t.Add(" ON CONFLICT (hour, partner_code, fact, slot) DO UPDATE SET n = rollups.n + excluded.n").Exec(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

func (l *Ledger) foldAll(ctx context.Context, tx database.Querier, hour, minutes int64) error {
	t := new(database.Statement).Add("DELETE FROM rollups_all WHERE hour = ? AND slot >= ? RETURNING '', fact, slot, n", hour, database.MinuteSlots)
	sums, err := takeMinutes(ctx, tx, t, minutes)
	if err != nil || len(sums) == 0 {
		return err
	}
	sorted := inOrder(sums)
	t = l.db.Statement().Add("INSERT INTO rollups_all (hour, fact, slot, n) ")
	t.Values(len(sorted), func(i int) []any { return []any{hour, sorted[i].name, sorted[i].minute, sums[sorted[i]]} })
	_, err = t.Add(" ON CONFLICT (hour, fact, slot) DO UPDATE SET n = rollups_all.n + excluded.n").Exec(ctx, tx)
	return err
}

// takeMinutes takes what was counted by the minute out of a table and returns
// its sums by so many minutes. Both are one statement, so that nothing that is
// counted meanwhile is lost.
func takeMinutes(ctx context.Context, tx database.Querier, t *database.Statement, minutes int64) (sums map[fact]int, err error) {
	sums = map[fact]int{}
	err = t.Query(ctx, tx, func(row database.Row) error {
		f, n := fact{}, 0
		if err := row.Scan(&f.partner, &f.name, &f.minute, &n); err != nil {
			return err
		}
		if minute := f.minute/database.MinuteSlots - 1; minutes < 60 {
			f.minute = (minute - minute%minutes + 1) * database.MinuteSlots
		} else {
			f.minute = 0
		}
		sums[f] += n
		return nil
	})
	return sums, err
}
