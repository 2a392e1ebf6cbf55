// Package webhook is the vocabulary of the gateway: what an event, an
// endpoint, a delivery and an attempt are.
//
// It holds types and pure rules only. It knows no HTTP, SQL or queue, so that
// every other package can speak of the same things.
package webhook

import (
	"slices"
	"time"
)

// Event is something that happened and that a partner is told of. It never
// changes once appended.
type Event struct {
	ID          string // evt_…, also the webhook-id of every attempt
	PartnerCode string
	Type        Type
	ObjectID    string   // the card, top-up, transaction, account or order it is about
	OrderingKey string   // an ordered endpoint gets the events with one key in order, see EventType
	Status      string   // the status the event reports, one of the type's statuses
	Data        []byte   // RFC 8785 form of data, without its signature
	KeyID       string   // the signing key, pinned so that every attempt sends the same bytes
	Signatures  []string // the partner's signature setting when appended: SignatureRSA, SignatureStandard
	Unexpected  bool     // the move to Status is not one the type's life cycle knows
	Filtered    bool     // no endpoint of the partner takes the type: no delivery was made
	Test        bool     // made by an endpoint test, outside the invariant
	CreatedAt   time.Time
	Trace       string // the span of the request that brought it, as a traceparent; empty: none
	Erased      Erasure
}

// Erasure says when, and by whom, content was erased on demand: the zero value
// if it was not.
type Erasure struct {
	At time.Time
	By string
}

// Done reports whether the content is gone.
func (e Erasure) Done() bool { return !e.At.IsZero() }

// The signatures a partner can ask for.
const (
	SignatureRSA      = "rsa"      // the signature member of the body
	SignatureStandard = "standard" // the Standard Webhooks headers
)

// Success is the success flag of the event's notification.
func (e Event) Success() bool { return e.Type.Success(e.Status) }

// Endpoint is a URL of a partner that takes notifications.
type Endpoint struct {
	ID          string // ep_…
	PartnerCode string
	URL         string
	Types       []Type // empty: all
	Description string
	AckMode     AckMode
	Timeout     time.Duration // of one attempt; 0: the gateway's own
	Headers     []byte        // custom headers, sealed
	CreatedAt   time.Time
	UpdatedAt   time.Time
	Window      Window
}

// AckMode is what makes an answer count as an acknowledgement.
type AckMode string

const (
	AckStatus AckMode = "status" // any 2xx
	AckBody   AckMode = "body"   // a 2xx whose body is JSON without success: false
)

// Takes reports whether the endpoint wants events of type t.
func (e Endpoint) Takes(t Type) bool {
	return len(e.Types) == 0 || slices.Contains(e.Types, t)
}

// State is where a delivery stands. Pending, queued and sending are
// unfinished; the others are final and never change again.
type State string

const (
	Pending   State = "pending"   // waits in the ledger
	Queued    State = "queued"    // handed to the queue, holds a place in its window
	Sending   State = "sending"   // a worker has claimed it, holds a place in its window
	Delivered State = "delivered" // answered 2xx
	Exhausted State = "exhausted" // the last attempt of its schedule failed
	Cancelled State = "cancelled" // ended by an operator, by its endpoint's removal or by retention

	// Held is how a pending delivery reads while its endpoint is paused,
	// disabled or missing. It is shown and never stored.
	Held State = "held"
)

// Final reports whether a delivery in state s never changes again.
func (s State) Final() bool { return s == Delivered || s == Exhausted || s == Cancelled }

// Trigger is what made a delivery, or an attempt, happen.
type Trigger string

// What an attempt or a delivery can be caused by.
const (
	TriggerFirst  Trigger = "first"
	TriggerRetry  Trigger = "retry"
	TriggerManual Trigger = "manual"
	TriggerReplay Trigger = "replay"
	TriggerTest   Trigger = "test"
	TriggerProbe  Trigger = "probe"
)

