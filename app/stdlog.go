package app

import (
	"log"
	"log/slog"

	"ledgerhook/web"
)

// TakeStandardLog makes log the place of what libraries print by the process's
// default logger. It is for main alone: there is one such logger in a process.
func TakeStandardLog(to *slog.Logger) {
	log.SetFlags(0)
	log.SetOutput(web.StandardLog(to).Writer())
}
