package ledger_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
)

// counts are the created deliveries of each period of an hour's minutes.
func counts(t *testing.T, b *ledgertest.Bench, partner string, hour time.Time, minutes int) (created []int64) {
	t.Helper()
	var edges []time.Time
	for at := hour; !at.After(hour.Add(time.Hour)); at = at.Add(time.Duration(minutes) * time.Minute) {
		edges = append(edges, at)
	}
	periods, err := b.Periods(t.Context(), partners.Everything(), partner, edges)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range periods {
		same(t, "beginning", p.Since, edges[i])
		created = append(created, p.Created)
	}
	return created
}

// at is a list of n counts with some that are not 0.
func at(n int, some map[int]int64) []int64 {
	all := make([]int64, n)
	for i, count := range some {
		all[i] = count
	}
	return all
}

func TestOldMinutesAreFoldedAndNoSumChanges(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		now := time.Now().UTC().Truncate(time.Hour)
		young, older, old := now.Add(-time.Hour), now.Add(-2*time.Hour), now.Add(-8*time.Hour)
		for _, hour := range []time.Time{young, older, old} {
			for minute, n := range map[int]int64{0: 1, 4: 2, 5: 3, 59: 4} {
				for stripe := range int64(2) {
					slot := database.MinuteSlot(hour.Add(time.Duration(minute)*time.Minute)) + stripe
					change(t, b, "INSERT INTO rollups (hour, partner_code, fact, slot, n) VALUES ($1, 'acme', 'created', $2, $3), ($1, 'other', 'created', $2, $3)", hour.Unix()/3600, slot, n)
					change(t, b, "INSERT INTO rollups_all (hour, fact, slot, n) VALUES ($1, 'created', $2, $3)", hour.Unix()/3600, slot, 2*n)
				}
			}
			change(t, b, "INSERT INTO rollups_all (hour, fact, slot, n) VALUES ($1, 'created', 1, 7)", hour.Unix()/3600) // before minutes were told
		}
		for partner := range 23 {
			for minute := range 2 {
				change(t, b, "INSERT INTO rollups (hour, partner_code, fact, slot, n) VALUES ($1, $2, 'created', $3, 1)", old.Unix()/3600,
					fmt.Sprintf("many-%d", partner), database.MinuteSlot(old.Add(time.Duration(minute)*time.Minute)))
			}
		}
		rows := func(table string, hour time.Time) int {
			return b.Count(t, "SELECT COUNT(*) FROM "+table+" WHERE hour = $1", hour.Unix()/3600)
		}
		check := func(what string) {
			t.Helper()
			same(t, what+", by the minute", counts(t, b, "acme", young, 1), at(60, map[int]int64{0: 2, 4: 4, 5: 6, 59: 8}))
			same(t, what+", of all", counts(t, b, "", young, 1), at(60, map[int]int64{0: 11, 4: 8, 5: 12, 59: 16}))
			same(t, what+", by five minutes", counts(t, b, "acme", older, 5), at(12, map[int]int64{0: 6, 1: 6, 11: 8}))
			same(t, what+", by the hour", [][]int64{counts(t, b, "acme", old, 60), counts(t, b, "", old, 60), counts(t, b, "other", older, 60)}, [][]int64{{20}, {47}, {20}})
		}
		check("as it was counted")
		for _, what := range []string{"folded", "folded again"} {
			if err := b.FoldFacts(t.Context()); err != nil {
				t.Fatal(err)
			}
			check(what)
			same(t, what+", rows of two partners", []int{rows("rollups", young), rows("rollups", older), rows("rollups", old)}, []int{16, 6, 2 + 23})
			same(t, what+", rows of all", []int{rows("rollups_all", young), rows("rollups_all", older), rows("rollups_all", old)}, []int{9, 4, 2})
		}
	})
}

