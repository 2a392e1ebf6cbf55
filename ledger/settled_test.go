package ledger_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// again has a finished delivery repeated and recorded as told.
func again(t *testing.T, b *ledgertest.Bench, id string, a webhook.Attempt, v delivery.Verdict) (newID string) {
	t.Helper()
	newID, err := b.RetryDelivery(t.Context(), id)
	if err != nil || newID == "" {
		t.Fatalf("%q (%v)", newID, err)
	}
	b.Promote(t.Context(), 10)
	record(t, b, take(t, b, one(t, b)), a, v)
	return newID
}

// attention are the deliveries that need it.
func attention(t *testing.T, b *ledgertest.Bench) (ids []string) {
	t.Helper()
	for _, d := range search(t, b, reports.DeliveryQuery{Scope: partners.Everything(), NeedsAttention: true}).Items {
		ids = append(ids, d.ID)
	}
	return ids
}

// settledBy maps each delivery to the one that settled it.
func settledBy(t *testing.T, b *ledgertest.Bench, ids ...string) (by []string) {
	t.Helper()
	for _, id := range ids {
		by = append(by, look(t, b, id).DeliveredBy)
	}
	return by
}

// counted are the deliveries that the rollups count as given up, and of these
// as settled.
func counted(t *testing.T, b *ledgertest.Bench) []int64 {
	t.Helper()
	var n [2]int64
	hours, err := b.Series(t.Context(), partners.Only("acme"), "acme", time.Now().Add(-3*time.Hour), time.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hours {
		n[0], n[1] = n[0]+h.Exhausted, n[1]+h.Settled
	}
	return n[:]
}

func TestWhatAReplayDeliveredIsSettled(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		wide(t, b, 10)
		other := wide(t, b, 10) // whose deliveries of the same events stay as they are
		storeMany(t, b, "acme", 4)
		sendAtOnce(t, b, b.Tickets(), failed, exhausted)
		var made []string
		for _, d := range search(t, b, reports.DeliveryQuery{Scope: partners.Everything()}).Items {
			if d.EndpointID != other.ID {
				made = append(made, d.ID)
			}
		}
		same(t, "need attention", len(attention(t, b)), 8)
		// As if they had ended in the hour before, which their rollups count.
		change(t, b, "UPDATE deliveries SET finished_at = finished_at - 3600000000")
		change(t, b, "UPDATE rollups SET hour = hour - 1 WHERE fact = 'exhausted'")

		r := replay(t, b, delivery.MaxReplayRate)
		change(t, b, "UPDATE replay_items SET outcome = 'skipped' WHERE replay_id = $1 AND endpoint_id = $2", r.ID, other.ID)
		step(t, b)
		sendAtOnce(t, b, b.Tickets(), ok, delivered)
		by := settledBy(t, b, made...)
		for i, id := range by {
			d := look(t, b, id)
			same(t, "the delivery that did it", []any{d.State, d.ReplayOf}, []any{webhook.Delivered, made[i]})
			same(t, "the settled one", look(t, b, made[i]).State, webhook.Exhausted)
		}
		same(t, "need attention", len(attention(t, b)), 4)
		same(t, "given up, settled", counted(t, b), []int64{8, 4})
		same(t, "settled in the hour in which they were given up", b.Count(t, `SELECT COUNT(*) FROM rollups s JOIN rollups e ON e.hour = s.hour
			AND e.partner_code = s.partner_code WHERE s.fact = 'settled' AND e.fact = 'exhausted'`), 1)
		same(t, "drift", drift(t, b), 0)
		yes, no := true, false
		for _, c := range []struct {
			settled *bool
			want    int
		}{{nil, 8}, {&yes, 4}, {&no, 4}} {
			found := search(t, b, reports.DeliveryQuery{Scope: partners.Only("acme"), States: []webhook.State{webhook.Exhausted}, Settled: c.settled})
			same(t, "found", len(found.Items), c.want)
		}
		f, err := b.PartnerFunnel(t.Context(), partners.Everything(), "acme", time.Now().Add(-time.Hour), time.Now().Add(time.Minute))
		same(t, "matched, exhausted, settled", []any{f.Matched, f.Exhausted, f.Settled, err}, []any{8, 4, 4, error(nil)})
		b.CheckWindows(t)
	})
}

