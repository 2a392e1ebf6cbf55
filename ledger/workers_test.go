package ledger_test

import (
	"testing"

	"ledgerhook/ledger/ledgertest"
)

func TestAWorkerIsListedUntilItSaysFarewell(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		for _, id := range []string{"wrk_1", "wrk_2"} {
			if err := b.Heartbeat(t.Context(), id, "host/"+id); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Farewell(t.Context(), "wrk_1"); err != nil {
			t.Fatal(err)
		}
		found, err := b.Workers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(found) != 1 || found[0].ID != "wrk_2" || found[0].Host != "host/wrk_2" || !found[0].Alive || found[0].StartedAt.IsZero() {
			t.Errorf("%+v", found)
		}
	})
}
