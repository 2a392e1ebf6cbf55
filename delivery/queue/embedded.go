package queue

import (
	"crypto/rand"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// embedded is a Redis inside this process, on a loopback port and behind a
// password that nobody else knows. What it holds ends with the process.
type embedded struct {
	server   *miniredis.Miniredis
	password string
	stopping chan struct{}
	stopped  chan struct{}
}

func startEmbedded() (*embedded, error) {
	e := &embedded{server: miniredis.NewMiniRedis(), password: rand.Text(), stopping: make(chan struct{}), stopped: make(chan struct{})}
	e.server.RequireAuth(e.password)
	if err := e.server.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("start the embedded queue: %w", err)
	}
	go e.tick()
	return e, nil
}

// client is one with a pool of its own; see connect.
func (e *embedded) client(pool int) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: e.server.Addr(), Password: e.password, ContextTimeoutEnabled: true, PoolSize: pool})
}

// tick lets time pass for the server's expiries, which it leaves to its owner.
func (e *embedded) tick() {
	defer close(e.stopped)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			e.server.FastForward(time.Second)
		case <-e.stopping:
			return
		}
	}
}

func (e *embedded) stop() {
	close(e.stopping)
	<-e.stopped
	e.server.Close()
}
