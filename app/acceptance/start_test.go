package acceptance

import (
	"database/sql"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // to prepare and to look into databases

	"ledgerhook/bench/stage"
	"ledgerhook/ledger/ledgertest"
)

// prepared is a database that a test has its own plans for.
type prepared struct {
	tb  testing.TB
	url string
	db  *sql.DB
}

func prepare(tb testing.TB) *prepared {
	tb.Helper()
	p := &prepared{tb: tb, url: ledgertest.Schema(tb)}
	var err error
	if p.db, err = sql.Open("pgx", p.url); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = p.db.Close() })
	return p
}

func (p *prepared) exec(statement string) {
	p.tb.Helper()
	if _, err := p.db.ExecContext(p.tb.Context(), statement); err != nil {
		p.tb.Fatal(err)
	}
}

// content is every table of the schema with its number of rows.
func (p *prepared) content() (tables []string) {
	p.tb.Helper()
	rows, err := p.db.QueryContext(p.tb.Context(), `SELECT tablename || ' ' || (xpath('/row/n/text()',
		query_to_xml(format('SELECT COUNT(*) AS n FROM %I.%I', schemaname, tablename), false, true, '')))[1]::text
		FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1`)
	if err != nil {
		p.tb.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var table string
		if err := rows.Scan(&table); err != nil {
			p.tb.Fatal(err)
		}
		tables = append(tables, table)
	}
	if err := rows.Err(); err != nil {
		p.tb.Fatal(err)
	}
	return tables
}

