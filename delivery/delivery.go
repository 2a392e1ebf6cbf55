// Package delivery carries one attempt and what follows from it.
//
// The ledger is the truth and the queue a fast hint: a delivery that has room
// in its endpoint's window is admitted in the ledger. A first attempt for which
// a slot of the same process is free is claimed with that; of all others a
// ticket goes to the queue, by which a worker claims them. The worker sends,
// decides and records. Whatever dies, delivery/maintenance brings what the
// ledger holds back to the queue. Tickets may be lost or doubled at will, since
// a claim is fenced by the delivery's generation.
//
// Ten functions lead an event from its POST to the stored record, if a slot is
// free:
//
//	ingest.Internal.postEvent  reads the request and answers it
//	ingest.Internal.newEvent   checks it and makes the event
//	ledger.Ledger.AppendAll    hands the event to the writer and waits for the commit
//	ledger.batch.run           stores event and delivery, and claims it for the slot, in one transaction
//	delivery.Worker.Deliver    is the whole of one attempt, on a page
//	delivery.Worker.attempt    composes the message, signed
//	sender.Sender.Send         dials, sends and reads the answer
//	delivery.Decide            says what follows: delivered, when to retry, or exhausted
//	delivery.Worker.record     writes both down
//	ledger.batch.record        stores them and frees the place in the window
//
// It changes goroutines twice. AppendAll and ledger.Ledger.Record hand an operation
// to ledger.writer.run, which runs a batch of them and answers each. After the
// commit, ledger.batch.begin hands the claimed delivery to queue.Servers.Begin,
// whose slot runs Deliver.
//
// The detour of whatever finds no free slot, and of every retry, lies between
// batch.run and Deliver: delivery.Dispatcher.Dispatch has queue.Queue.Enqueue keep a
// ticket, a slot of queue.Servers takes it when it is due, and
// delivery.Worker.Take claims the delivery by ledger.Ledger.Claim.
package delivery

import (
	"context"
	"time"

	"ledgerhook/webhook"
)

// Ticket names an admitted delivery. The queue carries nothing else of it.
type Ticket struct {
	DeliveryID  string
	Generation  int64
	EndpointID  string    // chooses the shard; not part of the payload
	PartnerCode string    // whose share of the slots it takes; not part of the payload
	DueAt       time.Time // not to be sent before; zero: at once
}

// Job is a claimed delivery with all that its attempt needs.
type Job struct {
	Delivery webhook.Delivery // Attempts counts this attempt already
	Event    webhook.Event
	Trigger  webhook.Trigger // of this attempt
	URL      string
	AckMode  webhook.AckMode
	Timeout  time.Duration  // of this attempt; 0: the sender's own
	Headers  []byte         // custom headers, sealed; empty: none
	Secrets  []SealedSecret // in the order they sign: retiring ones, then the active one
	// BreakerEpoch is the life of the endpoint's breaker that the attempt
	// belongs to.
	BreakerEpoch int64
	// Dropped is the attempt that a reused connection dropped just now.
	Dropped *webhook.Attempt
}

// repeat makes j the job that sends again what a reused connection dropped. The
// dropped attempt keeps its number, and is told of with the next one's record.
func (j *Job) repeat(dropped webhook.Attempt) {
	dropped.NextAt, dropped.NextReason = dropped.StartedAt.Add(dropped.Phases.Total), "sent again at once on a new connection"
	j.Dropped = &dropped
	j.Delivery.Attempts++
	j.Delivery.Repeats++
}

// SealedSecret is a webhook secret as the ledger holds it.
type SealedSecret struct {
	Purpose string
	Sealed  []byte
}

// Result is what an attempt came to and what follows from it.
type Result struct {
	DeliveryID string
	EndpointID string
	Generation int64
	Attempt    webhook.Attempt
	// Dropped is the attempt before, which a reused connection dropped; nil: there
	// was none. It is recorded with this one and counts for nothing.
	Dropped *webhook.Attempt
	Verdict Verdict
	// Trip is why the endpoint's breaker must open, by this process's judge of
	// BreakerEpoch; empty: it need not.
	Trip         string
	Refused      int // the status if Trip is a uniform refusal
	BreakerEpoch int64
}

// Ledger is what a worker needs of the ledger.
type Ledger interface {
	// Claim makes t's delivery this worker's. It answers false for a ticket
	// that is no longer current; there is then nothing to do.
	Claim(ctx context.Context, t Ticket, workerID string) (Job, bool, error)
	// Record writes the attempt and its verdict, frees or hands on the place and
	// reports whether that counted: of a generation only the first record does,
	// and another process may have given the delivery up. It may be repeated
	// when its answer was lost; the second one then does not count.
	Record(ctx context.Context, r Result) (counted bool, err error)
}

// Queued is a delivery that the ledger says is in the queue.
type Queued struct {
	Ticket
	At time.Time // since when; ahead of now if it was admitted before its time
}

// InFlight is a delivery that a worker has claimed and not recorded. Its Job
// holds no data, URL or secrets.
type InFlight struct {
	Job       Job
	WorkerID  string
	ClaimedAt time.Time
}
