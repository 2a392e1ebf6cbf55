package delivery

import (
	"time"

	"ledgerhook/webhook"
)

// ReplayState is where a bulk replay stands.
type ReplayState string

// The states of a replay.
const (
	ReplayRunning   ReplayState = "running"
	ReplayPaused    ReplayState = "paused"
	ReplayStopped   ReplayState = "stopped" // by itself: too much of it fails
	ReplayCancelled ReplayState = "cancelled"
	ReplayFinished  ReplayState = "finished" // every item was admitted or skipped
)

// Replay sends the events of many finished deliveries again. Its list is
// frozen when it is made; an item becomes a delivery only when its endpoint's
// window has room for it, or, one at a time, to wait for its turn where first
// attempts never leave any.
type Replay struct {
	ID         string // rpl_…
	State      ReplayState
	Reason     string // why somebody wanted it
	Filter     Filter // what it was made of
	Rate       int    // items admitted a second at most
	Total      int    // items
	Note       string // why it stopped by itself
	CreatedAt  time.Time
	FinishedAt time.Time
	Settled    bool // it is finished, and every delivery that it made has ended
	Progress   ReplayProgress
}

// ReplayProgress counts a replay's items. Open to Failed add up to its total;
// Queued, Sent and Answered are what the words say, so each is part of the one
// before it.
type ReplayProgress struct {
	Open      int // not admitted yet
	Skipped   int // delivered in the meantime, still under way, or cannot be sent any more
	Waiting   int // admitted, no attempt has ended yet
	Delivered int
	Failing   int // at least one attempt failed, more follow
	Failed    int // ended without success

	Queued   int // admitted: have become deliveries
	Sent     int // at least one attempt has ended
	Answered int // the newest attempt was answered with a 2xx status
	Failures []ReplayFailure
}

// ReplayFailure counts the failing and failed items whose newest attempt
// failed in one way; the class is empty for those that ended without attempt.
type ReplayFailure struct {
	Class           webhook.ErrorClass
	Failing, Failed int
}

// CountKind says how far a number can be relied on.
type CountKind string

// How far a count can be relied on.
const (
	CountExact   CountKind = "exact"
	CountAbout   CountKind = "about"   // rounded to hundreds
	CountAtLeast CountKind = "atLeast" // counting on would have taken too long
)

// ReplayPreview is what a replay of a filter would be.
type ReplayPreview struct {
	Count     int // of finished deliveries, at most MaxReplay + 1
	CountIs   CountKind
	Grouped   int           // how many of the newest the breakdown counts
	Breakdown []ReplayGroup // at most MaxReplayGroups, the largest first
	// Settled is how many of the deliveries that match are settled, at most
	// MaxReplay + 1, see Filter.IncludeSettled. Count has them only if that is set.
	Settled   int
	SettledIs CountKind
	Warnings  ReplayWarnings
	Sample    []DeliveryWithWindow // the newest
}

// ReplayWarnings counts what somebody should know before a replay is started,
// among the newest Checked deliveries.
type ReplayWarnings struct {
	Checked       int
	Delivered     int // their event has been delivered to the endpoint already
	Retrying      int // another delivery of their event to the endpoint is under way: would be skipped
	URLChanged    int // their endpoint's URL has changed since they ended
	SecretRotated int // their partner has a newer signing secret since they ended
	Removed       int // their endpoint was removed: would be skipped
}

// ReplayGroup counts the deliveries of one partner, endpoint, type and end.
type ReplayGroup struct {
	PartnerCode string
	EndpointID  string
	Type        webhook.Type
	State       webhook.State
	ErrorClass  webhook.ErrorClass
	Count       int
}

// The bounds of a replay.
const (
	MaxReplay         = 100_000 // items
	DefaultReplayRate = 50      // items a second
	MaxReplayRate     = 1000
	ReplaySample      = 10
	MaxReplayGroups   = 200
	// ReplayMaxFailing is the share of failing deliveries, among the newest that
	// were attempted, above which a replay stops itself.
	ReplayMaxFailing = 0.2
)
