package app

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/app/receiver"
	"ledgerhook/config"
	"ledgerhook/delivery"
	"ledgerhook/delivery/guard"
	"ledgerhook/delivery/sender"
	"ledgerhook/partners"
	"ledgerhook/signer"
)

// newTestCanary is a canary on a key of its own, with its receiver.
func newTestCanary(t *testing.T) (*canary, *httptest.Server) {
	t.Helper()
	key, err := signer.GenerateKey(2048)
	if err != nil {
		t.Fatal(err)
	}
	box, err := signer.NewBox(make([]byte, signer.MasterKeySize))
	if err != nil {
		t.Fatal(err)
	}
	keys := oneKey(key.ID(), key)
	c := &canary{
		secret: signer.NewWebhookSecret(), keys: keys, box: box, arrived: make(chan receiver.Received, 1),
		composer: delivery.NewComposer(keys, box, delivery.NewMetrics(prometheus.NewRegistry())),
		sender:   sender.New(sender.Options{Guard: guard.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}), UserAgent: "test"}),
		up:       prometheus.NewGauge(prometheus.GaugeOpts{Name: "up"}), roundTrip: prometheus.NewGauge(prometheus.GaugeOpts{Name: "round_trip"}),
	}
	t.Cleanup(c.sender.Close)
	server := httptest.NewServer(http.HandlerFunc(c.receive))
	t.Cleanup(server.Close)
	c.url = server.URL
	return c, server
}

// oneKey is a ring with key under the name id.
func oneKey(id string, key *signer.Key) *keyring {
	return &keyring{opened: map[string]*signer.Key{id: key}, stored: []partners.SigningKey{{ID: id}}}
}

// gauge is the value of g.
func gauge(t *testing.T, g prometheus.Gauge) float64 {
	t.Helper()
	reg := prometheus.NewRegistry()
	reg.MustRegister(g)
	found, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return found[0].GetMetric()[0].GetGauge().GetValue()
}

func TestTheCanaryArrivesAndVerifies(t *testing.T) {
	c, _ := newTestCanary(t)
	for range 2 {
		if roundTrip, failure := c.send(t.Context()); failure != "" || roundTrip <= 0 || gauge(t, c.up) != 1 {
			t.Errorf("%s %q", roundTrip, failure)
		}
	}
}

func TestTheCanarySaysWhatFails(t *testing.T) {
	otherKey, err := signer.GenerateKey(2048)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, says string
		spoil      func(c *canary, s *httptest.Server)
	}{
		{"nobody answers", "it was not delivered", func(_ *canary, s *httptest.Server) { s.Close() }},
		{"a key that is not ours", "does not verify", func(c *canary, s *httptest.Server) {
			other := *c
			other.keys = oneKey(c.keys.current().ID(), otherKey)
			s.Config.Handler = http.HandlerFunc(other.receive)
		}},
		{"somebody else answers", "not our receiver", func(_ *canary, s *httptest.Server) {
			s.Config.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
		}},
		{"the signer is broken", "could not be signed", func(c *canary, _ *httptest.Server) {
			c.secret = "not a secret"
		}},
		{"the address is forbidden", "blocked", func(c *canary, _ *httptest.Server) {
			c.sender = sender.New(sender.Options{Guard: guard.New(nil), UserAgent: "test"})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, server := newTestCanary(t)
			tt.spoil(c, server)
			if _, failure := c.send(t.Context()); !strings.Contains(failure, tt.says) || gauge(t, c.up) != 0 {
				t.Errorf("%q, up %v", failure, gauge(t, c.up))
			}
		})
	}
}

func TestEveryWorkerSendsItsCanaryThoughLoopbackIsForbidden(t *testing.T) {
	cfg, err := config.Load("", []string{"LEDGERHOOK_DATA_DIR=" + t.TempDir(), "LEDGERHOOK_LISTEN=127.0.0.1:0", "LEDGERHOOK_INTERNAL_LISTEN=127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := Start(t.Context(), cfg, Options{Log: slog.New(slog.DiscardHandler), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(2 * time.Minute); ; {
		workers, err := a.reports.Workers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(workers) == 1 && !workers[0].Canary.At.IsZero() {
			if workers[0].Canary.Failure != "" {
				t.Errorf("%+v", workers[0])
			}
			break
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("no canary came")
		}
	}
	answer, err := http.Get(a.InternalURL() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || !regexp.MustCompile(`(?m)^ledgerhook_canary_up 1$`).Match(text) || !regexp.MustCompile(`(?m)^ledgerhook_canary_round_trip_seconds [0-9.e-]*[1-9]`).Match(text) {
		t.Errorf("%v", err)
	}
}
