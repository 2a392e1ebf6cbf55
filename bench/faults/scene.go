package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"ledgerhook/app/receiver"
	"ledgerhook/bench/stage"
)

// size is how large a fault is made.
type size struct {
	events, rate int
	full         bool   // with the waits that the promises are made for
	from         string // the program of the release that an upgrade begins with; empty: this one
}

var shortSize = size{events: 200, rate: 100}

// pick is one of two values, by size.
func pick[T any](s size, short, full T) T {
	if s.full {
		return full
	}
	return short
}

// bench makes scenes of one size.
type bench struct {
	size     size
	database func(stage.T) string // one without rows, migrated or not
}

// count is what came of a fault.
type count struct {
	accepted, delivered int
	duplicates          int // requests for events that had been taken
	inFlight            int // when the fault struck: so many may come twice
	recovered           time.Duration
}

func (c count) lost() int { return c.accepted - c.delivered }

// sound reports whether nothing was lost, and nothing doubled but what was in flight.
func (c count) sound() bool { return c.lost() == 0 && c.duplicates <= c.inFlight }

// strike is when a fault struck, or what it had taken away came back.
type strike struct {
	at     time.Time
	before []string // events accepted until then
}

// scene is two gateways on a PostgreSQL and a Redis with partners beside them.
type scene struct {
	stage.T
	size
	code     string // begins its partners' codes
	cache    *stage.Store
	gateways [2]*stage.Gateway
	partners []*stage.Partner
	loads    []*stage.Producer

	posted  map[string]bool // events that the fault posted itself
	strikes []strike
	flights int       // when they struck
	again   time.Time // when the last event that the fault is about came again
	asked   int       // requests for events that had been taken, which had to come
}

// inject makes a scene, has the fault play on it and counts.
func (b bench) inject(t stage.T, f fault) count {
	s := b.scene(t, &f)
	f.play(s, f)
	return s.count()
}

// beside has a fault play on the scene's gateways at the same time as others do.
func (s *scene) beside(t stage.T, f fault) count {
	own := &scene{T: t, size: s.size, code: "of-" + f.name[:2] + "-", cache: s.cache, posted: map[string]bool{}}
	for i, g := range s.gateways {
		if g != nil {
			own.gateways[i] = g.For(t)
		}
	}
	f.play(own, f)
	return own.count()
}

// scene makes what a fault asks for and tells it where it is.
func (b bench) scene(t stage.T, f *fault) *scene {
	s := &scene{T: t, size: b.size, posted: map[string]bool{}}
	database := ""
	if f.ownDatabase {
		f.database = stage.StartPostgres(t)
		database = f.database.PostgresURL()
	} else {
		database = b.database(t)
	}
	s.cache = stage.StartRedis(t)
	for i := range s.gateways {
		g := stage.Served(t, database, s.cache)
		g.Set(map[string]string{"LEDGERHOOK_DELIVERY_RETRY": stage.Quick})
		g.Set(f.env)
		if f.upgrades {
			g.Program = b.size.from
		}
		if f.apart {
			g.Set(map[string]string{"LEDGERHOOK_ROLES": []string{"api", "worker"}[i]})
		}
		if f.link {
			f.cut = newLink(t, s.cache.Address())
			g.Set(map[string]string{"LEDGERHOOK_REDIS_URL": f.cut.redisURL(s.cache)})
		}
		g.Start()
		s.gateways[i] = g
		if f.alone {
			break
		}
	}
	return s
}

// api is the gateway that requests go to.
func (s *scene) api() *stage.Gateway { return s.gateways[0] }

// partner makes a partner with a window of maxInFlight.
func (s *scene) partner(maxInFlight int, answer func(receiver.Received) receiver.Answer) *stage.Partner {
	s.Helper()
	p := stage.NewPartner(s.api(), fmt.Sprint(s.code, "partner-", len(s.partners)), answer)
	s.patch(p, map[string]any{"maxInFlight": maxInFlight})
	s.partners = append(s.partners, p)
	return p
}

func (s *scene) patch(p *stage.Partner, change map[string]any) {
	s.Helper()
	s.api().Must("PATCH", "/internal/v1/endpoints/"+p.Endpoint, change, http.StatusOK, nil)
}

// post posts a partner's first n events and counts them.
func (s *scene) post(p *stage.Partner, n int) { s.postFrom(p, 0, n) }

func (s *scene) postFrom(p *stage.Partner, first, n int) {
	s.Helper()
	for _, id := range stage.PostFrom(s.api(), p.Code, first, n) {
		s.posted[id] = true
	}
}

const loaded = 4 // partners under load

