package ledger_test

import (
	"testing"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
)

func TestAnEventKeepsTheTraceThatItCameIn(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		const came = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 8)
		e := ledgertest.NewEvent("acme", "tp_1", "Pending")
		e.Event.Trace = came
		stored := store(t, b, e)
		same(t, "of the claimed event", take(t, b, one(t, b)).Event.Trace, came)
		again := e
		again.Event.ID, again.Event.Trace = ledgertest.NewEvent("acme", "tp_1", "Pending").Event.ID, "00-00000000000000000000000000000001-0000000000000001-01"
		if repeated := store(t, b, again); !repeated.Duplicate {
			t.Fatalf("%+v", repeated)
		}
		kept, err := b.Event(t.Context(), partners.Everything(), stored.EventID)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "of the event that came again", kept.Trace, came)
	})
}
