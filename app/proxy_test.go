package app

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"testing"

	"ledgerhook/config"
)

// Both listeners know who stands behind a trusted proxy.
func TestBothListenersBelieveTrustedProxies(t *testing.T) {
	cfg, err := config.Load("", []string{"LEDGERHOOK_DATA_DIR=" + t.TempDir(), "LEDGERHOOK_LISTEN=127.0.0.1:0", "LEDGERHOOK_INTERNAL_LISTEN=127.0.0.1:0",
		"LEDGERHOOK_TRUSTED_PROXIES=127.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer // which is read when all has stopped
	a, err := Start(t.Context(), cfg, Options{Log: slog.New(slog.NewJSONHandler(&logged, nil)), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for client, address := range map[string]string{"192.0.2.1": a.InternalURL() + "/nothing", "192.0.2.2": a.PublicURL() + "/nothing"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Forwarded-For", client)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
	}
	if err := a.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	clients := map[string]bool{}
	for lines := json.NewDecoder(&logged); lines.More(); {
		var line struct{ Msg, Remote string }
		if err := lines.Decode(&line); err != nil {
			t.Fatal(err)
		}
		clients[line.Remote] = line.Msg == "request"
	}
	if !clients["192.0.2.1"] || !clients["192.0.2.2"] {
		t.Errorf("the log knows requests of %v", clients)
	}
}
