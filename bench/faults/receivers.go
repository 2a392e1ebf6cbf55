package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	"ledgerhook/app/receiver"
	"ledgerhook/bench/stage"
)

// fails answers 503 until it is told that all is well.
type fails struct{ well atomic.Bool }

func (f *fails) answer(receiver.Received) receiver.Answer {
	if f.well.Load() {
		return receiver.OK
	}
	return stage.Refusal
}

func parkedBehindBreaker(s *scene, _ fault) {
	var f fails
	turn := time.NewTicker(time.Second / 50)
	defer turn.Stop()
	p := s.partner(32, func(got receiver.Received) receiver.Answer {
		if f.well.Load() {
			<-turn.C // 50 a second, in turn
		}
		return f.answer(got)
	})
	s.post(p, 20)
	stage.Eventually(s, limit, "the breaker is open", func() bool { return s.endpoint(p).Breaker.State != "closed" })
	stage.Eventually(s, limit, "nothing is on its way", func() bool { return s.endpoint(p).InFlight == 0 })
	n := pick(s.size, 200, 2000)
	for i := 20; i < n; i += 100 {
		s.postFrom(p, i, min(100, n-i))
	}
	before := p.Asked()
	f.well.Store(true)
	s.strike()
	s.settle(pick(s.size, 100*time.Second, 4*time.Minute))
	if p.Asked()-before != n {
		s.Errorf("%d requests for %d deliveries after the receiver came back", p.Asked()-before, n)
	}
}

func answers503(s *scene, _ fault) {
	var f fails
	p := s.partner(32, f.answer)
	load := stage.Produce(s.api(), p.Code, pick(s.size, 100, 1000), pick(s.size, 50, 200))
	s.loads = append(s.loads, load)
	stage.Eventually(s, limit, "the breaker is open", func() bool { return s.endpoint(p).Breaker.State != "closed" })
	load.Finish()
	if n := p.Asked(); n > 10 {
		s.Errorf("%d requests to a receiver that answers 503", n)
	}
	f.well.Store(true)
	s.strike()
	s.settle(2 * time.Minute)
}

// strange serves one partner's requests with handle, behind the signatures' check.
func (s *scene) strange(handle http.HandlerFunc) (p *stage.Partner, asked *atomic.Int32) {
	s.Helper()
	p = s.partner(2, stage.TakeAll)
	asked = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		p.Receiver.ServeHTTP(httptest.NewRecorder(), r)
		handle(w, r)
	}))
	s.Cleanup(server.CloseClientConnections)
	s.patch(p, map[string]any{"url": server.URL + "/hooks"})
	return p, asked
}

func strangeAnswers(s *scene, _ fault) {
	raw := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return
			}
			defer func() { _ = conn.Close() }()
			_, _ = io.WriteString(conn, text)
		}
	}
	endless := func(part string, pause time.Duration) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			for {
				if _, err := io.WriteString(w, part); err != nil {
					return
				}
				_ = http.NewResponseController(w).Flush()
				select {
				case <-r.Context().Done():
					return
				case <-time.After(pause):
				}
			}
		}
	}
	var once atomic.Bool
	taken := map[string]http.HandlerFunc{
		"2 MB":        func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 2<<20)) },
		"slow bytes":  endless("x", time.Second),
		"endless":     endless(strings.Repeat("x", 32<<10), 0),
		"cut":         raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"),
		"not UTF-8":   raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\xff\xfe"),
		"NUL":         raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\x00\x00"),
		"reset first": func(w http.ResponseWriter, r *http.Request) {},
	}
	taken["reset first"] = func(w http.ResponseWriter, r *http.Request) {
		if once.CompareAndSwap(false, true) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_ = conn.(*net.TCPConn).SetLinger(0)
				_ = conn.Close()
			}
		}
	}
	counts := map[string]*atomic.Int32{}
	for name, handle := range taken {
		p, asked := s.strange(handle)
		counts[name] = asked
		s.post(p, 1)
	}
	s.settle(limit)
	for name, asked := range counts {
		want := int32(1)
		if name == "reset first" {
			want, s.asked = 2, 1 // the receiver had read it before it reset the connection
		}
		if got := asked.Load(); got != want {
			s.Errorf("%s: %d requests, want %d", name, got, want)
		}
	}
}

func redirect(s *scene, _ fault) {
	var followed atomic.Int32
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Add(1) }))
	s.Cleanup(target.Close)
	p, asked := s.strange(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target.URL, http.StatusFound) })
	stage.PostAll(s.api(), p.Code, 1)
	all := s.api().Await(p.Code, limit)
	s.asked = 1 // the receiver sees both attempts, and the gateway sees two redirects
	for _, d := range all {
		s.posted[d.EventID] = true
		if d.State != "exhausted" || followed.Load() != 0 || asked.Load() != 2 {
			s.Errorf("%s after %d requests, %d of them followed the redirect", d.State, asked.Load(), followed.Load())
		}
	}
}

func idleClosed(s *scene, _ fault) {
	p := s.partner(4, stage.TakeAll)
	server := httptest.NewUnstartedServer(p.Receiver)
	server.Config.IdleTimeout = time.Second
	server.Start()
	s.Cleanup(server.Close)
	s.patch(p, map[string]any{"url": server.URL + "/hooks"})
	s.loads = append(s.loads, stage.Produce(s.api(), p.Code, pick(s.size, 4, 30), 1))
	s.settle(limit)
	all := s.api().Deliveries(p.Code, "")
	stage.CheckAttempts(s, s.api(), p, all)
}

