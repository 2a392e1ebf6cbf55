package queue

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ledgerhook/delivery"
	"ledgerhook/delivery/queue/queuetest"
)

// of is a ticket of a partner, in the same shard as all others of this function.
func of(partner string) delivery.Ticket {
	t := newTicket()
	t.EndpointID, t.PartnerCode = "ep_1", partner
	return t
}

// busyPartners counts which partner has how many slots, now and at most.
type busyPartners struct {
	*blocked
	mu       sync.Mutex
	partner  map[string]string // by delivery
	now, top map[string]int
}

func (b *busyPartners) handle(ctx context.Context, ticket delivery.Ticket) {
	b.mu.Lock()
	who := b.partner[ticket.DeliveryID]
	b.now[who]++
	b.top[who] = max(b.top[who], b.now[who])
	b.mu.Unlock()
	b.blocked.handle(ctx, ticket)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now[who]--
}

func (b *busyPartners) most(who string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.top[who]
}

func TestAPartnerHoldsAQuarterOfTheSlotsWhileOthersWantThem(t *testing.T) {
	each(t, func(t *testing.T, q *Queue) {
		const perShard, many = 16, 60
		b := &busyPartners{blocked: newBlocked(t), partner: map[string]string{}, now: map[string]int{}, top: map[string]int{}}
		serve(t, q, perShard*len(q.Shards()), b.handle)
		send := func(partner string, n int) {
			for range n {
				ticket := of(partner)
				b.mu.Lock()
				b.partner[ticket.DeliveryID] = partner
				b.mu.Unlock()
				enqueue(t, q, ticket)
			}
		}
		send("other", 1)
		receive(t, "the other partner's ticket is handled", b.began)
		send("greedy", many)
		for range perShard / 4 {
			receive(t, "the greedy partner's share is handled", b.began)
		}
		send("other", perShard/4-1) // behind all of the greedy partner's
		for range perShard/4 - 1 {
			receive(t, "the other partner's tickets are handled beside the greedy partner's", b.began)
		}
		b.release()
		for range many - perShard/4 {
			receive(t, "what was set aside is handled", b.began)
		}
		if got := b.most("greedy"); got != perShard/4 {
			t.Errorf("the greedy partner held %d of %d slots, want a quarter", got, perShard)
		}
	})
}

func TestAPartnerAloneLeavesAQuarterFree(t *testing.T) {
	t.Parallel()
	s, now := newShares(16), time.Now()
	held := func(partner string) (n int) {
		for ; ; n++ {
			if s.take(partner, newTicket().DeliveryID, now) != nil {
				return n
			}
		}
	}
	if n := held("alone"); n != 12 {
		t.Errorf("a partner alone holds %d of 16 slots, want all but a quarter", n)
	}
	if n := held("other"); n != 4 {
		t.Errorf("another partner finds %d of 16 slots, want its quarter", n)
	}
	if again := s.leave("alone", now); len(again) != 0 {
		t.Errorf("%d come back although the other partner wants slots", len(again))
	}
	if again := s.leave("alone", now.Add(wantedFor)); len(again) != 1 {
		t.Errorf("%d come back once nobody else wants slots, want the one that was set aside", len(again))
	}
}

func TestEverySlotIsUsefulHoweverFewThereAre(t *testing.T) {
	t.Parallel()
	for slots := 1; slots < 8; slots++ {
		s, now := newShares(slots), time.Now()
		for _, partner := range []string{"one", "other"} {
			if s.take(partner, "task", now) != nil {
				t.Errorf("%s gets none of %d slots", partner, slots)
			}
		}
	}
}

func TestAStopGivesBackWhatWasFetchedAndNotBegun(t *testing.T) {
	t.Parallel()
	server := queuetest.Start(t)
	q := open(t, server.URL)
	b := newBlocked(t)
	stopping := serve(t, open(t, server.URL), 4*len(q.Shards()), b.handle)
	const running, many = 3, 20 // what it may hold alone
	tickets := make([]delivery.Ticket, many)
	for i := range tickets {
		tickets[i] = of("greedy")
	}
	enqueue(t, q, tickets...)
	for range running {
		receive(t, "its share is handled", b.began)
	}
	retry := key(q.ShardOf(tickets[0].EndpointID), "retry")
	// putOff has what is set aside come by itself no sooner than that.
	putOff := func(until time.Time) (n int64) {
		for _, id := range q.redis.ZRange(t.Context(), retry, 0, -1).Val() {
			if err := q.redis.ZAddXX(t.Context(), retry, redis.Z{Score: float64(until.Unix()), Member: id}).Err(); err != nil {
				t.Fatal(err)
			}
		}
		return q.redis.ZCount(t.Context(), retry, strconv.FormatInt(until.Unix(), 10), "+inf").Val()
	}
	kept := time.Now().Add(keptFor)
	eventually(t, "the rest is set aside", func() bool { return putOff(kept) == many-running })
	if found := lost(t, q, tickets...); len(found) > 0 {
		t.Errorf("%d tickets that were set aside are lost", len(found))
	}
	hour := time.Now().Add(time.Hour) // longer than it is waited for
	eventually(t, "the rest stays set aside", func() bool { return putOff(hour) == many-running })
	stopping.Stop()
	eventually(t, "nothing is set aside after the stop", func() bool { return q.redis.ZCard(t.Context(), retry).Val() == 0 })
	f := newFetched()
	serve(t, q, 100*len(q.Shards()), f.handle)
	f.wait(t, many-running)
}