// However it comes to it: by a repetition of a repetition, by one of two at the
// same time, and where the event had come through before.
func TestEveryDeliveryOfAnEventIsSettledOnceItIsDelivered(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		wide(t, b, 10)
		first := exhaust(t, b, 1)[0]
		second := again(t, b, first, failed, exhausted)
		same(t, "while nothing was delivered", settledBy(t, b, first, second), []string{"", ""})
		third := again(t, b, second, ok, delivered)
		same(t, "by a repetition of a repetition", settledBy(t, b, first, second, third), []string{third, third, ""})
		fourth := again(t, b, first, failed, exhausted)
		same(t, "was delivered before", settledBy(t, b, first, fourth), []string{third, third})
		fifth := again(t, b, first, ok, delivered)
		same(t, "delivered once more", settledBy(t, b, first, second, fourth, fifth), []string{third, third, third, ""})
		same(t, "need attention", attention(t, b), []string(nil))
		same(t, "given up, settled", counted(t, b), []int64{3, 3})

		// Of two repetitions at the same time the first ends well, the second in vain.
		lone := exhaust(t, b, 1)[0]
		slow, err := b.RetryDelivery(t.Context(), lone)
		if err != nil {
			t.Fatal(err)
		}
		job := take(t, b, one(t, b))
		r := replay(t, b, delivery.MaxReplayRate)
		change(t, b, "UPDATE deliveries SET finished_at = 1, state = 'cancelled', queued_at = NULL WHERE id = $1", slow) // out of the replay's sight
		step(t, b)
		change(t, b, "UPDATE deliveries SET finished_at = 0, state = 'sending', queued_at = 1 WHERE id = $1", slow)
		record(t, b, take(t, b, one(t, b)), ok, delivered)
		same(t, "while another is under way", []any{look(t, b, lone).DeliveredBy != "", look(t, b, slow).DeliveredBy}, []any{true, ""})
		record(t, b, job, failed, exhausted)
		same(t, "the late one", look(t, b, slow).DeliveredBy, look(t, b, lone).DeliveredBy)
		_, p := progressOf(t, b, r.ID)
		same(t, "delivered", p.Delivered, 1)
		b.CheckWindows(t)
	})
}

// The days of the ids are not told apart by the statement that settles, and what
// retention has taken is missed by nobody.
func TestADeliveryOfAnotherDayIsSettled(t *testing.T) {
	ledgertest.EachFresh(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		wide(t, b, 10)
		made := exhaust(t, b, 2)
		event := look(t, b, made[0]).EventID
		old := webhook.TimeBound(webhook.DeliveryPrefix, time.Now().AddDate(0, 0, -3))
		oldEvent := webhook.TimeBound(webhook.EventPrefix, time.Now().AddDate(0, 0, -3))
		change(t, b, "UPDATE events SET id = $2 WHERE id = $1", event, oldEvent)
		change(t, b, "UPDATE deliveries SET id = $2, event_id = $3 WHERE id = $1", made[0], old, oldEvent)
		by := again(t, b, old, ok, delivered)
		same(t, "settled", look(t, b, old).DeliveredBy, by)

		ahead := webhook.TimeBound(webhook.DeliveryPrefix, time.Now().Add(time.Hour)) // by a clock that was
		retried, err := b.RetryDelivery(t.Context(), made[1])
		if err != nil {
			t.Fatal(err)
		}
		ticket := one(t, b)
		change(t, b, "UPDATE deliveries SET id = $2 WHERE id = $1", retried, ahead)
		ticket.DeliveryID = ahead
		record(t, b, take(t, b, ticket), ok, delivered)
		same(t, "settled by one of a clock that was ahead", look(t, b, made[1]).DeliveredBy, ahead)

		change(t, b, "DELETE FROM deliveries WHERE id = $1", old) // as retention does
		late, err := b.RetryDelivery(t.Context(), made[1])
		if err != nil {
			t.Fatal(err)
		}
		job := take(t, b, one(t, b))
		change(t, b, "DELETE FROM deliveries WHERE replay_of = '' AND id <> $1", late)
		record(t, b, job, ok, delivered)
		same(t, "the repetition of what is gone", look(t, b, late).State, webhook.Delivered)
		b.CheckCounts(t)
	})
}

