package app_test

import (
	"log/slog"
	"os"
	"strings"
	"testing"

	"ledgerhook/app"
	"ledgerhook/config"
)

func TestAWrongSettingIsSaidBeforeAnythingIsWritten(t *testing.T) {
	for setting, value := range map[string]string{
		"LEDGERHOOK_ADMIN_PASSWORD": "password1",
		"LEDGERHOOK_SMTP_URL":       "smtp://mail?from=codes",
	} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cfg := settings(t, dir, setting+"="+value)
			_, err := app.Start(t.Context(), cfg, app.Options{Log: slog.New(slog.DiscardHandler), FirstLogin: func(app.FirstLogin) {
				t.Error("a password was shown")
			}})
			if err == nil || !strings.Contains(err.Error(), setting) || strings.Contains(err.Error(), value) {
				t.Errorf("start says %v", err)
			}
			if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
				t.Errorf("the data directory holds %v, %v", left, err)
			}
		})
	}
}

func TestTheFirstSignInLeadsToThisMachine(t *testing.T) {
	t.Parallel()
	var first app.FirstLogin
	cfg := settings(t, t.TempDir(), "LEDGERHOOK_INTERNAL_LISTEN=0.0.0.0:0")
	a, err := app.Start(t.Context(), cfg, app.Options{Log: slog.New(slog.DiscardHandler), FirstLogin: func(l app.FirstLogin) { first = l }})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if !strings.HasPrefix(first.URL, "http://localhost:") || !strings.HasSuffix(first.URL, "/ops/login") {
		t.Errorf("first sign-in at %s", first.URL)
	}
}

// settings are those of an embedded gateway on dir with ports of its own.
func settings(t *testing.T, dir string, environ ...string) config.Config {
	t.Helper()
	cfg, err := config.Load("", append([]string{"LEDGERHOOK_DATA_DIR=" + dir, "LEDGERHOOK_LISTEN=127.0.0.1:0",
		"LEDGERHOOK_INTERNAL_LISTEN=127.0.0.1:0"}, environ...))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}
