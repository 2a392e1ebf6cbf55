package outage

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

func TestAnOutageIsToldOnceOfEachStepAndOnceWhenItIsOver(t *testing.T) {
	var lines bytes.Buffer
	log := slog.New(slog.NewTextHandler(&lines, nil))
	away := errors.New("connection refused")
	var l Log
	tell := func(step string, err error, want int) {
		t.Helper()
		l.Note(t.Context(), log, "maintain the queue", step, err)
		if got := strings.Count(lines.String(), "\n"); got != want {
			t.Errorf("%d lines, want %d:\n%s", got, want, lines.String())
		}
	}
	tell("promote", nil, 0)
	for range 2 { // one outage after another
		before := strings.Count(lines.String(), "\n")
		for range 10 {
			tell("promote", away, before+1)
			tell("rest", nil, before+1)
		}
		for range 10 { // what begins to fail meanwhile may have a cause of its own
			tell("reconcile", away, before+2)
			tell("promote", nil, before+2)
			tell("promote", away, before+2)
		}
		tell("promote", nil, before+2)
		tell("promote", nil, before+2)
		tell("reconcile", nil, before+3)
		tell("reconcile", nil, before+3)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	l.Note(ctx, log, "maintain the queue", "promote", ctx.Err())
	tell("promote", nil, 6)
	if text := lines.String(); strings.Count(text, "connection refused") != 4 || strings.Count(text, " again") != 2 {
		t.Error(text)
	}
}
