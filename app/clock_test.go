package app

import (
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/config"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/web"
)

// While a clock is wrong nothing is ended or deleted by time: an operator must
// see that, and the process goes on with everything else.
func TestAWrongClockIsAWarningOfReadyz(t *testing.T) {
	t.Parallel()
	b := ledgertest.NewFresh(t, "postgres")
	health := &web.Health{}
	a := &App{ledger: b.Ledger, db: b.DB, config: config.Config{Retention: 30 * 24 * time.Hour}, health: health, log: slog.New(slog.DiscardHandler),
		retention: newRetentionMetric(prometheus.NewRegistry())}
	a.watchClock()
	says := func() string {
		t.Helper()
		w := httptest.NewRecorder()
		health.Ready().ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil))
		body, err := io.ReadAll(w.Body)
		if err != nil || w.Code != 200 {
			t.Errorf("status %d, %v", w.Code, err)
		}
		return string(body)
	}
	if err := a.retain(t.Context()); err != nil || !strings.Contains(says(), `"status":"ok"`) {
		t.Errorf("with right clocks: %v, %s", err, says())
	}
	behind := b.Behind(t, "2 minutes")
	a.ledger, a.db = behind.Ledger, behind.DB
	if err := a.retain(t.Context()); !errors.Is(err, database.ErrClock) {
		t.Errorf("with a wrong clock: %v", err)
	}
	if text := says(); !strings.Contains(text, "nothing is ended or deleted by time") || !strings.Contains(text, "not all that is past retention is deleted") || !strings.Contains(text, "2m0s ahead") || !strings.Contains(text, `"status":"warning"`) {
		t.Errorf("it says %s", text)
	}
}
