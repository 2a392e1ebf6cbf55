package ledger_test

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// wide is an endpoint whose window takes n deliveries from the start.
func wide(t *testing.T, b *ledgertest.Bench, n int) webhook.Endpoint {
	t.Helper()
	e := b.Endpoint(t, "acme", n)
	change(t, b, "UPDATE windows SET grown = max_in_flight WHERE endpoint_id = $1", e.ID)
	return e
}

// exhaust makes n deliveries that have ended without success.
func exhaust(t *testing.T, b *ledgertest.Bench, n int) []string {
	t.Helper()
	made := storeMany(t, b, "acme", n)
	for tickets := b.Tickets(); len(tickets) > 0; tickets = b.Tickets() {
		sendAtOnce(t, b, tickets, failed, exhausted)
	}
	return made
}

// replay starts a replay of what has ended without success.
func replay(t *testing.T, b *ledgertest.Bench, rate int) delivery.Replay {
	t.Helper()
	r, err := b.StartReplay(t.Context(), partners.Everything(), delivery.Replay{ID: webhook.NewID(webhook.ReplayPrefix), State: delivery.ReplayRunning,
		Reason: "test", Filter: filter(webhook.Exhausted), Rate: rate, CreatedAt: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func step(t *testing.T, b *ledgertest.Bench) (admitted, skipped int) {
	t.Helper()
	admitted, skipped, err := b.StepReplays(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return admitted, skipped
}

// rested gives replays back the whole second's worth of their rate.
func rested(t *testing.T, b *ledgertest.Bench) {
	t.Helper()
	change(t, b, "UPDATE replays SET rate_next = 0")
}

func progressOf(t *testing.T, b *ledgertest.Bench, id string) (delivery.Replay, delivery.ReplayProgress) {
	t.Helper()
	r, err := b.Ledger.Replay(t.Context(), partners.Everything(), id)
	if err != nil {
		t.Fatal(err)
	}
	p := r.Progress
	if p.Open+p.Skipped+p.Waiting+p.Delivered+p.Failing+p.Failed != r.Total || p.Queued != r.Total-p.Open-p.Skipped || p.Sent > p.Queued || p.Answered > p.Sent {
		t.Errorf("%+v does not add up to %d", p, r.Total)
	}
	return r, p
}

func move(t *testing.T, b *ledgertest.Bench, id string, to delivery.ReplayState) {
	t.Helper()
	if err := b.MoveReplay(t.Context(), id, to); err != nil {
		t.Fatal(err)
	}
}

func TestOf250ExhaustedAnd20DeliveredByHand230AreSent(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		wide(t, b, 40)
		made := exhaust(t, b, 250)
		r := replay(t, b, delivery.MaxReplayRate)
		for _, id := range made[100:120] {
			if _, err := b.RetryDelivery(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		same(t, "sent by hand", len(drain(t, b)), 20)
		sent := 0
		for r.State != delivery.ReplayFinished {
			rested(t, b)
			step(t, b)
			sent += len(drain(t, b))
			r, _ = progressOf(t, b, r.ID)
		}
		same(t, "sent", sent, 230)
		p := r.Progress
		same(t, "skipped, delivered, queued, sent, answered", []int{p.Skipped, p.Delivered, p.Queued, p.Sent, p.Answered}, []int{20, 230, 230, 230, 230})
		same(t, "events sent twice", b.Count(t, "SELECT COUNT(*) - COUNT(DISTINCT event_id) FROM deliveries WHERE state = 'delivered'"), 0)
		b.CheckWindows(t)
	})
}

func TestTheItemsOfAStepAreMadeInOneStatement(t *testing.T) {
	t.Parallel()
	b := ledgertest.New(t, "postgres")
	b.Partner(t, "acme")
	wide(t, b, 40)
	wide(t, b, 40)
	exhaust(t, b, 20)
	replay(t, b, delivery.MaxReplayRate)
	var inserts atomic.Int32
	if err := b.Trace(b.At.DatabaseURL, func(s ledger.Statement) {
		if strings.HasPrefix(s.SQL, "INSERT INTO deliveries ") {
			inserts.Add(1)
		}
	}); err != nil {
		t.Fatal(err)
	}
	admitted, _ := step(t, b)
	same(t, "admitted", admitted, 40)
	same(t, "statements", inserts.Load(), int32(1))
	b.CheckWindows(t)
}

func TestAReplayStandsStillForNoLongerThanItsRateByAClockThatWasAhead(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		wide(t, b, 40)
		exhaust(t, b, 5)
		replay(t, b, 10)
		change(t, b, "UPDATE replays SET rate_next = $1", time.Now().Add(400*time.Second).UnixMicro())
		step(t, b)
		same(t, "replays that wait for longer than a second", b.Count(t, "SELECT COUNT(*) FROM replays WHERE rate_next > $1", time.Now().Add(time.Second).UnixMicro()), 0)
		change(t, b, "UPDATE replays SET rate_next = rate_next - 1000000") // a second later
		admitted, _ := step(t, b)
		same(t, "admitted", admitted, 5)
	})
}

func TestAReplayThatStoppedItselfIsJudgedAfresh(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		wide(t, b, 25)
		exhaust(t, b, 110)
		r := replay(t, b, delivery.MaxReplayRate)
		judged := func() delivery.ReplayState {
			t.Helper()
			if err := b.StopFailingReplays(t.Context()); err != nil {
				t.Fatal(err)
			}
			r, _ = progressOf(t, b, r.ID)
			return r.State
		}
		step(t, b)
		tickets := b.Tickets()
		sendAtOnce(t, b, tickets[:5], failed, exhausted)
		sendAtOnce(t, b, tickets[5:], ok, delivered)
		same(t, "with a fifth failed", judged(), delivery.ReplayRunning)
		step(t, b)
		sendAtOnce(t, b, b.Tickets(), failed, exhausted)
		same(t, "with more failed", judged(), delivery.ReplayStopped)
		if n, _ := step(t, b); n != 0 || r.Note != "30 of the newest 50 deliveries fail" {
			t.Errorf("stopped, it sent %d; %q", n, r.Note)
		}
		move(t, b, r.ID, delivery.ReplayRunning)
		same(t, "resumed", judged(), delivery.ReplayRunning)
		step(t, b)
		sendAtOnce(t, b, b.Tickets(), ok, delivered)
		same(t, "when it goes well", judged(), delivery.ReplayRunning)
		step(t, b)
		sendAtOnce(t, b, b.Tickets(), failed, exhausted)
		same(t, "when it goes badly again", judged(), delivery.ReplayStopped)
		_, p := progressOf(t, b, r.ID)
		same(t, "failures", p.Failures, []delivery.ReplayFailure{{Class: webhook.ErrorHTTP5xx, Failed: 55}})
		again, err := b.StartReplay(t.Context(), partners.Everything(), delivery.Replay{ID: webhook.NewID(webhook.ReplayPrefix), State: delivery.ReplayPaused,
			Filter: delivery.Filter{ReplayID: r.ID, State: webhook.Exhausted}, Rate: 1, CreatedAt: time.Now()})
		if err != nil || again.Total != 55 {
			t.Errorf("those that failed are %d (%v)", again.Total, err)
		}
	})
}

