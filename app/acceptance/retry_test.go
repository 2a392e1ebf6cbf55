package acceptance

import (
	"bytes"
	"net/http"
	"slices"
	"testing"
	"time"

	"ledgerhook/app/receiver"
	"ledgerhook/bench/stage"
)

func TestEveryRetrySendsTheSameBytes(t *testing.T) {
	both(t, func(t *testing.T, g *stage.Gateway) {
		g.Set(map[string]string{"LEDGERHOOK_DELIVERY_RETRY": "0s,1s,1h"})
		g.Start()
		p := stage.NewPartner(g, "acme", receiver.FailFirst(2, stage.Refusal, receiver.OK))
		id := stage.PostAll(g, p.Code, 1)[0]
		attempted := func(n int) {
			t.Helper()
			stage.Eventually(t, 20*time.Second, "the next request is made", func() bool { return len(p.Of(id)) >= n })
		}

		attempted(2) // the first and its retry; both fail, the next one is an hour away
		var d stage.Shown
		stage.Asking(t, 20*time.Second, "the delivery waits", func() bool {
			d = g.Deliveries(p.Code, "")[0]
			return d.State == "pending" && d.AttemptCount == 2
		})
		g.Must("POST", "/internal/v1/deliveries/"+d.DeliveryID+"/retry", nil, http.StatusOK, nil)
		attempted(3)
		g.Await(p.Code, 20*time.Second)

		// A finished delivery is repeated by a new one, also by a gateway that has forgotten all signatures.
		g.Kill()
		g.Start()
		var again struct{ DeliveryID string }
		g.Must("POST", "/internal/v1/deliveries/"+d.DeliveryID+"/retry", nil, http.StatusAccepted, &again)
		attempted(4)
		g.Await(p.Code, 20*time.Second)

		requests := p.Of(id)
		p.CheckRequests()
		for i, r := range requests {
			if !bytes.Equal(r.Body, requests[0].Body) || r.Sequence != requests[0].Sequence {
				t.Errorf("request %d differs from the first:\n%s\n%s", i+1, r.Body, requests[0].Body)
			}
		}
		var triggers []string
		for _, a := range append(g.Delivery(d.DeliveryID).Attempts, g.Delivery(again.DeliveryID).Attempts...) {
			triggers = append(triggers, a.Trigger+" "+a.Outcome)
		}
		want := []string{"first failed", "retry failed", "manual delivered", "manual delivered"}
		if !slices.Equal(triggers, want) {
			t.Errorf("the attempts were %q, want %q", triggers, want)
		}
	})
}
