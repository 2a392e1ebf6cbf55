package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"ledgerhook/delivery"
	"ledgerhook/delivery/queue/queuetest"
)

func TestEveryTicketIsFetchedOnce(t *testing.T) {
	each(t, func(t *testing.T, q *Queue) {
		want := map[string]int64{}
		for i := range 100 {
			ticket := newTicket()
			ticket.Generation = int64(i + 1)
			want[ticket.DeliveryID] = ticket.Generation
			enqueue(t, q, ticket)
		}
		f := newFetched()
		s := serve(t, q, 16, f.handle)
		f.wait(t, len(want))
		s.Shutdown()
		got := f.all()
		for _, ticket := range got {
			if want[ticket.DeliveryID] != ticket.Generation {
				t.Errorf("fetched %v, which was not enqueued or was fetched before", ticket)
			}
			delete(want, ticket.DeliveryID)
		}
		if keys := taskKeys(t, q); len(keys) > 0 {
			t.Errorf("the queue keeps %q of tickets that were handled", keys)
		}
	})
}

// taskKeys lists what Redis holds of single tasks.
func taskKeys(t *testing.T, q *Queue) (keys []string) {
	t.Helper()
	for _, shard := range q.Shards() {
		found, err := q.redis.Keys(t.Context(), key(shard, "t:*")).Result()
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, found...)
	}
	return keys
}

func TestATicketEnqueuedTwiceIsNoErrorAndFetchedOnce(t *testing.T) {
	each(t, func(t *testing.T, q *Queue) {
		twice, last := newTicket(), newTicket()
		last.EndpointID = twice.EndpointID // behind it in the same shard
		enqueue(t, q, twice, twice, last)
		f := newFetched()
		s := serve(t, q, 1, f.handle)
		f.wait(t, 2)
		s.Shutdown()
		if got := f.all(); len(got) != 2 || got[0].DeliveryID != twice.DeliveryID || got[1].DeliveryID != last.DeliveryID {
			t.Errorf("fetched %v", got)
		}
	})
}

func TestTheNextGenerationOfADeliveryIsATicketOfItsOwn(t *testing.T) {
	each(t, func(t *testing.T, q *Queue) {
		first := newTicket()
		next := first
		next.Generation++
		enqueue(t, q, first, next)
		f := newFetched()
		serve(t, q, 1, f.handle)
		got := f.wait(t, 2)
		if got[0].Generation != 1 || got[1].Generation != 2 {
			t.Errorf("fetched %v", got)
		}
	})
}

func TestATicketIsNeverFetchedBeforeItsDueTime(t *testing.T) {
	each(t, func(t *testing.T, q *Queue) {
		f := newFetched()
		serve(t, q, 16, f.handle)
		due := map[string]time.Time{}
		second := time.Now().Truncate(time.Second)
		for _, after := range []time.Duration{-time.Hour, 0, time.Second, time.Second + 1, 1500 * time.Millisecond, 2*time.Second - 1, 2 * time.Second} {
			ticket := newTicket()
			ticket.DueAt = second.Add(after)
			due[ticket.DeliveryID] = ticket.DueAt
			enqueue(t, q, ticket)
		}
		for i, ticket := range f.wait(t, len(due)) {
			if late := f.times[i].Sub(due[ticket.DeliveryID]); late < 0 {
				t.Errorf("a ticket was fetched %s before its due time %s", -late, due[ticket.DeliveryID])
			}
		}
	})
}

