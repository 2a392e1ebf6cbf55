package pages

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"ledgerhook/bench/stage"
	"ledgerhook/dashboard"
	"ledgerhook/ledger"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/ledger/reports"
	"ledgerhook/orders"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// busiest is the partner of whom the ledger has most.
const busiest = "partner-00"

// world is a gateway over a full ledger, with somebody at each surface.
type world struct {
	t           *testing.T
	g           *stage.Gateway
	address     string // of the database; empty: it is embedded
	ops, portal *http.Client
	values      map[string]string // of the wildcards of routes
}

// open makes a gateway on a new database with n deliveries. Nothing but its
// pages runs.
func open(t *testing.T, store, cache *stage.Store, n int) *world {
	t.Helper()
	w := &world{t: t, address: store.CreateDatabase(t)}
	w.g = stage.Served(t, w.address, cache)
	w.g.Set(map[string]string{"LEDGERHOOK_ROLES": "dashboard"})
	w.settle(database.Options{DatabaseURL: w.address}, n)
	return w
}

// embed makes a gateway with its own database with n deliveries. It has a
// worker, but hardly anything of what is filled in is due.
func embed(t *testing.T, n int) *world {
	t.Helper()
	w := &world{t: t, g: stage.Embedded(t)}
	w.settle(database.Options{DataDir: filepath.Join(w.g.Dir, "data")}, n)
	return w
}

// settle fills the ledger and lets somebody sign in at each surface.
func (w *world) settle(o database.Options, n int) {
	w.t.Helper()
	ledgertest.FillApart(w.t, o, n)
	w.look(o)
	w.ops, w.portal = newClient(w.t), newClient(w.t)
	w.start(w.address)
	internal, _ := w.g.Reach()
	w.submit(w.ops, internal+"/ops/login", url.Values{"username": {"admin"}, "password": {stage.TestPassword}})
	page := w.get(w.ops, internal+"/ops/admin")
	form := regexp.MustCompile(`name="form" value="([^"]*)"`).FindStringSubmatch(page)
	if form == nil {
		w.t.Fatalf("there is no form to invite somebody: %.2000s", page)
	}
	page = w.submit(w.ops, internal+"/ops/admin/invite", url.Values{"form": {form[1]}, "partner": {busiest}, "role": {"admin"}, "name": {"Ann"}})
	link := regexp.MustCompile(`/portal/invite/[A-Za-z0-9_-]+`).FindString(page)
	const password = "correct horse battery"
	w.submit(w.portal, w.g.Public+link, url.Values{"username": {"ann"}, "name": {"Ann"}, "password": {password}, "again": {password}})
	w.g.Terminate(30 * time.Second)
}

func newClient(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar, Timeout: time.Minute}
}

// start starts the gateway on a database.
func (w *world) start(address string) {
	w.t.Helper()
	if address != "" {
		w.g.Set(map[string]string{"LEDGERHOOK_DATABASE_URL": address})
	}
	w.g.Start()
}

// look finds a delivery of the busiest partner, an order and what belongs to
// them, for the pages of one thing.
func (w *world) look(o database.Options) {
	w.t.Helper()
	l, err := ledgertest.Open(w.t.Context(), o, ledger.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	var found reports.DeliveryPage
	for _, states := range [][]webhook.State{{webhook.Exhausted}, nil} { // the one with most attempts, if there is one
		if found, err = l.SearchDeliveries(w.t.Context(), reports.DeliveryQuery{Scope: partners.Only(busiest), States: states}); err != nil {
			w.t.Fatal(err)
		}
		if len(found.Items) > 0 {
			break
		}
	}
	some, _, err := l.Orders(w.t.Context(), orders.Filter{PartnerCode: busiest, Limit: 1})
	if err != nil || len(some) == 0 {
		w.t.Fatalf("%d orders, %v", len(some), err)
	}
	if len(found.Items) == 0 {
		w.t.Fatalf("%s has no delivery", busiest)
	}
	d := found.Items[0]
	w.values = map[string]string{
		"/partners/{code}": busiest, "/deliveries/{id}": d.ID, "/events/{id}": d.EventID, "/endpoints/{id}": d.EndpointID,
		"/orders/{id}": some[0].ID, "/catalogue/{type}": string(d.Type),
	}
}

// page is one that is measured.
type page struct {
	pattern, path string
	client        *http.Client
}

// pages are those of both surfaces but what is no page, and what this world
// has none of: replays, incidents, open invitations and keys to sign with.
func (w *world) pages() (all []page) {
	w.t.Helper()
	internal, _ := w.g.Reach()
	for _, pattern := range dashboard.Patterns() {
		path, get := strings.CutPrefix(pattern, "GET ")
		ends := func(end string) bool { return strings.HasSuffix(path, end) }
		if !get || strings.Contains(path, "/static/") || ends("/{$}") || ends(".csv") || ends("/live") || ends("/signed") || ends("/evidence") ||
			ends("/login/provider") || ends("/login/callback") {
			continue
		}
		for wildcard, value := range w.values {
			path = strings.Replace(path, wildcard, wildcard[:strings.Index(wildcard, "{")]+value, 1)
		}
		if strings.Contains(path, "{") {
			continue
		}
		if strings.HasSuffix(path, "/find") {
			path += "?q=card_7"
		}
		if strings.HasPrefix(path, "/ops") {
			all = append(all, page{pattern, internal + path, w.ops})
		} else {
			all = append(all, page{pattern, w.g.Public + path, w.portal})
		}
	}
	return all
}

// ask opens a page, reports whether it knows everything that it shows (what
// takes too long to read is left out) and how long it took. A session that has
// had its share of the pages asks again when it may.
func (w *world) ask(p page) (whole bool, took time.Duration) {
	w.t.Helper()
	for {
		began := time.Now()
		response, err := p.client.Get(p.path)
		if err == nil && response.StatusCode == http.StatusTooManyRequests {
			_ = response.Body.Close()
			select {
			case <-time.After(time.Second):
				continue
			case <-w.t.Context().Done():
			}
		}
		body := w.read(response, err)
		return !strings.Contains(body, "not known just now"), time.Since(began)
	}
}

func (w *world) get(c *http.Client, address string) string {
	w.t.Helper()
	response, err := c.Get(address)
	return w.read(response, err)
}

func (w *world) submit(c *http.Client, address string, form url.Values) string {
	w.t.Helper()
	response, err := c.PostForm(address, form)
	return w.read(response, err)
}

func (w *world) read(response *http.Response, err error) string {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: %d %v: %.2000s", response.Request.URL, response.StatusCode, err, body)
	}
	return string(body)
}
