package main

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"ledgerhook/app/receiver"
	"ledgerhook/bench/stage"
)

func unheard(s *scene, _ fault) {
	for range loaded {
		s.partner(250, stage.TakeAll)
	}
	s.cache.Stop()
	for _, p := range s.partners {
		s.post(p, 25)
	}
	for _, g := range s.gateways {
		g.Kill()
	}
	for _, p := range s.partners {
		if p.Asked() > 0 {
			s.Error("something was sent although no queue had heard of it")
		}
	}
	s.back()
	s.cache.Start()
	for _, g := range s.gateways {
		g.Start()
	}
	s.settle(limit)
}

// gate holds requests while it is shut.
type gate struct {
	mu      sync.Mutex
	open    chan struct{} // closed while it is open
	arrived int           // requests that it holds or has held
}

// newGate is a gate that is open.
func newGate() *gate {
	g := &gate{open: make(chan struct{})}
	close(g.open)
	return g
}

// newShutGate is one that is shut.
func newShutGate() *gate { return &gate{open: make(chan struct{})} }

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = make(chan struct{})
}

func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
	default:
		close(g.open)
	}
}

// pass holds its caller while the gate is shut and reports whether it did.
func (g *gate) pass() (held bool) {
	g.mu.Lock()
	open := g.open
	select {
	case <-open:
	default:
		held = true
		g.arrived++
	}
	g.mu.Unlock()
	<-open
	return held
}

func (g *gate) holds() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.arrived
}

func (g *gate) hold(receiver.Received) receiver.Answer {
	g.pass()
	return receiver.OK
}

func killWorker(s *scene, _ fault) {
	worker, g := s.gateways[1], newGate()
	s.load(s.events, g.hold)
	s.Cleanup(g.release) // before the servers close, which wait for their requests
	for _, p := range s.partners {
		s.patch(p, map[string]any{"timeoutSeconds": 30}) // a slow machine holds them longer than the usual 10
	}
	s.reach(s.events / 2)
	g.shut()
	burst, many := pick(s.size, 25, 250), pick(s.size, 16, 1000)
	for _, p := range s.partners {
		s.postFrom(p, s.events, burst)
	}
	stage.Eventually(s, limit, fmt.Sprint(many, " requests are on their way"), func() bool { return g.holds() >= many })
	s.strike()
	worker.Kill()
	g.release()
	worker.Start()
	s.settle(limit)
	if n := s.putBack(); n < many/2 {
		s.Errorf("%d deliveries of the killed worker were put back", n)
	}
}

func rollingRestarts(s *scene, _ fault) {
	rounds, every := pick(s.size, 2, 4), pick(s.size, time.Second, 20*time.Second)
	s.load(s.rate*rounds*int(every/time.Second), receiver.Always(receiver.Answer{Status: http.StatusOK, Delay: 20 * time.Millisecond}))
	s.reach(s.rate)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := range rounds {
		s.strike()
		g := s.gateways[i%len(s.gateways)]
		if i%2 == 1 {
			if code := g.Terminate(40 * time.Second); code != 0 {
				s.Errorf("a gateway that was asked to stop ended with %d", code)
			}
		} else {
			g.Kill()
		}
		g.Start()
		select {
		case <-tick.C:
		case <-s.Context().Done():
			s.Fatal("interrupted between two restarts")
		}
	}
	s.settle(limit)
}

// stoppedInTurn asks one gateway after the other to stop: nothing waits for the
// reconciler to find it.
func stoppedInTurn(s *scene, _ fault) {
	const rounds = 4
	s.load(s.rate*rounds*5, receiver.Always(receiver.Answer{Status: http.StatusOK, Delay: 20 * time.Millisecond}))
	s.reach(s.rate)
	for i := range rounds {
		s.strike()
		g := s.gateways[i%len(s.gateways)]
		if code := g.Terminate(40 * time.Second); code != 0 {
			s.Errorf("a gateway that was asked to stop ended with %d", code)
		}
		g.Start()
		s.reach(s.rate * 5 * (i + 1))
	}
	s.settle(limit)
	for _, g := range s.gateways {
		if lost := g.Lines("\"ticket_lost\""); len(lost) > 0 {
			s.Errorf("a stop left deliveries to the reconciler: %q", lost)
		}
	}
}

func killedAfterPost(s *scene, _ fault) {
	g := newShutGate()
	p := s.partner(1, g.hold)
	s.Cleanup(g.release) // before its server closes, which waits for its requests
	s.post(p, 1)
	stage.Eventually(s, limit, "the request has come", func() bool { return g.holds() == 1 })
	s.strike()
	s.api().Kill()
	g.release()
	s.api().Start()
	s.settle(limit)
	requests := p.All()
	if len(requests) != 2 || requests[0].ID != requests[1].ID {
		s.Fatalf("%d requests, want one and one more with the same id", len(requests))
	}
	s.again = requests[1].At
}

func killedBeforeAck(s *scene, f fault) {
	worker, g := s.gateways[1], newShutGate() // what it delivers comes through the queue
	p := s.partner(1, g.hold)
	s.Cleanup(g.release) // before its server closes, which waits for its requests
	s.post(p, 1)
	stage.Eventually(s, limit, "the request has come", func() bool { return g.holds() == 1 })
	f.cut.cut(true)
	g.release()
	s.api().Await(p.Code, limit) // recorded, and the queue was not told
	worker.Kill()
	f.cut.cut(false)
	s.back()
	client := s.cache.Redis()
	if n := s.onRedis(client, "active"); n != 1 {
		s.Errorf("the queue holds %d tasks that run, want the one it was not told of", n)
	}
	worker.Start()
	if !s.full {
		s.handOutAgain() // as asynq does after a minute or two
	}
	stage.Asking(s, 3*time.Minute, "the queue has handed its task out again", func() bool {
		return s.onRedis(client, "active")+s.onRedis(client, "pending") == 0
	})
	if n := p.Asked(); n != 1 {
		s.Errorf("%d requests although the first was recorded", n)
	}
	s.settle(limit)
}

// handOutAgain makes tasks whose worker has died wait for another.
func (s *scene) handOutAgain() {
	client := s.cache.Redis()
	for shard := range shards {
		queue := fmt.Sprintf("asynq:{deliver-%d}:", shard)
		ids, err := client.LRange(s.Context(), queue+"active", 0, -1).Result()
		if err != nil {
			s.Fatal(err)
		}
		for _, id := range ids {
			pipe := client.TxPipeline()
			pipe.LRem(s.Context(), queue+"active", 0, id)
			pipe.ZRem(s.Context(), queue+"lease", id)
			pipe.HSet(s.Context(), queue+"t:"+id, "state", "pending")
			pipe.LPush(s.Context(), queue+"pending", id)
			if _, err := pipe.Exec(s.Context()); err != nil {
				s.Fatal(err)
			}
		}
	}
}
