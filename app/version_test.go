package app_test

import (
	"log/slog"
	"testing"

	"ledgerhook/app"
)

func TestThatAnotherVersionServesIsInTheAuditLog(t *testing.T) {
	t.Parallel()
	cfg := settings(t, t.TempDir())
	var log struct {
		Items []struct{ Actor, Action, Detail string }
	}
	for _, version := range []string{"v1.4.0", "v1.4.0", "v1.5.0"} {
		a, err := app.Start(t.Context(), cfg, app.Options{Log: slog.New(slog.DiscardHandler), Version: version})
		if err != nil {
			t.Fatal(err)
		}
		call(t, a, "GET", "/audit?action=gateway.update", nil, &log)
		if err := a.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if version == "v1.4.0" && len(log.Items) != 0 {
			t.Errorf("before there was another version: %+v", log.Items)
		}
	}
	if len(log.Items) != 1 || log.Items[0].Detail != "v1.5.0 after v1.4.0" || log.Items[0].Actor != "ledgerhook" {
		t.Errorf("after another version began to serve: %+v", log.Items)
	}
}
