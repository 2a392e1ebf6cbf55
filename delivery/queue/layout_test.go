package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"ledgerhook/delivery"
	"ledgerhook/delivery/queue/queuetest"
)

// where lists the places in which Redis holds the id of a task.
func where(t *testing.T, q *Queue, ticket delivery.Ticket) (places []string) {
	t.Helper()
	shard, id := q.ShardOf(ticket.EndpointID), taskID(ticket)
	keys, err := q.redis.Keys(t.Context(), "*{"+shard+"}*").Result()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(keys)
	for _, k := range keys {
		held := strings.HasSuffix(k, ":t:"+id)
		switch kind := q.redis.Type(t.Context(), k).Val(); kind {
		case "list":
			held = slices.Contains(q.redis.LRange(t.Context(), k, 0, -1).Val(), id)
		case "zset":
			held = slices.Contains(q.redis.ZRange(t.Context(), k, 0, -1).Val(), id)
		}
		if held {
			places = append(places, strings.ReplaceAll(k, id, "ID"))
		}
	}
	return places
}

// TestAsynqKeepsItsTasksWhereWeLook holds our knowledge of asynq's keys
// against the real library: where a task stands in each of its states.
func TestAsynqKeepsItsTasksWhereWeLook(t *testing.T) {
	tests := []struct {
		state string
		bring func(t *testing.T, q *Queue, ticket delivery.Ticket) // by the library alone
		want  []string                                             // beside the task's own key
	}{
		{"pending", func(t *testing.T, q *Queue, ticket delivery.Ticket) {
			enqueue(t, q, ticket)
		}, []string{"pending"}},
		{"scheduled", func(t *testing.T, q *Queue, ticket delivery.Ticket) {
			ticket.DueAt = time.Now().Add(time.Hour)
			enqueue(t, q, ticket)
		}, []string{"scheduled"}},
		{"active", func(t *testing.T, q *Queue, ticket delivery.Ticket) {
			b := newBlocked(t)
			serve(t, q, 4, b.handle)
			enqueue(t, q, ticket)
			receive(t, "the ticket is fetched", b.began)
		}, []string{"active", "lease"}},
		{"retry", func(t *testing.T, q *Queue, ticket delivery.Ticket) {
			enqueue(t, q, ticket)
			failWith(t, q, ticket, errors.New("no"))
		}, []string{"retry"}},
		{"archived", func(t *testing.T, q *Queue, ticket delivery.Ticket) {
			enqueue(t, q, ticket)
			failWith(t, q, ticket, asynq.SkipRetry)
		}, []string{"archived"}},
	}
	each(t, func(t *testing.T, q *Queue) {
		for _, test := range tests {
			t.Run(test.state, func(t *testing.T) {
				if err := q.redis.FlushAll(t.Context()).Err(); err != nil { // nothing else to fetch
					t.Fatal(err)
				}
				ticket := newTicket()
				test.bring(t, q, ticket)
				shard := q.ShardOf(ticket.EndpointID)
				var want []string
				for _, part := range append(test.want, "t:ID") {
					want = append(want, key(shard, part))
				}
				eventually(t, "the task is in the state", func() bool { return slices.Equal(where(t, q, ticket), want) })
				if state := q.redis.HGet(t.Context(), key(shard, "t:"+taskID(ticket)), "state").Val(); state != test.state {
					t.Errorf("asynq calls the state %q", state)
				}
				if held := q.redis.HExists(t.Context(), key(shard, "t:"+taskID(ticket)), "msg").Val(); !held {
					t.Error("asynq keeps the message elsewhere")
				}
			})
		}
	})
}

// failWith lets the library handle the ticket's task once, with an error.
func failWith(t *testing.T, q *Queue, ticket delivery.Ticket, err error) {
	t.Helper()
	done := make(chan struct{}, 1)
	server := asynq.NewServerFromRedisClient(q.redis, asynq.Config{
		Queues: map[string]int{q.ShardOf(ticket.EndpointID): 1}, Concurrency: 1,
		TaskCheckInterval: askAgain, RetryDelayFunc: backAfter, Logger: asynqLog{q.log}, LogLevel: asynq.DebugLevel,
	})
	if err := server.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
		done <- struct{}{}
		return err
	})); err != nil {
		t.Fatal(err)
	}
	receive(t, "the task is handled", done)
	server.Shutdown()
}

