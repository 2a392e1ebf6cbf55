package deploy_test

import (
	"net/url"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

const rulesFile = "prometheus/rules.yml"

var ruleTests = []string{"prometheus/rules_test.yml", "prometheus/rules_weeks_test.yml"}

type rule struct {
	Record, Alert, Expr string
	Labels, Annotations map[string]string
}

// rules are those of rules.yml.
func rules(t *testing.T) (all []rule) {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal([]byte(read(t, rulesFile)), &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

// recorded are the names of what the rules record.
func recorded(t *testing.T) (names []string) {
	for _, r := range rules(t) {
		if r.Record != "" {
			names = append(names, r.Record)
		}
	}
	return names
}

// promtool runs Prometheus' own checker, of Debian's package prometheus.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "promtool", args...).CombinedOutput()
	if err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestPrometheusTakesTheRules(t *testing.T) {
	t.Parallel()
	promtool(t, "check", "rules", rulesFile)
}

func TestAlertsFireWhenTheyShouldAndNotElse(t *testing.T) {
	t.Parallel()
	promtool(t, append([]string{"test", "rules"}, ruleTests...)...)
}

func TestEveryAlertIsSeenToFire(t *testing.T) {
	t.Parallel()
	fires := map[string]bool{}
	for _, name := range ruleTests {
		var file struct {
			Tests []struct {
				Samples []struct {
					Expr string
					Want []any `yaml:"exp_samples"`
				} `yaml:"promql_expr_test"`
				Alerts []struct {
					Name string `yaml:"alertname"`
					Want []any  `yaml:"exp_alerts"`
				} `yaml:"alert_rule_test"`
			}
		}
		if err := yaml.Unmarshal([]byte(read(t, name)), &file); err != nil {
			t.Fatal(err)
		}
		for _, test := range file.Tests {
			for _, s := range test.Samples {
				_, alert, _ := strings.Cut(s.Expr, `alertname="`)
				alert, _, _ = strings.Cut(alert, `"`)
				fires[alert] = fires[alert] || len(s.Want) > 0 && strings.Contains(s.Expr, `alertstate="firing"`)
			}
			for _, a := range test.Alerts {
				fires[a.Name] = fires[a.Name] || len(a.Want) > 0
			}
		}
	}
	for _, r := range rules(t) {
		if r.Alert != "" && !fires[r.Alert] {
			t.Errorf("no test has %s fire", r.Alert)
		}
	}
}

func TestEveryAlertSaysWhatItMeansAndWhereToLook(t *testing.T) {
	t.Parallel()
	have, names, seen := metrics(t), recorded(t), map[string]bool{}
	for _, r := range rules(t) {
		for _, fault := range unknown(r.Expr, have, names) {
			t.Errorf("%s%s: %s", r.Alert, r.Record, fault)
		}
		if r.Alert == "" {
			continue
		}
		if !slices.Contains([]string{"critical", "warning"}, r.Labels["severity"]) {
			t.Errorf("%s is neither critical nor a warning", r.Alert)
		}
		for _, about := range []string{"summary", "description", "runbook_url", "dashboard_url"} {
			if r.Annotations[about] == "" {
				t.Errorf("%s has no %s", r.Alert, about)
			}
		}
		link, err := url.Parse(r.Annotations["runbook_url"])
		if err != nil {
			t.Fatal(err)
		}
		page := path.Base(link.Path)
		seen[page] = true
		if text := read(t, "../docs/runbooks/"+page); !strings.HasPrefix(text, "# "+r.Alert+"\n") {
			t.Errorf("%s is not about %s", page, r.Alert)
		}
	}
	for _, page := range runbooks(t) {
		if !seen[path.Base(page)] {
			t.Errorf("no alert leads to %s", page)
		}
	}
}
