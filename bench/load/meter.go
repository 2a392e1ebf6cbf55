package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"ledgerhook/bench/stage"
)

// meter reads what the parts of a world have used.
type meter struct {
	w          *world
	db         *pgx.Conn     // nil when embedded
	cache      *redis.Client // nil when embedded
	statements bool          // PostgreSQL counts them
}

// reading is what the parts have used since they started.
type reading struct {
	gateway, postgres, redis, receiver, bench time.Duration // of processors
	allocations, finished                     float64
	statements, commits                       float64
	commands, scripts                         float64
}

// minus is what has been used since o was read.
func (r reading) minus(o reading) reading {
	return reading{r.gateway - o.gateway, r.postgres - o.postgres, r.redis - o.redis, r.receiver - o.receiver, r.bench - o.bench,
		r.allocations - o.allocations, r.finished - o.finished, r.statements - o.statements, r.commits - o.commits,
		r.commands - o.commands, r.scripts - o.scripts}
}

func newMeter(w *world) *meter {
	m := &meter{w: w}
	if w.postgres == nil {
		return m
	}
	var err error
	if m.db, err = pgx.Connect(w.t.Context(), w.database); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = m.db.Close(context.Background()) })
	_, err = m.db.Exec(w.t.Context(), "CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
	m.statements = err == nil && len(statementSettings()) > 0
	m.cache = w.cache.Redis()
	return m
}

// read reads everything.
func (m *meter) read() (r reading) {
	shown := m.shown()
	r.allocations, r.finished = shown["go_memstats_mallocs_total"], shown[finishedMetric]
	if m.db != nil {
		m.readPostgres(&r)
		m.readRedis(&r)
	}
	var gateways, postgres, cache []int
	for _, g := range m.w.gateways {
		gateways = append(gateways, g.Process.Cmd.Process.Pid)
	}
	if m.db != nil {
		postgres, cache = []int{m.w.postgres.PID()}, []int{m.w.cache.PID()}
	}
	used := treeCPU(gateways, postgres, cache, []int{m.w.receiver.Cmd.Process.Pid})
	r.gateway, r.postgres, r.redis, r.receiver, r.bench = used[0], used[1], used[2], used[3], ownCPU()
	return r
}

func (m *meter) readPostgres(r *reading) {
	ctx := m.w.t.Context()
	if err := m.db.QueryRow(ctx, "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()").Scan(&r.commits); err != nil {
		m.w.t.Fatal(err)
	}
	if !m.statements {
		return
	}
	if err := m.db.QueryRow(ctx, "SELECT coalesce(sum(calls), 0)::float8 FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())").Scan(&r.statements); err != nil {
		m.w.t.Fatal(err)
	}
}

// readRedis counts what clients have asked Redis and what its scripts have.
func (m *meter) readRedis(r *reading) {
	told, err := m.cache.Info(m.w.t.Context(), "commandstats").Result()
	if err != nil {
		m.w.t.Fatal(err)
	}
	for line := range strings.Lines(told) {
		command, calls, ok := strings.Cut(strings.TrimSpace(line), ":calls=")
		if !ok {
			continue
		}
		number, _, _ := strings.Cut(calls, ",")
		n, _ := strconv.ParseFloat(number, 64)
		r.commands += n
		if strings.HasPrefix(command, "cmdstat_eval") {
			r.scripts += n
		}
	}
}

// finishedMetric counts deliveries that have ended.
const finishedMetric = "ledgerhook_deliveries_finished_total"

// shown are the metrics of all processes, those of a name added up.
func (m *meter) shown() map[string]float64 {
	all := map[string]float64{}
	for _, g := range m.w.gateways {
		m.add(all, g)
	}
	return all
}

func (m *meter) add(all map[string]float64, g *stage.Gateway) {
	base, _ := g.Reach()
	response, err := http.Get(base + "/metrics")
	if err != nil {
		m.w.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		m.w.t.Fatalf("/metrics: %d, %v", response.StatusCode, err)
	}
	for line := range strings.Lines(string(text)) {
		end := strings.LastIndexByte(line, ' ')
		if strings.HasPrefix(line, "#") || end < 0 {
			continue
		}
		name, _, _ := strings.Cut(line[:end], "{")
		value, _ := strconv.ParseFloat(strings.TrimSpace(line[end:]), 64)
		all[name] += value
	}
}

// bytes is how large the ledger is on disk.
func (m *meter) bytes() (n int64) {
	if m.db != nil {
		if err := m.db.QueryRow(m.w.t.Context(), "SELECT pg_database_size(current_database())").Scan(&n); err != nil {
			m.w.t.Fatal(err)
		}
		return n
	}
	files, _ := filepath.Glob(filepath.Join(m.w.gateway.Dir, "data", "*.db*"))
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			n += info.Size()
		}
	}
	return n
}

// redisMemory is what Redis holds, in bytes.
func (m *meter) redisMemory() (n int64) {
	told, err := m.cache.Info(m.w.t.Context(), "memory").Result()
	if err != nil {
		m.w.t.Fatal(err)
	}
	_, used, _ := strings.Cut(told, "used_memory:")
	_, _ = fmt.Sscan(used, &n)
	return n
}

// finished waits until the gateway has recorded that n more deliveries ended
// than when r was read.
func (m *meter) finished(r reading, n int) {
	stage.Asking(m.w.t, time.Minute, fmt.Sprintf("%d deliveries have ended", n), func() bool {
		return m.shown()[finishedMetric] >= r.finished+float64(n)
	})
}
