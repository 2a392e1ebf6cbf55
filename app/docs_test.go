package app

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/config"
)

// documented is the text of a document.
func documented(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// startAll runs an embedded gateway with every role.
func startAll(t *testing.T) *App {
	t.Helper()
	cfg, err := config.Load("", []string{"LEDGERHOOK_DATA_DIR=" + t.TempDir(), "LEDGERHOOK_LISTEN=127.0.0.1:0", "LEDGERHOOK_INTERNAL_LISTEN=127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := Start(t.Context(), cfg, Options{Log: slog.New(slog.DiscardHandler), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return a
}

var update = flag.Bool("update", false, "write docs/metrics.md")

// metricGroups are the parts of docs/metrics.md and how the names in them begin
// behind "ledgerhook_", each metric being of the first part that fits.
var metricGroups = []struct {
	title    string
	prefixes []string
}{
	{"Events and partners' requests", []string{"ingest_", "partner_", "deliveries_created_"}},
	{"Deliveries", []string{"delivery_", "deliveries_", "first_attempts_"}},
	{"Queue and workers", []string{"queue_", "worker_", "reconciler_"}},
	{"Endpoints", []string{"breaker_", "endpoint_", "ssrf_", "replay_"}},
	{"Orders", []string{"orders", "order_", "quotes_", "rate_", "mail_"}},
	{"Ledger", []string{"invariant_", "rollup_", "ledger_", "retention_", "audit_"}},
	{"Process", []string{""}},
}

func TestTheDocumentationListsEveryMetric(t *testing.T) {
	a := startAll(t)
	if err := a.Alive(t.Context()); err != nil { // so that a request has been served
		t.Fatal(err)
	}
	families, err := a.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{}
	for _, f := range families {
		kinds[f.GetName()] = strings.ToLower(f.GetType().String())
	}
	described := make(chan *prometheus.Desc)
	go func() { a.registry.Describe(described); close(described) }()
	rows := map[string]string{} // by name
	form := regexp.MustCompile(`fqName: "(ledgerhook_\w+)", help: "(.*?)", (?:unit|constLabels).*variableLabels: \{([\w,]*)\}`)
	for desc := range described {
		m := form.FindStringSubmatch(desc.String())
		if m == nil {
			continue
		}
		kind := kinds[m[1]]
		if kind == "" { // counts what has not happened yet
			kind = map[bool]string{true: "counter", false: "gauge"}[strings.HasSuffix(m[1], "_total")]
		}
		var labels []string
		for label := range strings.SplitSeq(m[3], ",") {
			if label != "" {
				labels = append(labels, "`"+label+"`")
			}
		}
		rows[m[1]] = fmt.Sprintf("| `%s` | %s | %s | %s |\n", m[1], kind, strings.Join(labels, ", "), strings.ReplaceAll(m[2], `\"`, `"`))
	}
	var text strings.Builder
	for _, group := range metricGroups {
		fmt.Fprintf(&text, "\n## %s\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n", group.title)
		for _, name := range slices.Sorted(maps.Keys(rows)) {
			if slices.ContainsFunc(group.prefixes, func(p string) bool { return strings.HasPrefix(name, "ledgerhook_"+p) }) {
				text.WriteString(rows[name])
				delete(rows, name)
			}
		}
	}
	before, have, found := strings.Cut(documented(t, "metrics.md"), metricsBegin)
	switch want := text.String(); {
	case !found:
		t.Fatal("docs/metrics.md has no line where its tables begin")
	case *update:
		if err := os.WriteFile("../docs/metrics.md", []byte(before+metricsBegin+want), 0o644); err != nil {
			t.Fatal(err)
		}
	case have != want:
		t.Error("the tables in docs/metrics.md are not those of the program: run go test ./app -run Documentation -update")
	}
}

const metricsBegin = "<!-- metrics: written by go test ./app -run Documentation -update -->\n"

func TestEveryHistogramIsClassicAndNative(t *testing.T) {
	families, err := startAll(t).registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	histograms := 0
	for _, f := range families {
		for _, m := range f.GetMetric() {
			h := m.GetHistogram()
			if h == nil || !strings.HasPrefix(f.GetName(), "ledgerhook_") {
				continue
			}
			// Schema 3 is the one of factor 1.1: eight buckets from one power of two to the next.
			if histograms++; h.GetSchema() != 3 || len(h.GetBucket()) == 0 {
				t.Errorf("%s has the schema %d and %d buckets", f.GetName(), h.GetSchema(), len(h.GetBucket()))
			}
		}
	}
	if histograms < 10 {
		t.Errorf("there are %d histograms", histograms)
	}
}

// Whoever kills a process that is stopping must first give it the time that it
// may take.
func TestTheFilesOfDeployGiveAStopTheTimeThatItNeeds(t *testing.T) {
	for file, setting := range map[string]*regexp.Regexp{
		"systemd/ledgerhook.service":     regexp.MustCompile(`(?m)^TimeoutStopSec=(\d+)s$`),
		"compose.yml":                    regexp.MustCompile(`(?m)^  stop_grace_period: (\d+)s$`),
		"kubernetes/base/api.yaml":       regexp.MustCompile(`(?m)^      terminationGracePeriodSeconds: (\d+)$`),
		"kubernetes/base/worker.yaml":    regexp.MustCompile(`(?m)^      terminationGracePeriodSeconds: (\d+)$`),
		"kubernetes/base/dashboard.yaml": regexp.MustCompile(`(?m)^      terminationGracePeriodSeconds: (\d+)$`),
	} {
		text, err := os.ReadFile("../deploy/" + file)
		if err != nil {
			t.Fatal(err)
		}
		found := setting.FindAllStringSubmatch(string(text), -1)
		if len(found) == 0 {
			t.Errorf("%s gives a stop no time", file)
		}
		for _, f := range found {
			if seconds, err := strconv.Atoi(f[1]); err != nil || time.Duration(seconds)*time.Second <= StopLimit {
				t.Errorf("%s gives a stop %s s, which may take %s", file, f[1], StopLimit)
			}
		}
	}
}

func TestTheDocumentationSaysWhichListenerServesWhat(t *testing.T) {
	a := startAll(t)
	addresses := map[string]string{"public": a.PublicURL(), "internal": a.InternalURL()}
	// A redirect to the sign-in and a 401 are answers, too.
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	serves := func(listener, path string) bool {
		t.Helper()
		resp, err := client.Get(addresses[listener] + path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		return resp.StatusCode != http.StatusNotFound
	}
	below := map[string]string{"/api/v2": "/orders/details", "/internal/v1": "/partners"} // where nothing is at the path itself
	rows := regexp.MustCompile("(?m)^\\| `(api|worker|dashboard)` \\|([^|]*)\\|([^|]*)\\|").FindAllStringSubmatch(documented(t, "operations.md"), -1)
	if len(rows) != 3 {
		t.Fatalf("%d roles are documented", len(rows))
	}
	path := regexp.MustCompile("`(/[^`]*)`")
	for _, row := range rows {
		for listener, cell := range map[string]string{"public": row[2], "internal": row[3]} {
			other := map[string]string{"public": "internal", "internal": "public"}[listener]
			for _, m := range path.FindAllStringSubmatch(cell, -1) {
				at := m[1] + below[m[1]]
				if at == "/qr" {
					continue // what is below it belongs to an order
				}
				if !serves(listener, at) || serves(other, at) {
					t.Errorf("%s is not served on the %s listener alone", at, listener)
				}
			}
		}
	}
}

func TestTheDocumentationCountsTheStepsOfTheSchema(t *testing.T) {
	cfg, err := config.Load("", []string{"LEDGERHOOK_DATA_DIR=" + t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	steps, err := MigrateStatus(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("0 of %d schema steps", len(steps)); !strings.Contains(documented(t, "cli.md"), want) {
		t.Errorf("cli.md does not say %q", want)
	}
}
