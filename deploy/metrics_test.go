package deploy_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// metric is a row of docs/metrics.md, which is written from the program.
type metric struct {
	kind   string
	labels []string
}

// metrics are all that a process shows, by name.
func metrics(t *testing.T) map[string]metric {
	t.Helper()
	found := map[string]metric{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(ledgerhook_\\w+)` \\| (\\w+) \\|([^|]*)\\|").FindAllStringSubmatch(read(t, "../docs/metrics.md"), -1) {
		found[row[1]] = metric{row[2], strings.FieldsFunc(row[3], func(r rune) bool { return strings.ContainsRune(" `,", r) })}
	}
	if len(found) < 40 {
		t.Fatalf("docs/metrics.md has %d metrics", len(found))
	}
	return found
}

var (
	selector = regexp.MustCompile(`(ledgerhook[_:][a-z0-9_:]+)(\{[^}]*\})?`)
	matcher  = regexp.MustCompile(`(\w+)\s*(?:=|!=|=~|!~)\s*"`)
)

// unknown says what a query asks for that is not there: a metric, or a label of
// one. recorded are the names that rules record. What Prometheus adds to every
// series (instance, job) and to a histogram's buckets (le) is there.
func unknown(query string, have map[string]metric, recorded []string) (faults []string) {
	for _, s := range selector.FindAllStringSubmatch(query, -1) {
		name := s[1]
		if slices.Contains(recorded, name) {
			continue
		}
		m, ok := have[name]
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			base, cut := strings.CutSuffix(name, suffix)
			if h := have[base]; cut && h.kind == "histogram" {
				m, ok = h, true
			}
		}
		if !ok {
			faults = append(faults, "there is no metric "+name)
			continue
		}
		for _, label := range matcher.FindAllStringSubmatch(s[2], -1) {
			if !slices.Contains(append([]string{"instance", "job", "le"}, m.labels...), label[1]) {
				faults = append(faults, name+" has no label "+label[1])
			}
		}
	}
	return faults
}

func TestAQueryForWhatIsNotThereIsFound(t *testing.T) {
	t.Parallel()
	have := map[string]metric{
		"ledgerhook_a_total":   {"counter", []string{"partner"}},
		"ledgerhook_b_seconds": {"histogram", nil},
	}
	for query, want := range map[string]string{
		`sum by (partner) (rate(ledgerhook_a_total{partner=~"x", instance="w1"}[5m]))`:          "",
		`histogram_quantile(0.9, sum by (le) (rate(ledgerhook_b_seconds_bucket{le!="5"}[5m])))`: "",
		`ledgerhook:a:ratio > 1`:                    "",
		`rate(ledgerhook_a[5m])`:                    "there is no metric ledgerhook_a",
		`ledgerhook_a_total_count`:                  "there is no metric ledgerhook_a_total_count",
		`ledgerhook:b:ratio > 1`:                    "there is no metric ledgerhook:b:ratio",
		`ledgerhook_a_total{code="1"}`:              "ledgerhook_a_total has no label code",
		`ledgerhook_b_seconds_sum{partner=~"$all"}`: "ledgerhook_b_seconds_sum has no label partner",
	} {
		if got := strings.Join(unknown(query, have, []string{"ledgerhook:a:ratio"}), "; "); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}
