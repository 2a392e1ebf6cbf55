package main

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"ledgerhook/app/receiver"
	"ledgerhook/bench/stage"
)

// fault is one known way to lose or to double events.
type fault struct {
	name        string
	covered     bool // by the acceptance tests
	alone       bool // one gateway is enough
	ownDatabase bool // that it may take away
	link        bool // a way to Redis that it may cut
	env         map[string]string
	play        func(*scene, fault)

	database *stage.Store
	cut      *link
}

// all are the faults of the delivery rules' list that concern loss or
// doubling, by their numbers there.
var all = []fault{
	{name: "01 killed before the queue heard", covered: true, play: unheard},
	{name: "02 FLUSHALL", covered: true, play: strikeUnderLoad(func(s *scene, _ fault) { s.cache.Flush() })},
	{name: "02 Redis restarts empty", covered: true, play: strikeUnderLoad(restartRedis)},
	{name: "02 lease keys deleted", play: strikeUnderLoad(deleteLeases)},
	{name: "03 kill -9 with many in flight", play: killWorker},
	{name: "03 rolling restarts", play: rollingRestarts},
	{name: "04a killed after the POST", covered: true, alone: true, play: killedAfterPost},
	{name: "04b killed before the queue's ack", alone: true, link: true, play: killedBeforeAck},
	{name: "05 database away", covered: true, ownDatabase: true, play: strikeUnderLoad(databaseAway)},
	{name: "06 one key 50 times", play: sameKey},
	{name: "07 retry against reconciler", play: retryAgainstReconciler},
	{name: "08 queue holds the task's id", alone: true, play: occupiedTaskID},
	{name: "10 backlog behind an open breaker", play: parkedBehindBreaker},
	{name: "11 receiver answers 503", play: answers503},
	{name: "13 strange answers", alone: true, env: map[string]string{"LEDGERHOOK_DELIVERY_TIMEOUT": "3s"}, play: strangeAnswers},
	{name: "14 redirect", alone: true, env: map[string]string{"LEDGERHOOK_DELIVERY_RETRY": "0s,1s"}, play: redirect},
	{name: "15 idle connections closed", alone: true, play: idleClosed},
	{name: "16 pause and resume", play: pauseAndResume},
	{name: "19 bulk replay", alone: true, env: map[string]string{"LEDGERHOOK_DELIVERY_RETRY": "0s"}, play: bulkReplay},
	{name: "20 secret rotation", alone: true, play: secretRotation},
}

// strikeUnderLoad does its worst while events come in and go out.
func strikeUnderLoad(inject func(*scene, fault)) func(*scene, fault) {
	return func(s *scene, f fault) {
		s.load(s.events, stage.TakeAll)
		s.reach(s.events / 3)
		s.strike()
		inject(s, f)
		s.settle(limit)
	}
}

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
	s.before, s.struck = s.accepted(), time.Now()
	s.cache.Start()
	for _, g := range s.gateways {
		g.Start()
	}
	s.settle(limit)
}

func restartRedis(s *scene, _ fault) {
	s.cache.Stop()
	s.reach(s.events / 2)
	s.struck = time.Now()
	s.cache.Start()
}

func deleteLeases(s *scene, _ fault) {
	redis := s.cache.Redis()
	for i := range 4 {
		if err := redis.Del(s.Context(), fmt.Sprintf("asynq:{deliver-%d}:lease", i)).Err(); err != nil {
			s.Fatal(err)
		}
	}
}

func databaseAway(s *scene, f fault) {
	f.database.Stop()
	away := time.After(pick(s.size, 3*time.Second, 20*time.Second))
	<-away
	f.database.Start()
	s.struck = time.Now()
	for _, l := range s.loads {
		if l.Refused() == 0 {
			s.Error("nobody was told that the database is away")
		}
	}
}

func killWorker(s *scene, _ fault) {
	delay := pick(s.size, 300*time.Millisecond, 2*time.Second)
	s.load(s.events, receiver.Always(receiver.Answer{Status: http.StatusOK, Delay: delay}))
	s.reach(s.events / 2)
	s.strike()
	s.gateways[1].Kill()
	s.gateways[1].Start()
	s.settle(limit)
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
			g.Terminate(40 * time.Second)
		} else {
			g.Kill()
		}
		g.Start()
		<-tick.C
	}
	s.settle(limit)
}

// gate holds requests until it is opened.
type gate struct {
	open    chan struct{}
	once    sync.Once
	arrived chan struct{}
}

func newGate() *gate { return &gate{open: make(chan struct{}), arrived: make(chan struct{}, 10000)} }

func (g *gate) hold(receiver.Received) receiver.Answer {
	select {
	case <-g.open:
	default:
		g.arrived <- struct{}{}
		<-g.open
	}
	return receiver.OK
}

func (g *gate) release() { g.once.Do(func() { close(g.open) }) }

func killedAfterPost(s *scene, _ fault) {
	g := newGate()
	p := s.partner(1, g.hold)
	s.Cleanup(g.release) // before its server closes, which waits for its requests
	s.post(p, 1)
	<-g.arrived
	s.strike()
	s.api().Kill()
	g.release()
	s.api().Start()
	stage.Eventually(s, limit, "the request is made again", func() bool { return p.Asked() == 2 })
	s.settle(limit)
}