func TestAReplayGoesOnAlthoughItsWorkerDied(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		wide(t, b, 40)
		exhaust(t, b, 50)
		r := replay(t, b, delivery.MaxReplayRate)
		step(t, b)
		tickets := b.Tickets()
		sendAtOnce(t, b, tickets[:10], ok, delivered)
		sendAtOnce(t, b, tickets[10:], webhook.Attempt{Outcome: webhook.OutcomeUnknown}, retryAt(time.Now().Add(time.Hour)))
		if err := b.StopFailingReplays(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, _ = progressOf(t, b, r.ID)
		same(t, "state", r.State, delivery.ReplayRunning)
	})
}

func TestAReplayIsMovedWithinOneStepAndKeepsItsRate(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		wide(t, b, 1000)
		exhaust(t, b, 700)
		r := replay(t, b, 10)
		keeps := func(rate int) { // a second's worth at once, and what the step itself takes time for
			t.Helper()
			began := time.Now()
			n, _ := step(t, b)
			if most := rate + int(float64(rate)*time.Since(began).Seconds()); n < rate || n > most {
				t.Errorf("at %d a second it sent %d at once, want %d to %d", rate, n, rate, most)
			}
		}
		keeps(10)
		move(t, b, r.ID, delivery.ReplayPaused)
		rested(t, b)
		if n, _ := step(t, b); n != 0 {
			t.Errorf("paused, it sent %d", n)
		}
		move(t, b, r.ID, delivery.ReplayRunning)
		change(t, b, "UPDATE replays SET rate = 1, rate_next = 0")
		keeps(1)
		move(t, b, r.ID, delivery.ReplayCancelled)
		rested(t, b)
		if n, _ := step(t, b); n != 0 {
			t.Errorf("cancelled, it sent %d", n)
		}
		replay(t, b, delivery.MaxReplayRate)
		admitted, skipped := step(t, b)
		same(t, "at full rate, looked at in one step", admitted+skipped, 700)
		b.CheckWindows(t)
	})
}

