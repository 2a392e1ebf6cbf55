package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"ledgerhook/app/receiver"
	"ledgerhook/bench/stage"
)

// load is what comes in while a row is played.
type load struct {
	rate    int // events a second
	lasts   time.Duration
	silence time.Duration // after which a Redis is taken for dead
	every   time.Duration // between two workers that are rolled
}

// scene is two processes of the role api, two of worker and one of dashboard
// with partners beside them.
type scene struct {
	stage.T
	apis, workers []*stage.Gateway
	dashboard     *stage.Gateway
	partners      []*stage.Partner
	posters       []*stage.Producer
	browser       *http.Client // signed in at the dashboard

	strokes  []time.Time
	inFlight int
}

// count is what came of a row.
type count struct {
	accepted, delivered int
	doubled             int // requests for events that had been taken
	inFlight            int // at each stroke, all together: so many may come twice
	recovered           time.Duration
	lateAfter           int           // late events once all had recovered
	p50, p99, before    time.Duration // from when an event was due to its partner's answer; before: p99 of what was taken before the first stroke
}

func (c count) lost() int { return c.accepted - c.delivered }

// sound reports whether nothing was lost, and nothing doubled but what was in flight.
func (c count) sound() bool { return c.lost() == 0 && c.doubled <= c.inFlight }

// play runs a row from its start to its count.
func play(t stage.T, r row, l load) count {
	st := r.stores(t, l)
	s := newScene(t, st)
	s.look()
	s.load(l.rate, int(l.lasts/time.Second)*max(1, r.longer))
	s.reach(l.rate * int(l.lasts/time.Second) / 3)
	s.strike()
	st.fault(s)
	s.settle()
	s.look()
	return s.count()
}

// newScene migrates the database and starts the gateways.
func newScene(t stage.T, st stores) *scene {
	s := &scene{T: t}
	redis := st.redis
	if redis == nil {
		redis = stage.Nobody(t)
	}
	direct, printed := stage.Served(t, st.postgres.PostgresURL(), redis), &stage.Output{}
	if err := stage.Ledgerhook(direct.Dir, direct.Env, printed, printed, "migrate").Run(); err != nil {
		t.Fatalf("migrate: %v\n%s", err, printed)
	}
	start := func(role string) *stage.Gateway {
		g := stage.Served(t, st.postgres.PostgresURL(), redis)
		g.Set(map[string]string{"LEDGERHOOK_ROLES": role, "LEDGERHOOK_DELIVERY_RETRY": stage.Quick})
		g.Set(st.env)
		g.Start()
		return g
	}
	for range 2 {
		s.apis, s.workers = append(s.apis, start("api")), append(s.workers, start("worker"))
	}
	s.dashboard = start("dashboard")
	s.browser = stage.SignIn(s.dashboard)
	return s
}

const loaded = 6 // partners under load

// load posts events to the partners for a time, half of them to each api.
func (s *scene) load(perSecond, seconds int) {
	s.Helper()
	answer := receiver.Always(receiver.Answer{Status: http.StatusOK, Delay: 20 * time.Millisecond})
	for i := range loaded {
		api := s.apis[i%len(s.apis)]
		p := stage.NewPartner(api, fmt.Sprint("partner-", i), answer)
		api.Must("PATCH", "/internal/v1/endpoints/"+p.Endpoint, map[string]any{"maxInFlight": 250}, http.StatusOK, nil)
		s.partners = append(s.partners, p)
	}
	rate := max(1, perSecond/loaded)
	for i, p := range s.partners {
		s.posters = append(s.posters, stage.Produce(s.apis[i%len(s.apis)], p.Code, rate*seconds, rate))
	}
}

// accepted is how many events have been accepted so far.
func (s *scene) accepted() (n int) {
	for _, p := range s.posters {
		n += p.Has()
	}
	return n
}

// reach waits until n events have been accepted.
func (s *scene) reach(n int) {
	s.Helper()
	stage.Eventually(s, 3*time.Minute, fmt.Sprint(n, " events are accepted"), func() bool { return s.accepted() >= n })
}

// strike notes how things stand as something is taken away.
func (s *scene) strike() {
	s.Helper()
	for _, p := range s.partners {
		var e struct{ InFlight int }
		s.apis[0].Must("GET", "/internal/v1/endpoints/"+p.Endpoint, nil, http.StatusOK, &e)
		s.inFlight += e.InFlight
	}
	s.strokes = append(s.strokes, time.Now())
}

