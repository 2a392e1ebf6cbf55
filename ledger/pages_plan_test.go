package ledger_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/ledger/reports"
	"ledgerhook/orders"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// planDeliveries is enough for the planner to have to choose.
const planDeliveries = 100_000

// everyPage makes every query that a page makes, for operators and a partner.
func everyPage(t *testing.T, b *ledgertest.Bench) {
	t.Helper()
	now, yes := time.Now(), true
	all := search(t, b, reports.DeliveryQuery{Scope: partners.Everything()})
	d := all.Items[0]
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []partners.Scope{partners.Everything(), partners.Only(d.PartnerCode)} {
		for _, q := range []reports.DeliveryQuery{
			{}, {NeedsAttention: true}, {States: []webhook.State{webhook.Exhausted}}, {States: []webhook.State{webhook.Held, webhook.Queued}},
			{States: []webhook.State{webhook.Delivered}}, {Settled: &yes}, {StatusClass: 5}, {ErrorClasses: []webhook.ErrorClass{webhook.ErrorDNS}}, {EndpointID: d.EndpointID},
			{Host: d.Host, NeedsAttention: true}, {Reference: d.ObjectID}, {Reference: "card_7"}, {Reference: d.ID}, {Types: []webhook.Type{d.Type}},
			{Since: now.Add(-time.Hour), DurationMin: 100 * time.Millisecond}, {Cursor: d.ID, AttemptsMin: 2},
		} {
			q.Scope = s
			search(t, b, q)
			_, err := b.NewSince(t.Context(), q, d.ID)
			check(err)
		}
		for _, what := range []string{d.ID, d.EventID, d.EndpointID, d.ObjectID, "card_7", d.Host, d.PartnerCode, webhook.NewID(webhook.AttemptPrefix)} {
			_, err := b.Find(t.Context(), s, what)
			check(err)
		}
		for _, q := range []reports.EventQuery{{Scope: s}, {Scope: s, Type: d.Type}, {Scope: s, Reference: d.ObjectID}} {
			_, _, err := b.SentEvents(t.Context(), q)
			check(err)
		}
		_, err := b.Reconcile(t.Context(), s, "", []string{d.ID, d.EventID, d.ObjectID, "card_7", "nothing"}, 30*day)
		check(err)
		_, _, err = b.SeenEvent(t.Context(), s, d.EventID)
		check(err)
	}
	for _, state := range []webhook.State{webhook.Pending, webhook.Held, webhook.Queued, webhook.Sending, webhook.Exhausted, webhook.Cancelled} {
		for _, partner := range []string{"", d.PartnerCode} {
			_, _, err := b.Deliveries(t.Context(), delivery.Filter{State: state, PartnerCode: partner, Limit: 50})
			check(err)
		}
	}
	for _, f := range []orders.Filter{{Limit: 50}, {PartnerCode: d.PartnerCode, Limit: 50}, {Since: now.Add(-day), Status: orders.StatusError, Limit: 50}, {PartnerCode: d.PartnerCode, Status: orders.StatusFail, Limit: 50}} {
		unfinished, _, err := b.UnfinishedOrders(t.Context(), f)
		check(err)
		_, err = b.Standings(t.Context(), unfinished)
		check(err)
		_, _, err = b.UntoldOrders(t.Context(), f)
		check(err)
	}
	_, err := b.Situation(t.Context())
	check(err)
	_, err = b.FailingPartners(t.Context())
	check(err)
	_, err = b.SlowPartners(t.Context())
	check(err)
	codes := []string{d.PartnerCode, "nobody"}
	_, err = b.PartnerNames(t.Context(), "")
	check(err)
	_, err = b.RecentSuccesses(t.Context())
	check(err)
	_, err = b.AnswerTimes(t.Context(), codes)
	check(err)
	_, err = b.OldestWaitingOf(t.Context(), codes)
	check(err)
	_, err = b.HoursOf(t.Context(), codes, now.Add(-day), now)
	check(err)
	_, err = b.PartnerFunnel(t.Context(), partners.Everything(), d.PartnerCode, now.Add(-day), now)
	check(err)
	_, err = b.CertificateEnds(t.Context(), partners.Only(d.PartnerCode), d.EndpointID)
	check(err)
	_, err = b.RollupLag(t.Context())
	check(err)
	_, err = b.Series(t.Context(), partners.Everything(), "", now.Add(-30*day), now)
	check(err)
	for _, s := range []partners.Scope{partners.Everything(), partners.Only(d.PartnerCode)} {
		for _, code := range []string{"", d.PartnerCode} {
			_, err = b.Latencies(t.Context(), s, code, []time.Time{now.Add(-30 * day), now.Add(-day), now})
			check(err)
			_, err = b.ChangesSince(t.Context(), s, code, now.Add(-30*day), 21)
			check(err)
		}
	}
}

// No page reads a table of deliveries, events or attempts from end to end, and
// the answer to a repeated event looks into no day before it.
func TestPagesReadByIndexOnPostgreSQL(t *testing.T) {
	t.Parallel()
	begun, oldest := time.Now().UTC().Format("20060102"), time.Now().UTC().Add(-30*day).Format("20060102")
	first := time.Now().UTC().Add(-29 * day).Format("20060102") // of what is filled in, from this hour on
	b := ledgertest.NewFilled(t, "postgres", planDeliveries)
	same(t, "drift", drift(t, b), 0)
	b.CheckWindows(t)
	b.CheckAttempts(t)
	b.Partner(t, "without_endpoint")
	twice := ledgertest.NewEvent("without_endpoint", "tp_1", "Pending")
	store(t, b, twice)
	var mu sync.Mutex
	var statements []ledger.Statement
	if err := b.Trace(b.At.DatabaseURL, func(s ledger.Statement) {
		mu.Lock()
		defer mu.Unlock()
		statements = append(statements, s)
	}); err != nil {
		t.Fatal(err)
	}
	everyPage(t, b)
	same(t, "duplicate", store(t, b, twice).Duplicate, false) // the very event: its answer got lost
	answered := 0
	plans := explain(t, b, statements)
	for _, plan := range plans {
		if strings.Contains(plan.sql, "replay_of = '' AND event_id") {
			answered++
			if strings.Contains(plan.text, "deliveries_"+oldest) {
				t.Errorf("old days are opened by\n%s\n%s", plan.sql, plan.text)
			}
		}
		for _, m := range scanned.FindAllString(plan.text, -1) {
			// A day of a few rows, and one of which only a part is there, is read as it lies.
			day, few := strings.TrimPrefix(m, "Seq Scan on "), 200
			if strings.HasSuffix(day, begun) || strings.HasSuffix(day, first) || strings.HasSuffix(day, oldest) {
				few = 2500
			}
			if b.Count(t, fmt.Sprintf("SELECT COUNT(*) FROM (SELECT 1 FROM %s LIMIT %d) AS few", day, few)) == few {
				t.Errorf("%s in\n%s\n%s", m, plan.sql, plan.text[:min(len(plan.text), 1500)])
			}
		}
	}
	same(t, "answers to repeated events", answered, 1)
	if len(plans) < 60 {
		t.Errorf("only %d plans were looked at", len(plans))
	}
}

func drift(t *testing.T, b *ledgertest.Bench) int64 {
	t.Helper()
	i, err := b.Invariant(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if i.Created == 0 {
		t.Error("nothing was filled in")
	}
	return i.Drift()
}