func TestAnEndpointThatTakesNothingHoldsUpNoOther(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		var stuck []webhook.Endpoint
		for range 5 {
			stuck = append(stuck, wide(t, b, 10))
		}
		healthy := wide(t, b, 10)
		exhaust(t, b, 10)
		change(t, b, "UPDATE windows SET used = 10 WHERE endpoint_id = $1", stuck[0].ID)
		set(t, b, stuck[1].ID, pause)
		set(t, b, stuck[2].ID, func(e *webhook.Endpoint) { e.Window.Disabled = true })
		set(t, b, stuck[3].ID, func(e *webhook.Endpoint) { e.Window.Breaker.Trip(time.Now(), "test") })
		if err := b.RemoveEndpoint(t.Context(), partners.Everything(), stuck[4].ID); err != nil {
			t.Fatal(err)
		}
		r := replay(t, b, delivery.MaxReplayRate)
		admitted, skipped := step(t, b)
		same(t, "admitted, skipped", []int{admitted, skipped}, []int{10, 10})
		for _, ticket := range b.Tickets() {
			same(t, "endpoint", ticket.EndpointID, healthy.ID)
			record(t, b, take(t, b, ticket), ok, delivered)
		}
		_, p := progressOf(t, b, r.ID)
		same(t, "open", p.Open, 40)
		change(t, b, "UPDATE windows SET used = 0 WHERE endpoint_id = $1", stuck[0].ID)
		set(t, b, stuck[1].ID, resume)
		set(t, b, stuck[2].ID, func(e *webhook.Endpoint) { e.Window.Disabled = false })
		rested(t, b)
		admitted, _ = step(t, b)
		same(t, "admitted when they can take it", admitted, 30)
		drain(t, b)
		b.CheckWindows(t)
	})
}

func TestAReplayGetsOnBesideABacklogThatNeverEnds(t *testing.T) {
	t.Parallel()
	for name, beside := range map[string]struct {
		firstWait time.Duration
		fails     bool
	}{
		"of first attempts":             {0, false},
		"of first attempts with a wait": {time.Microsecond, false},
		"of retries":                    {0, true},
	} {
		t.Run(name, func(t *testing.T) {
			ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
				b.Partner(t, "acme")
				wide(t, b, 4)
				exhaust(t, b, 10)
				reopenWaiting(t, b, beside.firstWait)
				storeMany(t, b, "acme", 8)
				r := replay(t, b, delivery.MaxReplayRate)
				others, repeated := 0, 0
				for repeated < 10 && others < 100 {
					if !beside.fails {
						storeMany(t, b, "acme", 4) // as many as a round sends: it never catches up
					}
					promote(t, b)
					step(t, b)
					if n := b.Count(t, "SELECT COUNT(*) FROM deliveries WHERE lane = 2 AND due_at IS NOT NULL"); n > 1 {
						t.Fatalf("%d items wait in the backlog, want one at most", n)
					}
					for _, ticket := range b.Tickets() {
						job := take(t, b, ticket)
						switch {
						case job.Trigger == webhook.TriggerReplay:
							record(t, b, job, ok, delivered)
							repeated++
							continue
						case beside.fails:
							record(t, b, job, failed, retryAt(time.Now()))
						default:
							record(t, b, job, ok, delivered)
						}
						others++
					}
					if b.Count(t, "SELECT COUNT(*) FROM deliveries WHERE lane < 2 AND due_at IS NOT NULL") == 0 {
						t.Fatal("the backlog has ended")
					}
				}
				same(t, "repeated", repeated, 10)
				step(t, b) // finds no open item
				r, _ = progressOf(t, b, r.ID)
				same(t, "state", r.State, delivery.ReplayFinished)
				if others < 3*(repeated-1) {
					t.Errorf("%d others beside %d repetitions, want three for each", others, repeated)
				}
				b.CheckWindows(t)
			})
		})
	}
}