// limit is how long everything may take to arrive after the last post.
const limit = 2 * time.Minute

// settle waits until everything that was accepted has been taken and the
// gateways know it.
func (s *scene) settle() {
	s.Helper()
	var all []string
	for _, p := range s.posters {
		all = append(all, p.Finish()...)
	}
	stage.Eventually(s, limit, fmt.Sprintf("%d events have been taken", len(all)), func() bool {
		taken := 0
		for _, p := range s.partners {
			taken += p.Has()
		}
		return taken >= len(all)
	})
	slices.Sort(all)
	var delivered []string
	for i, p := range s.partners {
		for _, d := range s.apis[i%len(s.apis)].Await(p.Code, limit) {
			if d.State != "delivered" {
				s.Errorf("delivery %s is %s", d.DeliveryID, d.State)
			}
			delivered = append(delivered, d.EventID)
		}
		p.CheckRequests()
	}
	if slices.Sort(delivered); !slices.Equal(delivered, all) {
		s.Errorf("%d deliveries of %d accepted events, or of others", len(delivered), len(all))
	}
}

// look has an operator look at the list of deliveries.
func (s *scene) look() {
	s.Helper()
	internal, _ := s.dashboard.Reach()
	response, err := s.browser.Get(internal + "/ops/deliveries?q=state:any")
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	page, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		s.Fatalf("the list of deliveries: %s, %v", response.Status, err)
	}
	shown := func(p *stage.Partner) bool { return strings.Contains(string(page), p.Code) }
	if len(s.partners) > 0 && !slices.ContainsFunc(s.partners, shown) { // the newest may all be of one, whose api was back first
		s.Error("the list of deliveries shows none of any partner")
	}
}

const (
	// late is what an event takes at most while nothing is wrong.
	late = time.Second
	// calm is how long everything has to come in time until a stroke is over: what
	// is late afterwards, as while vacuum runs, has another cause.
	calm = 10 * time.Second
)

// count counts. After a stroke all has recovered with the last late event before
// everything comes in time for a while, or before the next stroke.
func (s *scene) count() count {
	again := 0 // what the gateways sent again on purpose: in flight more exactly than a look shortly before
	for _, worker := range s.workers {
		again += worker.PutBack()
		for _, p := range s.partners {
			again += worker.CutOff(p.Code)
		}
	}
	c := count{inFlight: max(s.inFlight, again)}
	taken, due := map[string]time.Time{}, map[string]time.Time{}
	for i, p := range s.partners {
		maps.Copy(taken, p.Taken())
		maps.Copy(due, s.posters[i].Due())
		c.doubled += p.Duplicates()
	}
	var all, before []time.Duration
	lateOnes := map[time.Time][]wait{} // by the stroke before
	for id, was := range due {
		c.accepted++
		at, ok := taken[id]
		if !ok {
			continue
		}
		c.delivered++
		took := at.Sub(was)
		all = append(all, took)
		last, struck := s.lastStroke(at)
		if !struck {
			before = append(before, took)
		} else if took > late {
			lateOnes[last] = append(lateOnes[last], wait{was.Sub(last), at.Sub(last)})
		}
	}
	for _, waits := range lateOnes {
		over, later := recovery(waits)
		c.recovered, c.lateAfter = max(c.recovered, over), c.lateAfter+later
	}
	c.p50, c.p99, c.before = stage.Percentile(all, 50), stage.Percentile(all, 99), stage.Percentile(before, 99)
	return c
}

// wait is from when to when after a stroke an event was on its way.
type wait struct{ due, taken time.Duration }

// recovery is when the last late event was taken before nothing that was due was
// late for a while, and how many were late afterwards.
func recovery(late []wait) (over time.Duration, after int) {
	slices.SortFunc(late, func(a, b wait) int { return cmp.Compare(a.due, b.due) })
	for i, w := range late {
		if w.due-over > calm {
			return over, len(late) - i
		}
		over = max(over, w.taken)
	}
	return over, 0
}

// lastStroke is the last one before a time, if there was one.
func (s *scene) lastStroke(at time.Time) (last time.Time, struck bool) {
	for _, stroke := range s.strokes {
		if stroke.Before(at) {
			last, struck = stroke, true
		}
	}
	return last, struck
}
