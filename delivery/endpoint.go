package delivery

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"ledgerhook/delivery/guard"
	"ledgerhook/signer"
	"ledgerhook/webhook"
)

// The bounds of what an endpoint can ask for.
const (
	MaxHeaders     = 20   // custom headers
	MaxMaxInFlight = 1000 // the widest window
	MaxRate        = 1000 // deliveries a second

	MinTimeout = 3 * time.Second // of one attempt; both are whole seconds
	MaxTimeout = 30 * time.Second
)

// NewEndpoint is an endpoint of a partner with the defaults, to be changed and
// created, which gives it its id. Its URL is for guard.CheckURL to judge.
func NewEndpoint(partnerCode, url string, now time.Time) webhook.Endpoint {
	return webhook.Endpoint{
		PartnerCode: partnerCode, URL: url, AckMode: webhook.AckStatus, CreatedAt: now,
		Window: webhook.Window{MaxInFlight: webhook.DefaultMaxInFlight},
	}
}

// EndpointChange is how an endpoint is to be delivered to. What is nil stays
// as it is.
type EndpointChange struct {
	Types       *[]string // none: all
	MaxInFlight *int
	RateLimit   *int // deliveries a second; 0: no limit
	Ordered     *bool
	AckMode     *webhook.AckMode
	Timeout     *int    // of one attempt, in seconds; 0: the gateway's own
	Headers     Headers // all of them
}

// Apply checks the change and puts it into e. What is wrong is Invalid and
// names the member of the internal API's request: "/maxInFlight".
func (c EndpointChange) Apply(box *signer.Box, e *webhook.Endpoint) error {
	if c.MaxInFlight != nil {
		if *c.MaxInFlight < 1 || *c.MaxInFlight > MaxMaxInFlight {
			return webhook.Invalid("/maxInFlight", fmt.Sprintf("must be 1 to %d", MaxMaxInFlight))
		}
		e.Window.MaxInFlight = *c.MaxInFlight
	}
	if c.RateLimit != nil {
		if *c.RateLimit < 0 || *c.RateLimit > MaxRate {
			return webhook.Invalid("/rateLimit", fmt.Sprintf("must be 1 to %d deliveries a second, or 0 for no limit", MaxRate))
		}
		e.Window.RateEvery = 0
		if *c.RateLimit > 0 {
			e.Window.RateEvery = time.Second / time.Duration(*c.RateLimit)
		}
	}
	if c.Ordered != nil {
		e.Window.Ordered = *c.Ordered
	}
	if c.AckMode != nil {
		if *c.AckMode != webhook.AckStatus && *c.AckMode != webhook.AckBody {
			return webhook.Invalid("/ackMode", `must be "status" or "body"`)
		}
		e.AckMode = *c.AckMode
	}
	if c.Timeout != nil {
		const least, most = int(MinTimeout / time.Second), int(MaxTimeout / time.Second)
		if *c.Timeout != 0 && (*c.Timeout < least || *c.Timeout > most) {
			return webhook.Invalid("/timeoutSeconds", fmt.Sprintf("must be %d to %d, or 0 for the gateway's own", least, most))
		}
		e.Timeout = time.Duration(*c.Timeout) * time.Second
	}
	if c.Headers != nil {
		if err := c.Headers.check(); err != nil {
			return err
		}
		e.Headers = c.Headers.Seal(box, e.ID)
	}
	return c.applyTypes(e)
}

func (c EndpointChange) applyTypes(e *webhook.Endpoint) error {
	if c.Types == nil {
		return nil
	}
	e.Types = nil
	for i, name := range *c.Types {
		t := webhook.Type(name)
		if !t.Known() || slices.Contains(e.Types, t) {
			return webhook.Invalid(fmt.Sprintf("/webhookTypes/%d", i), fmt.Sprintf("must be one of %v, each once", webhook.Types))
		}
		e.Types = append(e.Types, t)
	}
	return nil
}

// check decides whether an endpoint may carry the headers. Names that HTTP
// takes for one must not differ in value by chance.
func (h Headers) check() error {
	if len(h) > MaxHeaders {
		return webhook.Invalid("/headers", fmt.Sprintf("must be at most %d headers", MaxHeaders))
	}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if err := guard.CheckHeader(name, h[name]); err != nil {
			return err
		}
		same := http.CanonicalHeaderKey(name)
		if seen[same] {
			return webhook.Invalid("/headers", fmt.Sprintf("must have %s once, in whatever case", same))
		}
		seen[same] = true
	}
	return nil
}

// RateLimit is how many deliveries a second the window's rate allows; 0: any.
func RateLimit(w webhook.Window) int {
	if w.RateEvery == 0 {
		return 0
	}
	return int(time.Second / w.RateEvery)
}

// NewTest is the catalogue's example of t as an event for e alone, whether e
// is open or not. An empty t is the first type that e takes. It is RateLimited
// when as many tests as may be are on their way to e already: what is plainly
// too much need not get to the writer.
func NewTest(e webhook.Endpoint, t webhook.Type, keyID string, now time.Time) (NewEvent, error) {
	if err := e.Window.RefusesTest(); err != nil {
		return NewEvent{}, err
	}
	if t == "" {
		t = append(slices.Clone(e.Types), webhook.Types[0])[0]
	}
	described, ok := webhook.Describe(t)
	if !ok || !t.Known() {
		return NewEvent{}, webhook.Invalid("/webhookType", fmt.Sprintf("must be one of %v", webhook.Types))
	}
	var example struct {
		Status string `json:"status"`
	}
	if err := json.Unmarshal([]byte(described.Example), &example); err != nil {
		return NewEvent{}, fmt.Errorf("read the example of %s: %w", t, err)
	}
	id := webhook.NewID(webhook.EventPrefix)
	return NewEvent{
		Event: webhook.Event{
			ID: id, PartnerCode: e.PartnerCode, Type: t, ObjectID: "test", OrderingKey: "test", Status: example.Status,
			Data: []byte(described.Example), KeyID: keyID, Test: true, CreatedAt: now,
		},
		IdempotencyKey: id, Digest: []byte(id), EndpointID: e.ID,
	}, nil
}