// damage is a way in which a ticket gets lost, or seems to.
type damage struct {
	name string
	do   func(t *testing.T, q *Queue, ticket delivery.Ticket)
}

// alter changes one of a shard's keys.
func alter(t *testing.T, q *Queue, do func(ctx context.Context, shard, id string) redis.Cmder, ticket delivery.Ticket) {
	t.Helper()
	if err := do(t.Context(), q.ShardOf(ticket.EndpointID), taskID(ticket)).Err(); err != nil {
		t.Fatal(err)
	}
}

// fetchOnly moves the ticket's task to active as asynq's server does, and dies.
func fetchOnly(t *testing.T, q *Queue, ticket delivery.Ticket, leaseEnds time.Time) {
	t.Helper()
	alter(t, q, func(ctx context.Context, shard, id string) redis.Cmder {
		return q.redis.RPopLPush(ctx, key(shard, "pending"), key(shard, "active"))
	}, ticket)
	alter(t, q, func(ctx context.Context, shard, id string) redis.Cmder {
		return q.redis.HSet(ctx, key(shard, "t:"+id), "state", "active")
	}, ticket)
	alter(t, q, func(ctx context.Context, shard, id string) redis.Cmder {
		return q.redis.ZAdd(ctx, key(shard, "lease"), redis.Z{Score: float64(leaseEnds.Unix()), Member: id})
	}, ticket)
}

var damages = []damage{
	{"never enqueued", func(*testing.T, *Queue, delivery.Ticket) {}},
	{"FLUSHALL", func(t *testing.T, q *Queue, ticket delivery.Ticket) {
		enqueue(t, q, ticket)
		if err := q.redis.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		epochs(t, q) // tells the inspector of the queues again
	}},
	{"pending without its place in the list", func(t *testing.T, q *Queue, ticket delivery.Ticket) {
		enqueue(t, q, ticket)
		alter(t, q, func(ctx context.Context, shard, id string) redis.Cmder {
			return q.redis.LRem(ctx, key(shard, "pending"), 0, id)
		}, ticket)
	}},
	{"in the list without its task", func(t *testing.T, q *Queue, ticket delivery.Ticket) {
		enqueue(t, q, ticket)
		alter(t, q, func(ctx context.Context, shard, id string) redis.Cmder {
			return q.redis.Del(ctx, key(shard, "t:"+id))
		}, ticket)
	}},
	{"fetched without its task", func(t *testing.T, q *Queue, ticket delivery.Ticket) {
		enqueue(t, q, ticket)
		alter(t, q, func(ctx context.Context, shard, id string) redis.Cmder {
			return q.redis.Del(ctx, key(shard, "t:"+id))
		}, ticket)
		fetchOnly(t, q, ticket, time.Now().Add(30*time.Second))
	}},
	{"scheduled without its place in the set", func(t *testing.T, q *Queue, ticket delivery.Ticket) {
		ticket.DueAt = time.Now().Add(time.Hour)
		enqueue(t, q, ticket)
		alter(t, q, func(ctx context.Context, shard, id string) redis.Cmder {
			return q.redis.ZRem(ctx, key(shard, "scheduled"), id)
		}, ticket)
	}},
	{"active without a lease", func(t *testing.T, q *Queue, ticket delivery.Ticket) {
		enqueue(t, q, ticket)
		fetchOnly(t, q, ticket, time.Now().Add(30*time.Second))
		alter(t, q, func(ctx context.Context, shard, id string) redis.Cmder {
			return q.redis.Del(ctx, key(shard, "lease"))
		}, ticket)
	}},
	{"active with a lease that nobody renewed", func(t *testing.T, q *Queue, ticket delivery.Ticket) {
		enqueue(t, q, ticket)
		fetchOnly(t, q, ticket, time.Now().Add(25*time.Second)) // of 30 s
	}},
	{"archived", func(t *testing.T, q *Queue, ticket delivery.Ticket) {
		enqueue(t, q, ticket)
		if err := inspect(q).ArchiveTask(q.ShardOf(ticket.EndpointID), taskID(ticket)); err != nil {
			t.Fatal(err)
		}
	}},
	{"set aside for asynq's own retry", func(t *testing.T, q *Queue, ticket delivery.Ticket) {
		enqueue(t, q, ticket)
		failWith(t, q, ticket, errors.New("no"))
	}},
}

