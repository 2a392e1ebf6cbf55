// Package incidents decides which faults people are told of, and in which words.
//
// Decide is the whole decision: a pure function of signals, settings, the incidents
// that there are, and the time. Watch has it decide again and again.
package incidents

import (
	"time"

	"ledgerhook/webhook"
)

// The prefixes of the ids of incidents and of what is told of them.
const (
	Prefix        = "inc_"
	MessagePrefix = "msg_"
)

// Kind is a class of faults. There is one incident of a kind at a time for each
// thing that it can befall.
type Kind string

// The kinds: first those of an endpoint, which its partner is told of, then
// those of the gateway itself, which only operators are.
const (
	Failing     Kind = "failing"     // its receiver does not take deliveries
	Disabled    Kind = "disabled"    // it was disabled for its failures
	Certificate Kind = "certificate" // that of its receiver ends soon

	Canary  Kind = "canary"  // what the gateway sends to itself does not arrive
	Backlog Kind = "backlog" // what is ready to leave waits for the gateway
	Egress  Kind = "egress"  // most receivers fail at once
	Rates   Kind = "rates"   // an exchange rate is too old to give prices
)

// Kinds lists every Kind.
var Kinds = []Kind{Failing, Disabled, Certificate, Canary, Backlog, Egress, Rates}

// Theirs reports whether a fault of the kind is the receiver's.
func (k Kind) Theirs() bool { return k == Failing || k == Disabled || k == Certificate }

// hampers reports whether a fault of the kind, which is the gateway's, makes
// receivers look as if they failed.
func (k Kind) hampers() bool { return k == Canary || k == Backlog || k == Egress }

// counts reports whether a fault of the kind keeps deliveries from arriving.
func (k Kind) counts() bool { return k.hampers() || k == Failing || k == Disabled }

// Rule names what found a fault. A kind of more than one rule is an incident
// while one of them finds it.
type Rule string

// The rules that have not the name of their kind.
const (
	BreakerOpen Rule = "breaker"   // Failing: its breaker has been open for long
	Exhausted   Rule = "exhausted" // Failing: deliveries were given up
	Waiting     Rule = "waiting"   // Failing: a delivery has waited long for its first attempt
)

// State is where an incident stands.
type State string

// The states of an incident.
const (
	Watched State = "watched" // it is so, but not for long enough to tell anybody
	Open    State = "open"
	Closed  State = "closed"
)

// Incident is a fault from when it was first seen to when it is over.
type Incident struct {
	ID   string // inc_…
	Kind Kind
	// Subject is what it befell within its kind: an endpoint's id; empty: the
	// gateway as a whole.
	Subject     string
	PartnerCode string // whose endpoint it is; empty: ours
	URL         string // of the endpoint
	State       State
	Version     int64 // counts up with every change
	Finding

	SeenAt    time.Time // since when it has been so, as far as it was looked at
	LookedAt  time.Time // while it is watched: when that was last so
	OpenedAt  time.Time
	ClearedAt time.Time // since when it has not been so any more; zero: it is so
	ClosedAt  time.Time

	AckedAt      time.Time // zero: nobody has said that they look after it
	AckedBy      string
	SnoozedUntil time.Time
	Reminded     int // how many of the reminders were told or passed over
	Outcome      Outcome
}

// Finding is what a rule found, as people are told it.
type Finding struct {
	Rule   Rule
	N      int64     // how many: deliveries, workers or hosts
	Detail string    // what it came to, such as 503 or a cryptocurrency
	Time   time.Time // since when the receiver has failed, when the certificate ends, how old the rate is
}

// Outcome is what became of the deliveries made while an incident lasted, up
// to MaxOutcome of them.
type Outcome struct {
	Late         int64 // delivered, more than LateAfter after their event
	NotDelivered int64 // given up or cancelled
	Waiting      int64 // still on their way
}

// The bounds of an Outcome.
const (
	MaxOutcome = 10_000
	LateAfter  = 10 * time.Second
)

// Acknowledged reports whether somebody has said that they look after it.
func (i Incident) Acknowledged() bool { return !i.AckedAt.IsZero() }

// Snoozed reports whether nobody is to be reminded of it at now.
func (i Incident) Snoozed(now time.Time) bool { return now.Before(i.SnoozedUntil) }

// Since is when the fault began, as far as it is known.
func (i Incident) Since() time.Time {
	if i.Kind == Failing && !i.Time.IsZero() && i.Time.Before(i.SeenAt) {
		return i.Time
	}
	return i.SeenAt
}

// Act is what happened to an incident.
type Act string

// What happens to an incident. The first four leave no trace in its history.
const (
	ActWatch   Act = "watch"   // it is so for the first time
	ActRestart Act = "restart" // it counts as if it were
	ActForget  Act = "forget"  // it is over before it was an incident
	ActPass    Act = "pass"    // the same of one that made receivers look as if they failed: it stays known

	ActOpen        Act = "open"
	ActClear       Act = "clear" // it is not so any more
	ActBack        Act = "back"  // it is so again before it was closed
	ActRemind      Act = "remind"
	ActClose       Act = "close"
	ActAcknowledge Act = "acknowledge"
	ActSnooze      Act = "snooze"
)

// Told reports whether people get a message of it.
func (a Act) Told() bool { return a == ActOpen || a == ActRemind || a == ActClose }

// Change is what Decide wants done: Incident is as it is to be.
type Change struct {
	Incident
	Act Act
}

// Entry is one line of an incident's history.
type Entry struct {
	At     time.Time
	Act    Act
	Actor  string // who; empty: the gateway
	Detail string
}

// Contact is an address that is told of an endpoint's incidents.
type Contact struct {
	EndpointID  string
	PartnerCode string
	Email       string
	Lang        string // en, vi or zh
	CreatedAt   time.Time
}

// MaxContacts is how many contacts an endpoint may have.
const MaxContacts = 10

// MaxListed is how many incidents a list of a Store has at most.
const MaxListed = 200

// Languages are those that letters are written in.
var Languages = []string{"en", "vi", "zh"}

// Signals are what the rules look at.
type Signals struct {
	Endpoints []EndpointSignals // registered ones; those without anything to tell may be left out

	CanaryFailed int    // workers that live and whose newest canary failed
	CanaryWhy    string // of one of them
	OldestReady  time.Time
	Hosts        int // with endpoints
	HostsFailing int
	Rates        []RateSignal
	RateAge      time.Duration // an older rate gives no price
}

// EndpointSignals are what is known of an endpoint.
type EndpointSignals struct {
	ID, PartnerCode, URL string
	BreakerOpen          bool // by failures, not by hand
	FailingSince         time.Time
	Last                 webhook.LastResult
	Disabled             bool      // for its failures
	Exhausted            int64     // deliveries given up in the last ExhaustedWithin
	OldestUntried        time.Time // of the deliveries that may leave and wait for their first attempt
	CertificateEnds      time.Time
}

// ExhaustedWithin is how far back deliveries that were given up are counted.
const ExhaustedWithin = time.Hour

// RateSignal is when an exchange rate was last updated.
type RateSignal struct {
	Crypto    string
	UpdatedAt time.Time
}
