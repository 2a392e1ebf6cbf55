package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/app/receiver"
	"ledgerhook/delivery"
	"ledgerhook/delivery/guard"
	"ledgerhook/delivery/sender"
	"ledgerhook/signer"
	"ledgerhook/webhook"
)

const (
	canaryEvery   = 10 * time.Second
	canaryTimeout = 5 * time.Second
)

// canary is a receiver of our own and what sends to it: a notification that is
// signed, sent and verified as a partner's is. It belongs to no partner and
// is in no window, sequence or count.
type canary struct {
	url      string
	secret   string // Standard Webhooks secret of this process alone
	composer *delivery.Composer
	keys     *keyring
	box      *signer.Box
	sender   *sender.Sender
	arrived  chan receiver.Received // what the receiver made of a request

	up, roundTrip prometheus.Gauge
}

// startCanary sends a notification to this process every 10 s and keeps with
// the worker's lease what came of it.
func (a *App) startCanary(workerID string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("start the canary's receiver: %w", err)
	}
	at := netip.MustParseAddrPort(listener.Addr().String())
	c := &canary{
		url: "http://" + at.String() + "/canary", secret: signer.NewWebhookSecret(),
		composer: delivery.NewComposer(a.keys, a.box, nil), keys: a.keys, box: a.box, arrived: make(chan receiver.Received, 1),
		// The sender of its own may reach this one address beside public ones;
		// the guard of the partners' sender stays as it is configured.
		sender: sender.New(sender.Options{Guard: guard.New([]netip.Prefix{netip.PrefixFrom(at.Addr(), at.Addr().BitLen())}),
			UserAgent: "Ledgerhook/" + a.version, Timeout: canaryTimeout}),
		up: prometheus.NewGauge(prometheus.GaugeOpts{Name: "ledgerhook_canary_up",
			Help: "Whether this worker's newest notification to its own receiver arrived and verified: 1 or 0."}),
		roundTrip: prometheus.NewGauge(prometheus.GaugeOpts{Name: "ledgerhook_canary_round_trip_seconds",
			Help: "How long the newest notification to our own receiver took, from composing it to its answer."}),
	}
	a.registry.MustRegister(c.up, c.roundTrip)
	server := &http.Server{Handler: http.HandlerFunc(c.receive), ReadHeaderTimeout: canaryTimeout}
	go func() { _ = server.Serve(listener) }() // ends with ErrServerClosed; anything else fails the canary
	a.cleanups.add("stop the canary's receiver", func(context.Context) error { c.sender.Close(); return server.Close() })
	beat := func(ctx context.Context) error {
		roundTrip, failure := c.send(ctx)
		return a.ledger.RecordCanary(ctx, workerID, roundTrip, failure)
	}
	a.background("stop the canary", func(ctx context.Context) {
		if err := beat(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn("the canary's result could not be kept", "error", err)
		}
		a.every(ctx, canaryEvery, "keep the canary's result", beat)
	})
	return nil
}

// receive verifies one request with a receiver of its own, which so remembers
// no earlier ones.
func (c *canary) receive(w http.ResponseWriter, r *http.Request) {
	key, err := c.keys.Key(r.Context(), r.Header.Get("Ledgerhook-Key-Id"))
	if err != nil {
		http.Error(w, "the key cannot be read", http.StatusInternalServerError)
		return
	}
	receiver.New(receiver.Options{PublicKey: key.Public(), Secrets: []string{c.secret}, Observe: func(got receiver.Received) {
		select {
		case c.arrived <- got:
		default: // nobody waits for it any more
		}
	}}).ServeHTTP(w, r)
}

// send makes one round and sets the metrics. failure is why it did not arrive;
// empty: it did.
func (c *canary) send(ctx context.Context) (roundTrip time.Duration, failure string) {
	began := time.Now()
	err := c.round(ctx)
	roundTrip = time.Since(began)
	c.roundTrip.Set(roundTrip.Seconds())
	if err != nil {
		c.up.Set(0)
		return roundTrip, err.Error()
	}
	c.up.Set(1)
	return roundTrip, ""
}

// round signs a notification, sends it and checks that it arrived as it was.
func (c *canary) round(ctx context.Context) error {
	select {
	case <-c.arrived: // late, of a round that was given up
	default:
	}
	now := time.Now()
	sealed := delivery.SealedSecret{Purpose: "canary/" + rand.Text()}
	sealed.Sealed = c.box.Seal(sealed.Purpose, []byte(c.secret))
	job := delivery.Job{
		Delivery: webhook.Delivery{Attempts: 1}, Secrets: []delivery.SealedSecret{sealed},
		Event: webhook.Event{ID: webhook.NewID(webhook.EventPrefix), Type: webhook.TopupCard, Data: []byte(`{"id":"canary","status":"Completed"}`),
			KeyID: c.keys.current().ID(), Signatures: []string{webhook.SignatureRSA, webhook.SignatureStandard}},
	}
	header, body, err := c.composer.Compose(ctx, job, now)
	if err != nil {
		return fmt.Errorf("it could not be signed: %w", err)
	}
	sent := c.sender.Send(ctx, sender.Request{URL: c.url, Header: header, Body: body, Timeout: canaryTimeout})
	var got receiver.Received
	select {
	case got = <-c.arrived:
	default:
	}
	switch {
	case got.Err != nil:
		return fmt.Errorf("it arrived and does not verify: %w", got.Err)
	case sent.Outcome != webhook.OutcomeDelivered:
		return fmt.Errorf("it was not delivered: %s", sent.ErrorDetail)
	case got.ID != job.Event.ID || !got.VerifiedRSA || !got.VerifiedStandard:
		return errors.New("what answered is not our receiver")
	}
	return nil
}
