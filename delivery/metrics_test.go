package delivery

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/webhook"
)

// gather returns, for each metric, its label names and each series' label values.
func gather(t *testing.T, reg prometheus.Gatherer) (labels map[string]string, values map[string][]string) {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	labels, values = map[string]string{}, map[string][]string{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var names, vals []string
			for _, l := range m.GetLabel() {
				names, vals = append(names, l.GetName()), append(vals, l.GetValue())
			}
			labels[family.GetName()] = strings.Join(names, ",")
			values[family.GetName()] = append(values[family.GetName()], strings.Join(vals, ","))
		}
	}
	return labels, values
}

func job(partner string) Job {
	return Job{Delivery: webhook.Delivery{PartnerCode: partner, CreatedAt: time.Now().Add(-time.Minute)}}
}

func TestMetricsHaveTheirDocumentedNamesAndLabels(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg)
	a := webhook.Attempt{Number: 1, Trigger: webhook.TriggerFirst, Outcome: webhook.OutcomeDelivered, StatusCode: 200, StartedAt: time.Now(),
		Phases: webhook.Phases{DNS: 1, Connect: 1, TLS: 1, FirstByte: 1, Total: 4}}
	m.attempted(job("acme"), a, Verdict{State: webhook.Delivered})
	m.signed(time.Millisecond)
	got, _ := gather(t, reg)
	want := map[string]string{
		"ledgerhook_delivery_attempts_total":              "outcome,partner,trigger",
		"ledgerhook_delivery_attempt_duration_seconds":    "outcome",
		"ledgerhook_delivery_attempt_phase_seconds":       "phase",
		"ledgerhook_delivery_first_attempt_delay_seconds": "",
		"ledgerhook_delivery_completion_seconds":          "",
		"ledgerhook_deliveries_finished_total":            "partner,result",
		"ledgerhook_delivery_responses_total":             "code",
		"ledgerhook_delivery_signing_seconds":             "",
		"ledgerhook_ssrf_blocked_total":                   "reason",
		"ledgerhook_first_attempts_total":                 "path",
		"ledgerhook_delivery_failures_total":              "class",
		"ledgerhook_queue_enqueue_failures_total":         "", // beyond the documented ones
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics and their labels (-want +got):\n%s", diff)
	}
}

func TestClosedLabelSetsBeginAtZero(t *testing.T) {
	reg := prometheus.NewRegistry()
	NewMetrics(reg)
	_, got := gather(t, reg)
	want := map[string][]string{
		"ledgerhook_delivery_attempt_duration_seconds":    {"delivered", "failed", "unknown"},
		"ledgerhook_delivery_attempt_phase_seconds":       {"connect", "dns", "first_byte", "tls"},
		"ledgerhook_delivery_first_attempt_delay_seconds": {""},
		"ledgerhook_delivery_completion_seconds":          {""},
		"ledgerhook_delivery_signing_seconds":             {""},
		"ledgerhook_queue_enqueue_failures_total":         {""},
		"ledgerhook_ssrf_blocked_total":                   {"address", "plain", "port"},
		"ledgerhook_first_attempts_total":                 {"direct", "queue"},
		"ledgerhook_delivery_failures_total": {"bad_ack", "blocked_address", "connect", "dns", "http_4xx", "http_5xx", "internal",
			"protocol", "redirect", "reset", "timeout", "tls"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series before anything happened (-want +got):\n%s", diff)
	}
}

func TestThePartnerLabelIsCapped(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg)
	const partners = maxPartnerLabels + 100
	for range 2 { // the first ones keep their label
		for i := range partners {
			m.attempted(job(fmt.Sprintf("p%04d", i)), webhook.Attempt{Outcome: webhook.OutcomeFailed}, Verdict{State: webhook.Exhausted})
		}
	}
	_, values := gather(t, reg)
	for _, name := range []string{"ledgerhook_delivery_attempts_total", "ledgerhook_deliveries_finished_total"} {
		seen := map[string]bool{}
		for _, v := range values[name] {
			for part := range strings.SplitSeq(v, ",") {
				if strings.HasPrefix(part, "p0") || strings.HasPrefix(part, "p1") || part == "_other" {
					seen[part] = true
				}
			}
		}
		codes := slices.Sorted(maps.Keys(seen))
		if len(codes) != maxPartnerLabels+1 || !seen["_other"] || !seen["p0999"] || seen["p1000"] {
			t.Errorf("%s has %d partners, from %s to %s", name, len(codes), codes[0], codes[len(codes)-1])
		}
	}
}

func TestAnUnknownOutcomeIsNoAnswer(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg)
	m.attempted(job("acme"), webhook.Attempt{Number: 2, Outcome: webhook.OutcomeUnknown, Trigger: webhook.TriggerRetry}, Verdict{State: webhook.Pending})
	_, values := gather(t, reg)
	if got := values["ledgerhook_delivery_responses_total"]; len(got) > 0 {
		t.Errorf("answers with the codes %q are counted", got)
	}
	if got := values["ledgerhook_deliveries_finished_total"]; len(got) > 0 {
		t.Errorf("%q is counted as finished", got)
	}
}

func TestOnlyPartnersThatAreToBeShownHaveALabel(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg)
	m.ShowPartners(func(code string) bool { return code == "acme" })
	for _, code := range []string{"acme", "bolt", "core"} {
		m.attempted(job(code), webhook.Attempt{Outcome: webhook.OutcomeDelivered, Trigger: webhook.TriggerFirst}, Verdict{State: webhook.Delivered})
	}
	_, values := gather(t, reg)
	want := []string{"delivered,_other,first", "delivered,acme,first"}
	if diff := cmp.Diff(want, values["ledgerhook_delivery_attempts_total"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAFailureIsCountedByItsClass(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg)
	m.attempted(job("acme"), webhook.Attempt{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorTimeout, Trigger: webhook.TriggerFirst}, Verdict{State: webhook.Pending})
	m.attempted(job("acme"), webhook.Attempt{Outcome: webhook.OutcomeDelivered, StatusCode: 200, Trigger: webhook.TriggerRetry}, Verdict{State: webhook.Delivered})
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "ledgerhook_delivery_failures_total" {
			continue
		}
		for _, series := range family.GetMetric() {
			if n := series.GetCounter().GetValue(); n > 0 {
				counted[series.GetLabel()[0].GetValue()] = n
			}
		}
	}
	if diff := cmp.Diff(map[string]float64{"timeout": 1}, counted); diff != "" {
		t.Errorf("failures by class (-want +got):\n%s", diff)
	}
}