// Steps are deleted hour by hour, however many partners have some, and nothing else.
func TestHowLongThingsTookIsDeletedAfter32Days(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		kept := time.Now().Unix()/3600 - 32*24 // or the hour after by the time it is folded
		for hour := kept - 14; hour <= kept+1; hour++ {
			for _, fact := range []string{"answer_5", "first_more", "created"} {
				change(t, b, "INSERT INTO rollups_all (hour, fact, slot, n) VALUES ($1, $2, 0, 600)", hour, fact)
				change(t, b, "INSERT INTO rollups (hour, partner_code, fact, slot, n) VALUES ($1, 'acme', $2, 0, 1)", hour, fact)
			}
		}
		change(t, b, fmt.Sprintf(`INSERT INTO rollups (hour, partner_code, fact, slot, n) WITH RECURSIVE many(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM many WHERE i < 600)
			SELECT %d, 'many-' || i, 'answer_more', 0, 1 FROM many`, kept-14))
		left := func(steps string) []int {
			var n []int
			for _, table := range []string{"rollups", "rollups_all"} {
				n = append(n, b.Count(t, "SELECT COUNT(*) FROM "+table+" WHERE hour < $1 AND fact "+steps+" ('answer_5', 'answer_more', 'first_more')", kept))
			}
			return n
		}
		for _, want := range []int{2 * 2, 0, 0} { // hours of the fourteen are twelve at once
			if err := b.FoldFacts(t.Context()); err != nil {
				t.Fatal(err)
			}
			same(t, "steps that are left", left("IN"), []int{want, want})
			same(t, "other facts", left("NOT IN"), []int{14, 14})
			for _, table := range []string{"rollups", "rollups_all"} {
				same(t, "of the last 32 days", b.Count(t, "SELECT COUNT(*) FROM "+table+" WHERE hour > $1", kept), 3)
			}
		}
	})
}

// A process whose clock is behind counts in hours that are folded.
func TestWhatIsCountedWhileItsHourIsFoldedIsNotLost(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 8)
		began := time.Now()
		stop := make(chan struct{})
		var folding sync.WaitGroup
		folding.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				for _, minutes := range []int64{5, 60} {
					if err := b.FoldHour(t.Context(), time.Now().Unix()/3600, minutes); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
		const n = 60
		for range n / 2 {
			storeMany(t, b, "acme", 2)
			drain(t, b)
		}
		close(stop)
		folding.Wait()
		for _, partner := range []string{"", "acme"} {
			var sum reports.PeriodCount
			for _, h := range series(t, b, partners.Everything(), partner, began, time.Now()) {
				sum.Created += h.Created
				sum.Delivered += h.Delivered
				sum.AttemptDelivered += h.AttemptDelivered
			}
			same(t, "counted of "+partner, sum, reports.PeriodCount{Created: n, Delivered: n, AttemptDelivered: n})
		}
		same(t, "drift", drift(t, b), int64(0))
	})
}

func TestTheShareOfSuccessesIsThatOfTheLastMinutes(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		for _, code := range []string{"acme", "other", "quiet"} {
			b.Partner(t, code)
			b.Endpoint(t, code, 8)
		}
		storeMany(t, b, "acme", 3)
		drain(t, b)
		storeMany(t, b, "acme", 1)
		send(t, b, b.Tickets(), failed, exhausted)
		storeMany(t, b, "other", 2)
		send(t, b, b.Tickets(), failed, exhausted)
		past := time.Now().Add(-reports.RecentWithin - 2*time.Minute)
		change(t, b, "INSERT INTO rollups (hour, partner_code, fact, slot, n) VALUES ($1, 'acme', 'attempt_failed', $2, 100), ($1, 'quiet', 'attempt_failed', $2, 100)",
			past.Unix()/3600, database.MinuteSlot(past))
		found, err := b.RecentSuccesses(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "successes", found, map[string]reports.Successes{"acme": {Attempts: 4, Delivered: 3}, "other": {Attempts: 2}})
	})
}
