package ledger_test

import (
	"slices"
	"testing"
	"time"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// farBackPage is a page of which none ends with a day: of each there are 13 or 14.
const farBackPage = 23

// Pages look at what is near first, and yet leave nothing out however far back
// it is.
func TestASearchFindsWhatIsFarBack(t *testing.T) {
	ledgertest.EachFresh(t, func(t *testing.T, b *ledgertest.Bench) {
		closed(t, b, func() {
			if err := ledgertest.Fill(t.Context(), b.At, 400); err != nil {
				t.Fatal(err)
			}
		})
		// One has been waiting since long ago.
		var old string
		if err := b.Raw.QueryRowContext(t.Context(), "SELECT MIN(id) FROM deliveries WHERE state = 'delivered' AND partner_code = 'partner-00'").Scan(&old); err != nil {
			t.Fatal(err)
		}
		change(t, b, "UPDATE deliveries SET state = 'pending', due_at = 1, finished_at = 0 WHERE id = $1", old)
		for where, q := range map[string]reports.DeliveryQuery{
			"":                           {},
			" AND d.state = 'delivered'": {States: []webhook.State{webhook.Delivered}},
			" AND d.due_at IS NOT NULL":  {States: []webhook.State{webhook.Pending, webhook.Held}},
			" AND d.state = 'exhausted'": {States: []webhook.State{webhook.Exhausted}},
			" AND d.partner_code = 'partner-00' AND d.state <> 'cancelled'": {PartnerCode: "partner-00",
				States: []webhook.State{webhook.Delivered, webhook.Exhausted, webhook.Pending, webhook.Held}},
			" AND d.webhook_type = 'TopupCard' AND d.last_status = 200": {Types: []webhook.Type{webhook.TopupCard}, StatusCode: 200},
		} {
			q.Scope, q.Limit = partners.Everything(), farBackPage
			same(t, "found"+where, everything(t, b, q), listIDs(t, b, "SELECT d.id FROM deliveries d WHERE d.id <> ''"+where+" ORDER BY d.id DESC"))
		}
		if found := everything(t, b, reports.DeliveryQuery{Scope: partners.Everything(), NeedsAttention: true}); !slices.Contains(found, old) {
			t.Error("what has been waiting for weeks needs no attention")
		}
		var sent []string
		q := reports.EventQuery{Scope: partners.Everything(), Limit: farBackPage}
		for more := true; more; more = q.Cursor != "" {
			found, next, err := b.SentEvents(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range found {
				sent = append(sent, e.EventID)
			}
			q.Cursor = next
		}
		same(t, "events", sent, listIDs(t, b, "SELECT id FROM events ORDER BY id DESC"))
		s, err := b.Situation(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, typ := range webhook.Types {
			if s.LastEvents[typ].IsZero() {
				t.Errorf("the last event of type %s is not known", typ)
			}
		}
	})
}

// What a process knows of the oldest open delivery does not keep it from seeing
// what opens later.
func TestNewDeliveriesAreFoundBesideTheOldestOpenOne(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 1)
		open := reports.DeliveryQuery{Scope: partners.Everything(), States: []webhook.State{webhook.Queued, webhook.Pending}}
		same(t, "open", len(search(t, b, open).Items), 0)
		ids := storeMany(t, b, "acme", 3)
		slices.Reverse(ids)
		same(t, "open", everything(t, b, open), ids)
		s, err := b.Situation(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s.OldestQueued.IsZero() || time.Since(s.OldestQueued) > time.Minute {
			t.Errorf("the oldest in the queue is of %s", s.OldestQueued)
		}
	})
}

// everything reads all pages of a search.
func everything(t *testing.T, b *ledgertest.Bench, q reports.DeliveryQuery) (ids []string) {
	t.Helper()
	for more := true; more; more = q.Cursor != "" {
		page := search(t, b, q)
		for _, d := range page.Items {
			ids = append(ids, d.ID)
		}
		q.Cursor = page.Next
	}
	return ids
}

func listIDs(t *testing.T, b *ledgertest.Bench, query string) (ids []string) {
	t.Helper()
	rows, err := b.Raw.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return ids
}
