package acceptance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ledgerhook/bench/stage"
	"ledgerhook/ledger/ledgertest"
)

func TestMetricsShowIngestDeliveryAndQueue(t *testing.T) {
	both(t, func(t *testing.T, g *stage.Gateway) {
		g.Start()
		p := stage.NewPartner(g, "acme", stage.TakeAll)
		stage.PostAll(g, p.Code, 7)
		g.Await(p.Code, deadline)
		for _, want := range []string{
			`ledgerhook_ingest_requests_total{result="accepted",source="TopupCard"} 7`,
			`ledgerhook_ingest_request_duration_seconds_count{source="TopupCard"} 7`,
			`ledgerhook_ingest_last_accepted_timestamp_seconds{source="TopupCard"} 1`,
			`ledgerhook_deliveries_created_total{trigger="first",webhook_type="TopupCard"} 7`,
			`ledgerhook_delivery_attempts_total{outcome="delivered",partner="acme",trigger="first"} 7`,
			`ledgerhook_delivery_attempt_duration_seconds_count{outcome="delivered"} 7`,
			`ledgerhook_delivery_attempt_phase_seconds_count{phase="first_byte"} 7`,
			`ledgerhook_delivery_first_attempt_delay_seconds_count 7`,
			`ledgerhook_delivery_completion_seconds_count 7`,
			`ledgerhook_deliveries_finished_total{partner="acme",result="delivered"} 7`,
			`ledgerhook_delivery_responses_total{code="200"} 7`,
			`ledgerhook_delivery_signing_seconds_count 7`,
			`ledgerhook_delivery_in_flight{queue="deliver-0"} 0`,
			`ledgerhook_queue_depth{queue="deliver-0",state="pending"} 0`,
			`ledgerhook_queue_oldest_due_age_seconds{queue="deliver-0"} 0`,
			`ledgerhook_worker_slots{queue="deliver-0"} `,
			`ledgerhook_worker_slots_busy{queue="deliver-0"} 0`,
			`ledgerhook_reconciler_repaired_total{reason="ticket_lost"} 0`,
			`ledgerhook_build_info{version="`,
		} {
			// A gauge says what it was when it was set, which is once a second for the oldest.
			stage.Asking(t, deadline, "/metrics says "+want, func() bool { return strings.Contains(metricsOf(t, g), "\n"+want) })
		}
		if public, err := http.Get(g.Public + "/metrics"); err != nil || public.StatusCode != http.StatusNotFound {
			t.Errorf("the public listener answers /metrics with %v, %v", public, err)
		}
	})
}

func metricsOf(t *testing.T, g *stage.Gateway) string {
	t.Helper()
	a, err := g.Call("GET", "/metrics", nil)
	if err != nil || a.Status != http.StatusOK {
		t.Fatalf("%d, %v", a.Status, err)
	}
	return string(a.Body)
}

func TestMetricsCountDeliveriesByWhatMadeThem(t *testing.T) {
	both(t, func(t *testing.T, g *stage.Gateway) {
		g.Start()
		p := stage.NewPartner(g, "acme", stage.TakeAll)
		stage.PostAll(g, p.Code, 2)
		sent := g.Await(p.Code, deadline)
		g.Must("POST", "/internal/v1/deliveries/"+sent[0].DeliveryID+"/retry", nil, http.StatusAccepted, nil)
		g.Must("POST", "/internal/v1/endpoints/"+p.Endpoint+"/test", nil, http.StatusAccepted, nil)
		g.Must("POST", "/internal/v1/replays", map[string]any{"filter": map[string]any{"state": "delivered", "reference": sent[1].EventID}, "reason": "test"},
			http.StatusCreated, nil)
		made := func(trigger, webhookType string, n int) string {
			return fmt.Sprintf("\nledgerhook_deliveries_created_total{trigger=%q,webhook_type=%q} %d\n", trigger, webhookType, n)
		}
		stage.Asking(t, deadline, "the replay is counted", func() bool { return strings.Contains(metricsOf(t, g), made("replay", "TopupCard", 1)) })
		for _, want := range []string{made("first", "TopupCard", 2), made("manual", "TopupCard", 1), made("test", "CreateCard", 1)} {
			stage.Asking(t, deadline, "/metrics says "+want, func() bool { return strings.Contains(metricsOf(t, g), want) })
		}
	})
}

func TestReadinessNamesTheStoreThatIsAway(t *testing.T) {
	t.Parallel()
	cache := stage.StartRedis(t)
	g := stage.Served(t, ledgertest.Borrowed(t), cache)
	g.Start()
	type readiness struct {
		Status string
		Checks []struct {
			Name  string
			OK    bool
			Error string
		}
	}
	ready := func() (status int, r readiness) {
		t.Helper()
		a, err := g.Call("GET", "/readyz", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(a.Body, &r); err != nil {
			t.Fatalf("%v: %s", err, a.Body)
		}
		return a.Status, r
	}
	if status, r := ready(); status != http.StatusOK || r.Status != "ok" {
		t.Errorf("%d: %+v", status, r)
	}
	cache.Stop()
	var away readiness
	stage.Asking(t, deadline, "the process is not ready", func() bool {
		var status int
		status, away = ready()
		return status == http.StatusServiceUnavailable
	})
	for _, check := range away.Checks {
		if check.OK != (check.Name != "queue") || check.OK != (check.Error == "") {
			t.Errorf("check %+v: only the queue is away", check)
		}
		if strings.Contains(check.Error, stage.RedisPassword) {
			t.Errorf("the password is shown: %s", check.Error)
		}
	}
	a, err := g.Call("GET", "/healthz", nil)
	if err != nil || a.Status != http.StatusOK {
		t.Errorf("a process without its Redis is alive, /healthz says %d, %v", a.Status, err)
	}
	cache.Start()
	stage.Asking(t, deadline, "the process is ready again", func() bool {
		status, _ := ready()
		return status == http.StatusOK
	})
}
