package stage

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// SentinelMaster is what the Sentinels of a stage call their master.
const SentinelMaster = "ledgerhook"

// Sentinels are a Redis with a replica and those who promote it.
type Sentinels struct {
	Master, Replica *Store
	watchers        []*Store
}

// StartSentinels starts a Redis, its replica and three Sentinels, which take the
// master for dead after it has been silent for a time and two of them say so.
func StartSentinels(tb T, silence time.Duration) *Sentinels {
	tb.Helper()
	auth := []string{"--masterauth", RedisPassword}
	s := &Sentinels{Master: StartRedis(tb, auth...)}
	s.Replica = StartRedis(tb, append(auth, "--replicaof", "127.0.0.1", strconv.Itoa(s.Master.Port))...)
	for range 3 {
		s.watchers = append(s.watchers, startSentinel(tb, s.Master, silence))
	}
	replica := s.Replica.Redis()
	for _, w := range s.watchers {
		asked := redis.NewSentinelClient(&redis.Options{Addr: w.Address()})
		tb.Cleanup(func() { _ = asked.Close() })
		Eventually(tb, time.Minute, "a Sentinel knows the others and the replica", func() bool {
			known, err := asked.Master(tb.Context(), SentinelMaster).Result()
			return err == nil && known["num-slaves"] == "1" && known["num-other-sentinels"] == "2" && linked(tb, replica)
		})
	}
	return s
}

func startSentinel(tb T, master *Store, silence time.Duration) *Store {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "sentinel.conf") // which it writes itself
	s := &Store{tb: tb, ready: "+monitor master", quit: os.Kill, command: func(port int) *exec.Cmd {
		text := fmt.Sprintf("bind 127.0.0.1\nport %d\nsentinel monitor %[2]s 127.0.0.1 %[3]d 2\nsentinel auth-pass %[2]s %[4]s\n"+
			"sentinel down-after-milliseconds %[2]s %[5]d\nsentinel failover-timeout %[2]s 10000\n",
			port, SentinelMaster, master.Port, RedisPassword, silence.Milliseconds())
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
		return exec.Command("redis-server", path, "--sentinel")
	}}
	s.Start()
	return s
}

// URL is their address as the settings take it, password included.
func (s *Sentinels) URL() string {
	return fmt.Sprintf("redis-sentinel://default:%s@%s/%s", RedisPassword, addresses(s.watchers), SentinelMaster)
}

// linked reports whether a Redis is a replica and gets what its master writes.
func linked(tb T, client *redis.Client) bool {
	told, err := client.Info(tb.Context(), "replication").Result()
	return err == nil && strings.Contains(told, "master_link_status:up")
}

func addresses(of []*Store) string {
	var all []string
	for _, s := range of {
		all = append(all, s.Address())
	}
	return strings.Join(all, ",")
}

// Cluster is a Redis Cluster: three masters, and behind them a replica of each.
type Cluster struct {
	tb      T
	nodes   []*Store
	clients []*redis.Client // of each node
}

// StartCluster starts a Redis Cluster whose nodes take one for dead that has been
// silent for a time.
func StartCluster(tb T, silence time.Duration) *Cluster {
	tb.Helper()
	c := &Cluster{tb: tb}
	for range 6 {
		node := StartRedis(tb, "--masterauth", RedisPassword, "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
			"--cluster-port", strconv.Itoa(FreePort(tb)), "--cluster-node-timeout", strconv.FormatInt(silence.Milliseconds(), 10))
		c.nodes, c.clients = append(c.nodes, node), append(c.clients, node.Redis())
	}
	create := exec.Command("redis-cli", "--cluster", "create")
	create.Args = append(append(create.Args, strings.Split(addresses(c.nodes), ",")...), "--cluster-replicas", "1", "--cluster-yes")
	create.Env = append(os.Environ(), "REDISCLI_AUTH="+RedisPassword)
	if output, err := create.CombinedOutput(); err != nil {
		tb.Fatalf("make a Redis Cluster: %v\n%s", err, output)
	}
	Eventually(tb, time.Minute, "every node serves, three of them as replicas", func() bool {
		replicas := 0
		for _, node := range c.clients {
			state, err := node.ClusterInfo(tb.Context()).Result()
			if err != nil || !strings.Contains(state, "cluster_state:ok") {
				return false
			}
			if linked(tb, node) {
				replicas++
			}
		}
		return replicas == 3
	})
	return c
}

