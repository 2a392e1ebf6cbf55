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

var (
	rsaAndHMAC = []string{"rsa", "standard"}
	hmacOnly   = []string{"standard"}

	settings = []setting{
		{"stores/rsa", "PostgreSQL + Redis, RSA + HMAC", false, rsaAndHMAC},
		{"stores/hmac", "PostgreSQL + Redis, HMAC only", false, hmacOnly},
		{"embedded/rsa", "embedded, RSA + HMAC", true, rsaAndHMAC},
		{"embedded/hmac", "embedded, HMAC only", true, hmacOnly},
	}
)

// world is a gateway that runs with everything around it.
type world struct {
	t *stage.Trial
	setting
	postgres, cache *stage.Store // nil when embedded
	gateway         *stage.Gateway
	meter           *meter
	receiver        *stage.Process
	reached         reached
	partners        []string
	errands         int
}

// newWorld starts stores as an operator has them (every commit synced, Redis
// with its log), a receiver and a gateway, and makes the partners.
func newWorld(t *stage.Trial, s setting, o options) *world {
	w := &world{t: t, setting: s}
	if s.embedded {
		w.gateway = stage.Embedded(t)
	} else {
		w.postgres = stage.StartPostgres(t, append([]string{"fsync=on"}, statementSettings()...)...)
		w.cache = stage.StartRedis(t, "--appendonly", "yes", "--appendfsync", "everysec")
		w.gateway = stage.Served(t, w.postgres.PostgresURL(), w.cache)
	}
	w.gateway.Start()
	w.receiver, w.reached = startReceiver(t)
	w.addPartners(o.partners)
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
	for i := range n {
		code := fmt.Sprintf("partner-%d", i)
		w.gateway.Must("POST", "/internal/v1/partners", map[string]any{"partnerCode": code, "name": code, "publicKey": partnerKey(),
			"settings": map[string]any{"signatures": w.signatures}}, http.StatusCreated, nil)
		url := fmt.Sprintf("%s/hooks/%d", w.reached.Hosts[i%len(w.reached.Hosts)], i)
		w.gateway.Must("POST", "/internal/v1/partners/"+code+"/endpoints", map[string]any{"url": url}, http.StatusCreated, nil)
		w.partners = append(w.partners, code)
	}
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
func (w *world) arrived(n int) (got arrivals) {
	client := http.Client{Timeout: arrivalLimit}
	response, err := client.Get(fmt.Sprintf("%s/?events=%d", w.reached.Report, n))
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

// statementSettings have PostgreSQL count statements if it can.
func statementSettings() []string {
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/lib/pg_stat_statements.so"); len(found) == 0 {
		return nil
	}
	return []string{"shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track_planning=off"}
}

// signs reports whether every delivery is signed with RSA.
func (s setting) signs() bool { return slices.Contains(s.signatures, "rsa") }
