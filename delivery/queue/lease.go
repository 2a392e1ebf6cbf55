package queue

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// asynq gives a task that was fetched a lease of leaseTime and renews it every
// 5 s. That is too seldom to tell soon that a process has died, so that ours
// renew them every leaseRenewal, and one that was not renewed for lostAfter is
// nobody's.
const (
	leaseTime    = 30 * time.Second
	leaseRenewal = time.Second
	lostAfter    = 4 * time.Second
)

// holder renews the leases of the tasks that a process has fetched, and puts off
// those that it has set aside: after lostAfter they are fetched again by
// themselves, by whichever process there is.
type holder struct {
	redis  redis.UniversalClient
	shares map[string]*shares // by shard

	mu  sync.Mutex
	ids map[string]map[string]bool // of tasks, by shard
}

func newHolder(client redis.UniversalClient, s map[string]*shares) *holder {
	return &holder{redis: client, shares: s, ids: map[string]map[string]bool{}}
}

// run renews until ctx ends.
func (h *holder) run(ctx context.Context) {
	tick := time.NewTicker(leaseRenewal)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			h.renew()
		}
	}
}

// hold has a task's lease renewed until let go.
func (h *holder) hold(shard, id string) (letGo func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ids[shard] == nil {
		h.ids[shard] = map[string]bool{}
	}
	h.ids[shard][id] = true
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.ids[shard], id)
	}
}

// renew makes no lease where there is none, and puts off nothing that was
// brought back: the task may be done by then. What cannot be renewed is found
// lost and handed out again, which harms nothing.
func (h *holder) renew() {
	ctx, cancel := context.WithTimeout(context.Background(), leaseRenewal)
	defer cancel()
	now := time.Now()
	for shard, ids := range h.fetched() {
		h.renewUntil(ctx, key(shard, "lease"), ids, now.Add(leaseTime))
	}
	for shard, share := range h.shares {
		h.renewUntil(ctx, key(shard, "retry"), share.kept(now), now.Add(lostAfter))
	}
}

func (h *holder) renewUntil(ctx context.Context, set string, ids []string, ends time.Time) {
	var members []redis.Z
	for _, id := range ids {
		members = append(members, redis.Z{Score: float64(ends.Unix()), Member: id})
	}
	if len(members) > 0 {
		_ = h.redis.ZAddXX(ctx, set, members...).Err()
	}
}

// fetched lists the tasks by shard.
func (h *holder) fetched() map[string][]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	fetched := map[string][]string{}
	for shard, ids := range h.ids {
		fetched[shard] = slices.Collect(maps.Keys(ids))
	}
	return fetched
}
