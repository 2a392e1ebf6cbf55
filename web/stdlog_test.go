package web

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
)

func TestWhatLibrariesPrintIsOursAndHoldsNoPayload(t *testing.T) {
	t.Parallel()
	for printed, want := range map[string]string{
		`Unsolicited response received on idle HTTP channel starting with "s3cret \" s3cret"; err=<nil>`: `a library says: Unsolicited response received on idle HTTP channel starting with "…"; err=<nil>`,
		`malformed "s3cret`: "a library says: malformed \"…\"",
		"http: Accept error: too many open files; retrying in 5ms\n": "a library says: http: Accept error: too many open files; retrying in 5ms",
	} {
		var out bytes.Buffer
		StandardLog(slog.New(slog.NewJSONHandler(&out, nil))).Print(printed)
		var line struct{ Level, Msg string }
		if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.Msg != want || line.Level != "WARN" || strings.Contains(out.String(), "s3cret") {
			t.Errorf("%q becomes %s (%v)", printed, out.String(), err)
		}
	}
}

// Anybody can reach a listener and say something that is no TLS.
func TestAHandshakeThatAClientBrokeOffIsADetail(t *testing.T) {
	var out bytes.Buffer
	StandardLog(slog.New(slog.NewJSONHandler(&out, nil))).Print("http: TLS handshake error from 192.0.2.1:4711: EOF")
	if out.Len() != 0 {
		t.Errorf("the log says %s", out.String())
	}
}
