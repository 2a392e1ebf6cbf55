package queue

import (
	"context"
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

// holder renews the leases of the tasks that a process has fetched.
type holder struct {
	redis redis.UniversalClient

	mu  sync.Mutex
	ids map[string]map[string]bool // of tasks, by shard
}

func newHolder(client redis.UniversalClient) *holder {
	return &holder{redis: client, ids: map[string]map[string]bool{}}
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

// renew makes no lease where there is none: the task may be done by then. What
// cannot be renewed is found lost and handed out again, which harms nothing.
func (h *holder) renew() {
	ctx, cancel := context.WithTimeout(context.Background(), leaseRenewal)
	defer cancel()
	ends := float64(time.Now().Add(leaseTime).Unix())
	for shard, members := range h.leases(ends) {
		_ = h.redis.ZAddXX(ctx, key(shard, "lease"), members...).Err()
	}
}

func (h *holder) leases(ends float64) map[string][]redis.Z {
	h.mu.Lock()
	defer h.mu.Unlock()
	leases := map[string][]redis.Z{}
	for shard, ids := range h.ids {
		for id := range ids {
			leases[shard] = append(leases[shard], redis.Z{Score: ends, Member: id})
		}
	}
	return leases
}
