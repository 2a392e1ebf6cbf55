package queue

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// newsChannel is where processes tell each other which shards have work. A
// message is the teller and the shards, separated by spaces.
const newsChannel = "ledgerhook:work"

// newsEvery is how often a process tells others at most.
const newsEvery = 10 * time.Millisecond

// news tells those who fetch from a shard that it has work, in this process
// and in others. It may get lost: it only spares them the asking.
type news struct {
	redis  redis.UniversalClient // nil: there are no others
	teller string

	mu        sync.Mutex
	listeners map[string][]chan struct{} // by shard
	untold    map[string]bool            // shards that others are still to hear of
	more      chan struct{}              // there are such shards
}

func newNews(others redis.UniversalClient) *news {
	return &news{redis: others, teller: rand.Text(), listeners: map[string][]chan struct{}{}, untold: map[string]bool{}, more: make(chan struct{}, 1)}
}

// listen has told receive a value when the shard has work. One that nobody has
// received yet stands for those that follow.
func (n *news) listen(shard string, told chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listeners[shard] = append(n.listeners[shard], told)
}

func (n *news) leave(shard string, told chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listeners[shard] = slices.DeleteFunc(n.listeners[shard], func(l chan struct{}) bool { return l == told })
}

// spread tells everybody that the shard has work.
func (n *news) spread(shard string) {
	n.tell(shard)
	if n.redis == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.untold[shard] = true
	signal(n.more)
}

// tell tells those in this process.
func (n *news) tell(shard string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, told := range n.listeners[shard] {
		signal(told)
	}
}

func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// publish tells other processes until ctx ends.
func (n *news) publish(ctx context.Context) {
	for {
		select {
		case <-n.more:
			_ = n.redis.Publish(ctx, newsChannel, n.teller+" "+strings.Join(n.takeUntold(), " ")).Err()
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(newsEvery):
		case <-ctx.Done():
			return
		}
	}
}

func (n *news) takeUntold() (shards []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for shard := range n.untold {
		shards = append(shards, shard)
	}
	clear(n.untold)
	return shards
}

// subscribe passes on what other processes tell, until ctx ends.
func (n *news) subscribe(ctx context.Context) {
	others := n.redis.Subscribe(ctx, newsChannel)
	defer others.Close()
	messages := others.Channel()
	for {
		select {
		case m := <-messages:
			teller, shards, _ := strings.Cut(m.Payload, " ")
			for shard := range strings.SplitSeq(shards, " ") {
				if teller != n.teller {
					n.tell(shard)
				}
			}
		case <-ctx.Done():
			return
		}
	}
}
