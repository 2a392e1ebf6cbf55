package main

import (
	"net/http"
	"strings"
	"syscall"
	"time"

	"ledgerhook/app/receiver"
	"ledgerhook/bench/stage"
)

// redisTakesNothing lets Redis answer and refuse what is written, which the
// gateways have to say.
func redisTakesNothing(s *scene, _ fault) {
	client := s.cache.Redis()
	replicas := func(n string) {
		if err := client.ConfigSet(s.Context(), "min-replicas-to-write", n).Err(); err != nil {
			s.Fatal(err)
		}
	}
	replicas("1")
	stage.Asking(s, limit, "the gateways say why they are not ready", func() bool {
		a, err := s.api().Call("GET", "/readyz", nil)
		return err == nil && a.Status == http.StatusServiceUnavailable && strings.Contains(string(a.Body), "NOREPLICAS")
	})
	s.reach(s.events * 2 / 3)
	replicas("0")
	s.back()
}

// connectionsKilled ends one connection to PostgreSQL after the other, whatever
// it is at, which is nobody's error: what it was at is done on another. Of a
// commit nobody knows then whether it was done, so its posts may be refused.
func connectionsKilled(s *scene, f fault) {
	s.load(s.events, receiver.Always(receiver.Answer{Status: http.StatusOK, Delay: 50 * time.Millisecond}))
	s.reach(s.events / 3)
	s.strike()
	killed := 0
	for ; s.pending() > 0; killed++ {
		if output, err := f.database.PSQL(`SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity
			WHERE pid <> pg_backend_pid() AND backend_type = 'client backend' ORDER BY random() LIMIT 1) AS one`); err != nil {
			s.Fatalf("kill a connection: %v\n%s", err, output)
		}
	}
	s.back()
	s.settle(limit)
	refused := 0
	for _, l := range s.loads {
		refused += l.Refused()
	}
	s.Logf("%d connections were killed, %d of %d posts refused", killed, refused, s.events)
	if most := killed / 10; refused > most {
		s.Errorf("%d posts were refused while %d connections were killed, of at most %d", refused, killed, most)
	}
}

// pending is how many events of the loads have not been accepted.
func (s *scene) pending() int { return s.events/loaded*loaded - len(s.accepted()) }

// processFrozen stops a gateway at any moment of its work, again and again,
// and lets it go on later: what it has locked is free after 5 s.
func processFrozen(s *scene, _ fault) {
	frozen := s.gateways[1].Process.Cmd.Process
	s.load(s.events, receiver.Always(receiver.Answer{Status: http.StatusOK, Delay: 50 * time.Millisecond}))
	s.reach(s.events / 3)
	s.strike()
	if err := frozen.Signal(syscall.SIGSTOP); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = frozen.Signal(syscall.SIGCONT) })
	for _, l := range s.loads {
		l.Finish()
		for _, took := range l.Posting() {
			if took > frozenLimit {
				s.Errorf("a post took %s beside a frozen process", took)
			}
		}
	}
	s.reach(s.events)
	if err := frozen.Signal(syscall.SIGCONT); err != nil {
		s.Fatal(err)
	}
	s.settle(limit)
}

// frozenLimit is the 5 s after which locks are free, and a commit's time.
const frozenLimit = 8 * time.Second
