package app

import (
	"bytes"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/config"
	"ledgerhook/web/webtest"
)

// withCertificate is a configuration whose listeners speak TLS.
func withCertificate(t *testing.T, until time.Time) config.Config {
	t.Helper()
	dir := t.TempDir()
	chain, key := filepath.Join(dir, "chain.pem"), filepath.Join(dir, "key.pem")
	webtest.Certificate(t, chain, key, time.Now().Add(-time.Hour), until)
	cfg, err := config.Load("", []string{"LEDGERHOOK_DATA_DIR=" + t.TempDir(), "LEDGERHOOK_LISTEN=127.0.0.1:0", "LEDGERHOOK_INTERNAL_LISTEN=127.0.0.1:0",
		"LEDGERHOOK_TLS_CERT=" + chain, "LEDGERHOOK_TLS_KEY=" + key, "LEDGERHOOK_INTERNAL_TLS_CERT=" + chain, "LEDGERHOOK_INTERNAL_TLS_KEY=" + key})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

const endsMetric = "ledgerhook_listener_tls_not_after_timestamp_seconds"

// ends is when the certificates end that are measured.
func ends(t *testing.T, registry *prometheus.Registry) (found []float64) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == endsMetric {
			for _, m := range family.GetMetric() {
				found = append(found, m.GetGauge().GetValue())
			}
		}
	}
	return found
}

func TestBothListenersSpeakTLSThemselves(t *testing.T) {
	until := time.Now().Add(365 * 24 * time.Hour)
	cfg := withCertificate(t, until)
	a, err := Start(t.Context(), cfg, Options{Log: slog.New(slog.DiscardHandler), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	certificate, err := PublicCertificate(cfg)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: certificate.ClientConfig()}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, address := range []string{a.InternalURL() + "/ops/login", a.PublicURL() + "/portal/login"} {
		if !strings.HasPrefix(address, "https://") {
			t.Errorf("a listener that speaks TLS is said to be at %s", address)
		}
		answer, err := client.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", address, answer.Status)
		}
		for _, c := range answer.Cookies() {
			if !c.Secure {
				t.Errorf("%s: the cookie %s may go over plain HTTP", address, c.Name)
			}
		}
	}
	if err := a.Alive(t.Context()); err != nil {
		t.Error(err)
	}
	if got := ends(t, a.registry); len(got) != 2 || got[0] != float64(until.Unix()) || got[1] != got[0] {
		t.Errorf("the certificates are measured to end at %v", got)
	}
}

// What cannot be read is told of once, and again after it could be.
func TestACertificateThatCannotBeReadIsToldOfOnce(t *testing.T) {
	cfg := withCertificate(t, time.Now().Add(365*24*time.Hour))
	c, err := PublicCertificate(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	registry := prometheus.NewRegistry()
	until := prometheus.NewGauge(prometheus.GaugeOpts{Name: endsMetric})
	registry.MustRegister(until)
	shown := &shownCertificate{Certificate: c, until: until}
	a := &App{log: slog.New(slog.NewTextHandler(&log, nil)), certificates: map[string]*shownCertificate{"public": shown}}
	renew := func() {
		webtest.Certificate(t, cfg.TLSCert, cfg.TLSKey, time.Now().Add(-time.Hour), time.Now().Add(30*24*time.Hour))
	}
	spoil := func() {
		webtest.Certificate(t, cfg.TLSCert, filepath.Join(t.TempDir(), "other.pem"), time.Now().Add(-time.Hour), time.Now().Add(30*24*time.Hour))
	}
	for i, step := range []struct {
		do   func()
		want string // in the log
	}{
		{func() {}, ""},
		{renew, "a listener shows a new certificate"},
		{spoil, "the one before is still shown"},
		{func() {}, ""},
		{renew, "a listener shows a new certificate"},
		{spoil, "the one before is still shown"},
	} {
		step.do()
		log.Reset()
		if err := a.readCertificates(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := log.String(); step.want == "" && got != "" || !strings.Contains(got, step.want) {
			t.Errorf("step %d: the log says %q, want %q", i, got, step.want)
		}
	}
	if got := ends(t, registry); len(got) != 1 || got[0] != float64(c.Leaf().NotAfter.Unix()) {
		t.Errorf("the certificate is measured to end at %v", got)
	}
}

func TestAServerDoesNotStartWithoutItsCertificate(t *testing.T) {
	cfg := withCertificate(t, time.Now().Add(time.Hour))
	cfg.TLSKey += "x"
	_, err := Start(t.Context(), cfg, Options{Log: slog.New(slog.DiscardHandler), Version: "test"})
	if want := "LEDGERHOOK_TLS_CERT and LEDGERHOOK_TLS_KEY: open " + cfg.TLSKey; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

func TestTheDoctorLooksAtCertificates(t *testing.T) {
	cfg := withCertificate(t, time.Now().Add(48*time.Hour))
	cfg.InternalTLSCert = ""
	found := map[string]string{}
	d := &diagnosis{cfg: cfg}
	d.certificates()
	for _, check := range d.checks {
		if check.OK {
			t.Errorf("%s is well", check.Name)
		}
		found[check.Name] = check.Detail
	}
	if len(found) != 1 || !strings.Contains(found["public certificate"], cfg.TLSCert+" expires on ") {
		t.Errorf("the doctor says %v", found)
	}
}
