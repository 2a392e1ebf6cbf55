// Package web is what every HTTP surface of the gateway shares: handlers that
// return errors, problem documents, strict decoding, middleware.
//
// A surface is put together from outside in:
//
//	Observe(log, metrics, surface.Mux(mux))    request id, one event, metrics
//	mux: "/internal/v1/" → surface.Bearer(find, …)
//	mux: "GET /internal/v1/x" → surface.Handle(func(w, r) error)
package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"ledgerhook/webhook"
)

// HandlerFunc answers a request or returns an error before it has begun to.
type HandlerFunc func(http.ResponseWriter, *http.Request) error

// Surface is one HTTP interface: how it shows errors and where it notes them.
type Surface struct {
	Name    string       // "internal", "partner"…: label of failed authentications
	Log     *slog.Logger // internal errors with their causes
	Metrics *Metrics     // nil: none

	// ReadLimit is how long a GET or HEAD may take, ActLimit how long anything
	// else, body included, before what it still waits for is given up and it is
	// answered 503. 0: the handlers see to that.
	ReadLimit, ActLimit time.Duration

	// Render writes an error in the surface's shape. It must use status,
	// because some (405) have no Kind. An internal error comes without text.
	// Nil: WriteProblem.
	Render func(w http.ResponseWriter, r *http.Request, status int, e *webhook.Error)
}

// statusGone is what an unfinished request whose client has left is counted
// as, in place of an error of ours. Nobody receives it.
const statusGone = 499

// Status is the one mapping from a kind of error to an HTTP status.
func Status(k webhook.Kind) int {
	switch k {
	case webhook.KindInvalid:
		return http.StatusBadRequest
	case webhook.KindUnauthenticated:
		return http.StatusUnauthorized
	case webhook.KindForbidden:
		return http.StatusForbidden
	case webhook.KindNotFound:
		return http.StatusNotFound
	case webhook.KindConflict:
		return http.StatusConflict
	case webhook.KindTooLarge:
		return http.StatusRequestEntityTooLarge
	case webhook.KindMediaType:
		return http.StatusUnsupportedMediaType
	case webhook.KindRateLimited:
		return http.StatusTooManyRequests
	case webhook.KindUnavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// Handle turns h into a handler: an error becomes an answer in the surface's
// shape, a panic a 500. Either cuts the connection when h had already begun
// to answer, so that half an answer cannot pass for a whole one.
func (s Surface) Handle(h HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := record(w)
		setRoute(r.Context(), r.Pattern)
		defer func() {
			if v := recover(); v == http.ErrAbortHandler {
				panic(v)
			} else if v != nil {
				s.Fail(rec, r, fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
			}
		}()
		limited, cancel := s.limited(r)
		defer cancel()
		if err := h(rec, limited); err != nil {
			s.Fail(rec, r, err)
		}
	})
}

func (s Surface) limited(r *http.Request) (*http.Request, context.CancelFunc) {
	limit := s.ActLimit
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		limit = s.ReadLimit
	}
	if limit == 0 {
		return r, func() {}
	}
	ctx, cancel := context.WithTimeout(r.Context(), limit)
	return r.WithContext(ctx), cancel
}

// Fail answers r with err. What is not a *webhook.Error, or is one of
// KindInternal, is shown without text and logged with its cause; a limit that
// has passed is Unavailable.
func (s Surface) Fail(w http.ResponseWriter, r *http.Request, err error) {
	err = InTime(err)
	var e *webhook.Error
	if !errors.As(err, &e) || e.Kind == webhook.KindInternal {
		e = &webhook.Error{Kind: webhook.KindInternal}
	}
	status := Status(e.Kind)
	switch {
	case r.Context().Err() != nil && errors.Is(err, context.Canceled):
		status = statusGone
	case status >= http.StatusInternalServerError:
		s.Log.ErrorContext(r.Context(), "request failed", "status", status, "route", route(r.Context()),
			"request_id", RequestID(r.Context()), "error", err)
	}
	if e.Kind == webhook.KindTooLarge {
		refuseBody(w, r)
	}
	s.fail(w, r, status, e)
}

// InTime returns err, or Unavailable if it is a limit that has passed.
func InTime(err error) error {
	if webhook.KindOf(err) == webhook.KindInternal && errors.Is(err, context.DeadlineExceeded) {
		return &webhook.Error{Kind: webhook.KindUnavailable, Message: "no answer came in time: try again", Err: err}
	}
	return err
}

// fail renders e with its headers.
func (s Surface) fail(w http.ResponseWriter, r *http.Request, status int, e *webhook.Error) {
	if rec, ok := w.(*recorder); ok && rec.status != 0 {
		panic(http.ErrAbortHandler)
	}
	h := w.Header()
	for _, name := range []string{"Content-Length", "Content-Encoding", "Etag", "Last-Modified", "Cache-Control"} {
		h.Del(name)
	}
	if wait := retryAfter(e); wait > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	}
	if s.Render != nil {
		s.Render(w, r, status, e)
		return
	}
	WriteProblem(w, r, status, e)
}

func retryAfter(e *webhook.Error) time.Duration {
	if e.RetryAfter <= 0 && (e.Kind == webhook.KindUnavailable || e.Kind == webhook.KindRateLimited) {
		return time.Second
	}
	return e.RetryAfter
}