func killedBeforeAck(s *scene, f fault) {
	g := newGate()
	p := s.partner(1, g.hold)
	s.Cleanup(g.release) // before its server closes, which waits for its requests
	s.post(p, 1)
	<-g.arrived
	f.cut.cut(true)
	g.release()
	s.api().Await(p.Code, limit) // recorded, and the queue still holds the task
	s.api().Kill()
	f.cut.cut(false)
	s.struck = time.Now()
	s.api().Start()
	held := s.cache.Redis()
	stage.Eventually(s, 2*time.Minute, "the queue has handed its task out again or given it up", func() bool {
		left := 0
		for i := range 4 {
			n, err := held.LLen(s.Context(), fmt.Sprintf("asynq:{deliver-%d}:active", i)).Result()
			if err != nil {
				s.Fatal(err)
			}
			left += int(n)
		}
		return left == 0 || !s.full && time.Since(s.struck) > 5*time.Second
	})
	if n := p.Asked(); n != 1 {
		s.Errorf("%d requests although the first was recorded", n)
	}
}

func sameKey(s *scene, _ fault) {
	p := s.partner(32, stage.TakeAll)
	post := func(n int) {
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				a, err := s.api().Call("POST", "/internal/v1/events", stage.Event(p.Code, n))
				if err != nil || a.Status != http.StatusAccepted && a.Status != http.StatusOK {
					s.Errorf("%d %s, %v", a.Status, a.Body, err)
				}
			})
		}
		all.Wait()
	}
	post(0)
	twice := []any{stage.Event(p.Code, 1), stage.Event(p.Code, 1)}
	s.api().Must("POST", "/internal/v1/events/batch", map[string]any{"events": twice}, http.StatusOK, nil)
	s.api().Await(p.Code, limit)
	post(0)
	all := s.api().Await(p.Code, limit)
	for _, d := range all {
		s.posted[d.EventID] = true
	}
	s.settle(limit)
	if len(all) != 2 || p.Asked() != 2 {
		s.Errorf("%d deliveries and %d requests of two keys", len(all), p.Asked())
	}
}

// retryAgainstReconciler has every pending delivery retried by hand while the
// queue forgets them all. A retry of one that has ended meanwhile is a new
// delivery of its event, which somebody asked for and which is no double.
func retryAgainstReconciler(s *scene, _ fault) {
	p := s.partner(32, receiver.FailEvery(2, receiver.Answer{Status: http.StatusBadRequest}, receiver.OK))
	s.post(p, 100)
	s.strike()
	repeated := 0
	for range 5 {
		for _, d := range s.api().Deliveries(p.Code, "pending") {
			a, err := s.api().Call("POST", "/internal/v1/deliveries/"+d.DeliveryID+"/retry", nil)
			if err != nil || a.Status >= 500 {
				s.Errorf("retry: %d %s, %v", a.Status, a.Body, err)
			}
			if a.Status == http.StatusAccepted {
				repeated++
			}
		}
		s.cache.Flush()
	}
	s.settle(limit)
	s.checkRecords(p)
	if s.asked = repeated; p.Duplicates() > repeated {
		s.Errorf("%d requests for events that had been taken, and %d retries of ended deliveries", p.Duplicates(), repeated)
	}
}

// checkRecords holds that a delivery has one record for each attempt's number,
// and that nothing was sent without a record.
func (s *scene) checkRecords(p *stage.Partner) {
	s.Helper()
	records := map[string]int{} // by event
	for _, d := range s.api().Deliveries(p.Code, "") {
		d = s.api().Delivery(d.DeliveryID)
		for i, a := range d.Attempts {
			if a.Number != i+1 {
				s.Errorf("%s: record %d is of attempt %d", d.DeliveryID, i+1, a.Number)
			}
		}
		records[d.EventID] += len(d.Attempts)
	}
	for event, n := range records {
		if came := len(p.Of(event)); came > n {
			s.Errorf("%s: %d requests and %d records", event, came, n)
		}
	}
}

// occupiedTaskID sets tasks aside under the ids that the next attempts will have.
func occupiedTaskID(s *scene, _ fault) {
	p := s.partner(4, receiver.FailFirst(1, receiver.Answer{Status: http.StatusBadRequest}, receiver.OK))
	s.api().Must("POST", "/internal/v1/endpoints/"+p.Endpoint+"/pause", nil, http.StatusOK, nil)
	s.post(p, 5)
	redis := s.cache.Redis()
	for _, d := range s.api().Deliveries(p.Code, "") {
		for shard := range 4 {
			for generation := range 2 {
				id, key := fmt.Sprintf("%s:%d", d.DeliveryID, generation), fmt.Sprintf("asynq:{deliver-%d}:", shard)
				err := redis.HSet(s.Context(), key+"t:"+id, "msg", "", "state", "archived").Err()
				if err == nil && generation%2 == 0 { // an odd one is an orphan: an id and nothing else
					err = redis.Do(s.Context(), "ZADD", key+"archived", time.Now().Unix(), id).Err()
				}
				if err != nil {
					s.Fatal(err)
				}
			}
		}
	}
	s.struck, s.before = time.Now(), s.accepted()
	s.api().Must("POST", "/internal/v1/endpoints/"+p.Endpoint+"/resume", nil, http.StatusOK, nil)
	s.settle(limit)
}
