package acceptance

import (
	"syscall"
	"testing"
	"time"

	"ledgerhook/app/receiver"
	"ledgerhook/bench/stage"
)

func TestAStopWaitsForWhatIsBeingSent(t *testing.T) {
	both(t, func(t *testing.T, g *stage.Gateway) {
		g.Start()
		p := stage.NewPartner(g, "acme", receiver.Always(receiver.Answer{Status: 200, Delay: 2 * time.Second}))
		ids := stage.PostAll(g, p.Code, 2) // as many as a new window has room for
		stage.Eventually(t, deadline, "both are being sent", func() bool { return p.Has() == 2 })
		if code := g.Terminate(deadline); code != 0 {
			t.Errorf("exit code %d", code)
		}
		if n := g.Logged("attempt", map[string]any{"outcome": "delivered"}); n != 2 {
			t.Errorf("%d of the 2 requests on their way ended before the process", n)
		}
		g.Start()
		stage.Settle(g, p, ids, deadline)
		if n := p.Asked(); n != 2 {
			t.Errorf("%d requests, want 2", n)
		}
	})
}

func TestASecondSignalEndsTheProcessAtOnceAndNothingIsLost(t *testing.T) {
	both(t, func(t *testing.T, g *stage.Gateway) {
		g.Start()
		closed := newGate(t)
		p := stage.NewPartner(g, "acme", closed.hold)
		id := stage.PostAll(g, p.Code, 1)[0]
		stage.Eventually(t, deadline, "it is being sent", func() bool { return p.Receiver.Seen() == 1 })
		_ = g.Process.Cmd.Process.Signal(syscall.SIGTERM)
		stage.Eventually(t, deadline, "the process is stopping", func() bool { return g.Logged("stopping: unfinished requests are drained", nil) == 1 })
		if code := g.Terminate(deadline); code != -1 {
			t.Errorf("exit code %d, want an end by the signal", code)
		}
		closed.open()
		g.Start()
		all := g.Await(p.Code, deadline)
		stage.CheckAttempts(t, g, p, all)
		if len(all) != 1 || len(all[0].Attempts) != 2 || all[0].Attempts[0].Outcome != "unknown" || all[0].Attempts[1].Outcome != "delivered" {
			t.Errorf("deliveries are %+v, want one with an unknown and a delivered attempt", all)
		}
		if n := len(p.Of(id)); n != 2 {
			t.Errorf("%d requests, want 2", n)
		}
	})
}