// A finished copy of a test is in the list of replays made by older versions:
// it is skipped, and what stands before and behind it is sent once.
func TestAReplaySkipsTestsAlsoBesideABacklog(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		wide(t, b, 4)
		made := exhaust(t, b, 3)
		change(t, b, "UPDATE events SET test = TRUE WHERE id = (SELECT event_id FROM deliveries WHERE id = $1)", made[1])
		storeMany(t, b, "acme", 16)
		r := replay(t, b, delivery.MaxReplayRate)
		for range 40 {
			step(t, b)
			for _, ticket := range b.Tickets() {
				record(t, b, take(t, b, ticket), ok, delivered)
			}
		}
		r, p := progressOf(t, b, r.ID)
		same(t, "state, skipped, delivered", []any{r.State, p.Skipped, p.Delivered}, []any{delivery.ReplayFinished, 1, 2})
		same(t, "repetitions", b.Count(t, "SELECT COUNT(*) FROM deliveries WHERE trigger = 'replay'"), 2)
		b.CheckWindows(t)
	})
}

func TestProcessesThatStepTheSameReplaySendNothingTwice(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		wide(t, b, 400)
		exhaust(t, b, 300)
		r := replay(t, b, delivery.MaxReplayRate)
		runners := []*ledger.Ledger{b.Ledger, b.Ledger}
		if !b.DB.Embedded() {
			runners[1] = b.Another(t).Ledger
		}
		var wg sync.WaitGroup
		for _, l := range runners {
			wg.Go(func() {
				for range 4 {
					if _, _, err := l.StepReplays(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		_, p := progressOf(t, b, r.ID)
		same(t, "queued", p.Queued, 300)
		same(t, "made", b.Count(t, "SELECT COUNT(*) FROM deliveries WHERE trigger = 'replay'"), 300)
		same(t, "events", b.Count(t, "SELECT COUNT(DISTINCT event_id) FROM deliveries WHERE trigger = 'replay'"), 300)
		b.CheckWindows(t)
	})
}

func TestWhatAReplaySentIsCountedWhenItIsGone(t *testing.T) {
	ledgertest.EachFresh(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		wide(t, b, 10)
		exhaust(t, b, 10)
		r := replay(t, b, delivery.MaxReplayRate)
		step(t, b)
		tickets := b.Tickets()
		sendAtOnce(t, b, tickets[:4], failed, exhausted)
		sendAtOnce(t, b, tickets[4:], ok, delivered)
		step(t, b)
		_, before := progressOf(t, b, r.ID)
		change(t, b, "UPDATE replays SET finished_at = $1, created_at = $1", time.Now().AddDate(0, 0, 20).UnixMicro()) // as if it had ended later
		retain(t, b, 31)
		same(t, "deliveries", b.Count(t, "SELECT COUNT(*) FROM deliveries"), 0)
		_, after := progressOf(t, b, r.ID)
		same(t, "progress", after, before)
		same(t, "delivered, failed", []int{after.Delivered, after.Failed}, []int{6, 4})
		retain(t, b, 55)
		same(t, "replays", b.Count(t, "SELECT COUNT(*) FROM replays"), 0)
		same(t, "items", b.Count(t, "SELECT COUNT(*) FROM replay_items"), 0)
	})
}

func TestAPausedReplayExpiresWithItsList(t *testing.T) {
	ledgertest.EachFresh(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		wide(t, b, 4)
		exhaust(t, b, 10)
		r := replay(t, b, delivery.MaxReplayRate)
		step(t, b)
		sendAtOnce(t, b, b.Tickets(), ok, delivered)
		move(t, b, r.ID, delivery.ReplayPaused)
		kept := func(days int) (delivery.Replay, delivery.ReplayProgress) { // as if it had been made so long ago
			t.Helper()
			change(t, b, "UPDATE replays SET created_at = $1", time.Now().AddDate(0, 0, -days).UnixMicro())
			retain(t, b, 0)
			return progressOf(t, b, r.ID)
		}
		paused, before := kept(29)
		same(t, "state after 29 days", paused.State, delivery.ReplayPaused)
		same(t, "open, delivered", []int{before.Open, before.Delivered}, []int{6, 4})
		expired, after := kept(31)
		same(t, "state, note after 31 days", []any{expired.State, expired.Note}, []any{delivery.ReplayCancelled, "expired"})
		same(t, "progress", after, before)
		same(t, "time of its end", time.Since(expired.FinishedAt) < time.Minute, true)
		wantKind(t, b.MoveReplay(t.Context(), r.ID, delivery.ReplayRunning), webhook.KindConflict)
		rested(t, b)
		n, _ := step(t, b)
		same(t, "sent of what is over", n, 0)
		retain(t, b, 31)
		same(t, "replays", b.Count(t, "SELECT COUNT(*) FROM replays"), 0)
		same(t, "items", b.Count(t, "SELECT COUNT(*) FROM replay_items"), 0)
		b.CheckCounts(t)
	})
}

func TestAPreviewWarns(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := wide(t, b, 10)
		made := exhaust(t, b, 6)
		all := delivery.Filter{State: webhook.Exhausted, IncludeSettled: true}
		for _, id := range made[:3] {
			if _, err := b.RetryDelivery(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		tickets := b.Tickets()
		send(t, b, tickets[:1], ok, delivered)
		send(t, b, tickets[1:], failed, retryAt(time.Now().Add(time.Hour)))
		set(t, b, e.ID, func(e *webhook.Endpoint) { e.Description = "no warning" })
		p, err := b.PreviewReplay(t.Context(), partners.Everything(), all)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "count", p.CountIs, delivery.CountExact)
		same(t, "warnings", p.Warnings, delivery.ReplayWarnings{Checked: 6, Delivered: 1, Retrying: 2})
		set(t, b, e.ID, func(e *webhook.Endpoint) { e.URL = "https://elsewhere.example.com/hook" })
		change(t, b, "UPDATE secrets SET activated_at = $1", time.Now().UnixMicro())
		if p, err = b.PreviewReplay(t.Context(), partners.Everything(), all); err != nil {
			t.Fatal(err)
		}
		same(t, "warnings", p.Warnings, delivery.ReplayWarnings{Checked: 6, Delivered: 1, Retrying: 2, URLChanged: 6, SecretRotated: 6})
	})
}

