package app

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/config"
	"ledgerhook/web"
)

// certificatesEvery is how often the certificates' files are read again.
const certificatesEvery = 10 * time.Second

// loadCertificate reads what a listener shows that speaks TLS itself; nil: it
// does not. The error names the setting.
func loadCertificate(setting, chain, key string) (*web.Certificate, error) {
	if chain == "" {
		return nil, nil
	}
	c, err := web.LoadCertificate(chain, key)
	if err != nil {
		return nil, fmt.Errorf("LEDGERHOOK_%s_CERT and LEDGERHOOK_%[1]s_KEY: %w", setting, err)
	}
	return c, nil
}

// PublicCertificate is what the public listener shows; nil: it speaks no TLS.
func PublicCertificate(cfg config.Config) (*web.Certificate, error) {
	return loadCertificate("TLS", cfg.TLSCert, cfg.TLSKey)
}

// InternalCertificate is what the internal listener shows; nil: it speaks no
// TLS.
func InternalCertificate(cfg config.Config) (*web.Certificate, error) {
	return loadCertificate("INTERNAL_TLS", cfg.InternalTLSCert, cfg.InternalTLSKey)
}

// shownCertificate is what a listener shows.
type shownCertificate struct {
	*web.Certificate
	until prometheus.Gauge
	fault string // that the log has
}

// renewCertificates measures until when the certificates are valid, and has
// them read again as their files change.
func (a *App) renewCertificates(context.Context) error {
	until := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ledgerhook_listener_tls_not_after_timestamp_seconds",
		Help: "When the certificate of a listener that speaks TLS itself expires, in seconds since 1970; public or internal."}, []string{"listener"})
	a.registry.MustRegister(until)
	if len(a.certificates) == 0 {
		return nil
	}
	for name, c := range a.certificates {
		c.until = until.WithLabelValues(name)
		c.until.Set(float64(c.Leaf().NotAfter.Unix()))
	}
	a.background("stop reading certificates", func(ctx context.Context) {
		a.every(ctx, certificatesEvery, "read the certificates again", a.readCertificates)
	})
	return nil
}

// readCertificates shows from now on what the files hold. The log hears of each
// fault once, not every time.
func (a *App) readCertificates(context.Context) error {
	for name, c := range a.certificates {
		changed, err := c.Reload()
		fault := ""
		if err != nil {
			fault = err.Error()
		}
		if fault != "" && fault != c.fault {
			a.log.Error("a certificate cannot be read again: the one before is still shown", "listener", name, "error", err)
		}
		c.fault = fault
		if changed {
			c.until.Set(float64(c.Leaf().NotAfter.Unix()))
			a.log.Info("a listener shows a new certificate", "listener", name, "until", c.Leaf().NotAfter)
		}
	}
	return nil
}
