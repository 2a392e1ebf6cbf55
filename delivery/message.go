package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/singleflight"

	"ledgerhook/signer"
	"ledgerhook/webhook"
)

// Keys finds the gateway's signing keys by id.
type Keys interface {
	Key(ctx context.Context, id string) (*signer.Key, error)
}

// Composer turns events into signed messages.
type Composer struct {
	keys       Keys
	box        *signer.Box
	signatures *signatureCache
	under      singleflight.Group  // under way, by event
	signers    chan struct{}       // a place for each signature that is being made
	signing    func(time.Duration) // observes the RSA operation
}

// NewComposer returns a composer that signs with keys and opens secrets with
// box. A nil m measures nothing.
func NewComposer(keys Keys, box *signer.Box, m *Metrics) *Composer {
	return &Composer{keys: keys, box: box, signatures: newSignatureCache(), signing: m.signed,
		signers: make(chan struct{}, runtime.GOMAXPROCS(0))}
}

// Body returns the bytes that every attempt at e sends.
func (c *Composer) Body(ctx context.Context, e webhook.Event) ([]byte, error) {
	signature, err := c.rsaSignature(ctx, e)
	if err != nil {
		return nil, err
	}
	body, err := signer.Notification{
		WebhookType: string(e.Type), Success: e.Success(), Data: e.Data, TopLevelSignature: e.Type.TopLevelSignature(),
	}.Body(signature)
	if err != nil {
		return nil, fmt.Errorf("compose the body of %s: %w", e.ID, err)
	}
	return body, nil
}

// Compose returns the headers and the body of an attempt that begins at now.
// The body is the same in every attempt of an event; the timestamp and the
// secrets that sign it are the attempt's.
func (c *Composer) Compose(ctx context.Context, job Job, now time.Time) (http.Header, []byte, error) {
	e := job.Event
	body, err := c.Body(ctx, e)
	if err != nil {
		return nil, nil, err
	}
	h, err := c.customHeaders(job)
	if err != nil {
		return nil, nil, err
	}
	h.Set("Content-Type", "application/json")
	h.Set(signer.HeaderID, e.ID)
	h.Set(signer.HeaderTimestamp, strconv.FormatInt(now.Unix(), 10))
	h.Set("Ledgerhook-Webhook-Type", string(e.Type))
	h.Set("Ledgerhook-Attempt", strconv.Itoa(job.Delivery.Attempts))
	h.Set("Ledgerhook-Key-Id", e.KeyID)
	if job.Delivery.Sequence > 0 {
		h.Set("Ledgerhook-Sequence", strconv.FormatInt(job.Delivery.Sequence, 10))
	}
	if !slices.Contains(e.Signatures, webhook.SignatureStandard) {
		return h, body, nil
	}
	secrets, err := c.open(job.Secrets)
	if err != nil {
		return nil, nil, err
	}
	standard, err := signer.StandardSignature(secrets, e.ID, now, body)
	if err != nil {
		return nil, nil, fmt.Errorf("sign %s with its partner's secrets: %w", e.ID, err)
	}
	h.Set(signer.HeaderSignature, standard)
	return h, body, nil
}

// rsaSignature signs the event's data with its pinned key, once per event and
// key while memory allows: RSA is the dearest step of a delivery. Deliveries of
// one event that start together wait for one signature.
func (c *Composer) rsaSignature(ctx context.Context, e webhook.Event) (string, error) {
	if !slices.Contains(e.Signatures, webhook.SignatureRSA) {
		return "", nil
	}
	if signature, ok := c.signatures.get(e.ID); ok {
		return signature, nil
	}
	signature, err, _ := c.under.Do(e.ID, func() (any, error) { return c.sign(ctx, e) })
	if err != nil {
		return "", err
	}
	return signature.(string), nil
}

// sign signs an event's data, unless that was done meanwhile.
func (c *Composer) sign(ctx context.Context, e webhook.Event) (string, error) {
	if signature, ok := c.signatures.get(e.ID); ok { // another's that has just ended
		return signature, nil
	}
	signature, err := c.Sign(ctx, e.KeyID, e.Data)
	if err != nil {
		return "", fmt.Errorf("sign %s: %w", e.ID, err)
	}
	c.signatures.put(e.ID, signature)
	return signature, nil
}

// Sign signs a text with one of the gateway's keys, as it signs the data of
// notifications. At most as many are under way as there are processors, so that
// accepting and recording get their turn between two signatures, however many
// deliveries wait for theirs.
func (c *Composer) Sign(ctx context.Context, keyID string, text []byte) (string, error) {
	key, err := c.keys.Key(ctx, keyID)
	if err != nil {
		return "", fmt.Errorf("find signing key %s: %w", keyID, err)
	}
	select {
	case c.signers <- struct{}{}:
		defer func() { <-c.signers }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	began := time.Now()
	defer func() { c.signing(time.Since(began)) }()
	return key.Sign(text)
}

func (c *Composer) open(sealed []SealedSecret) ([]string, error) {
	secrets := make([]string, len(sealed))
	for i, s := range sealed {
		plain, err := c.box.Open(s.Purpose, s.Sealed)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", s.Purpose, err)
		}
		secrets[i] = string(plain)
	}
	return secrets, nil
}

// Headers are the custom headers of an endpoint, by name.
type Headers map[string]string

// HeadersPurpose binds an endpoint's sealed headers to it.
func HeadersPurpose(endpointID string) string { return "endpoint-headers/" + endpointID }

// Seal encrypts the headers for the ledger; none are no bytes.
func (h Headers) Seal(box *signer.Box, endpointID string) []byte {
	if len(h) == 0 {
		return []byte{}
	}
	plain, err := json.Marshal(h)
	if err != nil {
		panic(err) // texts always have a JSON form
	}
	return box.Seal(HeadersPurpose(endpointID), plain)
}

// OpenHeaders is the inverse of Seal.
func OpenHeaders(box *signer.Box, endpointID string, sealed []byte) (Headers, error) {
	if len(sealed) == 0 {
		return nil, nil
	}
	plain, err := box.Open(HeadersPurpose(endpointID), sealed)
	if err != nil {
		return nil, fmt.Errorf("open the headers of %s: %w", endpointID, err)
	}
	var h Headers
	if err := json.Unmarshal(plain, &h); err != nil {
		return nil, fmt.Errorf("read the headers of %s: %w", endpointID, err)
	}
	return h, nil
}

// customHeaders begins an attempt's headers with those of its endpoint.
func (c *Composer) customHeaders(job Job) (http.Header, error) {
	custom, err := OpenHeaders(c.box, job.Delivery.EndpointID, job.Headers)
	if err != nil {
		return nil, err
	}
	h := http.Header{}
	for name, value := range custom {
		h.Set(name, value)
	}
	return h, nil
}

// ours are the headers whose values may be kept and shown. Custom ones can
// hold credentials.
var ours = map[string]bool{
	"Content-Type": true, http.CanonicalHeaderKey(signer.HeaderID): true, http.CanonicalHeaderKey(signer.HeaderTimestamp): true,
	http.CanonicalHeaderKey(signer.HeaderSignature): true, "Ledgerhook-Webhook-Type": true, "Ledgerhook-Attempt": true,
	"Ledgerhook-Key-Id": true, "Ledgerhook-Sequence": true,
}

// mask returns the headers as they are recorded.
func mask(h http.Header) http.Header {
	masked := http.Header{}
	for name, values := range h {
		if !ours[name] {
			values = []string{"***"}
		}
		masked[name] = values
	}
	return masked
}