func TestDepthsCountWhatWaitsAndWhatRuns(t *testing.T) {
	each(t, func(t *testing.T, q *Queue) {
		running, waiting, later := newTicket(), newTicket(), newTicket()
		waiting.EndpointID, later.EndpointID = running.EndpointID, running.EndpointID
		later.DueAt = time.Now().Add(time.Hour)
		blocked := newBlocked(t)
		serve(t, q, 1, blocked.handle)
		enqueue(t, q, running)
		receive(t, "a ticket is handled", blocked.began)
		enqueue(t, q, waiting, later)
		depths, err := q.Depths(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		shard := q.ShardOf(running.EndpointID)
		for _, d := range depths {
			want := Depth{Shard: d.Shard}
			if d.Shard == shard {
				want.Pending, want.Active, want.Scheduled = 1, 1, 1
			}
			if d != want {
				t.Errorf("depth is %+v, want %+v", d, want)
			}
		}
	})
}

func TestAnEndpointAlwaysHasTheSameShardAndEveryShardHasEndpoints(t *testing.T) {
	t.Parallel()
	server := queuetest.Start(t)
	one, other := open(t, server.URL), open(t, server.URL)
	if want := []string{"deliver-0", "deliver-1", "deliver-2", "deliver-3"}; !slices.Equal(one.Shards(), want) {
		t.Fatalf("shards are %q, want %q", one.Shards(), want)
	}
	count := map[string]int{}
	for range 400 {
		endpoint := newTicket().EndpointID
		shard := one.ShardOf(endpoint)
		if again := other.ShardOf(endpoint); again != shard {
			t.Fatalf("%s is in %s for one process and in %s for another", endpoint, shard, again)
		}
		count[shard]++
	}
	for _, shard := range one.Shards() {
		if count[shard] < 50 {
			t.Errorf("%s has %d of 400 endpoints", shard, count[shard])
		}
	}
}

func TestATaskCarriesNothingButDeliveryAndGeneration(t *testing.T) {
	each(t, func(t *testing.T, q *Queue) {
		ticket := newTicket()
		enqueue(t, q, ticket)
		info, err := inspect(q).GetTaskInfo(q.ShardOf(ticket.EndpointID), taskID(ticket))
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("%s:%d", ticket.DeliveryID, ticket.Generation); string(info.Payload) != want || info.ID != want {
			t.Errorf("the task %s carries %q, want %s", info.ID, info.Payload, want)
		}
		if info.Timeout < 30*time.Second || info.Retention != 0 {
			t.Errorf("the task has a timeout of %s and is kept for %s", info.Timeout, info.Retention)
		}
	})
}

func TestATaskOfSomebodyElseIsPutAway(t *testing.T) {
	each(t, func(t *testing.T, q *Queue) {
		for _, payload := range []string{"", "dlv_1", "dlv_1:x", "dlv_1:1:1"} {
			task := asynq.NewTask(taskType, []byte(payload))
			if _, err := q.client.EnqueueContext(t.Context(), task, asynq.Queue(q.Shards()[0])); err != nil {
				t.Fatal(err)
			}
		}
		f := newFetched()
		serve(t, q, 1, f.handle)
		ours := newTicket()
		for q.ShardOf(ours.EndpointID) != q.Shards()[0] {
			ours = newTicket()
		}
		enqueue(t, q, ours)
		if got := f.wait(t, 1); got[0] != (delivery.Ticket{DeliveryID: ours.DeliveryID, Generation: 1}) {
			t.Errorf("fetched %v", got)
		}
		eventually(t, "nothing of the other tasks is left", func() bool { return len(taskKeys(t, q)) == 0 })
	})
}

func TestARedisThatMayEvictIsReported(t *testing.T) {
	t.Parallel()
	server := queuetest.Start(t)
	q := open(t, server.URL)
	if got := q.EvictionPolicy(t.Context()); got != "noeviction" {
		t.Errorf("policy is %q", got)
	}
	if err := q.redis.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err(); err != nil {
		t.Fatal(err)
	}
	log := &strings.Builder{}
	again, err := Open(t.Context(), Options{URL: server.URL, Timeout: time.Second, Log: textLog(log)})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if !strings.Contains(log.String(), "allkeys-lru") || !strings.Contains(log.String(), "noeviction") {
		t.Errorf("the log says %q", log)
	}
	if got := open(t, "").EvictionPolicy(t.Context()); got != "" {
		t.Errorf("the embedded queue has the policy %q", got)
	}
}

func TestARedisThatTakesNothingIsNotReady(t *testing.T) {
	t.Parallel()
	if err := open(t, "").Ready(t.Context()); err != nil {
		t.Errorf("the embedded queue: %v", err)
	}
	for says, change := range map[string][]any{
		"OOM":        {"CONFIG", "SET", "maxmemory", "1"},
		"NOREPLICAS": {"CONFIG", "SET", "min-replicas-to-write", "1"},
		"READONLY":   {"REPLICAOF", "127.0.0.1", "1"},
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			q := open(t, queuetest.Start(t).URL)
			if err := q.Ready(t.Context()); err != nil {
				t.Errorf("a Redis that is well: %v", err)
			}
			if err := q.redis.Do(t.Context(), change...).Err(); err != nil {
				t.Fatal(err)
			}
			if err := q.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("not ready: %v, want %s", err, says)
			}
		})
	}
}
