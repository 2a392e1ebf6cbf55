package maintenance

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/delivery"
)

// oneShard is a queue of one shard that holds everything.
type oneShard struct{ Holder }

func (oneShard) Shards() []string      { return []string{"deliver-0"} }
func (oneShard) ShardOf(string) string { return "deliver-0" }

func TestMetricsHaveTheirDocumentedNamesAndBeginAtZero(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg, delivery.NewMetrics(prometheus.NewRegistry()))
	m.oldestQueued([]delivery.Queued{{At: time.Now().Add(-time.Minute)}}, oneShard{})
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, family := range families {
		for _, series := range family.GetMetric() {
			label := series.GetLabel()[0]
			got[family.GetName()] = append(got[family.GetName()], label.GetName()+"="+label.GetValue())
		}
	}
	want := map[string][]string{
		"ledgerhook_queue_oldest_due_age_seconds": {"queue=deliver-0"},
		"ledgerhook_reconciler_repaired_total":    {"reason=queue_emptied", "reason=ticket_lost", "reason=worker_dead"},
		"ledgerhook_replay_deliveries_total":      {"result=admitted", "result=skipped"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}