func pauseAndResume(s *scene, _ fault) {
	p := s.partner(1, stage.TakeAll)
	act := func(what string) {
		var body any
		if strings.HasSuffix(what, "-breaker") {
			body = map[string]any{"reason": "to see that a resume leaves it open"}
		}
		s.api().Must("POST", fmt.Sprintf("/internal/v1/endpoints/%s/%s", p.Endpoint, what), body, http.StatusOK, nil)
	}
	act("pause")
	s.post(p, 10)
	if held := s.api().Deliveries(p.Code, "held"); len(held) != 10 {
		s.Errorf("%d of 10 deliveries are held", len(held))
	}
	act("open-breaker")
	s.strike()
	act("resume")
	if e := s.endpoint(p); e.Breaker.State != "open" {
		s.Errorf("the breaker is %s after the resume", e.Breaker.State)
	}
	act("pause")
	act("close-breaker")
	if e := s.endpoint(p); e.State != "paused" || p.Asked() != 0 {
		s.Errorf("the endpoint is %s after %d requests, want paused", e.State, p.Asked())
	}
	act("resume")
	s.settle(limit)
	last := int64(0)
	for _, r := range p.All() {
		if r.Sequence < last {
			s.Errorf("sequence %d came after %d", r.Sequence, last)
		}
		last = r.Sequence
	}
}

func bulkReplay(s *scene, _ fault) {
	var f fails
	p := s.partner(100, func(got receiver.Received) receiver.Answer {
		if f.well.Load() {
			return receiver.OK
		}
		return receiver.Answer{Status: http.StatusBadRequest} // which no breaker minds
	})
	n, byHand := pick(s.size, 50, 250), pick(s.size, 5, 20)
	s.post(p, n)
	exhausted := s.api().Await(p.Code, limit)
	f.well.Store(true)
	var replay struct {
		ReplayID, State string
		Progress        struct{ Open, Skipped, Delivered int }
	}
	s.strike()
	s.api().Must("POST", "/internal/v1/replays", map[string]any{"filter": map[string]any{"partnerCode": p.Code, "state": "exhausted"},
		"ratePerSecond": 20, "reason": "the receiver is well again"}, http.StatusCreated, &replay)
	path := "/internal/v1/replays/" + replay.ReplayID
	s.api().Must("POST", path+"/pause", nil, http.StatusOK, &replay)
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
	stage.Eventually(s, limit, "what was retried by hand is delivered", func() bool { return len(s.api().Deliveries(p.Code, "delivered")) >= byHand })
	s.api().Must("POST", path+"/resume", nil, http.StatusOK, &replay)
	stage.Eventually(s, limit, "the replay has finished", func() bool {
		s.api().Must("GET", path, nil, http.StatusOK, &replay)
		return replay.State == "finished"
	})
	s.api().Await(p.Code, limit) // it has finished when all is on its way
	s.api().Must("GET", path, nil, http.StatusOK, &replay)
	if replay.Progress.Delivered != n-byHand || replay.Progress.Skipped != byHand || p.Asked() != 2*n {
		s.Errorf("%+v after %d requests, want %d sent and %d skipped", replay.Progress, p.Asked(), n-byHand, byHand)
	}
}

func secretRotation(s *scene, _ fault) {
	p := s.partner(32, stage.TakeAll)
	s.post(p, 5)
	s.settle(limit)
	var made struct{ SecretID, WebhookSecretKey string }
	secrets := "/internal/v1/partners/" + p.Code + "/secrets"
	var first struct{ Items []struct{ SecretID string } }
	s.api().Must("GET", secrets, nil, http.StatusOK, &first)
	s.api().Must("POST", secrets, nil, http.StatusCreated, &made)
	s.api().Secret(made.WebhookSecretKey)
	s.api().Must("POST", secrets+"/"+made.SecretID+"/activate", nil, http.StatusOK, nil)
	var wrong atomic.Int32
	verify := func(secrets ...string) *receiver.Receiver {
		r := receiver.New(receiver.Options{PublicKey: p.Key, Secrets: secrets, Observe: func(got receiver.Received) {
			if got.Err != nil {
				wrong.Add(1)
			}
		}})
		server := httptest.NewServer(r)
		s.Cleanup(server.Close)
		p.AddEndpoint(server.URL + "/hooks")
		return r
	}
	renewed, both := verify(made.WebhookSecretKey), verify(p.Secret, made.WebhookSecretKey)
	s.strike()
	s.postFrom(p, 5, 20)
	s.settle(limit)
	if renewed.Seen() != 20 || both.Seen() != 20 || wrong.Load() != 0 {
		s.Errorf("inside the overlap %d and %d of 20 verified with the new secret and with both, %d requests did not", renewed.Seen(), both.Seen(), wrong.Load())
	}
	s.api().Must("POST", secrets+"/"+first.Items[0].SecretID+"/revoke", nil, http.StatusOK, nil)
	stage.PostFrom(s.api(), p.Code, 25, 1)
	stage.Eventually(s, limit, "the old secret fails", func() bool {
		for _, r := range p.All() {
			if r.Err != nil {
				return renewed.Seen() == 21
			}
		}
		return false
	})
}
