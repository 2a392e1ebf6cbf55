package app

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

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

func TestTheDocumentationListsEveryMetricWithItsLabels(t *testing.T) {
	a := startAll(t)
	described := make(chan *prometheus.Desc)
	go func() { a.registry.Describe(described); close(described) }()
	registered := map[string]string{}
	form := regexp.MustCompile(`fqName: "(ledgerhook_\w+)".*variableLabels: \{([\w,]*)\}`)
	for desc := range described {
		if m := form.FindStringSubmatch(desc.String()); m != nil {
			registered[m[1]] = m[2]
		}
	}
	listed := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`ledgerhook_[^|]+) \\|([^|]*)\\|").FindAllStringSubmatch(documented(t, "operations.md"), -1) {
		for name := range strings.SplitSeq(row[1], ", ") {
			listed[strings.Trim(name, "`")] = strings.NewReplacer("`", "", " ", "").Replace(row[2])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(registered)) {
		labels, found := listed[name]
		if !found || labels != registered[name] {
			t.Errorf("%s{%s} is documented as {%s} (%v)", name, registered[name], labels, found)
		}
		delete(listed, name)
	}
	if len(listed) > 0 || len(registered) < 30 {
		t.Errorf("documented and not registered: %v; registered: %d", listed, len(registered))
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
