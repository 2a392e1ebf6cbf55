package main

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"ledgerhook/app/receiver"
	"ledgerhook/bench/stage"
)

// refuses answers 400 and 422 in turn, which no breaker minds, until it is told
// that all is well.
type refuses struct{ well atomic.Bool }

func (r *refuses) answer(got receiver.Received) receiver.Answer {
	if r.well.Load() {
		return receiver.OK
	}
	if got.Nth%2 == 0 {
		return receiver.Answer{Status: http.StatusUnprocessableEntity}
	}
	return receiver.Answer{Status: http.StatusBadRequest}
}

// replay is a bulk replay as the API shows it.
type replay struct {
	ReplayID, State string
	Total           int
	Progress        progress
}

type progress struct {
	Open, Skipped, Waiting, Delivered, Failing, Failed int
	Queued, Sent                                       int
	Answered                                           int `json:"answered2xx"`
}

// startReplay sends what ended exhausted of a partner again.
func (s *scene) startReplay(p *stage.Partner, perSecond int) (r replay) {
	s.Helper()
	s.api().Must("POST", "/internal/v1/replays", map[string]any{"filter": map[string]any{"partnerCode": p.Code, "state": "exhausted"},
		"ratePerSecond": perSecond, "reason": "the receiver is well again"}, http.StatusCreated, &r)
	return r
}

// moveReplay pauses or resumes a replay.
func (s *scene) moveReplay(r replay, verb string) {
	s.Helper()
	s.api().Must("POST", "/internal/v1/replays/"+r.ReplayID+"/"+verb, nil, http.StatusOK, nil)
}

func (s *scene) replay(id string) (r replay) {
	s.Helper()
	s.api().Must("GET", "/internal/v1/replays/"+id, nil, http.StatusOK, &r)
	return r
}

// finish waits until a replay has sent everything and it has ended, and
// returns it as it is then.
func (s *scene) finish(r replay, p *stage.Partner) replay {
	s.Helper()
	stage.Asking(s, limit, "the replay has finished", func() bool { return s.replay(r.ReplayID).State == "finished" })
	s.api().Await(p.Code, limit) // it has finished when all is on its way
	p.CheckRequests()
	return s.replay(r.ReplayID)
}

// bulkReplay replays what ended exhausted, some of which is delivered by hand
// meanwhile.
func bulkReplay(s *scene, _ fault) {
	var f refuses
	p := s.partner(100, f.answer)
	n, byHand := pick(s.size, 50, 250), pick(s.size, 5, 20)
	s.post(p, n)
	exhausted := s.api().Await(p.Code, limit)
	f.well.Store(true)
	s.strike()
	r := s.startReplay(p, 20)
	s.moveReplay(r, "pause")
	sent := map[string]bool{}
	for id := range p.Taken() {
		sent[id] = true
	}
	retried := 0
	for _, d := range exhausted { // the list is replayed oldest first, this one shows the newest first
		if retried < byHand && !sent[d.EventID] {
			s.api().Must("POST", "/internal/v1/deliveries/"+d.DeliveryID+"/retry", nil, http.StatusAccepted, nil)
			retried++
		}
	}
	stage.Asking(s, limit, "what was retried by hand is delivered", func() bool { return len(s.api().Deliveries(p.Code, "delivered")) >= byHand })
	s.moveReplay(r, "resume")
	r = s.finish(r, p)
	if r.Progress.Delivered != n-byHand || r.Progress.Skipped != byHand || p.Asked() != 3*n {
		s.Errorf("%+v after %d requests, want %d sent and %d skipped", r.Progress, p.Asked(), n-byHand, byHand)
	}
}

// killedAmidReplay kills both gateways when a third of a replay has been taken
// and some of it is on its way. They go on where it was: each item is sent,
// those that were on their way once more, and the replay counts each once.
func killedAmidReplay(s *scene, _ fault) {
	var f refuses
	g := newGate()
	p := s.partner(100, func(got receiver.Received) receiver.Answer {
		if f.well.Load() {
			g.pass()
		}
		return f.answer(got)
	})
	s.Cleanup(g.release) // before its server closes, which waits for its requests
	n, many := pick(s.size, 60, 1000), pick(s.size, 5, 50)
	s.post(p, n)
	s.api().Await(p.Code, 5*limit) // a window does not grow with refusals
	f.well.Store(true)
	r := s.startReplay(p, pick(s.size, 20, 200))
	stage.Eventually(s, limit, "a third of it has been taken", func() bool { return p.Has() >= n/3 })
	g.shut()
	stage.Eventually(s, limit, fmt.Sprint(many, " requests are on their way"), func() bool { return g.holds() >= many })
	hit := strike{before: s.underWay(p)}
	s.flights = s.inFlight()
	for _, g := range s.gateways {
		g.Kill()
	}
	hit.at = time.Now()
	s.strikes = append(s.strikes, hit)
	if open := n - p.Has() - s.flights; open <= 0 {
		s.Errorf("%d items of the replay were still to be sent when it was killed", open)
	}
	g.release()
	for _, g := range s.gateways {
		g.Start()
	}
	r = s.finish(r, p)
	want := progress{Delivered: n, Queued: n, Sent: n, Answered: n}
	if r.Progress != want || r.Total != n || p.Has() != n {
		s.Errorf("%+v of %d items, and %d of %d events taken", r.Progress, r.Total, p.Has(), n)
	}
	for _, id := range hit.before {
		for _, got := range p.Of(id) {
			if got.At.After(s.again) {
				s.again = got.At
			}
		}
	}
}

// underWay are the events of a partner that are on their way.
func (s *scene) underWay(p *stage.Partner) (events []string) {
	s.Helper()
	for _, state := range []string{"queued", "sending"} {
		for _, d := range s.api().Deliveries(p.Code, state) {
			events = append(events, d.EventID)
		}
	}
	return events
}
