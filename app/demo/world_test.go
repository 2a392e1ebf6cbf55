package demo

import (
	"math/rand/v2"
	"testing"

	"ledgerhook/webhook"
)

func TestWhatHappensInAWorldIsWhatTheCatalogueExpects(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld(rand.New(rand.NewPCG(seed, 1)))
		now := map[string]string{} // status by type and object
		kinds := map[webhook.Type]bool{}
		for range 500 {
			e := w.happen()
			kinds[e.kind] = true
			about, _ := webhook.Describe(e.kind)
			if !about.FromInside || e.data[about.IDField] != e.object || e.data["status"] != e.status {
				t.Fatalf("seed %d: %+v does not hold its own id and status", seed, e)
			}
			key := string(e.kind) + " " + e.object
			if !webhook.Expected(e.kind, now[key], e.status) {
				t.Fatalf("seed %d: %s moved from %q to %q", seed, key, now[key], e.status)
			}
			now[key] = e.status
			known := map[string]bool{}
			for _, f := range about.Fields {
				known[f.Name] = true
				if _, ok := e.data[f.Name]; f.Required && !ok {
					t.Errorf("seed %d: a %s without %s", seed, e.kind, f.Name)
				}
			}
			for name := range e.data {
				if !known[name] {
					t.Errorf("seed %d: a %s has no field %s", seed, e.kind, name)
				}
			}
		}
		if len(kinds) != 4 || len(w.next) > 25 {
			t.Errorf("seed %d: kinds %v, %d begun and not finished", seed, kinds, len(w.next))
		}
	}
}