// Delivery is one event on its way to one endpoint.
type Delivery struct {
	ID          string // dlv_…
	EventID     string
	EndpointID  string // empty as long as the partner has no endpoint
	PartnerCode string
	Type        Type
	ObjectID    string
	Sequence    int64 // gap-free per endpoint, from 1; a replay repeats its original's; 0 for tests
	State       State
	Reason      string // why a final delivery ended as it did, for cancelled ones
	Generation  int64  // fences claims and records: only the newest one counts
	Attempts    int    // attempts begun
	Repeats     int    // of these: made again at once since a reused connection lost them, outside the schedule
	Trigger     Trigger
	ReplayOf    string // the delivery this one repeats
	// DeliveredBy is the delivery that brought the same event to the same
	// endpoint although this one ended without success; empty: none is known.
	DeliveredBy string
	DueAt       time.Time // pending only; zero: as soon as there is room
	// AskedByReceiver: DueAt is the time that the receiver asked for.
	AskedByReceiver bool
	// Blocked: an earlier delivery with the same ordering key has not ended yet.
	Blocked    bool
	CreatedAt  time.Time
	FinishedAt time.Time
	Last       LastResult
}

// Settled reports whether nobody has to care any more for a delivery that ended
// without success, since another one has brought its event.
func (d Delivery) Settled() bool { return d.DeliveredBy != "" }

// LastResult is what the newest recorded attempt of a delivery came to.
type LastResult struct {
	Outcome    Outcome
	StatusCode int
	ErrorClass ErrorClass
}

// Outcome is what became of an attempt.
type Outcome string

// What an attempt can come to.
const (
	OutcomeDelivered Outcome = "delivered"
	OutcomeFailed    Outcome = "failed"
	// OutcomeUnknown marks an attempt whose worker died or was stopped: the
	// partner may or may not have got it.
	OutcomeUnknown Outcome = "unknown"
)

// ErrorClass says in one word why an attempt failed.
type ErrorClass string

// The ways in which an attempt can fail.
const (
	ErrorDNS      ErrorClass = "dns"
	ErrorConnect  ErrorClass = "connect"
	ErrorTLS      ErrorClass = "tls"
	ErrorTimeout  ErrorClass = "timeout"
	ErrorReset    ErrorClass = "reset"
	ErrorProtocol ErrorClass = "protocol"
	ErrorRedirect ErrorClass = "redirect"
	ErrorHTTP4xx  ErrorClass = "http_4xx"
	ErrorHTTP5xx  ErrorClass = "http_5xx"
	ErrorBlocked  ErrorClass = "blocked_address"
	ErrorBadAck   ErrorClass = "bad_ack"
	ErrorInternal ErrorClass = "internal"
)

// ErrorClasses lists every class, for closed label sets and filters.
var ErrorClasses = []ErrorClass{ErrorDNS, ErrorConnect, ErrorTLS, ErrorTimeout, ErrorReset, ErrorProtocol,
	ErrorRedirect, ErrorHTTP4xx, ErrorHTTP5xx, ErrorBlocked, ErrorBadAck, ErrorInternal}

// Attempt is one try at a delivery. It is written once and kept.
type Attempt struct {
	ID         string // att_…
	DeliveryID string
	Number     int // from 1 without gaps
	Trigger    Trigger
	StartedAt  time.Time
	Phases     Phases

	PeerIP          string // the address that was dialled
	TLSVersion      string // "TLS 1.3"; empty without TLS
	TLSNotAfter     time.Time
	Certificate     []byte              // SHA-256 of the one the receiver showed, also if it was refused; empty: none, or not kept yet
	RequestHeaders  map[string][]string // secrets masked
	Outcome         Outcome
	StatusCode      int // 0: no complete status line and headers
	ErrorClass      ErrorClass
	ErrorDetail     string
	ResponseHeaders map[string][]string // at most MaxKeptHeaders bytes
	HeadersCut      bool                // the answer had more of them
	ResponseBody    []byte              // at most MaxKeptBody bytes, as they came
	Truncated       bool                // the answer's body was longer, or was not read to its end
	BodyCut         bool                // the answer's body was still coming when its time was up; for the record alone, not kept
	Connected       bool                // it had a connection, with TLS if it asks for it, and waited for the answer; for the record alone, not kept
	KeyID           string
	Worker          string
	Trace           string // the id of the trace that the attempt is the first span of; empty: none; not kept

	NextAt     time.Time // when the next attempt is due; zero: none follows
	NextReason string    // why then, or why none
}

// MaxKeptBody is how many bytes of a response body an attempt keeps.
const MaxKeptBody = 16 << 10

// MaxKeptHeaders is how many bytes of an answer's headers an attempt keeps,
// names and values together.
const MaxKeptHeaders = 8 << 10

// Phases are the times an attempt took. A phase that did not happen is 0.
type Phases struct {
	DNS       time.Duration
	Connect   time.Duration
	TLS       time.Duration
	FirstByte time.Duration // from the request written to the first byte of the answer
	Total     time.Duration
}
