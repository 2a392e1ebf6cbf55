package web

import (
	"bytes"
	"log"
	"log/slog"
	"regexp"
	"strings"
)

// quoted is what a library repeats of what came from outside: net/http prints
// the bytes of a receiver, or of a client, in quotes.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"?`)

// StandardLog is a logger for those libraries that know the standard one only.
// Each of its lines is a warning of log, without what stands in quotes; a
// handshake that a client broke off, which any scanner of ports does, is a
// detail.
func StandardLog(to *slog.Logger) *log.Logger { return log.New(standardLog{to}, "", 0) }

type standardLog struct{ log *slog.Logger }

func (w standardLog) Write(line []byte) (int, error) {
	say := w.log.Warn
	if bytes.HasPrefix(line, []byte("http: TLS handshake error ")) {
		say = w.log.Debug
	}
	say("a library says: " + quoted.ReplaceAllString(strings.TrimSpace(string(line)), `"…"`))
	return len(line), nil
}
