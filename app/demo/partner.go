package demo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"time"

	"ledgerhook/app/receiver"
	"ledgerhook/signer"
)

// partner is one of the two partners of the demo, both sides of it.
type partner struct {
	label    string // its name in the lines
	paint    paint
	answer   func(receiver.Received) receiver.Answer
	code     string // what the gateway knows it as
	endpoint string // id of its endpoint
	login    login  // of its user of the portal
	cashier  *cashier
	server   *http.Server
	world    *world
}

// everyNth is how often globex fails the first attempt of an event.
const everyNth = 7

func newPartners() []*partner {
	busy := receiver.Answer{Status: http.StatusServiceUnavailable}
	partners := []*partner{
		{label: "acme", paint: blue, answer: receiver.Always(receiver.OK)},
		{label: "globex", paint: magenta, answer: receiver.FailEvery(everyNth, busy, receiver.OK)},
	}
	for _, p := range partners {
		p.world = newWorld(rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())))
	}
	return partners
}

// onboard makes p a partner of the gateway, starts its receiver and adds its
// endpoint.
func (d *demo) onboard(ctx context.Context, p *partner) error {
	key, err := signer.GenerateKey(2048)
	if err != nil {
		return err
	}
	var made struct {
		Code          string `json:"partnerCode"`
		SecretKey     string `json:"secretKey"`
		WebhookSecret string `json:"webhookSecretKey"`
		PublicKey     string `json:"publicKey"`
	}
	// A data directory that is used again knows the partners of earlier demos.
	for n := 1; ; n++ {
		code := p.label
		if n > 1 {
			code += "-" + strconv.Itoa(n)
		}
		_, err := d.api.call(ctx, http.MethodPost, "/internal/v1/partners", map[string]string{
			"partnerCode": code, "name": code + " (demo)", "publicKey": string(key.PublicPEM())}, &made)
		if refused, ok := errors.AsType[*refusal](err); ok && refused.status == http.StatusConflict {
			continue
		}
		if err != nil {
			return fmt.Errorf("create partner %s: %w", code, err)
		}
		break
	}
	p.code = made.Code
	gateway, err := signer.ParsePublicKey([]byte(made.PublicKey))
	if err != nil {
		return fmt.Errorf("the gateway's public key: %w", err)
	}
	p.cashier = &cashier{code: made.Code, secretKey: made.SecretKey, webhookSecret: made.WebhookSecret, key: key, gateway: gateway,
		public: &api{base: d.app.PublicURL(), http: d.api.http}}
	url, err := p.listen(receiver.New(receiver.Options{
		PublicKey: gateway, Secrets: []string{made.WebhookSecret}, Answer: p.answer,
		Observe: func(got receiver.Received) { d.observe(p, got) },
	}))
	if err != nil {
		return err
	}
	var added struct {
		ID string `json:"endpointId"`
	}
	if _, err := d.api.call(ctx, http.MethodPost, "/internal/v1/partners/"+p.code+"/endpoints",
		map[string]string{"url": url, "description": "the demo's receiver"}, &added); err != nil {
		return fmt.Errorf("add the endpoint of %s: %w", p.code, err)
	}
	p.endpoint = added.ID
	return nil
}

// listen serves r on a free port and returns its URL.
func (p *partner) listen(r *receiver.Receiver) (url string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("start the receiver of %s: %w", p.code, err)
	}
	p.server = &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = p.server.Serve(l) }() // ends with ErrServerClosed; anything else shows as lost events
	return "http://" + l.Addr().String() + "/hooks", nil
}

// observe shows a request and counts it.
func (d *demo) observe(p *partner, got receiver.Received) {
	verified := got.VerifiedRSA && got.VerifiedStandard
	d.tally.arrive(got.ID, verified, got.SameBytes, got.Attempt > 1)
	var n told
	if got.Err == nil { // what anybody may have written is not shown
		n = readTold(got.Body)
	}
	d.screen.print(d.line(p, got, n))
	d.stand()
}
