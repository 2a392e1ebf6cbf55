package ledger_test

import (
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

func TestAnythingIsFoundByItsIdItsNameOrItsHost(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Partner(t, "acorn")
		e := b.Endpoint(t, "acme", 8)
		a := store(t, b, ledgertest.NewEvent("acme", "tp_1", "Pending"))
		store(t, b, ledgertest.NewEvent("acorn", "tp_1", "Pending"))
		record(t, b, take(t, b, one(t, b)), ok, delivered)
		order := b.Order(t, "acme", "shop-1", time.Hour)
		attempts, err := b.Attempts(t.Context(), a.DeliveryIDs[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			what  string
			scope partners.Scope
			want  []string // kind and id
		}{
			{a.EventID, partners.Everything(), []string{"event " + a.EventID}},
			{a.EventID, partners.Only("acme"), []string{"event " + a.EventID}},
			{a.EventID, partners.Only("acorn"), nil},
			{a.EventID, partners.Only(""), nil},
			{a.DeliveryIDs[0], partners.Only("acme"), []string{"delivery " + a.DeliveryIDs[0]}},
			{attempts[0].ID, partners.Only("acme"), []string{"attempt " + a.DeliveryIDs[0]}},
			{attempts[0].ID, partners.Only("acorn"), nil},
			{" " + e.ID + " ", partners.Everything(), []string{"endpoint " + e.ID}},
			{order.ID, partners.Only("acme"), []string{"order " + order.ID}},
			{"shop-1", partners.Everything(), []string{"order " + order.ID}},
			{"tp_1", partners.Everything(), []string{"reference tp_1", "reference tp_1"}},
			{"tp_1", partners.Only("acorn"), []string{"reference tp_1"}},
			{"card_1", partners.Only("acme"), []string{"reference card_1"}},
			{"acme", partners.Everything(), []string{"partner acme"}},
			{"acme", partners.Only("acorn"), nil},
			{"ac*", partners.Everything(), []string{"partner acme", "partner acorn"}},
			{"Partner.example.com", partners.Everything(), []string{"host partner.example.com"}},
			{"https://partner.example.com/elsewhere", partners.Only("acme"), []string{"host partner.example.com"}},
			{"https://partner.example.com/elsewhere", partners.Only("acorn"), nil},
			{webhook.NewID(webhook.EventPrefix), partners.Everything(), nil},
			{"", partners.Everything(), nil},
			{"nothing\x00 like it", partners.Everything(), nil},
		} {
			hits, err := b.Find(t.Context(), c.scope, c.what)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, h := range hits {
				got = append(got, string(h.Kind)+" "+h.ID)
			}
			same(t, c.what, got, c.want)
		}
	})
}

func TestEachReferenceIsReconciledOrSaysWhyNot(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		for _, code := range []string{"acme", "other"} {
			b.Partner(t, code)
			b.Endpoint(t, code, 8, webhook.TopupCard)
		}
		sent := store(t, b, ledgertest.NewEvent("acme", "tp_sent", "Pending"))
		drain(t, b)
		first := store(t, b, ledgertest.NewEvent("acme", "tp_gone", "Pending"))
		gone := store(t, b, ledgertest.NewEvent("acme", "tp_gone", "Completed"))
		send(t, b, b.Tickets(), failed, exhausted)
		card := typed("acme", webhook.CreateCard, "card_2", "Init")
		card.Event.OrderingKey = "card_2"
		store(t, b, card)
		store(t, b, ledgertest.NewEvent("other", "tp_other", "Pending"))
		order := b.Order(t, "acme", "shop-1", time.Hour)
		if err := b.AddRefusals(t.Context(), []delivery.Refusal{{Result: delivery.Refused, PartnerCode: "acme", Reference: "tp_bad", Reason: "/data/amount must be a number"}}); err != nil {
			t.Fatal(err)
		}
		change(t, b, "INSERT INTO objects (partner_code, webhook_type, object_id, status, event_id, updated_at) VALUES ('acme', 'TopupCard', 'tp_old', 'Pending', 'evt_0', 1)")
		old := webhook.TimeBound(webhook.EventPrefix, time.Now().AddDate(-1, 0, 0))
		const keep = 30 * 24 * time.Hour
		refs := []string{"tp_sent", " tp_gone ", "card_1", "card_2", "tp_other", order.ID, "shop-1", "tp_bad", "tp_old", old, "tp_none", "", "tp_sent",
			first.DeliveryIDs[0], sent.EventID}
		want := func(name string, s partners.Scope, partner string, want []string) {
			t.Helper()
			answers, err := b.Reconcile(t.Context(), s, partner, refs, keep)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, a := range answers {
				line := a.Reference + " " + string(a.Why)
				for _, d := range a.Deliveries {
					line += string(d.Shown(d.Window))
				}
				if ids := a.Replayable(); len(ids) > 0 {
					line += " " + ids[0]
				}
				got = append(got, line+" "+a.PartnerCode)
			}
			for i := range max(len(got), len(want)) {
				if i >= len(got) || i >= len(want) || got[i] != want[i] {
					t.Errorf("%s: got\n%q, want\n%q", name, got, want)
					break
				}
			}
		}
		id := first.DeliveryIDs[0]
		theirs := []string{"tp_sent delivered acme", "tp_gone exhausted " + gone.DeliveryIDs[0] + " acme", "card_1 exhausted " + gone.DeliveryIDs[0] + " acme",
			"card_2 filtered acme", "tp_other never_received ", order.ID + " nothing_yet acme", "shop-1 nothing_yet acme", "tp_bad refused acme",
			"tp_old past_retention acme", old + " past_retention ", "tp_none never_received ", id + " exhausted " + id + " acme", sent.EventID + " delivered acme"}
		want("the partner", partners.Only("acme"), "", theirs)
		theirs[4] = "tp_other other_partner other"
		want("an operator, for the partner", partners.Everything(), "acme", theirs)
		want("another partner", partners.Only("other"), "", []string{"tp_sent never_received ", "tp_gone never_received ", "card_1 queued other",
			"card_2 never_received ", "tp_other queued other", order.ID + " never_received ", "shop-1 never_received ", "tp_bad never_received ",
			"tp_old never_received ", old + " past_retention ", "tp_none never_received ", id + " never_received ", sent.EventID + " never_received "})
		if _, err := b.Reconcile(t.Context(), partners.Everything(), "", make([]string, reports.MaxReferences+1), keep); err != nil {
			t.Errorf("empty lines are refused: %v", err)
		}
	})
}
