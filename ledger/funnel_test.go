package ledger_test

import (
	"testing"
	"time"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// With three endpoints the deliveries are more than are looked at long before
// the events are: these are then counted over the same shorter time.
func TestAFunnelCountsEventsAndDeliveriesOfOneTime(t *testing.T) {
	const endpoints, batches = 3, 35
	const perBatch, filtered = 50, 2
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		for range endpoints {
			b.Endpoint(t, "acme", 1, webhook.TopupCard)
		}
		began := time.Now().Add(-time.Minute)
		for range batches {
			storeMany(t, b, "acme", perBatch)
			for range filtered {
				store(t, b, typed("acme", webhook.CreateCard, webhook.NewID("card_"), "Init"))
			}
		}
		b.Tickets()
		f, err := b.PartnerFunnel(t.Context(), partners.Only("acme"), "acme", began, time.Now().Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		// The first batch is not looked at as a whole, so none of it is counted.
		const whole = reports.FunnelSample / (endpoints * perBatch)
		same(t, "deliveries and their events", []int{f.Matched, f.Accepted - f.Filtered}, []int{whole * perBatch * endpoints, whole * perBatch})
		if f.Filtered < whole*filtered || f.Filtered > batches*filtered || !f.Sampled || !f.Since.After(began) {
			t.Errorf("%d filtered events since %s (sampled %v)", f.Filtered, f.Since, f.Sampled)
		}
	})
}
