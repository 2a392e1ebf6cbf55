package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ledgerhook/ledger/database"
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

// FoldFacts keeps the rollups small: it adds the counts of old minutes up. No
// sum changes, not even while they are written; several processes may do it at
// once.
func (l *Ledger) FoldFacts(ctx context.Context) error {
	hour := database.Micros(time.Now()) / database.HourMicros
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
	return nil
}

// foldHour counts the facts of an hour by so many minutes, those of each
// partner and of all, and locks rows in the order in which every batch does.
func (l *Ledger) foldHour(ctx context.Context, hour, minutes int64) error {
	return l.db.InTx(ctx, func(tx database.Querier) error {
		sums, err := takeMinutes(ctx, tx, "rollups", "partner_code", hour, minutes)
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
		if sums, err = takeMinutes(ctx, tx, "rollups_all", "''", hour, minutes); err != nil || len(sums) == 0 {
			return err
		}
		sorted := inOrder(sums)
		t := l.db.Statement().Add("INSERT INTO rollups_all (hour, fact, slot, n) ")
		t.Values(len(sorted), func(i int) []any { return []any{hour, sorted[i].name, sorted[i].minute, sums[sorted[i]]} })
		_, err = t.Add(" ON CONFLICT (hour, fact, slot) DO UPDATE SET n = rollups_all.n + excluded.n").Exec(ctx, tx)
		return err
	})
}

// takeMinutes takes what was counted by the minute in an hour out of a table
// and returns its sums by so many minutes. Both are one statement, so that
// nothing that is counted meanwhile is lost.
func takeMinutes(ctx context.Context, tx database.Querier, table, partner string, hour, minutes int64) (sums map[fact]int, err error) {
	sums = map[fact]int{}
	t := new(database.Statement).Add("DELETE FROM "+table+" WHERE hour = ? AND slot >= ? RETURNING "+partner+", fact, slot, n", hour, database.MinuteSlots)
	err = t.Query(ctx, tx, func(row database.Row) error {
		f, n := fact{hour: hour}, 0
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
