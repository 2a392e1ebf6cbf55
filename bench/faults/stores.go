package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ledgerhook/app/receiver"
	"ledgerhook/bench/stage"
)

// strikeUnderLoad does its worst while events come in and go out.
func strikeUnderLoad(inject func(*scene, fault)) func(*scene, fault) {
	return func(s *scene, f fault) {
		s.load(s.events, receiver.Always(receiver.Answer{Status: http.StatusOK, Delay: 50 * time.Millisecond}))
		s.reach(s.events / 3)
		s.strike()
		inject(s, f)
		s.settle(limit)
	}
}

const shards = 4

// onRedis reports how many tasks Redis holds in a list of every shard.
func (s *scene) onRedis(client *redis.Client, list string) (n int64) {
	s.Helper()
	for shard := range shards {
		held, err := client.LLen(s.Context(), fmt.Sprintf("asynq:{deliver-%d}:%s", shard, list)).Result()
		if err != nil {
			s.Fatal(err)
		}
		n += held
	}
	return n
}

// underLoad waits for a condition that needs tasks on their way. It posts one event
// after another until then: on a slow machine the load may be over.
func (s *scene) underLoad(what string, condition func() bool) {
	s.Helper()
	next := s.events // none of the load's
	stage.Eventually(s, limit, what, func() bool {
		s.postFrom(s.partners[0], next, 1)
		next++
		return condition()
	})
}

// busy waits until tasks are on their way in Redis, so that it hurts to lose them.
func (s *scene) busy(client *redis.Client) {
	s.Helper()
	s.underLoad("Redis holds tasks", func() bool { return s.onRedis(client, "active") > 0 })
}

func flush(s *scene, _ fault) {
	client := s.cache.Redis()
	s.busy(client)
	var before, after *redis.IntCmd
	if _, err := client.TxPipelined(s.Context(), func(p redis.Pipeliner) error {
		before = p.DBSize(s.Context())
		p.FlushAll(s.Context())
		after = p.DBSize(s.Context())
		return nil
	}); err != nil {
		s.Fatal(err)
	}
	if before.Val() == 0 || after.Val() != 0 {
		s.Errorf("Redis held %d keys and then %d", before.Val(), after.Val())
	}
}

func restartRedis(s *scene, _ fault) {
	client := s.cache.Redis()
	s.busy(client)
	s.cache.Stop()
	if err := client.Ping(s.Context()).Err(); err == nil {
		s.Error("Redis still answers")
	}
	s.reach(s.events / 2)
	s.cache.Start()
	s.back()
}

func deleteLeases(s *scene, _ fault) {
	client := s.cache.Redis()
	var keys []string
	for shard := range shards {
		keys = append(keys, fmt.Sprintf("asynq:{deliver-%d}:lease", shard))
	}
	s.underLoad("leases of running tasks are deleted", func() bool {
		n, err := client.Del(s.Context(), keys...).Result()
		if err != nil {
			s.Fatal(err)
		}
		return n > 0
	})
}

func databaseAway(s *scene, f fault) { s.refused(f, f.database.Stop, f.database.Start) }

// databaseReadOnly lets PostgreSQL answer and refuse what is written, as one
// does that has become a standby, which the gateways have to say.
func databaseReadOnly(s *scene, f fault) {
	alter := func(how string) {
		for _, statement := range []string{"ALTER SYSTEM " + how, "SELECT pg_reload_conf()"} {
			if output, err := f.database.PSQL(statement); err != nil {
				s.Fatalf("%s: %v\n%s", statement, err, output)
			}
		}
	}
	s.refused(f, func() {
		alter("SET default_transaction_read_only = on")
		stage.Asking(s, limit, "the gateways say why they are not ready", func() bool {
			a, err := s.api().Call("GET", "/readyz", nil)
			return err == nil && a.Status == http.StatusServiceUnavailable && strings.Contains(string(a.Body), "read-only")
		})
	}, func() { alter("RESET default_transaction_read_only") })
}

// refused has posters told that nothing is taken from the time when shut has
// shut the database until open has opened it again, and everything be as if
// nothing had been from then on.
func (s *scene) refused(f fault, shut, open func()) {
	strikeUnderLoad(func(s *scene, _ fault) {
		shut()
		gone := time.Now()
		p := s.partners[0]
		event := stage.Event(p.Code, s.events) // after those of the load
		stage.Asking(s, limit, "a poster is told that nothing is taken", func() bool {
			a, err := s.api().Call("POST", "/internal/v1/events", event)
			if err == nil && a.Status == http.StatusAccepted {
				s.Fatal("an event is accepted of a database that takes none")
			}
			return err == nil && a.Status == http.StatusServiceUnavailable && time.Since(gone) >= pick(s.size, 0, 20*time.Second)
		})
		open()
		s.back()
		var made struct{ EventID string }
		stage.Asking(s, soon, "the same event is accepted as if nothing had been", func() bool {
			a, err := s.api().Call("POST", "/internal/v1/events", event)
			return err == nil && a.Status == http.StatusAccepted && json.Unmarshal(a.Body, &made) == nil
		})
		s.posted[made.EventID] = true
		stage.Asking(s, soon, "the gateway is ready again", func() bool {
			a, err := s.api().Call("GET", "/readyz", nil)
			return err == nil && a.Status == http.StatusOK
		})
	})(s, f)
	for _, l := range s.loads {
		for _, a := range l.Away {
			if a.Header.Get("Retry-After") == "" {
				s.Errorf("a 503 does not say when to come back: %s", a.Body)
			}
		}
	}
}
