package ledger_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerhook/delivery"
	"ledgerhook/ledger"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

var (
	scanned   = regexp.MustCompile(`Seq Scan on (events|deliveries|attempts)_\d+`) // the default ones are empty
	ofState   = regexp.MustCompile(`Scan.* using deliveries_\d{8}_id_idx`)
	partition = regexp.MustCompile(`on (?:events|deliveries|attempts)_(\d{8}|default)`)
)

// What every delivery passes through reads no table from end to end, and opens
// only the day that its ids name.
func TestThePathOfADeliveryReadsByIndexAndDay(t *testing.T) {
	b := ledgertest.NewFresh(t, "postgres")
	b.Partner(t, "acme")
	e := b.Endpoint(t, "acme", 1)
	fill(t, b)
	ids := storeMany(t, b, "acme", 3) // one on its way, two wait

	var mu sync.Mutex
	var statements []ledger.Statement
	if err := b.Trace(b.At.DatabaseURL, func(s ledger.Statement) {
		mu.Lock()
		defer mu.Unlock()
		statements = append(statements, s)
	}); err != nil {
		t.Fatal(err)
	}
	began := time.Now().UTC()
	job := take(t, b, one(t, b))
	record(t, b, job, failed, retryAt(time.Now().Add(time.Hour)))
	refused(t, b, delivery.Ticket{DeliveryID: job.Delivery.ID, Generation: 1})
	if _, err := b.RetryDelivery(t.Context(), ids[0]); err != nil {
		t.Fatal(err)
	}
	second := take(t, b, one(t, b))
	record(t, b, second, ok, delivered)
	if _, err := b.RetryDelivery(t.Context(), ids[1]); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Requeue(t.Context(), b.Tickets()); err != nil {
		t.Fatal(err)
	}
	if err := b.CancelDelivery(t.Context(), ids[2], "a mistake"); err != nil {
		t.Fatal(err)
	}
	promote(t, b)
	if _, err := b.Attempts(t.Context(), ids[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Event(t.Context(), partners.Everything(), look(t, b, ids[0]).EventID); err != nil {
		t.Fatal(err)
	}
	windowOf(t, b, e.ID)
	days := []string{began.Format("20060102"), time.Now().UTC().Format("20060102"), time.Now().UTC().Add(database.MaxClockSkew).Format("20060102")}

	checked := 0
	for _, plan := range explain(t, b, statements) {
		if m := scanned.FindString(plan.text); m != "" {
			t.Errorf("%s in\n%s\n%s", m, plan.sql, plan.text)
		}
		if strings.Contains(plan.sql, "LATERAL") { // what waits may be of any day
			if !strings.Contains(plan.text, "lane_due_at_sequence_idx") {
				t.Errorf("the backlog is not read by its index:\n%s\n%s", plan.sql, plan.text)
			}
			checked++
			continue
		}
		for _, m := range partition.FindAllStringSubmatch(plan.text, -1) {
			checked++
			if !slices.Contains(days, m[1]) {
				t.Errorf("day %s is opened by\n%s\n%s", m[1], plan.sql, plan.text)
			}
		}
	}
	if checked < 15 {
		t.Errorf("only %d plans were looked at", checked)
	}
}

// What repairs and cleans up, or lists a partner's deliveries, reads by index.
func TestRepairsAndListsReadByIndex(t *testing.T) {
	b := ledgertest.NewFresh(t, "postgres")
	b.Partner(t, "acme")
	e := b.Endpoint(t, "acme", 1)
	fill(t, b)
	ids := storeMany(t, b, "acme", 2)
	var mu sync.Mutex
	var statements []ledger.Statement
	if err := b.Trace(b.At.DatabaseURL, func(s ledger.Statement) {
		mu.Lock()
		defer mu.Unlock()
		statements = append(statements, s)
	}); err != nil {
		t.Fatal(err)
	}
	_, queued := b.Queued(t.Context(), delivery.Queued{}, 100)
	_, abandoned := b.Abandoned(t.Context(), "wrk_next", 100)
	_, claimed := b.Claimed(t.Context(), worker, time.Now(), 100)
	_, promoted := b.Promote(t.Context(), 100)
	_, _, ofPartner := b.Deliveries(t.Context(), delivery.Filter{PartnerCode: "acme", Limit: 50})
	_, _, ofEndpoint := b.Deliveries(t.Context(), delivery.Filter{EndpointID: e.ID, Limit: 50})
	_, _, ofObject := b.Deliveries(t.Context(), delivery.Filter{Reference: "tp_1", Limit: 50})
	_, ofEvent := b.EventDeliveries(t.Context(), look(t, b, ids[0]).EventID)
	for _, err := range []error{queued, abandoned, claimed, promoted, ofPartner, ofEndpoint, ofObject, ofEvent,
		b.TakeOver(t.Context()), b.CancelRemoved(t.Context()), b.RemoveEndpoint(t.Context(), partners.Everything(), e.ID)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, plan := range explain(t, b, statements) {
		if m := scanned.FindString(plan.text); m != "" {
			t.Errorf("%s in\n%s\n%s", m, plan.sql, plan.text)
		}
	}
}

// fill puts finished deliveries into every day, so that the planner has to choose.
func fill(t *testing.T, b *ledgertest.Bench) {
	t.Helper()
	for ahead := range 8 {
		at := time.Now().UTC().Truncate(day).AddDate(0, 0, ahead)
		bound := func(prefix string) string { return webhook.TimeBound(prefix, at)[:len(prefix)+9] }
		change(t, b, `INSERT INTO events SELECT $1 || lpad(n::text, 17, '0'), 'acme', 'TopupCard', 'old_' || n, 's', 'Pending', '', 'k', 'rsa', false, false, false, 1
			FROM generate_series(1, 1500) n`, bound(webhook.EventPrefix))
		change(t, b, `INSERT INTO deliveries SELECT $1 || lpad(n::text, 17, '0'), $2 || lpad(n::text, 17, '0'), 'ep_old', 'old', 'TopupCard', 'old_' || n,
			n, 'delivered', '', 2, 1, 'first', 'retry', '', 1, NULL, NULL, 1, 'w', 'delivered', 200, '', 1, 1 FROM generate_series(1, 1500) n`,
			bound(webhook.DeliveryPrefix), bound(webhook.EventPrefix))
		change(t, b, `INSERT INTO attempts SELECT $1 || lpad(n::text, 17, '0'), 1, 'att', 'first', 1, 1, 1, 1, 1, 1, '', '', 0, '', 'delivered', 200, '', '', '', '',
			false, 'k', 'w', 0, '' FROM generate_series(1, 1500) n`, bound(webhook.DeliveryPrefix))
	}
	change(t, b, "ANALYZE events, deliveries, attempts")
}

type plan struct{ sql, text string }

// explain asks the planner about every statement on the large tables, with its values.
func explain(t *testing.T, b *ledgertest.Bench, statements []ledger.Statement) (plans []plan) {
	t.Helper()
	config, err := pgx.ParseConfig(b.At.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	for _, s := range statements {
		if !regexp.MustCompile(`(FROM|UPDATE|JOIN) (events|deliveries|attempts)`).MatchString(s.SQL) {
			continue
		}
		lines, err := conn.Query(t.Context(), "EXPLAIN "+s.SQL, s.Args...)
		if err != nil {
			t.Fatal(err)
		}
		text, err := pgx.CollectRows(lines, pgx.RowTo[string])
		if err != nil {
			t.Fatal(fmt.Errorf("explain %s: %w", s.SQL, err))
		}
		plans = append(plans, plan{s.SQL, strings.Join(text, "\n")})
	}
	return plans
}

// What a partner sees costs the same however much of other partners waits or
// failed: even without an index of its own it is not looked for along theirs.
func TestAPartnersDeliveriesAreNotSearchedForAmongOthers(t *testing.T) {
	b := ledgertest.NewFresh(t, "postgres")
	fill(t, b) // all of the partner "old"
	change(t, b, "UPDATE deliveries SET state = 'pending', due_at = 1, finished_at = 0 WHERE object_id LIKE 'old_1_'")
	change(t, b, "UPDATE deliveries SET state = 'exhausted', last_outcome = 'failed', finished_at = 2 WHERE object_id LIKE 'old_2_'")
	change(t, b, "ANALYZE deliveries")
	change(t, b, "DROP INDEX deliveries_pending_partner, deliveries_failed_partner")
	used := func(s partners.Scope) (n int) {
		var statements []ledger.Statement
		if err := b.Trace(b.At.DatabaseURL, func(s ledger.Statement) { statements = append(statements, s) }); err != nil {
			t.Fatal(err)
		}
		for _, q := range []reports.DeliveryQuery{{NeedsAttention: true}, {States: []webhook.State{webhook.Pending, webhook.Exhausted}}} {
			q.Scope = s
			if _, err := b.SearchDeliveries(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
		for _, plan := range explain(t, b, statements) {
			if strings.Contains(plan.sql, "FROM deliveries d") {
				n += strings.Count(plan.text, "_id_idx ") - strings.Count(plan.text, "_partner_code_id_idx ")
			}
		}
		return n
	}
	if used(partners.Everything()) == 0 {
		t.Error("what waits and what failed has no index over all partners")
	}
	if n := used(partners.Only("old")); n > 0 {
		t.Errorf("a partner's page reads %d times along an index over all partners", n)
	}
}

// A list of all partners' deliveries in a state reads those alone.
func TestListsByStateReadTheIndexOfTheState(t *testing.T) {
	b := ledgertest.NewFresh(t, "postgres")
	fill(t, b)
	change(t, b, "UPDATE deliveries SET state = 'pending', due_at = 1, finished_at = 0 WHERE object_id LIKE 'old_1_'")
	change(t, b, "UPDATE deliveries SET state = 'exhausted', last_outcome = 'failed', finished_at = 2 WHERE object_id LIKE 'old_2_'")
	change(t, b, "ANALYZE deliveries")
	var statements []ledger.Statement
	if err := b.Trace(b.At.DatabaseURL, func(s ledger.Statement) { statements = append(statements, s) }); err != nil {
		t.Fatal(err)
	}
	states := []webhook.State{webhook.Pending, webhook.Held, webhook.Exhausted, webhook.Cancelled}
	for _, s := range states {
		if _, _, err := b.Deliveries(t.Context(), delivery.Filter{State: s, Limit: 50}); err != nil {
			t.Fatal(err)
		}
	}
	plans := explain(t, b, statements)
	same(t, "lists", len(plans), len(states))
	for _, plan := range plans {
		days := strings.Count(plan.text, " on deliveries_2")
		if by := len(ofState.FindAllString(plan.text, -1)); days == 0 || by != days {
			t.Errorf("the index of the state is not read:\n%s\n%s", plan.sql, plan.text)
		}
	}
}