// Redis may have forgotten its queues, or not hold the ticket yet, when its
// partner gives a slot up.
func TestWhatIsSetAsideComesBackThoughRedisForgotItsQueues(t *testing.T) {
	t.Parallel()
	server := queuetest.Start(t)
	q, b := open(t, server.URL), newBlocked(t)
	const share = 4
	s := serve(t, q, 4*share*len(q.Shards()), b.handle)
	other := of("other")
	enqueue(t, q, other)
	receive(t, "another partner's ticket is handled", b.began)
	for range share + 1 {
		enqueue(t, q, of("greedy"))
	}
	for range share {
		receive(t, "its share is handled", b.began)
	}
	shard := q.ShardOf(other.EndpointID)
	retry := key(shard, "retry")
	eventually(t, "the rest is set aside", func() bool { return q.redis.ZCard(t.Context(), retry).Val() == 1 })
	if err := server.Client(t).Del(t.Context(), "asynq:queues").Err(); err != nil {
		t.Fatal(err)
	}
	b.release()
	eventually(t, "all slots were given up", func() bool { return s.Busy() == 0 })
	hour := float64(time.Now().Add(time.Hour).Unix()) // so that it does not come by itself
	for _, id := range q.redis.ZRange(t.Context(), retry, 0, -1).Val() {
		if err := q.redis.ZAddXX(t.Context(), retry, redis.Z{Score: hour, Member: id}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := q.Epoch(t.Context(), shard); err != nil { // which the reconciler asks for: Redis knows the queue again
		t.Fatal(err)
	}
	receive(t, "the rest is handled", b.began)
}

// What a process has set aside comes back soon when the process is killed.
func TestWhatAKilledProcessSetAsideGoesToOthers(t *testing.T) {
	t.Parallel()
	server := queuetest.Start(t)
	q, b := open(t, server.URL), newBlocked(t)
	const share = 4
	killed := serve(t, open(t, server.URL), 4*share*len(q.Shards()), b.handle)
	other, aside := of("other"), of("greedy")
	enqueue(t, q, other)
	receive(t, "another partner's ticket is handled", b.began)
	for range share {
		enqueue(t, q, of("greedy"))
		receive(t, "its share is handled", b.began)
	}
	enqueue(t, q, aside)
	retry := key(q.ShardOf(aside.EndpointID), "retry")
	eventually(t, "the rest is set aside", func() bool { return q.redis.ZCard(t.Context(), retry).Val() == 1 })
	killed.wake() // as kill -9 does: it neither fetches nor renews
	for _, server := range killed.servers {
		server.Stop()
	}
	killed.letGo()
	for _, z := range q.redis.ZRangeWithScores(t.Context(), retry, 0, -1).Val() {
		if latest := time.Now().Add(lostAfter + time.Second).Unix(); int64(z.Score) > latest {
			t.Errorf("it is fetched again at %.0f, want %d at the latest", z.Score, latest)
		}
	}
	f := newFetched()
	serve(t, q, 4*share*len(q.Shards()), f.handle)
	if got := f.wait(t, 1)[0]; got.DeliveryID != aside.DeliveryID {
		t.Errorf("another process was handed %v, want %v", got, aside)
	}
}

func TestWhoHasSetATicketAsidePutsItOff(t *testing.T) {
	each(t, func(t *testing.T, q *Queue) {
		now := time.Now()
		waits, gone := of("greedy"), of("greedy")
		shard := q.ShardOf(waits.EndpointID)
		share := newShares(4)
		for _, partner := range []string{"other", "greedy"} { // who get a quarter each
			if err := share.take(partner, "task", now); err != nil {
				t.Fatal(err)
			}
		}
		for _, ticket := range []delivery.Ticket{waits, gone} {
			if err := share.take("greedy", taskID(ticket), now); err != errAside {
				t.Fatalf("its second ticket is answered with %v", err)
			}
		}
		enqueue(t, q, waits)
		failWith(t, q, waits, errAside)
		at := func(ticket delivery.Ticket) float64 {
			return q.redis.ZScore(t.Context(), key(shard, "retry"), taskID(ticket)).Val()
		}
		put := func(score float64) {
			alter(t, q, func(ctx context.Context, shard, id string) redis.Cmder {
				return q.redis.ZAddXX(ctx, key(shard, "retry"), redis.Z{Score: score, Member: id})
			}, waits)
		}
		h := newHolder(q.redis, map[string]*shares{shard: share})
		put(1)
		h.renew()
		if at(waits) < float64(now.Add(lostAfter).Unix()) {
			t.Errorf("it is fetched again at %.0f, now it is %d", at(waits), now.Unix())
		}
		if at(gone) != 0 {
			t.Error("a task that is not set aside in the queue any more is put there again")
		}
		if len(share.kept(now.Add(keptFor))) > 0 {
			t.Error("it is kept though its partner gave up no slot for so long")
		}
		share.close()
		put(1)
		h.renew()
		if at(waits) != 1 {
			t.Error("a ticket that may come back is put off")
		}
	})
}

// A process that stops while the ledger is away gives its tickets to others.
func TestWhatAStoppingProcessMayNotBeginGoesToOthers(t *testing.T) {
	t.Parallel()
	server := queuetest.Start(t)
	q, cutOff := open(t, server.URL), &barred{t: t}
	ctx, cancel := context.WithCancel(context.Background())
	s, err := open(t, server.URL).Serve(ctx, 1, cutOff)
	if err != nil {
		t.Fatal(err)
	}
	ticket := of("acme")
	enqueue(t, q, ticket)
	eventually(t, "its slot is taken", func() bool { return cutOff.taken.Load() == 1 })
	s.Stop()
	cancel()
	s.Shutdown()
	if found := lost(t, q, ticket); len(found) > 0 {
		t.Error("the ticket is lost")
	}
	f := newFetched()
	serve(t, q, 8, f.handle)
	if got := f.wait(t, 1); !slices.ContainsFunc(got, func(g delivery.Ticket) bool { return g.DeliveryID == ticket.DeliveryID }) {
		t.Errorf("another process was handed %v", got)
	}
}

func TestATicketOfAClockThatWasAheadIsLost(t *testing.T) {
	t.Parallel()
	q := open(t, queuetest.Start(t).URL)
	ahead, soon := newTicket(), newTicket()
	ahead.DueAt, soon.DueAt = time.Now().Add(400*time.Second), time.Now().Add(2*time.Second)
	enqueue(t, q, ahead, soon)
	if found := lost(t, q, ahead, soon); len(found) != 1 || found[0].DeliveryID != ahead.DeliveryID {
		t.Errorf("%v are lost, want the one that no clock of now gave its time", found)
	}
}

func TestADirectDeliveryTakesAFreeSlotPastTheQueue(t *testing.T) {
	each(t, func(t *testing.T, q *Queue) {
		const perShard = 8
		b := newBlocked(t)
		s := serve(t, q, perShard*len(q.Shards()), b.handle)
		begun := 0
		for _, partner := range []string{"one", "two", "three", "four", "five"} {
			for range perShard {
				if begin(s, of(partner)) {
					begun++
				}
			}
		}
		if begun != perShard {
			t.Fatalf("%d tickets began in %d slots", begun, perShard)
		}
		for range begun {
			receive(t, "what began is handled", b.began)
		}
		if n := s.Busy(); n != perShard {
			t.Errorf("%d slots are in use, want %d", n, perShard)
		}
		waiting := of("six")
		enqueue(t, q, waiting)
		eventually(t, "the queue's ticket waits for a slot", func() bool { return s.Busy() == perShard+1 })
		b.release()
		if got := receive(t, "the queue's ticket is handled", b.began); got.DeliveryID != waiting.DeliveryID {
			t.Errorf("%s was handled, want %s", got.DeliveryID, waiting.DeliveryID)
		}
		eventually(t, "all slots are free", func() bool { return s.Busy() == 0 })
		if _, top := b.counts(); top > perShard {
			t.Errorf("%d were handled at once in %d slots", top, perShard)
		}
		if !begin(s, of("six")) {
			t.Error("a ticket did not begin in a free slot")
		}
	})
}

func TestADirectDeliveryTakesNoMoreThanItsPartnersShare(t *testing.T) {
	t.Parallel()
	s, now := newShares(16), time.Now()
	if !s.takeFree("other", now) {
		t.Fatal("the first ticket finds no slot")
	}
	n := 0
	for s.takeFree("greedy", now) {
		n++
	}
	if n != 4 {
		t.Errorf("a partner beside another one began %d of 16, want a quarter", n)
	}
	if again := s.leave("greedy", now); len(again) != 0 {
		t.Errorf("%d tickets come back that were never in the queue", len(again))
	}
}

func TestAWorkerThatStopsOrMayNotBeginTakesNoDirectDelivery(t *testing.T) {
	t.Parallel()
	server := queuetest.Start(t)
	cutOff := &barred{t: t}
	s, err := open(t, server.URL).Serve(t.Context(), 8, cutOff)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	if begin(s, of("one")) {
		t.Error("a worker that cannot reach the ledger began a delivery")
	}
	b := newBlocked(t)
	stopping := serve(t, open(t, server.URL), 8, b.handle)
	stopping.Stop()
	if begin(stopping, of("one")) {
		t.Error("a stopping worker began a delivery")
	}
}

func TestADirectDeliveryThatPanicsEndsAlone(t *testing.T) {
	t.Parallel()
	s := serve(t, open(t, queuetest.Start(t).URL), 4, func(context.Context, delivery.Ticket) { panic("a mistake of ours") })
	if !begin(s, of("one")) {
		t.Fatal("the ticket did not begin")
	}
	eventually(t, "its slot is free again", func() bool { return s.Busy() == 0 })
}
