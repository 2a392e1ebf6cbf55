package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// checkLimit is how long a readiness check may take.
const checkLimit = 2 * time.Second

// Health answers probes. Add its checks before it serves.
type Health struct {
	checks []check
}

type check struct {
	name    string
	run     func(context.Context) error
	warning bool
}

// Add names a check that must return nil for the process to be ready. It gets
// 2 s; its error's text is shown and must hold no secret.
func (h *Health) Add(name string, run func(context.Context) error) {
	h.checks = append(h.checks, check{name, run, false})
}

// AddWarning names a check whose failure is shown and leaves the process ready:
// somebody must look at it, but taking the process away would not help.
func (h *Health) AddWarning(name string, run func(context.Context) error) {
	h.checks = append(h.checks, check{name, run, true})
}

// Finding is what one check found.
type Finding struct {
	Name    string
	Err     error // nil: well
	Warning bool  // the process is ready in spite of Err
}

// Find runs every check at once. Each takes at most 2 s, or what ctx leaves.
func (h *Health) Find(ctx context.Context) []Finding {
	found := make([]Finding, len(h.checks))
	var wait sync.WaitGroup
	for i, c := range h.checks {
		wait.Go(func() { found[i] = Finding{c.name, c.find(ctx), c.warning} })
	}
	wait.Wait()
	return found
}

type healthAnswer struct {
	Status string        `json:"status"` // "ok", "warning" or "unavailable"
	Checks []checkAnswer `json:"checks,omitempty"`
}

type checkAnswer struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

// Live answers 200 as long as the process serves at all (/healthz).
func (h *Health) Live() http.Handler {
	return Quiet(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = WriteJSON(w, http.StatusOK, healthAnswer{Status: "ok"})
	}))
}

// Ready runs every check at once and answers 200, or 503 with what is not
// ready (/readyz).
func (h *Health) Ready() http.Handler {
	return Quiet(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, answer := http.StatusOK, healthAnswer{Status: "ok"}
		for _, f := range h.Find(r.Context()) {
			shown := checkAnswer{Name: f.Name, OK: f.Err == nil}
			if f.Err != nil {
				shown.Error = f.Err.Error()
			}
			answer.Checks = append(answer.Checks, shown)
			switch {
			case f.Err == nil:
			case !f.Warning:
				status, answer.Status = http.StatusServiceUnavailable, "unavailable"
			case status == http.StatusOK:
				answer.Status = "warning"
			}
		}
		_ = WriteJSON(w, status, answer)
	}))
}

// find runs the check and gives up on it after checkLimit, even if it does
// not heed its context.
func (c check) find(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	result := make(chan error, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				result <- fmt.Errorf("panic: %v", v)
			}
		}()
		result <- c.run(ctx)
	}()
	var err error
	select {
	case err = <-result:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %s", checkLimit)
	}
	return err
}
