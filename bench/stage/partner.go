package stage

import (
	"bytes"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	"ledgerhook/app/receiver"
	"ledgerhook/signer"
)

// Partner is a partner of a gateway with a receiver that checks both
// signatures of everything.
type Partner struct {
	g        *Gateway
	Code     string
	Endpoint string // its id
	Receiver *receiver.Receiver
	Server   *httptest.Server
	Secret   string         // its first
	secret   string         // that its own requests are signed with
	Key      *rsa.PublicKey // the gateway's

	mu       sync.Mutex
	requests []receiver.Received // in the order of their answers
	taken    map[string]bool     // events that were answered 2xx
	again    int                 // requests for events that were taken before
}

// What the receivers of partners answer.
var (
	Refusal = receiver.Answer{Status: http.StatusServiceUnavailable, Body: "not now"}
	TakeAll = receiver.Always(receiver.OK)
	// Stumble fails the first request of every tenth event.
	Stumble = receiver.FailEvery(10, Refusal, receiver.OK)
)

// partnerKey is the key of every partner.
var partnerKey = sync.OnceValue(func() *signer.Key {
	key, err := signer.GenerateKey(2048)
	if err != nil {
		panic(err)
	}
	return key
})

// NewPartner makes a partner of a running gateway whose receiver answers as told.
func NewPartner(g *Gateway, code string, answer func(receiver.Received) receiver.Answer) *Partner {
	g.tb.Helper()
	var made struct{ SecretKey, WebhookSecretKey, PublicKey string }
	g.Must("POST", "/internal/v1/partners", map[string]any{"partnerCode": code, "name": code, "publicKey": string(partnerKey().PublicPEM())}, http.StatusCreated, &made)
	g.Secret(made.SecretKey, made.WebhookSecretKey)
	key, err := signer.ParsePublicKey([]byte(made.PublicKey))
	if err != nil {
		g.tb.Fatal(err)
	}
	p := &Partner{g: g, Code: code, Secret: made.WebhookSecretKey, secret: made.SecretKey, Key: key, taken: map[string]bool{}}
	p.Receiver = receiver.New(receiver.Options{PublicKey: key, Secrets: []string{made.WebhookSecretKey}, Answer: answer, Observe: p.observe})
	p.Server = httptest.NewServer(p.Receiver)
	g.tb.Cleanup(p.Server.Close)
	p.Endpoint = p.AddEndpoint(p.Server.URL + "/hooks")
	return p
}

// AddEndpoint registers one more endpoint of the partner and returns its id.
func (p *Partner) AddEndpoint(url string) string {
	p.g.tb.Helper()
	var added struct{ EndpointID string }
	p.g.Must("POST", "/internal/v1/partners/"+p.Code+"/endpoints", map[string]any{"url": url}, http.StatusCreated, &added)
	return added.EndpointID
}

// Token asks for the access token of an end-user, as the partner's own system
// does, and returns how long the answer took.
func (p *Partner) Token(email string) (took time.Duration, err error) {
	body := map[string]string{"partnerCode": p.Code, "userEmail": email}
	request := signer.Request{Operation: signer.OpAccessToken, PartnerCode: p.Code, Email: email}
	if body["signature"], err = partnerKey().Sign([]byte(request.Candidates(p.secret)[0])); err != nil {
		return 0, err
	}
	text, err := json.Marshal(body)
	if err != nil {
		return 0, err
	}
	ask, err := http.NewRequestWithContext(p.g.tb.Context(), http.MethodPost, p.g.Public+"/api/v2/auth/access-token", bytes.NewReader(text))
	if err != nil {
		return 0, err
	}
	ask.Header.Set("Content-Type", "application/json")
	began := time.Now()
	response, err := client.Do(ask)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	said, err := io.ReadAll(response.Body)
	if took = time.Since(began); err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("a token for %s: %s: %s", email, response.Status, said)
	}
	return took, err
}

func (p *Partner) observe(got receiver.Received) {
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

// Has is how many events the partner has taken.
func (p *Partner) Has() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.taken)
}

// Asked is how many requests have come.
func (p *Partner) Asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.requests)
}

// Duplicates is how many requests came for events that had been taken before.
func (p *Partner) Duplicates() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.again
}

// Of returns the requests for an event.
func (p *Partner) Of(event string) (got []receiver.Received) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.requests {
		if r.ID == event {
			got = append(got, r)
		}
	}
	return got
}

// CheckRequests fails the test if a request did not verify, or brought other
// bytes than the event's first one.
func (p *Partner) CheckRequests() {
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

// Taken returns when each event was taken first.
func (p *Partner) Taken() map[string]time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := map[string]time.Time{}
	for _, r := range p.requests {
		if _, known := at[r.ID]; !known && r.Err == nil && r.Status < 300 {
			at[r.ID] = r.At
		}
	}
	return at
}

// All returns all requests, in the order of their answers.
func (p *Partner) All() []receiver.Received {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}
