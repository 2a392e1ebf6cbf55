package acceptance

import (
	"net/http"
	"net/http/httptest"
	"sync"

	"ledgerhook/app/receiver"
	"ledgerhook/signer"
)

// partner is a partner of a gateway with a receiver that checks both
// signatures of everything.
type partner struct {
	g        *gateway
	code     string
	endpoint string // its id
	receiver *receiver.Receiver
	server   *httptest.Server

	mu       sync.Mutex
	requests []receiver.Received // in the order of their answers
	taken    map[string]bool     // events that were answered 2xx
	again    int                 // requests for events that were taken before
}

var (
	refusal = receiver.Answer{Status: http.StatusServiceUnavailable, Body: "not now"}
	takeAll = receiver.Always(receiver.OK)
	// stumble fails the first request of every tenth event.
	stumble = receiver.FailEvery(10, refusal, receiver.OK)
)

// partnerKey is the public key of every partner: nothing here signs with it.
var partnerKey = sync.OnceValue(func() string {
	key, err := signer.GenerateKey(2048)
	if err != nil {
		panic(err)
	}
	return string(key.PublicPEM())
})

// newPartner makes a partner of a running gateway whose receiver answers as told.
func newPartner(g *gateway, code string, answer func(receiver.Received) receiver.Answer) *partner {
	g.tb.Helper()
	var made struct{ SecretKey, WebhookSecretKey, PublicKey string }
	g.must("POST", "/internal/v1/partners", map[string]any{"partnerCode": code, "name": code, "publicKey": partnerKey()}, http.StatusCreated, &made)
	g.secret(made.SecretKey, made.WebhookSecretKey)
	key, err := signer.ParsePublicKey([]byte(made.PublicKey))
	if err != nil {
		g.tb.Fatal(err)
	}
	p := &partner{g: g, code: code, taken: map[string]bool{}}
	p.receiver = receiver.New(receiver.Options{PublicKey: key, Secrets: []string{made.WebhookSecretKey}, Answer: answer, Observe: p.observe})
	p.server = httptest.NewServer(p.receiver)
	g.tb.Cleanup(p.server.Close)
	var added struct{ EndpointID string }
	g.must("POST", "/internal/v1/partners/"+code+"/endpoints", map[string]any{"url": p.server.URL + "/hooks"}, http.StatusCreated, &added)
	p.endpoint = added.EndpointID
	return p
}

func (p *partner) observe(got receiver.Received) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, got)
	if p.taken[got.ID] {
		p.again++
	}
	if got.Err == nil && got.Status < 300 {
		p.taken[got.ID] = true
	}
}

// has is how many events the partner has taken.
func (p *partner) has() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.taken)
}

// asked is how many requests have come.
func (p *partner) asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.requests)
}

// duplicates is how many requests came for events that had been taken before.
func (p *partner) duplicates() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.again
}

// of returns the requests for an event.
func (p *partner) of(event string) (got []receiver.Received) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.requests {
		if r.ID == event {
			got = append(got, r)
		}
	}
	return got
}

// checkRequests fails the test if a request did not verify, or brought other
// bytes than the event's first one.
func (p *partner) checkRequests() {
	p.g.tb.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.requests {
		if r.Err != nil {
			p.g.tb.Errorf("a request for %s does not verify: %v", r.ID, r.Err)
		} else if !r.SameBytes {
			p.g.tb.Errorf("request %d for %s brought other bytes than the first", r.Times, r.ID)
		}
	}
}
