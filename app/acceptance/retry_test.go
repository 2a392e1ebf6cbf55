package acceptance

import (
	"bytes"
	"net/http"
	"slices"
	"testing"
	"time"

	"ledgerhook/app/receiver"
)

func TestEveryRetrySendsTheSameBytes(t *testing.T) {
	both(t, func(t *testing.T, g *gateway) {
		g.set(map[string]string{"LEDGERHOOK_DELIVERY_RETRY": "0s,1s,1h"})
		g.start()
		p := newPartner(g, "acme", receiver.FailFirst(2, refusal, receiver.OK))
		id := postAll(g, p.code, 1)[0]
		attempted := func(n int) {
			t.Helper()
			eventually(t, 20*time.Second, "the next request is made", func() bool { return len(p.of(id)) >= n })
		}

		attempted(2) // the first and its retry; both fail, the next one is an hour away
		var d shown
		eventually(t, 20*time.Second, "the delivery waits", func() bool {
			d = g.deliveries(p.code, "")[0]
			return d.State == "pending" && d.AttemptCount == 2
		})
		g.must("POST", "/internal/v1/deliveries/"+d.DeliveryID+"/retry", nil, http.StatusOK, nil)
		attempted(3)
		g.await(p.code, 20*time.Second)

		// A finished delivery is repeated by a new one, also by a gateway that has forgotten all signatures.
		g.kill()
		g.start()
		var again struct{ DeliveryID string }
		g.must("POST", "/internal/v1/deliveries/"+d.DeliveryID+"/retry", nil, http.StatusAccepted, &again)
		attempted(4)
		g.await(p.code, 20*time.Second)

		requests := p.of(id)
		p.checkRequests()
		for i, r := range requests {
			if !bytes.Equal(r.Body, requests[0].Body) || r.Sequence != requests[0].Sequence {
				t.Errorf("request %d differs from the first:\n%s\n%s", i+1, r.Body, requests[0].Body)
			}
		}
		var triggers []string
		for _, a := range append(g.delivery(d.DeliveryID).Attempts, g.delivery(again.DeliveryID).Attempts...) {
			triggers = append(triggers, a.Trigger+" "+a.Outcome)
		}
		want := []string{"first failed", "retry failed", "manual delivered", "manual delivered"}
		if !slices.Equal(triggers, want) {
			t.Errorf("the attempts were %q, want %q", triggers, want)
		}
	})
}
