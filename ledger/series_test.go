package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

func series(t *testing.T, b *ledgertest.Bench, s partners.Scope, partner string, since, until time.Time) []reports.PeriodCount {
	t.Helper()
	hours, err := b.Series(t.Context(), s, partner, since, until)
	if err != nil {
		t.Fatal(err)
	}
	return hours
}

// The partners' own counts, of which there are many, are not read for that.
func TestADeliveryThatIsNotCountedIsDrift(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 8)
		storeMany(t, b, "acme", 1)
		drain(t, b)
		storeMany(t, b, "acme", 1)
		same(t, "drift", drift(t, b), int64(0))
		change(t, b, "UPDATE rollups_all SET n = n + 3 WHERE fact = 'created'")
		same(t, "drift of deliveries that went", drift(t, b), int64(3))
		change(t, b, "UPDATE rollups_all SET n = n + 4 WHERE fact = 'delivered'")
		same(t, "drift of ends without beginning", drift(t, b), int64(-1))
	})
}

func TestEveryHourIsCountedForEachPartnerAndForAll(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		for _, code := range []string{"acme", "other"} {
			b.Partner(t, code)
			b.Endpoint(t, code, 8)
		}
		storeMany(t, b, "acme", 2)
		drain(t, b)
		storeMany(t, b, "other", 1)
		send(t, b, b.Tickets(), failed, exhausted)
		lost := storeMany(t, b, "acme", 1)
		send(t, b, b.Tickets(), failed, retryAt(time.Now().Add(time.Hour)))
		if err := b.CancelDelivery(t.Context(), lost[0], "no use"); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		total := func(s partners.Scope, partner string) (sum reports.PeriodCount) {
			for _, h := range series(t, b, s, partner, now.Add(-2*time.Hour), now.Add(time.Second)) {
				sum.Created += h.Created
				sum.Delivered += h.Delivered
				sum.Exhausted += h.Exhausted
				sum.Cancelled += h.Cancelled
				sum.AttemptDelivered += h.AttemptDelivered
				sum.AttemptFailed += h.AttemptFailed
				sum.AttemptUnknown += h.AttemptUnknown
			}
			return sum
		}
		same(t, "acme", total(partners.Everything(), "acme"), reports.PeriodCount{Created: 3, Delivered: 2, Cancelled: 1, AttemptDelivered: 2, AttemptFailed: 1})
		same(t, "other", total(partners.Everything(), "other"), reports.PeriodCount{Created: 1, Exhausted: 1, AttemptFailed: 1})
		same(t, "all", total(partners.Everything(), ""), reports.PeriodCount{Created: 4, Delivered: 2, Exhausted: 1, Cancelled: 1, AttemptDelivered: 2, AttemptFailed: 2})
		same(t, "nobody", total(partners.Everything(), "nobody"), reports.PeriodCount{})
		same(t, "its own", total(partners.Only("other"), ""), total(partners.Everything(), "other"))
		for _, s := range []partners.Scope{partners.Only("other"), partners.Only(""), {}} {
			same(t, "acme, by another", total(s, "acme"), reports.PeriodCount{})
		}
		same(t, "all, by nobody", total(partners.Scope{}, ""), reports.PeriodCount{})
		lag, err := b.RollupLag(t.Context())
		if err != nil || lag != 0 {
			t.Errorf("the rollups lag by %s (%v)", lag, err)
		}
	})
}

func TestASeriesHoldsEveryHourOldestFirst(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		noon := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
		change(t, b, "INSERT INTO rollups_all (hour, fact, slot, n) VALUES ($1, 'created', 1, 3), ($1, 'created', 2, 4), ($1, 'not known', 1, 9), ($2, 'created', 1, 5)",
			noon.Unix()/3600, noon.Unix()/3600+3)
		var created []int64
		hours := series(t, b, partners.Everything(), "", noon.Add(59*time.Minute), noon.Add(3*time.Hour))
		for i, h := range hours {
			created = append(created, h.Created)
			same(t, "hour", h.Since, noon.Add(time.Duration(i)*time.Hour))
		}
		same(t, "created until three, exclusive", created, []int64{7, 0, 0})
		same(t, "no time at all", len(series(t, b, partners.Everything(), "", noon, noon)), 0)
		if _, err := b.Series(t.Context(), partners.Everything(), "", noon, noon.AddDate(2, 0, 0)); err == nil {
			t.Error("two years are not refused")
		}
	})
}

// Days are of 24 hours, and of one more or less when clocks change.
func TestPeriodsOfManyHoursHoldAllOfThem(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		first := time.Date(2026, 3, 28, 23, 0, 0, 0, time.UTC)
		for i := range 72 {
			at := first.Add(time.Duration(i)*time.Hour + 7*time.Minute)
			for _, slot := range []int64{1, database.MinuteSlot(at)} { // as old versions count, and as this one
				change(t, b, "INSERT INTO rollups_all (hour, fact, slot, n) VALUES ($1, 'created', $2, $3), ($1, 'answer_250', $2, $3)", at.Unix()/3600, slot, i)
			}
		}
		sum := func(from, to int) (n int64) { // of those hours
			for i := from; i < to; i++ {
				n += 2 * int64(i)
			}
			return n
		}
		for _, hours := range [][]int{{0, 24, 48, 72}, {0, 24, 47, 71}, {3, 9, 15, 27}, {0, 1, 3}, {70, 72}} {
			var edges []time.Time
			var want, created, answers []int64
			for i, h := range hours {
				edges = append(edges, first.Add(time.Duration(h)*time.Hour))
				if i > 0 {
					want = append(want, sum(hours[i-1], h))
				}
			}
			periods, err := b.Periods(t.Context(), partners.Everything(), "", edges)
			if err != nil {
				t.Fatal(err)
			}
			took, err := b.Latencies(t.Context(), partners.Everything(), "", edges)
			if err != nil {
				t.Fatal(err)
			}
			for i := range periods {
				created, answers = append(created, periods[i].Created), append(answers, took[i].Answers.Count())
			}
			same(t, fmt.Sprint("created from and to hour ", hours), created, want)
			same(t, fmt.Sprint("answers from and to hour ", hours), answers, want)
		}
	})
}

// The columns that lists show are filled as attempts are recorded.
func TestADeliveryRemembersItsFirstAndLastAttempt(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 8)
		id := storeMany(t, b, "acme", 1)[0]
		finish := func(a webhook.Attempt, v delivery.Verdict, began time.Time, took time.Duration) {
			r := result(take(t, b, one(t, b)), a, v)
			r.Attempt.StartedAt, r.Attempt.Phases.Total = began, took
			if err := tryRecord(t, b.Ledger, r); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now().Add(-time.Minute)
		finish(failed, retryAt(time.Now()), began, 3*time.Second)
		promote(t, b)
		finish(ok, delivered, time.Now(), 2*time.Second)
		same(t, "rows", b.Count(t, "SELECT COUNT(*) FROM deliveries WHERE id = $1 AND first_at = $2 AND last_us = 2000000 AND last_at >= $2",
			id, began.UnixMicro()), 1)
	})
}