func TestWhatNoWorkerWillFetchIsFoundAndCleared(t *testing.T) {
	each(t, func(t *testing.T, q *Queue) {
		for _, damage := range damages {
			t.Run(damage.name, func(t *testing.T) {
				ticket, neighbour := newTicket(), newTicket()
				neighbour.EndpointID = ticket.EndpointID
				damage.do(t, q, ticket)
				enqueue(t, q, neighbour)
				if found := lost(t, q, neighbour, ticket); len(found) != 1 || found[0] != ticket {
					t.Fatalf("lost are %v, want %v", found, ticket)
				}
				if left := where(t, q, ticket); len(left) > 0 {
					t.Errorf("%q is left of it", left)
				}
				if _, err := inspect(q).GetQueueInfo(q.ShardOf(ticket.EndpointID)); err != nil {
					t.Errorf("asynq cannot read its own queue: %v", err)
				}
				enqueue(t, q, ticket) // the id is free again
				f := newFetched()
				s := serve(t, q, 4, f.handle)
				f.wait(t, 2)
				s.Shutdown()
			})
		}
	})
}

func TestWhatTheQueueHoldsIsNotFoundLost(t *testing.T) {
	each(t, func(t *testing.T, q *Queue) {
		pending, scheduled, active, justFetched := newTicket(), newTicket(), newTicket(), newTicket()
		b := newBlocked(t)
		s := serve(t, q, 4, b.handle)
		enqueue(t, q, active)
		receive(t, "a ticket is fetched", b.began)
		s.Stop()
		enqueue(t, q, justFetched)
		fetchOnly(t, q, justFetched, time.Now().Add(30*time.Second))
		scheduled.DueAt = time.Now().Add(20 * time.Second)
		enqueue(t, q, pending, scheduled)
		all := []delivery.Ticket{pending, scheduled, active, justFetched}
		before := fmt.Sprint(where(t, q, pending), where(t, q, scheduled), where(t, q, active), where(t, q, justFetched))
		if found := lost(t, q, all...); len(found) > 0 {
			t.Errorf("lost are %v of %v", found, all)
		}
		after := fmt.Sprint(where(t, q, pending), where(t, q, scheduled), where(t, q, active), where(t, q, justFetched))
		if before != after {
			t.Errorf("looking moved what was healthy from %s to %s", before, after)
		}
	})
}

