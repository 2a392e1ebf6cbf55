package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/hibiken/asynq"

	"ledgerhook/delivery"
)

// shutdownTimeout is enough to record what was cut off.
const shutdownTimeout = 5 * time.Second

// Worker is whom tickets are handed to.
type Worker interface {
	// Ready waits until the worker may begin a delivery, for limit at most and
	// no longer than ctx lasts, and reports whether it may.
	Ready(ctx context.Context, limit time.Duration) bool
	// Take does what the ticket asks for, or drops it.
	Take(ctx context.Context, t delivery.Ticket)
	// Expect says that a delivery is about to be claimed for the worker, whose id
	// it returns; empty if it may begin nothing.
	Expect(deliveryID string, generation int64, endpointID string) (workerID string)
	// Begin delivers what was expected.
	Begin(ctx context.Context, job delivery.Job)
	// Forget ends the expectation.
	Forget(deliveryID string, generation int64, doubt bool)
}

// A worker that cannot reach the ledger would empty the queue that it shares
// with those that can: whatever it drops makes room for the next ticket. So a
// ticket that it may not begin keeps its slot until it may, and after
// passOnAfter goes to whoever fetches it next as well.
const (
	passOnAfter = 2 * time.Second
	keptAfter   = taskMargin / 2 // for how long it keeps the slot then
)

// Servers fetch tickets and have a worker deliver them, one server a shard.
type Servers struct {
	queue   *Queue
	worker  Worker
	ctx     context.Context // the worker's
	servers []*asynq.Server
	paces   []*paced
	held    *holder            // keeps the leases
	open    context.Context    // until Shutdown has ended
	letGo   context.CancelFunc // ends open, and with it the leases
	shares  map[string]*shares // by shard
	taking  context.Context    // of those who wait for a slot
	stop    context.CancelFunc // ends taking
	waking  sync.Once
}

// Why a ticket goes back into the queue.
var (
	errAside    = errors.New("its partner holds its share of the slots")
	errAlone    = errors.New("its partner holds all slots but those that stay free for others")
	errStopping = errors.New("the process is stopping")
)

// neverAgain is for tickets whose handler broke down: the reconciler finds them.
const neverAgain = 24 * time.Hour

// backAfter is asynq's RetryDelayFunc: when a ticket that was put back is
// fetched again.
func backAfter(_ int, err error, _ *asynq.Task) time.Duration {
	switch err {
	case errAside: // its holder puts that off
		return lostAfter
	case errAlone: // another process may have slots that nobody wants
		return time.Second
	case errStopping:
		return 0
	}
	return neverAgain
}

// Serve starts fetching for w. At most slots tickets are handled at once, spread
// evenly over the shards, but at least one a shard. ctx goes to w as it is,
// since asynq's own ends when Redis is away for its lease of 30 s, and what is
// being sent must not be cut off for that; and asynq does not wait for handlers
// whose context it has seen end.
func (q *Queue) Serve(ctx context.Context, slots int, w Worker) (*Servers, error) {
	s := &Servers{queue: q, worker: w, ctx: ctx, shares: map[string]*shares{}}
	s.open, s.letGo = context.WithCancel(context.WithoutCancel(ctx))
	s.taking, s.stop = context.WithCancel(ctx)
	if q.embedded == nil {
		go q.news.subscribe(s.open)
	}
	for _, shard := range q.shards { // before anything starts that reads them
		s.shares[shard] = newShares(q.SlotsPerShard(slots))
	}
	s.held = newHolder(q.redis, s.shares)
	go s.held.run(s.open)
	for _, shard := range q.shards {
		paced := q.pace(shard)
		s.paces = append(s.paces, paced)
		server := asynq.NewServerFromRedisClient(paced, asynq.Config{
			Concurrency:              q.SlotsPerShard(slots),
			Queues:                   map[string]int{shard: 1},
			TaskCheckInterval:        askAgain,
			DelayedTaskCheckInterval: time.Second,
			ShutdownTimeout:          shutdownTimeout,
			RetryDelayFunc:           backAfter,
			IsFailure:                func(err error) bool { return backAfter(0, err, nil) == neverAgain },
			Logger:                   asynqLog{q.log},
			LogLevel:                 asynqLevel(q.log),
		})
		err := server.Start(asynq.HandlerFunc(func(_ context.Context, task *asynq.Task) error { return s.handle(shard, task) }))
		if err != nil {
			s.Shutdown()
			return nil, fmt.Errorf("start fetching from %s: %w", shard, err)
		}
		s.servers = append(s.servers, server)
	}
	return s, nil
}

