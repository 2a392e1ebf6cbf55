package delivery

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

func TestAnOutageIsToldOnceAndOnceWhenItIsOver(t *testing.T) {
	var lines bytes.Buffer
	log := slog.New(slog.NewTextHandler(&lines, nil))
	away := errors.New("connection refused")
	var o outage
	tell := func(step string, err error, want int) {
		t.Helper()
		o.tell(t.Context(), log, "keep deliveries on their way", step, err)
		if got := strings.Count(lines.String(), "\n"); got != want {
			t.Errorf("%d lines, want %d:\n%s", got, want, lines.String())
		}
	}
	tell("promote", nil, 0)
	for range 2 { // one outage after another
		before := strings.Count(lines.String(), "\n")
		for range 10 {
			tell("promote", away, before+1)
			tell("reconcile", away, before+1)
			tell("rest", nil, before+1)
		}
		tell("promote", nil, before+1)
		tell("promote", nil, before+1)
		tell("reconcile", nil, before+2)
		tell("reconcile", nil, before+2)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	o.tell(ctx, log, "keep deliveries on their way", "promote", ctx.Err())
	tell("promote", nil, 4)
	if text := lines.String(); strings.Count(text, "connection refused") != 2 || strings.Count(text, " again") != 2 {
		t.Error(text)
	}
}
