package ledger_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// multiply adds n copies of the one exhausted delivery, of events of their own.
func multiply(t *testing.T, b *ledgertest.Bench, from, n int) {
	t.Helper()
	number := "SUBSTR(CAST(1000000 + i AS TEXT), 2)"
	change(t, b, `WITH RECURSIVE n (i) AS (SELECT CAST($1 AS INTEGER) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < $2)
		INSERT INTO deliveries (id, event_id, endpoint_id, partner_code, webhook_type, object_id, sequence, state, reason, generation, attempts,
			trigger, next_trigger, replay_of, lane, claimed_at, worker_id, last_outcome, last_status, last_class, created_at, finished_at)
		SELECT SUBSTR(id, 1, 24) || `+number+`, SUBSTR(event_id, 1, 24) || `+number+`, endpoint_id, partner_code, webhook_type, object_id, sequence,
			state, reason, generation, attempts, trigger, next_trigger, replay_of, lane, claimed_at, worker_id, last_outcome, last_status,
			last_class, created_at, finished_at FROM n, (SELECT * FROM deliveries WHERE state = 'exhausted' ORDER BY sequence, id LIMIT 1) AS d`, from, from+n)
}

// A long list is counted without blocking and frozen in steps that keep nobody waiting.
func TestALongListIsFrozenInBoundedSteps(t *testing.T) {
	ledgertest.EachFresh(t, func(t *testing.T, b *ledgertest.Bench) {
		const long = 12_345
		b.Partner(t, "acme")
		wide(t, b, 10)
		exhaust(t, b, 1)
		preview := func(want int, is delivery.CountKind) {
			t.Helper()
			began := time.Now()
			p, err := b.PreviewReplay(t.Context(), partners.Everything(), filter(webhook.Exhausted))
			if err != nil {
				t.Fatal(err)
			}
			if is == delivery.CountAbout && time.Since(began) >= time.Second { // counting on may have taken too long
				want, is = p.Count, p.CountIs
			}
			same(t, "count", []any{p.Count, p.CountIs, len(p.Sample)}, []any{want, is, delivery.ReplaySample})
		}
		multiply(t, b, 0, 9_999-1)
		preview(9_999, delivery.CountExact)
		multiply(t, b, 9_999, long-9_999)
		preview(12_300, delivery.CountAbout)

		var mu sync.Mutex
		count := map[string]int{}
		most := 0 // values in one statement
		if !b.DB.Embedded() {
			if err := b.Trace(b.At.DatabaseURL, func(s ledger.Statement) {
				mu.Lock()
				defer mu.Unlock()
				count[strings.ToUpper(strings.Fields(s.SQL)[0])]++
				most = max(most, len(s.Args))
			}); err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			clear(count) // of what it took to open the database
			mu.Unlock()
		}
		began := time.Now()
		r, err := b.StartReplay(t.Context(), partners.Everything(), delivery.Replay{ID: webhook.NewID(webhook.ReplayPrefix), State: delivery.ReplayPaused,
			Filter: filter(webhook.Exhausted), Rate: 1, CreatedAt: time.Now()})
		if err != nil || r.Total != long {
			t.Fatalf("%d listed (%v)", r.Total, err)
		}
		t.Logf("%d items were frozen in %s", r.Total, time.Since(began).Round(time.Millisecond))
		if !b.DB.Embedded() { // pages of 1,000, each written in a transaction of its own, and the replay with its entry
			same(t, "pages read", count["SELECT"] >= 13 && count["SELECT"] <= 15, true)
			same(t, "transactions", []int{count["BEGIN"], count["COMMIT"]}, []int{14, 14})
			same(t, "values in a statement at most", most <= 8*1000, true)
		}
		same(t, "items, positions, deliveries", []int{
			b.Count(t, "SELECT COUNT(*) FROM replay_items WHERE outcome = ''"),
			b.Count(t, "SELECT MAX(position) FROM replay_items"),
			b.Count(t, "SELECT COUNT(DISTINCT delivery_id) FROM replay_items"),
		}, []int{long, long, long})
		same(t, "out of order", b.Count(t, `SELECT COUNT(*) FROM replay_items x JOIN replay_items y ON y.replay_id = x.replay_id
			AND y.position = x.position + 1 WHERE y.delivery_id <= x.delivery_id`), 0)
	})
}

// Neither a preview nor a start reads further than the bound and a page.
func TestALongerListThanAReplayTakesIsRefused(t *testing.T) {
	t.Parallel()
	b := ledgertest.NewFresh(t, "postgres")
	b.Partner(t, "acme")
	wide(t, b, 10)
	exhaust(t, b, 1)
	multiply(t, b, 0, delivery.MaxReplay)
	p, err := b.PreviewReplay(t.Context(), partners.Everything(), filter(webhook.Exhausted))
	if err != nil || p.CountIs != delivery.CountAtLeast || p.Count > delivery.MaxReplay+1 {
		t.Errorf("a preview counts %d, %s (%v)", p.Count, p.CountIs, err)
	}
	_, err = b.StartReplay(t.Context(), partners.Everything(), delivery.Replay{ID: webhook.NewID(webhook.ReplayPrefix), State: delivery.ReplayPaused,
		Filter: filter(webhook.Exhausted), Rate: 1, CreatedAt: time.Now()})
	wantKind(t, err, webhook.KindInvalid)
	if !strings.Contains(err.Error(), "/filter must match at most 100000 ") {
		t.Errorf("one more than a replay takes: %v", err)
	}
	same(t, "replays, items", []int{b.Count(t, "SELECT COUNT(*) FROM replays"), b.Count(t, "SELECT COUNT(*) FROM replay_items")}, []int{0, 0})
}

func TestAListIsReadNoFurtherThanItsBound(t *testing.T) {
	ledgertest.EachFresh(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		wide(t, b, 10)
		exhaust(t, b, 1)
		multiply(t, b, 0, 2_499)
		for _, test := range []struct {
			most, listed int
			refused      bool
		}{{2_499, 0, true}, {2_500, 2_500, false}, {1_999, 0, true}, {999, 0, true}} {
			listed, refused, err := b.ListReplayable(t.Context(), filter(webhook.Exhausted), test.most)
			if err != nil || listed != test.listed || refused != test.refused {
				t.Errorf("of at most %d: %d listed, refused: %t (%v)", test.most, listed, refused, err)
			}
		}
	})
}

func TestOfSeveralDeliveriesOfAnEventOneIsSent(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		wide(t, b, 10)
		made := exhaust(t, b, 3)
		again, err := b.RetryDelivery(t.Context(), made[0])
		if err != nil {
			t.Fatal(err)
		}
		sendAtOnce(t, b, b.Tickets(), failed, exhausted)
		r := replay(t, b, delivery.MaxReplayRate)
		_, p := progressOf(t, b, r.ID)
		same(t, "total, skipped", []int{r.Total, p.Skipped}, []int{4, 1})
		step(t, b)
		sendAtOnce(t, b, b.Tickets(), failed, exhausted) // ends before anything else could have its turn
		rested(t, b)
		step(t, b)
		r, p = progressOf(t, b, r.ID)
		same(t, "state", r.State, delivery.ReplayFinished)
		same(t, "skipped, failed", []int{p.Skipped, p.Failed}, []int{1, 3})
		same(t, "sent of the newest", b.Count(t, "SELECT COUNT(*) FROM deliveries WHERE trigger = 'replay' AND replay_of = '"+again+"'"), 1)
	})
}
