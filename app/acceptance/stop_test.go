package acceptance

import (
	"syscall"
	"testing"
	"time"

	"ledgerhook/app/receiver"
)

func TestAStopWaitsForWhatIsBeingSent(t *testing.T) {
	both(t, func(t *testing.T, g *gateway) {
		g.start()
		p := newPartner(g, "acme", receiver.Always(receiver.Answer{Status: 200, Delay: 2 * time.Second}))
		ids := postAll(g, p.code, 2) // as many as a new window has room for
		eventually(t, 10*time.Second, "both are being sent", func() bool { return p.has() == 2 })
		if code := g.terminate(15 * time.Second); code != 0 {
			t.Errorf("exit code %d", code)
		}
		if n := g.logged("attempt", map[string]any{"outcome": "delivered"}); n != 2 {
			t.Errorf("%d of the 2 requests on their way ended before the process", n)
		}
		g.start()
		settle(g, p, ids, deadline)
		if n := p.asked(); n != 2 {
			t.Errorf("%d requests, want 2", n)
		}
	})
}

func TestASecondSignalEndsTheProcessAtOnceAndNothingIsLost(t *testing.T) {
	both(t, func(t *testing.T, g *gateway) {
		g.start()
		closed := newGate(t)
		p := newPartner(g, "acme", closed.hold)
		id := postAll(g, p.code, 1)[0]
		eventually(t, 10*time.Second, "it is being sent", func() bool { return p.receiver.Seen() == 1 })
		_ = g.process.cmd.Process.Signal(syscall.SIGTERM)
		eventually(t, 10*time.Second, "the process is stopping", func() bool { return g.logged("stopping: unfinished requests are drained", nil) == 1 })
		if code := g.terminate(5 * time.Second); code != -1 {
			t.Errorf("exit code %d, want an end by the signal", code)
		}
		closed.open()
		g.start()
		all := g.await(p.code, deadline)
		checkAttempts(t, g, p, all)
		if len(all) != 1 || len(all[0].Attempts) != 2 || all[0].Attempts[0].Outcome != "unknown" || all[0].Attempts[1].Outcome != "delivered" {
			t.Errorf("deliveries are %+v, want one with an unknown and a delivered attempt", all)
		}
		if n := len(p.of(id)); n != 2 {
			t.Errorf("%d requests, want 2", n)
		}
	})
}
