package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"ledgerhook/bench/stage"
	"ledgerhook/signer"
)

// setting is a world and how its partners have their notifications signed.
type setting struct {
	name       string
	title      string
	embedded   bool
	signatures []string
}

// embeddedPrefix is how the names of settings without stores of their own begin.
const embeddedPrefix = "embedded/"

var (
	rsaAndHMAC = []string{"rsa", "standard"}
	hmacOnly   = []string{"standard"}

	settings = []setting{
		{"stores/rsa", "PostgreSQL + Redis, RSA + HMAC", false, rsaAndHMAC},
		{"stores/hmac", "PostgreSQL + Redis, HMAC only", false, hmacOnly},
		{embeddedPrefix + "rsa", "embedded, RSA + HMAC", true, rsaAndHMAC},
		{embeddedPrefix + "hmac", "embedded, HMAC only", true, hmacOnly},
	}
)

// world is a gateway that runs with everything around it.
type world struct {
	t *stage.Trial
	setting
	postgres, cache *stage.Store     // nil when embedded
	database        string           // URL of the one on PostgreSQL
	gateway         *stage.Gateway   // that takes the events
	gateways        []*stage.Gateway // all processes
	meter           *meter
	receiver        *stage.Process
	reached         reached
	partners        []string
	errands         int
}

// allRoles are those of a gateway in one process.
const allRoles = "api,worker,dashboard"

// newWorld starts stores as an operator has them (every commit synced, Redis
// with its log), a receiver, and a gateway in a process for each of the roles,
// and makes the partners. No roles: one process with all of them.
func newWorld(t *stage.Trial, s setting, o options, roles ...string) *world {
	w := &world{t: t, setting: s}
	w.receiver, w.reached = startReceiver(t)
	if !s.embedded {
		w.postgres = o.postgres
		if w.postgres == nil {
			w.postgres = startPostgres(t)
		}
		w.database = w.postgres.CreateDatabase(t)
		w.cache = stage.StartRedis(t, "--appendonly", "yes", "--appendfsync", "everysec")
	}
	if len(roles) == 0 {
		roles = []string{allRoles}
	}
	for _, role := range roles {
		g := stage.Embedded(t)
		if !s.embedded {
			g = stage.Served(t, w.database, w.cache)
		}
		g.Set(map[string]string{"LEDGERHOOK_ROLES": role})
		g.Set(o.env)
		if o.rows > 0 && len(w.gateways) == 0 {
			w.fill(g, o.rows)
		}
		g.Start()
		w.gateways = append(w.gateways, g)
	}
	w.gateway = w.gateways[0]
	w.addPartners(o.partners)
	if o.waiting > 0 {
		w.keepWaiting(o.waiting)
	}
	w.meter = newMeter(w)
	return w
}

// self is a command line of a part of this program.
func self(t stage.T, part string) *exec.Cmd {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command(program, part)
}

// startReceiver starts the process that plays all partners, which ends with
// this one at the latest.
func startReceiver(t stage.T) (p *stage.Process, at reached) {
	printed := &stage.Output{}
	cmd := self(t, receivePart)
	cmd.Stdout, cmd.Stderr = printed, os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	p = stage.Launch(t, cmd)
	stage.Eventually(t, time.Minute, "the receiver listens", func() bool {
		line, ok := printed.Find(0, "}")
		return ok && json.Unmarshal([]byte(line.Text), &at) == nil
	})
	return p, at
}

// partnerKey is the public key of every partner: nothing here signs with it.
var partnerKey = sync.OnceValue(func() string {
	key, err := signer.GenerateKey(2048)
	if err != nil {
		panic(err)
	}
	return string(key.PublicPEM())
})

// addPartners makes n partners with an endpoint each.
func (w *world) addPartners(n int) {
	var makers errgroup.Group
	makers.SetLimit(4)
	for i := range n {
		code := fmt.Sprintf("load-%d", i)
		w.partners = append(w.partners, code)
		makers.Go(func() error {
			w.addPartner(code, w.url(i))
			return nil
		})
	}
	_ = makers.Wait()
	if w.t.Failed() {
		w.t.Fatal("a partner could not be made")
	}
}

// addPartner makes a partner with an endpoint.
func (w *world) addPartner(code, url string) {
	w.gateway.Must("POST", "/internal/v1/partners", map[string]any{"partnerCode": code, "name": code, "publicKey": partnerKey(),
		"settings": map[string]any{"signatures": w.signatures}}, http.StatusCreated, nil)
	w.addEndpoint(code, url)
}

func (w *world) addEndpoint(partner, url string) {
	w.gateway.Must("POST", "/internal/v1/partners/"+partner+"/endpoints", map[string]any{"url": url}, http.StatusCreated, nil)
}

// url is the i-th endpoint's, on the receiver's hosts in turn.
func (w *world) url(i int) string {
	return fmt.Sprintf("%s/hooks/%d", w.reached.Hosts[i%len(w.reached.Hosts)], i)
}

// send has a load generator do an errand in a process of its own.
func (w *world) send(e errand) (done sent) {
	w.errands++
	e.URL, e.Token = w.gateway.Reach()
	e.Partners, e.Name = w.partners, fmt.Sprintf("errand-%d", w.errands)
	told, err := json.Marshal(e)
	if err != nil {
		w.t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := self(w.t, postPart)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(told), &said, os.Stderr
	if code := stage.Launch(w.t, cmd).Wait(time.Hour); code != 0 {
		w.t.Fatalf("the load generator ended with %d", code)
	}
	if err := json.Unmarshal(said.Bytes(), &done); err != nil {
		w.t.Fatalf("%v: %s", err, said.Bytes())
	}
	if len(done.Wrong) > 0 {
		w.t.Fatalf("%d POSTs went wrong, the first with %s", len(done.Wrong), done.Wrong[0])
	}
	return done
}

// arrived waits until so many events have arrived since it was called last.
func (w *world) arrived(n int) (got arrivals) { return w.reported(n, "") }

// slowDown has the receiver take a second for each answer from now on.
func (w *world) slowDown() { w.reported(0, "&slow") }

func (w *world) reported(n int, and string) (got arrivals) {
	client := http.Client{Timeout: arrivalLimit}
	response, err := client.Get(fmt.Sprintf("%s/?events=%d%s", w.reached.Report, n, and))
	if err != nil {
		w.t.Fatalf("not all of %d events arrived: %v", n, err)
	}
	defer func() { _ = response.Body.Close() }()
	if err := json.NewDecoder(response.Body).Decode(&got); err != nil {
		w.t.Fatalf("not all of %d events arrived: %v", n, err)
	}
	return got
}

// arrivalLimit is how long events may take after the last was accepted.
const arrivalLimit = 10 * time.Minute

func startPostgres(t stage.T) *stage.Store {
	return stage.StartPostgres(t, append([]string{"fsync=on"}, statementSettings()...)...)
}

// statementSettings have PostgreSQL count statements if it can.
func statementSettings() []string {
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/lib/pg_stat_statements.so"); len(found) == 0 {
		return nil
	}
	return []string{"shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track_planning=off"}
}

// signs reports whether every delivery is signed with RSA.
func (s setting) signs() bool { return slices.Contains(s.signatures, "rsa") }