// A replay leaves out what is settled, unless it is told to send it as well.
func TestAReplayLeavesOutWhatIsSettled(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		wide(t, b, 10)
		made := exhaust(t, b, 5)
		for _, id := range made[:2] {
			again(t, b, id, ok, delivered)
		}
		wants := func(f delivery.Filter, count, settled, warned int) {
			t.Helper()
			p, err := b.PreviewReplay(t.Context(), partners.Everything(), f)
			same(t, "count, settled, already delivered", []any{p.Count, p.Settled, p.SettledIs, p.Warnings.Delivered, len(p.Sample), err},
				[]any{count, settled, delivery.CountExact, warned, min(count, delivery.ReplaySample), error(nil)})
			if count == 0 {
				return
			}
			r, err := b.StartReplay(t.Context(), partners.Everything(), delivery.Replay{ID: webhook.NewID(webhook.ReplayPrefix), State: delivery.ReplayPaused, Filter: f, Rate: 1, CreatedAt: time.Now()})
			same(t, "listed", []any{r.Total, err}, []any{count, error(nil)})
		}
		wants(filter(webhook.Exhausted), 3, 2, 0)
		wants(delivery.Filter{State: webhook.Exhausted, IncludeSettled: true}, 5, 2, 2)
		wants(delivery.Filter{IDs: made[:2]}, 0, 2, 0)
		wants(delivery.Filter{IDs: made[:2], IncludeSettled: true}, 2, 2, 2)
		wants(delivery.Filter{State: webhook.Delivered}, 2, 0, 2) // asked for by name
		wants(delivery.Filter{PartnerCode: "acme"}, 5, 2, 2)

		all := delivery.Filter{IDs: made, IncludeSettled: true}
		r, err := b.StartReplay(t.Context(), partners.Everything(), delivery.Replay{ID: webhook.NewID(webhook.ReplayPrefix), State: delivery.ReplayRunning, Filter: all, Rate: 1000, CreatedAt: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		meanwhile := again(t, b, made[4], ok, delivered) // which is not sent once more
		step(t, b)
		sendAtOnce(t, b, b.Tickets(), ok, delivered)
		r, p := progressOf(t, b, r.ID)
		same(t, "delivered, skipped", []int{p.Delivered, p.Skipped}, []int{4, 1})
		same(t, "settled by", look(t, b, made[4]).DeliveredBy, meanwhile)
		same(t, "its filter", r.Filter, all)
		b.CheckWindows(t)
	})
}

// settles tells the statements that settle deliveries.
func settles(sql string) bool {
	return strings.Contains(sql, "delivered_by = '' AND event_id") || strings.Contains(sql, "SET delivered_by")
}

// Only a repetition's end asks whether anything is settled by it, once a
// batch; no other delivery pays for it.
func TestOnlyTheEndOfARepetitionCostsAStatementMore(t *testing.T) {
	t.Parallel()
	b := ledgertest.New(t, "postgres")
	b.Partner(t, "acme")
	wide(t, b, 16)
	made := exhaust(t, b, 8)
	var mu sync.Mutex
	var settling int
	if err := b.Trace(b.At.DatabaseURL, func(s ledger.Statement) {
		mu.Lock()
		defer mu.Unlock()
		if settles(s.SQL) {
			settling++
		}
	}); err != nil {
		t.Fatal(err)
	}
	took := func() int {
		mu.Lock()
		defer mu.Unlock()
		n := settling
		settling = 0
		return n
	}
	together := func(a webhook.Attempt, v delivery.Verdict) {
		t.Helper()
		var jobs []delivery.Job
		for _, ticket := range b.Tickets() {
			jobs = append(jobs, take(t, b, ticket))
		}
		same(t, "jobs", len(jobs), 8)
		var wg sync.WaitGroup
		b.TogetherIn(len(jobs), func() {
			for _, job := range jobs {
				wg.Go(func() {
					if err := tryRecord(t, b.Ledger, result(job, a, v)); err != nil {
						t.Error(err)
					}
				})
			}
		})
		wg.Wait()
	}
	storeMany(t, b, "acme", 8)
	together(ok, delivered)
	same(t, "for first deliveries", took(), 0)
	for _, id := range made {
		if _, err := b.RetryDelivery(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	together(failed, retryAt(time.Now()))
	same(t, "for repetitions that go on", took(), 0)
	promote(t, b)
	together(ok, delivered)
	same(t, "for repetitions that end", took(), 2) // one reads, one marks
	for _, by := range settledBy(t, b, made...) {
		same(t, "settled", by != "", true)
	}
	b.CheckWindows(t)
}