const stepperPlace = "LEDGERHOOK_TEST_STEPPER" // set in a process that TestAReplayGoesOnWhenItsProcessIsKilled starts

func TestAReplayGoesOnWhenItsProcessIsKilled(t *testing.T) {
	if dir, runs := os.LookupEnv(stepperPlace); runs {
		l, err := ledgertest.Open(t.Context(), database.Options{DataDir: dir, DatabaseURL: os.Getenv(stepperPlace + "_URL")}, ledger.Options{})
		for err == nil {
			_, _, err = l.StepReplays(t.Context())
		}
		t.Fatal(err)
	}
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		wide(t, b, 2000)
		exhaust(t, b, 600)
		r := replay(t, b, 100)
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		other := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAReplayGoesOnWhenItsProcessIsKilled$")
		other.Env = append(os.Environ(), stepperPlace+"="+b.At.DataDir, stepperPlace+"_URL="+b.At.DatabaseURL)
		if err := other.Start(); err != nil {
			t.Fatal(err)
		}
		for b.Count(t, "SELECT COUNT(*) FROM replay_items WHERE outcome = 'admitted'") < 110 {
			if t.Context().Err() != nil {
				t.Fatal("nothing is sent")
			}
		}
		if err := other.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = other.Wait()
		b.Reopen(t)
		if _, p := progressOf(t, b, r.ID); p.Open == 0 || p.Queued < 110 {
			t.Fatalf("when it was killed %+v", p)
		}
		for r.State != delivery.ReplayFinished {
			rested(t, b)
			step(t, b)
			r, _ = progressOf(t, b, r.ID)
		}
		same(t, "made", b.Count(t, "SELECT COUNT(*) FROM deliveries WHERE trigger = 'replay'"), 600)
		same(t, "events", b.Count(t, "SELECT COUNT(DISTINCT event_id) FROM deliveries WHERE trigger = 'replay'"), 600)
		b.CheckWindows(t)
	})
}
