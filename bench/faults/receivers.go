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

// parkedBehindBreaker has a backlog wait behind an open breaker, kills the
// worker of its first probe and lets the receiver come back slowly.
func parkedBehindBreaker(s *scene, _ fault) {
	const firstFew = 20
	var f fails
	var active, done, herd atomic.Int32
	probe := newGate()
	turn := time.NewTicker(time.Second / 50)
	defer turn.Stop()
	p := s.partner(32, func(receiver.Received) receiver.Answer {
		if probe.pass() || !f.well.Load() {
			return stage.Refusal
		}
		if most := done.Load() + webhookStart; active.Add(1) > most {
			herd.Add(1) // more than the window has room for, which grows by one with each success
		}
		select {
		case <-turn.C: // 50 a second, in turn
		case <-s.Context().Done():
		}
		active.Add(-1)
		done.Add(1)
		return receiver.OK
	})
	s.Cleanup(probe.release) // before its server closes, which waits for its requests
	s.post(p, firstFew)
	stage.Asking(s, limit, "the breaker is open", func() bool { return s.endpoint(p).Breaker.State == "open" && s.inFlight() == 0 })
	probe.shut()
	n := pick(s.size, 120, 5000)
	for i := firstFew; i < n; i += 100 {
		s.postFrom(p, i, min(100, n-i))
	}
	used := s.attempts(p)
	if used != p.Asked() {
		s.Errorf("%d attempts are used up by %d requests", used, p.Asked())
	}
	stage.Eventually(s, limit, "a probe is on its way", func() bool { return probe.holds() == 1 })
	s.strike()
	if e := s.endpoint(p); e.InFlight != 1 || e.Breaker.State != "half_open" {
		s.Errorf("%d are on their way behind a breaker that is %s", e.InFlight, e.Breaker.State)
	}
	s.api().Kill()
	s.api().Start()
	stage.Asking(s, limit, "the lost probe has opened the breaker again", func() bool {
		e := s.endpoint(p)
		return e.Breaker.State == "open" && e.InFlight == 0
	})
	if now := s.attempts(p); now != used+1 {
		s.Errorf("waiting used %d attempts up, want the probe's alone", now-used)
	}
	probe.release()
	stage.Eventually(s, limit, "the probe's request has ended", func() bool { return p.Asked() == used+1 })
	f.well.Store(true)
	s.back()
	if !s.full {
		s.closeBreaker(p)
	}
	s.settle(afterBreaker)
	if got := p.Asked() - used - 1; got != n || herd.Load() > 0 {
		s.Errorf("%d requests for %d deliveries after the receiver came back, %d of them without room in the window", got, n, herd.Load())
	}
}

// attempts is how many a partner's deliveries have used up.
func (s *scene) attempts(p *stage.Partner) (n int) {
	s.Helper()
	for _, d := range s.api().Deliveries(p.Code, "") {
		n += d.AttemptCount
	}
	return n
}

// closeBreaker does by hand what takes a breaker half a minute or more.
func (s *scene) closeBreaker(p *stage.Partner) {
	s.Helper()
	s.api().Must("POST", "/internal/v1/endpoints/"+p.Endpoint+"/close-breaker", map[string]any{"reason": "the receiver is well again"}, http.StatusOK, nil)
}

func answers503(s *scene, _ fault) {
	var f fails
	p := s.partner(32, f.answer)
	load := stage.Produce(s.api(), p.Code, pick(s.size, 100, 1000), pick(s.size, 100, 200))
	s.loads = append(s.loads, load)
	stage.Asking(s, limit, "the breaker is open", func() bool { return s.endpoint(p).Breaker.State != "closed" })
	load.Finish()
	if n := p.Asked(); n < 5 || n > 10 {
		s.Errorf("%d requests to a receiver that answers 503, want the five that trip a breaker and ten at most", n)
	}
	f.well.Store(true)
	s.strike()
	if !s.full {
		s.closeBreaker(p)
	}
	s.settle(afterBreaker)
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
	once := func(first http.HandlerFunc) http.HandlerFunc {
		var done atomic.Bool
		return func(w http.ResponseWriter, r *http.Request) {
			if done.CompareAndSwap(false, true) {
				first(w, r)
			}
		}
	}
	hijacked := func(do func(*net.TCPConn)) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return
			}
			defer func() { _ = conn.Close() }()
			do(conn.(*net.TCPConn))
		}
	}
	raw := func(text string) http.HandlerFunc {
		return hijacked(func(c *net.TCPConn) { _, _ = io.WriteString(c, text) })
	}
	answers := map[string]http.HandlerFunc{
		"2 MB":       func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 2<<20)) },
		"slow bytes": endless("x", 2*time.Second),
		"endless":    endless(strings.Repeat("x", 32<<10), 0),
		"cut":        raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"),
		"not UTF-8":  raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\xff\xfe"),
		"NUL":        raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\x00\x00"),
	}
	fail := map[string]http.HandlerFunc{ // the first time; then they take it
		"reset first": once(hijacked(func(c *net.TCPConn) { _ = c.SetLinger(0) })),
		"headers without end": once(hijacked(func(c *net.TCPConn) {
			_, err := io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			for line := "X-More: " + strings.Repeat("x", 4<<10) + "\r\n"; err == nil; {
				_, err = io.WriteString(c, line)
			}
		})),
	}
	peak := s.api().Process.PeakMemory()
	counts, want := map[string]*atomic.Int32{}, map[string]int32{}
	for number, list := range []map[string]http.HandlerFunc{answers, fail} {
		for name, handle := range list {
			p, asked := s.strange(handle)
			counts[name], want[name] = asked, int32(number+1)
			s.asked += number // the receiver had read it before it failed
			s.post(p, 1)
		}
	}
	s.settle(limit)
	for name, asked := range counts {
		if got := asked.Load(); got != want[name] {
			s.Errorf("%s: %d requests, want %d", name, got, want[name])
		}
	}
	if grown := s.api().Process.PeakMemory() - peak; grown > 64<<20 {
		s.Errorf("strange answers took %d MiB of memory", grown>>20)
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