// URL is its address as the settings take it, password included.
func (c *Cluster) URL() string {
	return fmt.Sprintf("redis-cluster://default:%s@%s", RedisPassword, addresses(c.nodes))
}

// Busiest is the master that holds the most keys.
func (c *Cluster) Busiest() (busiest *Store) {
	c.tb.Helper()
	most := int64(-1)
	for i, node := range c.clients {
		keys, err := node.DBSize(c.tb.Context()).Result()
		if err != nil {
			c.tb.Fatal(err)
		}
		if !linked(c.tb, node) && keys > most {
			busiest, most = c.nodes[i], keys
		}
	}
	return busiest
}

// StartStandby starts a streaming replica of a PostgreSQL, which from then on
// answers no commit that the replica does not have: what was answered outlives it.
func StartStandby(tb T, primary *Store, settings ...string) *Store {
	tb.Helper()
	d := newPostgresDir(tb)
	backup := d.command(tb, "pg_basebackup", "--pgdata="+d.data(), "--dbname="+primary.PostgresURL(), "--wal-method=stream", "--write-recovery-conf",
		"--checkpoint=fast", "--no-sync")
	if output, err := backup.CombinedOutput(); err != nil {
		tb.Fatalf("pg_basebackup: %v\n%s", err, output)
	}
	standby := d.start(tb, "ready to accept read-only connections", settings)
	primary.must("ALTER SYSTEM SET synchronous_standby_names = '*'")
	primary.must("SELECT pg_reload_conf()")
	defer func() {
		if tb.Failed() {
			tb.Logf("the primary says\n%s\nand its replica\n%s", primary.Output, standby.Output)
		}
	}()
	Eventually(tb, time.Minute, "the primary waits for its replica", func() bool {
		return primary.must("SELECT count(*) > 0 FROM pg_stat_replication WHERE sync_state = 'sync'") == "t"
	})
	return standby
}

// Promote makes a standby the primary, and returns when it takes writes.
func (s *Store) Promote() {
	s.tb.Helper()
	if done := s.must("SELECT pg_promote(true, 60)"); done != "t" {
		s.tb.Fatalf("the standby was not promoted: %s", done)
	}
}

// must runs statements on a PostgreSQL.
func (s *Store) must(statements string) string {
	s.tb.Helper()
	output, err := s.PSQL(statements)
	if err != nil {
		s.tb.Fatalf("%s: %v\n%s", statements, err, output)
	}
	return strings.TrimSpace(string(output))
}

// StartPooler starts a pgbouncer in transaction mode in front of a PostgreSQL.
func StartPooler(tb T, postgres *Store) *Store {
	tb.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer" // which may not be on the PATH
	}
	if _, err := os.Stat(program); err != nil {
		tb.Fatal("pgbouncer is missing: install the package pgbouncer")
	}
	d := newPostgresDir(tb) // it refuses root, too
	users, settings := filepath.Join(d.dir, "users"), filepath.Join(d.dir, "pgbouncer.ini")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	write(users, fmt.Sprintf("%q %q\n", "ledgerhook", PostgresPassword))
	s := &Store{tb: tb, ready: "process up", quit: os.Kill, command: func(port int) *exec.Cmd {
		write(settings, fmt.Sprintf("[databases]\n* = host=127.0.0.1 port=%d\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\n"+
			"auth_type = scram-sha-256\nauth_file = %s\npool_mode = transaction\nmax_client_conn = 500\ndefault_pool_size = 20\n", postgres.Port, port, users))
		cmd := exec.Command(program, settings)
		cmd.Dir, cmd.SysProcAttr = d.dir, d.attributes
		return cmd
	}}
	s.Start()
	return s
}
