package main

import (
	"time"

	"ledgerhook/bench/stage"
)

// row is one way to have the stores, and what happens to them under load.
type row struct {
	name   string
	longer int // times as long as the others; 0: as long
	stores func(stage.T, load) stores
}

// stores are what the gateways of a row stand on.
type stores struct {
	postgres *stage.Store // that is migrated
	redis    *stage.Store // nil: env says where
	env      map[string]string
	fault    func(*scene)
}

var rows = []row{
	{name: "Redis Sentinel, master killed", stores: sentinel},
	{name: "Redis Cluster, a master killed", stores: cluster},
	{name: "pgbouncer, killed and started again", stores: pooler},
	{name: "PostgreSQL primary killed, replica promoted", stores: standby},
	{name: "two workers rolled in turn", longer: 4, stores: rolling},
}

func sentinel(t stage.T, l load) stores {
	s := stage.StartSentinels(t, l.silence)
	return stores{
		postgres: stage.StartPostgres(t),
		env:      map[string]string{"LEDGERHOOK_REDIS_URL": s.URL()},
		fault:    func(*scene) { s.Master.Stop() },
	}
}

func cluster(t stage.T, l load) stores {
	c := stage.StartCluster(t, l.silence)
	return stores{
		postgres: stage.StartPostgres(t),
		env:      map[string]string{"LEDGERHOOK_REDIS_URL": c.URL()},
		fault:    func(*scene) { c.Busiest().Stop() },
	}
}

// pooler has pgbouncer end amid all transactions, and a new one in its place.
func pooler(t stage.T, _ load) stores {
	postgres := stage.StartPostgres(t)
	p := stage.StartPooler(t, postgres)
	return stores{
		postgres: postgres, redis: stage.StartRedis(t),
		env: map[string]string{"LEDGERHOOK_DATABASE_URL": p.PostgresURL()},
		fault: func(*scene) {
			p.Stop()
			p.Start()
		},
	}
}

// standby is a primary that answers no commit before its replica has it, which
// lists and pages are read from.
func standby(t stage.T, _ load) stores {
	primary := stage.StartPostgres(t)
	replica := stage.StartStandby(t, primary)
	return stores{
		postgres: primary, redis: stage.StartRedis(t),
		env: map[string]string{"LEDGERHOOK_DATABASE_URL": stage.PrimaryURL(primary, replica), "LEDGERHOOK_DATABASE_READ_URL": replica.PostgresURL()},
		fault: func(*scene) {
			primary.Stop()
			replica.Promote()
		},
	}
}

// rolling has each of the two workers in turn stop, as in an upgrade, and start
// again, for three times as long as other rows last.
func rolling(t stage.T, l load) stores {
	return stores{
		postgres: stage.StartPostgres(t), redis: stage.StartRedis(t),
		fault: func(s *scene) {
			next := time.NewTicker(l.every)
			defer next.Stop()
			for turn := range int(3 * l.lasts / l.every) {
				if turn > 0 {
					s.strike()
				}
				worker := s.workers[turn%len(s.workers)]
				if code := worker.Terminate(stopLimit); code != 0 {
					s.Errorf("a worker that was asked to stop ended with %d", code)
				}
				worker.Start()
				select {
				case <-next.C:
				case <-s.Context().Done():
					s.Fatal("interrupted between two workers")
				}
			}
		},
	}
}

// stopLimit is what a stop may take; see the operations page.
const stopLimit = 45 * time.Second
