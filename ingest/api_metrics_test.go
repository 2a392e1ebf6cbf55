package ingest_test

import (
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/ingest"
	"ledgerhook/signer"
)

func (a *api) samples(t *testing.T) map[string]float64 { t.Helper(); return samples(t, a.registry) }

// samples are the metrics as "name{label="value",…}", histograms by their count.
func samples(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.Metric {
			var labels []string
			for _, label := range metric.Label {
				labels = append(labels, fmt.Sprintf("%s=%q", label.GetName(), label.GetValue()))
			}
			slices.Sort(labels)
			name := family.GetName()
			if len(labels) > 0 {
				name += "{" + strings.Join(labels, ",") + "}"
			}
			all[name] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return all
}

func (a *api) sample(t *testing.T, name string) float64 {
	t.Helper()
	value, ok := a.samples(t)[name]
	if !ok {
		t.Errorf("there is no metric %s", name)
	}
	return value
}

func TestWhatComesInIsCounted(t *testing.T) {
	a := one(t)
	for _, name := range []string{ // from the start
		`ledgerhook_ingest_requests_total{result="accepted",source="TopupCard"}`, `ledgerhook_ingest_requests_total{result="failed",source="CreateCard"}`,
		`ledgerhook_ingest_requests_total{result="refused",source="unknown"}`, `ledgerhook_deliveries_created_total{trigger="first",webhook_type="CashoutOrder.Updated"}`,
		`ledgerhook_deliveries_created_total{trigger="test",webhook_type="TopupCard"}`, `ledgerhook_deliveries_created_total{trigger="manual",webhook_type="CreateCard"}`,
		`ledgerhook_deliveries_created_total{trigger="replay",webhook_type="TopupCard"}`, `ledgerhook_audit_write_failures_total`,
		`ledgerhook_auth_failures_total{reason="wrong",surface="internal"}`,
	} {
		if got := a.sample(t, name); got != 0 {
			t.Errorf("%s begins at %v", name, got)
		}
	}
	began := time.Now()
	a.partner(t, "acme")
	a.event(t, "acme", "tp_1", "Pending")
	a.want(t, 200, "POST", "/events", topup("acme", "tp_1", "Pending"))
	a.want(t, 404, "POST", "/events", topup("nobody", "tp_1", "Pending"))
	a.want(t, 400, "POST", "/events", `{"partnerCode":"acme","webhookType":"Nothing","data":{}}`)
	a.want(t, 400, "POST", "/events", `x`)
	a.want(t, 400, "POST", "/events/batch", `x`)
	a.batch(t, []string{item(t, "acme", "tp_2", "Pending"), item(t, "acme", "tp_2", "Pending"), item(t, "nobody", "tp_1", "Pending"), `7`})
	a.do(t, "GET", "/audit", nil, "Authorization", "Bearer wrong")

	for name, want := range map[string]float64{
		`ledgerhook_ingest_requests_total{result="accepted",source="TopupCard"}`:                 2,
		`ledgerhook_ingest_requests_total{result="duplicate",source="TopupCard"}`:                2,
		`ledgerhook_ingest_requests_total{result="refused",source="TopupCard"}`:                  2,
		`ledgerhook_ingest_requests_total{result="failed",source="TopupCard"}`:                   0,
		`ledgerhook_ingest_requests_total{result="refused",source="unknown"}`:                    4,
		`ledgerhook_ingest_request_duration_seconds{source="TopupCard"}`:                         6,
		`ledgerhook_ingest_request_duration_seconds{source="unknown"}`:                           4,
		`ledgerhook_auth_failures_total{reason="wrong",surface="internal"}`:                      1,
		`ledgerhook_http_requests_total{code="202",handler="/internal/v1/events",method="POST"}`: 1,
		`ledgerhook_http_requests_total{code="401",handler="unmatched",method="GET"}`:            1,
	} {
		if got := a.sample(t, name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	last := a.sample(t, `ledgerhook_ingest_last_accepted_timestamp_seconds{source="TopupCard"}`)
	if now := float64(time.Now().Unix()); last < float64(began.Unix())-1 || last > now+1 {
		t.Errorf("last accepted at %v, now is %v", last, now)
	}
}

func TestPartnersFindTheGatewaysKeys(t *testing.T) {
	mux := http.NewServeMux()
	(&ingest.Public{Keys: func() []*rsa.PublicKey { return []*rsa.PublicKey{keys()[0].Public(), keys()[1].Public()} }, Log: slog.New(slog.DiscardHandler)}).Register(mux)
	server := httptest.NewServer(mux)
	defer server.Close()
	response, err := http.Get(server.URL + "/.well-known/jwks.json")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != 200 || response.Header.Get("Content-Type") != "application/jwk-set+json" ||
		!strings.Contains(response.Header.Get("Cache-Control"), "max-age") {
		t.Errorf("%d %v (%v)", response.StatusCode, response.Header, err)
	}
	var set struct{ Keys []map[string]string }
	if err := json.Unmarshal(body, &set); err != nil {
		t.Fatal(err)
	}
	if len(set.Keys) != 2 || set.Keys[0]["kid"] != keys()[0].ID() || set.Keys[0]["kty"] != "RSA" || set.Keys[0]["alg"] != "RS256" ||
		set.Keys[0]["use"] != "sig" || set.Keys[1]["kid"] != signer.KeyID(keys()[1].Public()) || set.Keys[0]["d"] != "" {
		t.Errorf("%s", body)
	}
}