// files lists what stands in a directory, with sizes.
func files(tb testing.TB, dir string) (found []string) {
	tb.Helper()
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		switch {
		case err != nil || path == dir:
		case filepath.Base(path) == "lock": // who tried last, a number of as many digits as it happens to have
			found = append(found, strings.TrimPrefix(path, dir))
		default:
			found = append(found, fmt.Sprint(strings.TrimPrefix(path, dir), " ", info.Size()))
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return found
}

// refuseStart starts a gateway that must not start: it exits with code and one
// line that contains each part of want, and changes nothing.
func refuseStart(t *testing.T, g *stage.Gateway, code int, want []string, args ...string) {
	t.Helper()
	before := files(t, g.Dir)
	stdout, stderr := &stage.Output{}, &stage.Output{}
	p := stage.Launch(t, stage.Ledgerhook(g.Dir, g.Env, stdout, stderr, append([]string{"serve"}, args...)...))
	if got := p.Wait(30 * time.Second); got != code {
		t.Errorf("exit code %d, want %d", got, code)
	}
	said := stderr.All()
	t.Logf("%s%s", stdout, stderr)
	if len(said) != 1 || len(stdout.All()) != 0 {
		t.Fatalf("want one line on stderr:\n%s%s", stdout, stderr)
	}
	for _, part := range append([]string{"ledgerhook: "}, want...) {
		if !strings.Contains(said[0].Text, part) {
			t.Errorf("the line does not say %q: %s", part, said[0].Text)
		}
	}
	for _, secret := range g.Secrets {
		if strings.Contains(said[0].Text, secret) {
			t.Errorf("the line shows a secret: %s", said[0].Text)
		}
	}
	if after := files(t, g.Dir); !slices.Equal(before, after) {
		t.Errorf("files were written:\nbefore %q\nafter  %q", before, after)
	}
}

func TestWrongSettingsAreRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		env  map[string]string
		want []string
	}{
		{"unknown variable", map[string]string{"LEDGERHOOK_LISTNE": "127.0.0.1:0"}, []string{"LEDGERHOOK_LISTNE", "LEDGERHOOK_LISTEN"}},
		{"bad value", map[string]string{"LEDGERHOOK_DELIVERY_RETRY": "soon"}, []string{"LEDGERHOOK_DELIVERY_RETRY", "such as 0s,5s,2m"}},
		{"two bad values", map[string]string{"LEDGERHOOK_RETENTION": "-1h", "LEDGERHOOK_LOG": "xml"}, []string{"LEDGERHOOK_RETENTION", "LEDGERHOOK_LOG"}},
		{"PostgreSQL without its secrets", map[string]string{"LEDGERHOOK_DATABASE_URL": "postgres://user:" + stage.PostgresPassword + "@127.0.0.1/x"},
			[]string{"LEDGERHOOK_MASTER_KEY", "LEDGERHOOK_TOKEN"}},
		{"a role alone on stage.Embedded stores", map[string]string{"LEDGERHOOK_ROLES": "api"}, []string{"LEDGERHOOK_ROLES", "api,worker,dashboard"}},
		{"bad master key", map[string]string{"LEDGERHOOK_MASTER_KEY": "dG9vIHNob3J0IGEga2V5"}, []string{"LEDGERHOOK_MASTER_KEY", "openssl rand -base64 32"}},
		{"a secret's file that is not there", map[string]string{"LEDGERHOOK_TOKEN_FILE": "nowhere"}, []string{"LEDGERHOOK_TOKEN_FILE", "nowhere"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := stage.Embedded(t)
			g.Set(test.env)
			g.Secret(stage.PostgresPassword, "dG9vIHNob3J0IGEga2V5")
			refuseStart(t, g, 1, test.want)
		})
	}
	t.Run("unknown key of the file", func(t *testing.T) {
		g := stage.Embedded(t)
		if err := os.WriteFile(filepath.Join(g.Dir, "settings.yaml"), []byte("delivery:\n  retries: 0s\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		refuseStart(t, g, 1, []string{"settings.yaml", "delivery.retries"}, "--config", "settings.yaml")
	})
	t.Run("unknown flag", func(t *testing.T) {
		refuseStart(t, stage.Embedded(t), 2, []string{"--loud", "--help"}, "--loud")
	})
	t.Run("unknown argument", func(t *testing.T) {
		refuseStart(t, stage.Embedded(t), 2, []string{"now", "--help"}, "now")
	})
}

func TestUnreachableStoresAreRefused(t *testing.T) {
	t.Parallel()
	cache := stage.StartRedis(t)
	nobody := stage.Nobody(t)
	t.Run("PostgreSQL", func(t *testing.T) {
		g := stage.Served(t, nobody.PostgresURL(), cache)
		refuseStart(t, g, 1, []string{"LEDGERHOOK_DATABASE_URL", nobody.Address()})
	})
	t.Run("a host that does not exist", func(t *testing.T) {
		g := stage.Served(t, "postgres://ledgerhook:"+stage.PostgresPassword+"@nowhere.invalid/x", cache)
		refuseStart(t, g, 1, []string{"LEDGERHOOK_DATABASE_URL", "nowhere.invalid"})
	})
	t.Run("Redis", func(t *testing.T) {
		database := prepare(t)
		g := stage.Served(t, database.url, nobody)
		refuseStart(t, g, 1, []string{"LEDGERHOOK_REDIS_URL", nobody.Address()})
		if got := database.content(); len(got) != 0 {
			t.Errorf("the database was written to: %q", got)
		}
	})
	t.Run("Redis beside the stage.Embedded ledger", func(t *testing.T) {
		g := stage.Embedded(t)
		g.Set(map[string]string{"LEDGERHOOK_REDIS_URL": nobody.RedisURL()})
		refuseStart(t, g, 1, []string{"LEDGERHOOK_REDIS_URL", nobody.Address()})
	})
	t.Run("Redis with a wrong password", func(t *testing.T) {
		g := stage.Served(t, ledgertest.Schema(t), cache)
		g.Secret("a-wrong-password")
		g.Set(map[string]string{"LEDGERHOOK_REDIS_URL": "redis://default:a-wrong-password@" + cache.Address()})
		refuseStart(t, g, 1, []string{"LEDGERHOOK_REDIS_URL", "WRONGPASS"})
	})
}

func TestForeignDatabasesAreRefused(t *testing.T) {
	t.Parallel()
	cache := stage.StartRedis(t)
	refuse := func(t *testing.T, database *prepared, g *stage.Gateway, want ...string) {
		t.Helper()
		before := database.content()
		refuseStart(t, g, 1, want)
		if after := database.content(); !slices.Equal(before, after) {
			t.Errorf("the database was written to:\nbefore %q\nafter  %q", before, after)
		}
	}
	t.Run("somebody else's", func(t *testing.T) {
		database := prepare(t)
		database.exec("CREATE TABLE invoices (id TEXT)")
		refuse(t, database, stage.Served(t, database.url, cache), "tables that are not Ledgerhook's", "give it an empty one")
	})

	database := prepare(t)
	g := stage.Served(t, database.url, cache)
	g.Start()
	g.Terminate(deadline)
	t.Run("wrong master key", func(t *testing.T) {
		other := stage.Served(t, database.url, cache)
		other.Set(map[string]string{"LEDGERHOOK_MASTER_KEY": "b3RoZXIta2V5LW9mLXRoZS10ZXN0LTMyLWJ5dGVzISE="})
		other.Secret("b3RoZXIta2V5LW9mLXRoZS10ZXN0LTMyLWJ5dGVzISE=")
		refuse(t, database, other, "LEDGERHOOK_MASTER_KEY", "set the key it was first started with")
	})
	t.Run("newer schema", func(t *testing.T) {
		database.exec("INSERT INTO ledgerhook_migrations (version_id, is_applied) VALUES (99, true)")
		database.exec("UPDATE meta SET value = '00099' WHERE key = 'schema/oldest'")
		refuse(t, database, stage.Served(t, database.url, cache), "schema version 99", "run the newer ledgerhook")
		database.exec("DELETE FROM ledgerhook_migrations WHERE version_id = 99")
		database.exec("DELETE FROM meta WHERE key = 'schema/oldest'")
	})
	t.Run("older schema", func(t *testing.T) {
		database.exec("DELETE FROM ledgerhook_migrations WHERE version_id > 0")
		refuse(t, database, stage.Served(t, database.url, cache), `run "ledgerhook migrate"`)
	})
}

// PostgreSQL takes no changes, as after its disk was full: a process of the API
// starts and stops all the same, and says so.
func TestAnAPIProcessStartsWhileNothingCanBeWritten(t *testing.T) {
	t.Parallel()
	url := ledgertest.Borrowed(t)
	g := stage.Served(t, url, stage.StartRedis(t))
	g.Start()
	g.Terminate(time.Minute)
	g.Set(map[string]string{"LEDGERHOOK_ROLES": "api", "LEDGERHOOK_DATABASE_URL": ledgertest.With(t, url, "default_transaction_read_only", func(string) string { return "on" })})
	g.Start()
	if a, err := g.Call("GET", "/readyz", nil); err != nil || a.Status != http.StatusServiceUnavailable || !strings.Contains(string(a.Body), "read-only") {
		t.Errorf("it is ready: %d %s, %v", a.Status, a.Body, err)
	}
	if a, err := g.Call("GET", "/internal/v1/partners", nil); err != nil || a.Status != http.StatusOK {
		t.Errorf("nothing can be read: %d %s, %v", a.Status, a.Body, err)
	}
	if code := g.Terminate(time.Minute); code != 0 {
		t.Errorf("it stops with exit code %d", code)
	}
}

func TestASecondServeAndATakenPortAreRefused(t *testing.T) {
	t.Parallel()
	g := stage.Embedded(t)
	g.Start()
	t.Run("second serve", func(t *testing.T) {
		second := stage.Embedded(t)
		second.Set(map[string]string{"LEDGERHOOK_DATA_DIR": filepath.Join(g.Dir, "data")})
		refuseStart(t, second, 1, []string{"in use by process " + fmt.Sprint(g.Process.Cmd.Process.Pid), "LEDGERHOOK_DATA_DIR"})
	})
	for _, listener := range []string{"LEDGERHOOK_LISTEN", "LEDGERHOOK_INTERNAL_LISTEN"} {
		t.Run(listener, func(t *testing.T) {
			taken, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = taken.Close() }()
			third := stage.Embedded(t)
			third.Set(map[string]string{listener: taken.Addr().String()})
			refuseStart(t, third, 1, []string{listener, taken.Addr().String(), "in use"})
		})
	}
	stage.PostAll(g, stage.NewPartner(g, "acme", stage.TakeAll).Code, 1) // the first has not noticed
	g.Await("acme", deadline)
}

func TestAnEmbeddedLedgerIsForItsMasterKeyAndItsProgram(t *testing.T) {
	t.Parallel()
	g := stage.Embedded(t)
	g.Start()
	g.Terminate(deadline)
	key := filepath.Join(g.Dir, "data", "master-key")
	saved, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the master key's file has mode %v (%v)", info.Mode(), err)
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(g.Dir, "data", "internal-token")); err != nil {
		t.Fatal(err)
	}
	refuseStart(t, g, 1, []string{"data/master-key is missing"}) // and makes neither file
	if err := os.WriteFile(key, []byte(stage.TestMasterKey+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g.Secret(stage.TestMasterKey, strings.TrimSpace(string(saved)))
	refuseStart(t, g, 1, []string{"data/master-key is not the key that this database was encrypted with"})
	if err := os.WriteFile(key, saved, 0o600); err != nil {
		t.Fatal(err)
	}
	g.Start()
}