// load posts events to several partners, whose answers take as long as answer says.
func (s *scene) load(events int, answer func(receiver.Received) receiver.Answer) {
	s.Helper()
	for range loaded {
		p := s.partner(250, answer)
		s.loads = append(s.loads, stage.Produce(s.api(), p.Code, events/loaded, max(1, s.rate/loaded)))
	}
}

func (s *scene) accepted() (ids []string) {
	ids = slices.Collect(maps.Keys(s.posted))
	for _, l := range s.loads {
		ids = append(ids, l.Accepted()...)
	}
	return ids
}

// reach waits until n events have been accepted.
func (s *scene) reach(n int) {
	s.Helper()
	stage.Eventually(s, 3*time.Minute, fmt.Sprint(n, " events are accepted"), func() bool { return len(s.accepted()) >= n })
}

// back notes that what had been taken away is there again: from now on
// everything that was accepted has to arrive in time.
func (s *scene) back() {
	now := strike{time.Now(), s.accepted()}
	s.strikes = append(s.strikes[:max(0, len(s.strikes)-1)], now)
}

// strike notes how things stand as the fault is injected.
func (s *scene) strike() {
	s.Helper()
	s.flights += s.inFlight()
	s.strikes = append(s.strikes, strike{})
	s.back()
}

// inFlight is how many deliveries are queued or being sent.
func (s *scene) inFlight() (n int) {
	s.Helper()
	for _, p := range s.partners {
		n += s.endpoint(p).InFlight
	}
	return n
}

// endpoint is a partner's as the API shows it.
func (s *scene) endpoint(p *stage.Partner) (e struct {
	InFlight, Waiting, Window int
	State                     string
	Breaker                   struct{ State string }
}) {
	s.Helper()
	s.api().Must("GET", "/internal/v1/endpoints/"+p.Endpoint, nil, http.StatusOK, &e)
	return e
}

// settle waits until everything that was accepted has been taken and the
// gateway knows it.
func (s *scene) settle(within time.Duration) {
	s.Helper()
	for _, l := range s.loads {
		l.Finish()
	}
	want := len(s.accepted())
	stage.Eventually(s, within, fmt.Sprintf("%d events have been taken", want), func() bool {
		got := 0
		for _, p := range s.partners {
			got += p.Has()
		}
		return got >= want
	})
	known := map[string]bool{}
	for _, id := range s.accepted() {
		known[id] = true
	}
	for _, p := range s.partners {
		for _, d := range s.api().Await(p.Code, within) {
			if d.State != "delivered" || !known[d.EventID] {
				s.Errorf("delivery %s is %s; its event was accepted: %t", d.DeliveryID, d.State, known[d.EventID])
			}
		}
		p.CheckRequests()
	}
}

// limit is how long a fault may hold anything up.
const limit = time.Minute

func (s *scene) count() (c count) {
	taken := map[string]time.Time{}
	for _, p := range s.partners {
		maps.Copy(taken, p.Taken())
		c.duplicates += p.Duplicates()
	}
	c.duplicates = max(0, c.duplicates-s.asked)
	for _, id := range s.accepted() {
		c.accepted++
		if _, ok := taken[id]; ok {
			c.delivered++
		}
	}
	for _, hit := range s.strikes {
		for _, id := range hit.before {
			c.recovered = max(c.recovered, taken[id].Sub(hit.at))
		}
		if !s.again.IsZero() {
			c.recovered = s.again.Sub(hit.at)
		}
	}
	c.inFlight = max(s.flights, s.putBack()+s.cutOff())
	return c
}

// cutOff is how many attempts the gateways say that their own stop cut off.
func (s *scene) cutOff() (n int) {
	for _, g := range s.gateways {
		if g == nil {
			continue
		}
		for _, p := range s.partners {
			n += g.CutOff(p.Code)
		}
	}
	return n
}

// putBack is of how many attempts the gateways say that their worker died:
// what was in flight more exactly than a look shortly before.
func (s *scene) putBack() (n int) {
	for _, g := range s.gateways {
		if g != nil {
			n += g.PutBack()
		}
	}
	return n
}

// sustained measures how many events a second get through from end to end.
func (b bench) sustained(t stage.T) (rate int) {
	n := pick(b.size, 500, 5000)
	b.inject(t, fault{play: func(s *scene, _ fault) {
		for range loaded {
			s.partner(250, stage.TakeAll)
		}
		began := time.Now()
		for _, p := range s.partners {
			s.post(p, n/loaded)
		}
		s.settle(5 * time.Minute)
		last := began
		for _, p := range s.partners {
			for _, at := range p.Taken() {
				if at.After(last) {
					last = at
				}
			}
		}
		rate = int(float64(n) / last.Sub(began).Seconds())
	}})
	return rate
}
