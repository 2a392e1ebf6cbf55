package acceptance

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"ledgerhook/bench/stage"
)

// Lists and pages come from the replica as long as it has what is committed, and
// show what has just been done in any case.
func TestPagesReadFromTheReplicaAndNeverShowLessThanThePrimary(t *testing.T) {
	t.Parallel()
	primary := stage.StartPostgres(t)
	replica := stage.StartStandby(t, primary)
	g := stage.Served(t, primary.PostgresURL(), stage.StartRedis(t))
	g.Set(map[string]string{"LEDGERHOOK_DATABASE_READ_URL": replica.PostgresURL()})
	g.Start()
	p := stage.NewPartner(g, "acme", stage.TakeAll)
	browser := stage.SignIn(g)
	var posted []string
	seen := func(what string) {
		t.Helper()
		posted = append(posted, stage.PostFrom(g, p.Code, len(posted), 1)...)
		g.Must("GET", "/internal/v1/events/"+posted[len(posted)-1], nil, http.StatusOK, nil)
		if all := g.Deliveries(p.Code, ""); len(all) != len(posted) {
			t.Errorf("%s: %d deliveries are listed of %d", what, len(all), len(posted))
		}
		internal, _ := g.Reach()
		response, err := browser.Get(internal + "/ops/deliveries?q=state:any")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		page, err := io.ReadAll(response.Body)
		if d := g.Deliveries(p.Code, "")[0].DeliveryID; err != nil || !strings.Contains(string(page), d) {
			t.Errorf("%s: the page lacks %s, %s, %v", what, d, response.Status, err)
		}
	}
	warns := func(want string) {
		t.Helper()
		stage.Asking(t, deadline, "/readyz warns: "+want, func() bool {
			a, err := g.Call("GET", "/readyz", nil)
			return err == nil && a.Status == http.StatusOK && strings.Contains(string(a.Body), want)
		})
	}

	isAsked := func(what string) {
		t.Helper()
		stage.Asking(t, time.Minute, what+" is asked", func() bool {
			g.Deliveries(p.Code, "")
			return asked(t, replica) > 0
		})
	}

	seen("a replica that keeps up")
	isAsked("a replica that keeps up") // on a busy machine not at once
	psql(t, replica, "SELECT pg_wal_replay_pause()")
	seen("a replica that is behind")
	warns("behind the primary")
	psql(t, replica, "SELECT pg_wal_replay_resume()")
	warns(`"name":"replica","ok":true`)
	psql(t, primary, "ALTER SYSTEM RESET synchronous_standby_names")
	psql(t, primary, "SELECT pg_reload_conf()")
	replica.Stop()
	seen("a replica that is away")
	warns("ask the replica how far it is")
	if n := g.Logged("lists and pages are read from the primary", nil); n == 0 {
		t.Error("the log does not say where lists and pages are read from")
	}
	replica.Start()
	isAsked("a replica that is back")
	seen("a replica that is back")
	slices.Sort(posted)
	stage.Settle(g, p, posted, deadline)
}

// asked is how many sessions on a replica last read deliveries.
func asked(t *testing.T, replica *stage.Store) int {
	t.Helper()
	return len(psql(t, replica, "SELECT pid FROM pg_stat_activity WHERE query LIKE '%FROM deliveries%' AND pid <> pg_backend_pid()"))
}

// psql runs a statement and returns the lines of its answer.
func psql(t *testing.T, on *stage.Store, statement string) []string {
	t.Helper()
	output, err := on.PSQL(statement)
	if err != nil {
		t.Fatalf("%s: %v\n%s", statement, err, output)
	}
	return strings.Fields(string(output))
}
