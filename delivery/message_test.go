package delivery

import (
	"context"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/signer"
	"ledgerhook/webhook"
)

// lateKey answers when all who need it have asked, or may have to wait.
type lateKey struct {
	key   *signer.Key
	asked chan struct{}
	given chan struct{}
}

func (k lateKey) Key(context.Context, string) (*signer.Key, error) {
	k.asked <- struct{}{}
	<-k.given
	return k.key, nil
}

// RSA is the dearest step of a delivery: an event that goes to several
// endpoints is signed once, although its deliveries start together.
func TestDeliveriesOfAnEventThatStartTogetherAreSignedOnce(t *testing.T) {
	key, err := signer.GenerateKey(2048)
	if err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	keys := lateKey{key, make(chan struct{}, 20), make(chan struct{})}
	c := NewComposer(keys, nil, NewMetrics(reg))
	e := webhook.Event{ID: "evt_1", Type: webhook.CreateCard, KeyID: key.ID(), Data: []byte(`{"id":"c1"}`), Signatures: []string{webhook.SignatureRSA}}
	var together sync.WaitGroup
	bodies := make([]string, 20)
	for i := range bodies {
		together.Go(func() {
			body, err := c.Body(t.Context(), e)
			if err != nil {
				t.Error(err)
			}
			bodies[i] = string(body)
		})
	}
	<-keys.asked
	close(keys.given)
	together.Wait()
	for _, body := range bodies {
		if body != bodies[0] || signer.VerifyNotification(key.Public(), []byte(body)) != nil {
			t.Errorf("a body of the event does not verify or differs: %s", body)
		}
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "ledgerhook_delivery_signing_seconds" {
			if n := f.GetMetric()[0].GetHistogram().GetSampleCount(); n != 1 {
				t.Errorf("%d signatures were made for 20 deliveries of one event", n)
			}
		}
	}
}