// TestOfWhatWaitsNothingIsLookedForInTheList: it is as long as the backlog.
func TestOfWhatWaitsNothingIsLookedForInTheList(t *testing.T) {
	t.Parallel()
	q := open(t, queuetest.Start(t).URL)
	var tickets []delivery.Ticket
	for range 2000 {
		tickets = append(tickets, newTicket())
	}
	enqueue(t, q, tickets...)
	if err := q.redis.ConfigResetStat(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if found := lost(t, q, tickets...); len(found) > 0 {
		t.Errorf("%d of them are lost", len(found))
	}
	took := time.Since(began)
	calls := func(command string) int {
		info := q.redis.Info(t.Context(), "commandstats").Val()
		_, stats, _ := strings.Cut(info, "cmdstat_"+command+":calls=")
		n, _ := strconv.Atoi(stats[:max(0, strings.IndexByte(stats, ','))])
		return n
	}
	// A script that Redis does not know yet is asked for once in vain.
	if lookups, asked := calls("lpos"), calls("evalsha")+calls("eval"); lookups > 0 || asked > len(q.Shards())+2 {
		t.Errorf("%d look-ups in the list and %d round trips for %d shards", lookups, asked, len(q.Shards()))
	}
	t.Logf("looked at %d in %s", len(tickets), took)
}

// TestALostTicketIsFoundWhenItWouldHaveBeenFetched: not while what has waited
// longer still waits.
func TestALostTicketIsFoundWhenItWouldHaveBeenFetched(t *testing.T) {
	each(t, func(t *testing.T, q *Queue) {
		before, ticket, behind := newTicket(), newTicket(), newTicket()
		ticket.EndpointID, behind.EndpointID = before.EndpointID, before.EndpointID
		enqueue(t, q, before, ticket, behind)
		damages[2].do(t, q, ticket) // enqueued already; its place is gone
		if found := lost(t, q, before, ticket, behind); len(found) > 0 {
			t.Errorf("behind one that waits, lost are %v", found)
		}
		fetchOnly(t, q, before, time.Now().Add(30*time.Second))
		if found := lost(t, q, before, ticket, behind); len(found) != 1 || found[0] != ticket {
			t.Errorf("when those before it are fetched, lost are %v, want %v", found, ticket)
		}
	})
}

func TestALostTicketOfAClockThatWasAheadIsFound(t *testing.T) {
	each(t, func(t *testing.T, q *Queue) {
		ticket, behind := newTicket(), newTicket()
		behind.EndpointID = ticket.EndpointID
		enqueue(t, q, ticket)
		alter(t, q, func(ctx context.Context, shard, id string) redis.Cmder {
			return q.redis.HSet(ctx, key(shard, "t:"+id), "pending_since", time.Now().Add(400*time.Second).UnixNano())
		}, ticket)
		damages[2].do(t, q, ticket)
		enqueue(t, q, behind)
		if found := lost(t, q, ticket, behind); len(found) != 1 || found[0] != ticket {
			t.Errorf("lost are %v, want %v", found, ticket)
		}
	})
}

// TestATicketOnTheMoveIsNeverFoundLost looks for lost tickets while servers
// fetch them: every one is either waiting or held by whoever fetched it.
func TestATicketOnTheMoveIsNeverFoundLost(t *testing.T) {
	t.Parallel()
	q := open(t, queuetest.Start(t).URL)
	var tickets []delivery.Ticket
	for range 2000 {
		tickets = append(tickets, newTicket())
	}
	enqueue(t, q, tickets...)
	var handed = newFetched()
	goOn := make(chan struct{})
	serve(t, q, len(tickets)*len(q.Shards()), func(ctx context.Context, ticket delivery.Ticket) {
		handed.handle(ctx, ticket)
		<-goOn
	})
	defer close(goOn)
	for len(handed.all()) < len(tickets) {
		if found := lost(t, q, tickets...); len(found) > 0 {
			t.Fatalf("%d tickets seemed lost while they were fetched", len(found))
		}
	}
}

func TestNothingIsLostForWantOfAnAnswer(t *testing.T) {
	t.Parallel()
	server := queuetest.Start(t)
	q := open(t, server.URL)
	ticket := newTicket()
	enqueue(t, q, ticket)
	server.Kill()
	if found, err := q.Lost(t.Context(), queuedAt(time.Time{}, ticket)); err == nil || len(found) > 0 {
		t.Errorf("a Redis that is away lost %v (%v)", found, err)
	}
}

func TestAShardThatCannotBeReadHidesNoLossInOthers(t *testing.T) {
	t.Parallel()
	q := open(t, queuetest.Start(t).URL)
	broken := q.Shards()[1]
	if err := q.redis.Set(t.Context(), key(broken, "pending"), "no list", 0).Err(); err != nil {
		t.Fatal(err)
	}
	var elsewhere, all []delivery.Ticket // none was ever enqueued
	for seen := map[string]bool{}; len(seen) < len(q.Shards()); {
		ticket := newTicket()
		shard := q.ShardOf(ticket.EndpointID)
		seen[shard] = true
		all = append(all, ticket)
		if shard != broken {
			elsewhere = append(elsewhere, ticket)
		}
	}
	found, err := q.Lost(t.Context(), queuedAt(time.Time{}, all...))
	byID := func(a, b delivery.Ticket) int { return strings.Compare(a.DeliveryID, b.DeliveryID) }
	slices.SortFunc(found, byID)
	slices.SortFunc(elsewhere, byID)
	if !slices.Equal(found, elsewhere) {
		t.Errorf("lost are %v, want %v", found, elsewhere)
	}
	if err == nil || !strings.Contains(err.Error(), broken) {
		t.Errorf("of the shard that cannot be read is said: %v", err)
	}
}
