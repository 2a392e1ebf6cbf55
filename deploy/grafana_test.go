package deploy_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

type dashboard struct {
	UID    string
	Panels []struct {
		ID      int
		Type    string
		Title   string
		Targets []struct{ Expr string }
	}
	Templating struct {
		List []struct{ Query any }
	}
}

// dashboards are Grafana's, by uid.
func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	found := map[string]dashboard{}
	files, err := filepath.Glob("grafana/dashboards/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		var d dashboard
		if err := json.Unmarshal([]byte(read(t, file)), &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		found[d.UID] = d
	}
	return found
}

// queries are those of a dashboard's panels, with what Grafana puts in for its
// variables.
func (d dashboard) queries() (all []string) {
	put := strings.NewReplacer("$__rate_interval", "5m", "$partner", "acme")
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			all = append(all, put.Replace(target.Expr))
		}
	}
	return all
}

func TestEveryQueryOfTheDashboardsCanBeAsked(t *testing.T) {
	t.Parallel()
	have, names := metrics(t), recorded(t)
	var rules []map[string]string
	for uid, d := range dashboards(t) {
		for _, query := range d.queries() {
			rules = append(rules, map[string]string{"record": fmt.Sprintf("query:%d", len(rules)), "expr": query})
			for _, fault := range unknown(query, have, names) {
				t.Errorf("%s: %s: %s", uid, query, fault)
			}
		}
		for _, v := range d.Templating.List {
			for _, fault := range unknown(fmt.Sprint(v.Query), have, names) {
				t.Errorf("%s: %v: %s", uid, v.Query, fault)
			}
		}
	}
	if len(rules) < 40 {
		t.Errorf("there are %d queries", len(rules))
	}
	// Prometheus parses the queries of rules.
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "queries", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "queries.yml")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", file)
}

func TestEveryAlertLeadsToAPanel(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for uid, d := range dashboards(t) {
		for _, p := range d.Panels {
			at := fmt.Sprintf("%s/%d", uid, p.ID)
			if known[at] || p.Title == "" {
				t.Errorf("the panel %s is there twice, or has no title", at)
			}
			known[at] = true
		}
	}
	for _, r := range rules(t) {
		if r.Alert == "" {
			continue
		}
		link, err := url.Parse(strings.ReplaceAll(r.Annotations["dashboard_url"], "{{ $labels.partner }}", "acme"))
		if err != nil {
			t.Fatal(err)
		}
		if at := path.Base(link.Path) + "/" + link.Query().Get("viewPanel"); !known[at] {
			t.Errorf("%s leads to the panel %s, which is not there", r.Alert, at)
		}
	}
}
