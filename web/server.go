package web

import (
	"log/slog"
	"net/http"
	"time"
)

// NewServer returns a server with limits on what a client may take: 10 s for
// the headers, 64 KiB of them, 30 s for the whole request, 60 s more for the
// answer, 2 min between requests. A handler that streams lifts the limit on
// its answer with http.ResponseController.SetWriteDeadline.
func NewServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      90 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          StandardLog(log),
	}
}