// handle has the worker deliver what a task asks for. The ledger alone decides
// whether anything is tried again; an error only puts a ticket back that
// nothing was done with.
func (s *Servers) handle(shard string, task *asynq.Task) error {
	ticket, err := readTaskID(string(task.Payload()))
	if err != nil {
		return nil // not ours; the reconciler would have sent ours again
	}
	defer s.held.hold(shard, taskID(ticket))()
	// First: a worker that may begin nothing must take nothing out of the queue
	// that it has no slot for.
	if !s.worker.Ready(s.ctx, passOnAfter) {
		s.queue.passOn(s.ctx, shard, task)
		s.worker.Ready(s.ctx, keptAfter)
	}
	if s.ctx.Err() != nil {
		return errStopping
	}
	partner, share := task.Headers()[partnerHeader], s.shares[shard]
	if err := share.take(partner, string(task.Payload()), time.Now()); err != nil {
		return err
	}
	defer s.leave(shard, partner)
	if share.free.Acquire(s.taking, 1) != nil {
		return errStopping
	}
	defer share.free.Release(1)
	s.worker.Take(s.ctx, ticket)
	return nil
}

// leave gives a slot of the partner up, to what was set aside for want of it.
func (s *Servers) leave(shard, partner string) {
	s.bringBack(shard, s.shares[shard].leave(partner, time.Now()), bringBackTries)
}

// Hold implements delivery.Slots.
func (s *Servers) Hold(t delivery.Ticket) (workerID string) {
	workerID = s.worker.Expect(t.DeliveryID, t.Generation, t.EndpointID)
	if workerID != "" && !s.shares[s.queue.ShardOf(t.EndpointID)].takeFree(t.PartnerCode, time.Now()) {
		s.worker.Forget(t.DeliveryID, t.Generation, false)
		return ""
	}
	return workerID
}

// Begin implements delivery.Slots: it goes on with what ledger.batch.begin hands
// over, in a goroutine of the slot.
func (s *Servers) Begin(t delivery.Ticket, job delivery.Job) {
	go func() {
		defer s.giveBack(t)
		defer func() {
			if fault := recover(); fault != nil { // the reconciler finds the delivery
				s.queue.log.Error("a delivery panicked", "delivery", t.DeliveryID, "panic", fault, "stack", string(debug.Stack()))
			}
		}()
		s.worker.Begin(s.ctx, job)
	}()
}

// Leave implements delivery.Slots.
func (s *Servers) Leave(t delivery.Ticket, doubt bool) {
	s.worker.Forget(t.DeliveryID, t.Generation, doubt)
	go s.giveBack(t) // which may wait for Redis
}

// giveBack ends what takeFree took.
func (s *Servers) giveBack(t delivery.Ticket) {
	shard := s.queue.ShardOf(t.EndpointID)
	s.shares[shard].free.Release(1)
	s.leave(shard, t.PartnerCode)
}

// Busy is how many slots are in use or waited for.
func (s *Servers) Busy() (n int) {
	for _, share := range s.shares {
		n += share.busy()
	}
	return n
}

// A ticket that was set aside cannot be brought back before asynq has put it
// back, nor while Redis is away or has forgotten its queues.
const (
	bringBackEvery = time.Second
	bringBackTries = int(keptFor / bringBackEvery) // then it comes by itself
)

// bringBack has tasks that were set aside fetched again at once, or as soon as
// that can be done, for which it tries so many times.
func (s *Servers) bringBack(shard string, tasks []string, tries int) {
	var later []string
	for _, id := range tasks {
		err := s.queue.inspector.RunTask(shard, id)
		if err != nil && !errors.Is(err, asynq.ErrTaskNotFound) { // what Redis forgot the reconciler finds
			later = append(later, id)
			s.queue.log.Debug("a ticket is not brought back yet", "ticket", id, "error", err)
		}
	}
	if len(later) < len(tasks) {
		s.queue.news.spread(shard)
	}
	if len(later) > 0 && tries > 1 && s.open.Err() == nil {
		time.AfterFunc(bringBackEvery, func() { s.bringBack(shard, later, tries-1) })
	}
}

// passOn hands a task's ticket out once more, in about a second. Which of the
// two comes too late does not matter.
func (q *Queue) passOn(ctx context.Context, shard string, task *asynq.Task) {
	_, err := q.client.EnqueueContext(ctx, asynq.NewTaskWithHeaders(taskType, task.Payload(), task.Headers()), append(q.options(shard), asynq.ProcessIn(time.Second))...)
	if err != nil {
		q.log.Debug("a ticket was not passed on", "ticket", string(task.Payload()), "error", err)
	}
}

// SlotsPerShard is how many of a process's slots each shard gets.
func (q *Queue) SlotsPerShard(slots int) int { return max(1, slots/len(q.shards)) }

// Stop ends fetching; what runs goes on, and what was fetched and not begun
// goes back to other processes.
func (s *Servers) Stop() {
	s.wake()
	for _, server := range s.servers {
		server.Stop()
	}
	s.stop()
	for shard, share := range s.shares {
		s.bringBack(shard, share.close(), bringBackTries)
	}
}

// wake ends the waiting for work, so that servers can stop.
func (s *Servers) wake() {
	s.waking.Do(func() {
		for _, p := range s.paces {
			p.stop()
		}
	})
}

// Shutdown waits up to shutdownTimeout for what still runs and ends the servers.
func (s *Servers) Shutdown() {
	s.wake()
	done := make(chan struct{})
	for _, server := range s.servers {
		go func() { server.Shutdown(); done <- struct{}{} }()
	}
	for range s.servers {
		<-done
	}
	s.letGo()
}
