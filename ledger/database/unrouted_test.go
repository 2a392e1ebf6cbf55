package database_test

import (
	"slices"
	"strings"
	"testing"

	"ledgerhook/delivery"
	"ledgerhook/ledger"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// Before there were waiting places what had no endpoint waited without a window.
func TestWhatWaitedWithoutAWindowIsPutInOrder(t *testing.T) {
	ledgertest.EachFresh(t, func(t *testing.T, b *ledgertest.Bench) {
		tell := func(partner string, typ webhook.Type, orderingKey string) string {
			t.Helper()
			e := ledgertest.NewEvent(partner, webhook.NewID("obj_"), "Pending")
			e.Event.Type, e.Event.OrderingKey = typ, orderingKey
			a, err := b.Append(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			return a.DeliveryIDs[0]
		}
		look := func(id string) delivery.DeliveryWithWindow {
			t.Helper()
			d, err := b.Delivery(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		set := func(id string, window func(*webhook.Window)) (e webhook.Endpoint) {
			t.Helper()
			e, err := b.UpdateEndpoint(t.Context(), partners.Everything(), id, func(e *webhook.Endpoint) error { window(&e.Window); return nil })
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		given := func(want ...string) {
			t.Helper()
			var got []string
			for _, ticket := range b.Tickets() {
				got = append(got, ticket.DeliveryID)
			}
			slices.Sort(got)
			same(t, "admitted", got, want)
		}
		b.Partner(t, "none")
		b.Partner(t, "died")
		b.Partner(t, "nobody")
		e := b.Endpoint(t, "died", 8, webhook.ProfileUpdated)
		set(e.ID, func(w *webhook.Window) { w.Ordered, w.Paused = true, true })
		theirs := []string{tell("died", webhook.ProfileUpdated, "a")}
		var ours []string
		for _, orderingKey := range []string{"a", "b", "a"} {
			ours = append(ours, tell("none", webhook.TopupCard, orderingKey))
		}
		for _, of := range []struct {
			typ         webhook.Type
			orderingKey string
		}{{webhook.ProfileUpdated, "a"}, {webhook.CreateCard, "b"}, {webhook.ProfileUpdated, "c"}} {
			theirs = append(theirs, tell("nobody", of.typ, of.orderingKey))
		}
		closed(t, b, func() {
			if err := database.MigrateDown(t.Context(), b.At, 28); err != nil {
				t.Fatal(err)
			}
			change(t, b, "UPDATE deliveries SET partner_code = 'died' WHERE partner_code = 'nobody'") // whose endpoint was to get them
			change(t, b, "UPDATE events SET partner_code = 'died' WHERE partner_code = 'nobody'")
			same(t, "without endpoint", b.Count(t, "SELECT COUNT(*) FROM deliveries WHERE endpoint_id = '' AND sequence = 0 AND lane = 0"), 6)
			if _, err := ledger.Migrate(t.Context(), b.At); err != nil {
				t.Fatal(err)
			}
		})
		b.CheckWindows(t)
		ours = append(ours, tell("none", webhook.TopupCard, "b"))
		for i, id := range ours {
			d := look(id)
			same(t, "endpoint, sequence, lane", []any{d.EndpointID, d.Sequence, d.Blocked}, []any{"", i + 1, i >= 2})
			same(t, "state", d.Shown(d.Window), webhook.Held)
		}
		given()
		same(t, "the endpoint's id", b.Endpoint(t, "none", 2).ID, webhook.EndpointPrefix+strings.TrimPrefix(ours[0], webhook.DeliveryPrefix))
		given(ours[:2]...)

		for i, id := range theirs {
			d := look(id)
			same(t, "endpoint, sequence, lane", []any{d.EndpointID, d.Sequence, d.Blocked}, []any{e.ID, i + 1, i == 1})
		}
		same(t, "filtering", set(e.ID, func(w *webhook.Window) { w.Paused = false }).Window.Filtering, true)
		given()
		if err := b.TakeOver(t.Context()); err != nil {
			t.Fatal(err)
		}
		given(theirs[0], theirs[3])
		same(t, "what it does not take", look(theirs[2]).Reason, "filtered")
		b.CheckWindows(t)
	})
}
