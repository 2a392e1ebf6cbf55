package browsertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ledgerhook/app/receiver"
	"ledgerhook/bench/stage"
	"ledgerhook/incidents"
	"ledgerhook/webhook"
)

// world is a gateway with a life: partners that take, refuse and do not
// answer, orders, a replay and people.
type world struct {
	*stage.Gateway
	t                              *testing.T
	acme                           *cashier
	exhausted                      string // a delivery of acme
	event, endpoint, order, replay string // of acme
	partnerReplay                  string // made by acme itself
	operatorLink, partnerLink      string // open invitations
	incident                       string // of what was given up
}

// start starts a gateway with two attempts for each delivery, the second a
// second after the first.
func start(t *testing.T) *stage.Gateway {
	t.Helper()
	g := stage.Embedded(t)
	g.Set(map[string]string{"LEDGERHOOK_DELIVERY_RETRY": "0s,1s", "LEDGERHOOK_ENVIRONMENT": "sandbox"})
	g.Start()
	return g
}

// mood is how a receiver answers, which may change.
type mood struct {
	atomic.Pointer[receiver.Answer]
}

func (m *mood) be(a receiver.Answer) { m.Store(&a) }

func (m *mood) answer(receiver.Received) receiver.Answer { return *m.Load() }

// newWorld makes the world in which every page has something to show.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Gateway: start(t), t: t}
	w.acme = onboard(t, w.Gateway, "acme", "Acme Pay")
	w.order = w.acme.cashout("ORD-2041")
	acme := &mood{}
	acme.be(receiver.OK)
	w.endpoint = w.listen(w.acme, acme.answer)
	w.post("acme", 3)
	w.acme.cashout("ORD-2042")
	w.Await("acme", patience)
	w.event = w.Deliveries("acme", "delivered")[0].EventID
	acme.be(receiver.Answer{Status: http.StatusServiceUnavailable, Header: http.Header{"Content-Type": {"text/html"}}, Body: "<h1>503</h1> try later"})
	w.post("acme", 2)
	w.Await("acme", patience)
	w.exhausted = w.Deliveries("acme", "exhausted")[0].DeliveryID

	globex := onboard(t, w.Gateway, "globex", "Globex Wallet")
	w.listen(globex, receiver.Always(receiver.Answer{Status: http.StatusFound, Header: http.Header{"Location": {"https://www.globex.example/hooks"}}}))
	w.post("globex", 3)
	w.Await("globex", patience)
	initech := onboard(t, w.Gateway, "initech", "Initech")
	paused := w.listen(initech, receiver.Always(receiver.OK))
	w.Must("POST", "/internal/v1/endpoints/"+paused+"/pause", nil, http.StatusOK, nil)
	w.post("initech", 4)

	acme.be(receiver.OK)
	var made struct{ ReplayID string }
	w.Must("POST", "/internal/v1/replays", map[string]any{"filter": map[string]any{"partnerCode": "acme", "state": "exhausted"}, "reason": "their maintenance is over"}, http.StatusCreated, &made)
	w.replay = made.ReplayID
	w.Await("acme", patience)
	return w
}

// listen starts a receiver and makes it an endpoint of the partner.
func (w *world) listen(c *cashier, answer func(receiver.Received) receiver.Answer) (endpoint string) {
	w.t.Helper()
	server := httptest.NewServer(c.receiver(answer))
	w.t.Cleanup(server.Close)
	return addEndpoint(w.t, w.Gateway, c.code, server.URL+"/hooks")
}

func addEndpoint(t *testing.T, g *stage.Gateway, code, url string) string {
	t.Helper()
	var added struct{ EndpointID string }
	g.Must("POST", "/internal/v1/partners/"+code+"/endpoints", map[string]any{"url": url, "description": "production"}, http.StatusCreated, &added)
	return added.EndpointID
}

var posted atomic.Int64

// reported are the types that internal systems report; orders report themselves.
var reported = slices.DeleteFunc(slices.Clone(webhook.Catalog), func(e webhook.EventType) bool { return !e.FromInside })

// post makes events happen at the partner, of one type after another.
func (w *world) post(partner string, n int) { postEvents(w.Gateway, partner, n) }

