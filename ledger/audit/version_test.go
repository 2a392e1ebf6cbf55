package audit_test

import (
	"sync"
	"testing"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
)

func TestAnotherVersionThatServesIsInTheLogOnce(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "v2") // no entry is about a partner of that name
		serve := func(version string, processes int) {
			t.Helper()
			var all sync.WaitGroup
			for range processes {
				all.Go(func() {
					if err := b.Serves(t.Context(), version); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
		}
		before := len(entries(t, b, partners.AuditFilter{}))
		serve("v1", 1)
		serve("v1", 1)
		same(t, "entries of the first version", len(entries(t, b, partners.AuditFilter{}))-before, 0)
		serve("v2", 4)
		serve("v1", 1)
		var said []string
		for _, e := range entries(t, b, partners.AuditFilter{Action: "gateway."}) {
			said = append(said, e.Actor+" "+e.Action+": "+e.Detail+e.PartnerCode)
		}
		same(t, "entries, newest first", said, []string{"ledgerhook gateway.update: v1 after v2", "ledgerhook gateway.update: v2 after v1"})
		same(t, "broken at", chain(t, b).BrokenAt, "")
	})
}