func postEvents(g *stage.Gateway, partner string, n int) {
	for range n {
		i := posted.Add(1)
		typ := reported[int(i)%len(reported)]
		var data map[string]any
		if err := json.Unmarshal([]byte(typ.Example), &data); err != nil {
			panic(err)
		}
		data[typ.IDField] = fmt.Sprintf("%s_%d", strings.ToLower(string(typ.Type[:4])), i)
		g.Must("POST", "/internal/v1/events", map[string]any{"partnerCode": partner, "webhookType": typ.Type, "data": data}, http.StatusAccepted, nil)
	}
}

// path is where the page of a route is in this world; ok is false if it knows
// none.
func (w *world) path(pattern string) (path string, ok bool) {
	path = strings.TrimPrefix(pattern, "GET ")
	base := "/" + strings.Split(path, "/")[1]
	for wildcard, with := range map[string]string{
		base + "/partners/{code}": base + "/partners/acme", base + "/deliveries/{id}": base + "/deliveries/" + w.exhausted,
		base + "/events/{id}": base + "/events/" + w.event, base + "/orders/{id}": base + "/orders/" + w.order,
		base + "/replays/{id}": base + "/replays/" + w.replay, base + "/endpoints/{id}": base + "/endpoints/" + w.endpoint,
		base + "/recover/{id}": base + "/recover/" + w.partnerReplay, base + "/incidents/{id}": base + "/incidents/" + w.incident, "{type}": string(webhook.Catalog[0].Type),
		"/ops/invite/{token}": w.operatorLink, "/portal/invite/{token}": w.partnerLink,
	} {
		path = strings.ReplaceAll(path, wildcard, with)
	}
	switch {
	case strings.HasSuffix(path, "/find"):
		path += "?q=acme"
	case path == "/ops/deliveries/evidence":
		path += "?q=state:any+partner:acme"
	case path == "/portal/deliveries/evidence":
		path += "?q=state:any"
	}
	return path, !strings.Contains(path, "{")
}

// people makes somebody for each role, who then can sign in with goodPassword.
func (w *world) people(admin *visitor) {
	for _, role := range []string{"viewer", "operator", "auditor"} {
		newVisitor(w.t, w.address("/ops")).join(admin.invite("", role), "ops-"+role)
	}
	for _, role := range []string{"viewer", "developer", "admin"} {
		newVisitor(w.t, w.address("/portal")).join(admin.invite("acme", role), "acme-"+role)
	}
	w.partnerReplay = w.recover(newVisitor(w.t, w.address("/portal")).signIn("/portal", "acme-admin", goodPassword))
	w.operatorLink = admin.invite("", "viewer")
	w.partnerLink = admin.invite("globex", "developer")
	w.incident = w.awaitIncident(admin)
}

var incidentID = regexp.MustCompile(incidents.Prefix + `[0-9A-Z]{26}`)

// awaitIncident waits until somebody is to be told of what was given up, and
// returns the incident's id.
func (w *world) awaitIncident(v *visitor) string {
	w.t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience); ; {
		if id := incidentID.FindString(v.must(v.get("/ops/incidents"))); id != "" {
			return id
		}
		select {
		case <-tick.C:
		case <-deadline:
			w.t.Fatal("no incident was opened")
		}
	}
}

// recover replays what failed, and was delivered by replay since, as somebody of
// the partner, and returns the replay's id.
func (w *world) recover(v *visitor) string {
	w.t.Helper()
	page := v.must(v.post("/portal/replays", url.Values{"id": {w.exhausted}, "asked": {"1"}}))
	form := url.Values{"reason": {"our maintenance is over"}, "rate": {"10"}, "asked": {"1"}}
	for _, field := range []string{"form", "q", "ids", "of", "at"} {
		form.Set(field, hidden(page, field))
	}
	id := replayID.FindString(v.must(v.post("/portal/recover/start", form)))
	if id == "" {
		w.t.Fatal("no replay was started")
	}
	return id
}

var replayID = regexp.MustCompile(webhook.ReplayPrefix + `[0-9A-Z]{26}`)

// address is where a surface is reached.
func (w *world) address(base string) string { return addressOf(w.Gateway, base) }

func addressOf(g *stage.Gateway, base string) string {
	if strings.HasPrefix(base, "/ops") {
		internal, _ := g.Reach()
		return internal
	}
	return g.Public
}
