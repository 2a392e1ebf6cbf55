package delivery_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/delivery"
	"ledgerhook/delivery/guard"
	"ledgerhook/delivery/maintenance"
	"ledgerhook/delivery/sender"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/webhook"
)

// These tests let days pass in a bubble of testing/synctest: ledger, worker,
// sender, promoter and reconciler are the real ones, the queue is a line of
// goroutines, and the receiver stands outside and goes by the time that
// messages carry.

// tick is how exact the promoter is.
const tick = 200 * time.Millisecond

// line is a queue without a Redis: a ticket is a goroutine that waits for its time.
type line struct {
	deliver func(context.Context, delivery.Ticket)
	under   sync.WaitGroup

	mu   sync.Mutex
	held map[string]int64 // generation by delivery
}

func (l *line) Enqueue(_ context.Context, t delivery.Ticket) error {
	l.mu.Lock()
	l.held[t.DeliveryID] = t.Generation
	l.mu.Unlock()
	l.under.Go(func() {
		time.Sleep(time.Until(t.DueAt))
		l.deliver(context.Background(), t)
	})
	return nil
}

func (l *line) Shards() []string                              { return []string{"line"} }
func (l *line) ShardOf(string) string                         { return "line" }
func (l *line) Epoch(context.Context, string) (string, error) { return "1", nil }

func (l *line) Lost(_ context.Context, queued []delivery.Queued) (lost []delivery.Ticket, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, q := range queued {
		if l.held[q.DeliveryID] != q.Generation {
			lost = append(lost, q.Ticket)
		}
	}
	return lost, nil
}

// days is a gateway whose time is a bubble's.
type days struct {
	*gateway
	maintainer *maintenance.Maintainer
	began      time.Time
}

// simulate runs test in a bubble, beside a receiver. Its answer gets the
// request's time and the header of the response.
func simulate(t *testing.T, answer func(r *http.Request, at time.Time, h http.Header) (status int), test func(t *testing.T, d *days, url string)) {
	t.Helper()
	receiver := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seconds, _ := strconv.ParseInt(r.Header.Get(signer.HeaderTimestamp), 10, 64)
		w.WriteHeader(answer(r, time.Unix(seconds, 0), w.Header()))
	}))
	receiver.Config.SetKeepAlivesEnabled(false) // a connection that is kept would keep the bubble awake
	receiver.Start()
	t.Cleanup(receiver.Close)
	if _, err := signingKey(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		test(t, open(t), receiver.URL)
	})
}

func open(t *testing.T) *days {
	t.Helper()
	g := &gateway{Bench: ledgertest.New(t, "sqlite"), policy: schedule, registry: prometheus.NewRegistry(), log: slog.New(slog.DiscardHandler)}
	g.metrics = delivery.NewMetrics(g.registry)
	g.maintenance = maintenance.NewMetrics(g.registry, g.metrics)
	masterKey := make([]byte, signer.MasterKeySize)
	_, _ = rand.Read(masterKey)
	var err error
	if g.box, err = signer.NewBox(masterKey); err != nil {
		t.Fatal(err)
	}
	if g.key, err = signingKey(); err != nil {
		t.Fatal(err)
	}
	queue := &line{held: map[string]int64{}}
	dispatcher := delivery.StartDispatcher(queue, g.metrics, g.log)
	t.Cleanup(dispatcher.Stop)
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	g.Options.Admitted, g.Options.Slots = dispatcher.Dispatch, dispatcher
	g.Reopen(t)
	out := sender.New(sender.Options{Guard: guard.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), UserAgent: "Ledgerhook/test"})
	t.Cleanup(out.Close)
	worker := delivery.NewWorker(delivery.WorkerOptions{ID: webhook.NewID(webhook.WorkerPrefix), Ledger: g.Ledger,
		Composer: delivery.NewComposer(g, g.box, g.metrics), Sender: out, Policy: g.policy, Metrics: g.metrics, Log: g.log})
	queue.deliver = worker.Take
	t.Cleanup(queue.under.Wait)
	g.createPartner(t)
	return &days{gateway: g, began: time.Now(), maintainer: &maintenance.Maintainer{Store: g.Ledger, Claims: g.Ledger, Epochs: g.Ledger, Queue: queue, Worker: worker,
		Metrics: g.maintenance, Log: g.log}}
}

// passUntil lets time pass until condition holds. Maintenance runs whenever a
// window is to be looked at; in between its 432,000 ticks a day would find
// nothing, which a look shortly before their end shows.
func (d *days) passUntil(t *testing.T, condition func() bool) {
	t.Helper()
	for synctest.Wait(); !condition(); synctest.Wait() {
		var micros sql.NullInt64
		if err := d.Raw.QueryRowContext(t.Context(), "SELECT MIN(wake_at) FROM windows").Scan(&micros); err != nil {
			t.Fatal(err)
		}
		if !micros.Valid {
			t.Fatalf("after %s nothing will ever be looked at again", time.Since(d.began))
		}
		if rest := time.Until(time.UnixMicro(micros.Int64)) - 1200*time.Millisecond; rest > 0 {
			time.Sleep(rest)
			if n, err := d.Promote(t.Context(), 128); n != 0 || err != nil {
				t.Fatalf("%d windows were to be looked at before their time (%v)", n, err)
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		var maintaining sync.WaitGroup
		maintaining.Go(func() { d.maintainer.Run(ctx) })
		time.Sleep(2 * time.Second)
		stop()
		maintaining.Wait()
	}
}

// passUntilOver lets time pass until deliveries have ended in a state.
func (d *days) passUntilOver(t *testing.T, state webhook.State, ids ...string) {
	t.Helper()
	d.passUntil(t, func() bool {
		return d.Count(t, "SELECT COUNT(*) FROM deliveries WHERE finished_at = 0") == 0
	})
	for _, id := range ids {
		if placed, err := d.Delivery(t.Context(), id); err != nil || placed.State != state {
			t.Errorf("%s is %s (%v), want %s", id, placed.State, err, state)
		}
	}
	d.CheckWindows(t)
	d.CheckAttempts(t)
}

func (d *days) attempts(t *testing.T, id string) []webhook.Attempt {
	t.Helper()
	found, err := d.Attempts(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// waited checks how long after the one before it an attempt began.
func waited(t *testing.T, attempts []webhook.Attempt, number int, least, most time.Duration) {
	t.Helper()
	wait := attempts[number-1].StartedAt.Sub(attempts[number-2].StartedAt)
	late := attempts[number-1].StartedAt.Sub(attempts[number-2].NextAt)
	if wait < least || wait > most+tick || late < 0 || late > tick {
		t.Errorf("attempt %d began %s after the one before, want %s to %s; %s after it was due", number, wait, least, most, late)
	}
}

func share(wait time.Duration, of float64) time.Duration { return time.Duration(float64(wait) * of) }

func TestAReceiverThatAlwaysFailsGets14AttemptsIn76Hours(t *testing.T) {
	fails := func(*http.Request, time.Time, http.Header) int { return http.StatusInternalServerError }
	simulate(t, fails, func(t *testing.T, d *days, url string) {
		e := d.endpoint(t, url)
		id := d.append(t, webhook.CreateCard).DeliveryIDs[0]
		d.passUntilOver(t, webhook.Exhausted, id)
		attempts := d.attempts(t, id)
		if len(attempts) != 14 {
			t.Fatalf("%d attempts were made", len(attempts))
		}
		if first := attempts[0].StartedAt.Sub(d.began); first > tick {
			t.Errorf("the first attempt began after %s", first)
		}
		planned := time.Duration(0)
		for i := 1; i < 14; i++ {
			wait := schedule.Waits[i]
			planned += wait
			waited(t, attempts, i+1, share(wait, 1-webhook.Jitter), share(wait, 1+webhook.Jitter))
		}
		if planned.Round(6*time.Minute) != 75*time.Hour+54*time.Minute {
			t.Errorf("the schedule takes %s", planned)
		}
		took := attempts[13].StartedAt.Sub(d.began)
		t.Logf("exhausted after %s, planned %s", took, planned)
		if took < share(planned, 1-webhook.Jitter) || took > share(planned, 1+webhook.Jitter)+14*tick {
			t.Errorf("the last attempt began after %s", took)
		}
		if now, err := d.Ledger.Endpoint(t.Context(), partners.Everything(), e.ID); err != nil || now.Window.Breaker.State != webhook.BreakerClosed {
			t.Errorf("failures hours apart leave the breaker %s (%v)", now.Window.Breaker.State, err)
		}
	})
}

func TestAReceiverIsLeftAloneForAsLongAsItAsks(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	answers := []func(at time.Time) (status int, retryAfter string){
		func(time.Time) (int, string) { return 503, "3600" },
		func(at time.Time) (int, string) { return 429, at.Add(2 * time.Hour).UTC().Format(http.TimeFormat) },
		func(at time.Time) (int, string) { return 503, at.Add(-time.Hour).UTC().Format(http.TimeFormat) },
		func(time.Time) (int, string) { return 429, "2592000" },
		func(time.Time) (int, string) { return 500, "3600" }, // not an answer that can ask
		func(time.Time) (int, string) { return 200, "" },
	}
	first := ""
	answer := func(r *http.Request, at time.Time, h http.Header) int {
		mu.Lock()
		defer mu.Unlock()
		id := r.Header.Get(signer.HeaderID)
		if first == "" {
			first = id
		}
		if id != first {
			return http.StatusOK
		}
		status, retryAfter := answers[asked[id]](at)
		asked[id]++
		h.Set("Retry-After", retryAfter)
		return status
	}
	simulate(t, answer, func(t *testing.T, d *days, url string) {
		d.endpoint(t, url)
		id := d.append(t, webhook.CreateCard).DeliveryIDs[0]
		d.passUntil(t, func() bool { return len(d.attempts(t, id)) == 1 })
		other := d.append(t, webhook.TopupCard).DeliveryIDs[0]
		d.passUntilOver(t, webhook.Delivered, id, other)
		attempts := d.attempts(t, id)
		if len(attempts) != 6 {
			t.Fatalf("%d attempts were made", len(attempts))
		}
		waited(t, attempts, 2, time.Hour, time.Hour)
		waited(t, attempts, 3, 2*time.Hour-time.Second, 2*time.Hour)
		waited(t, attempts, 4, share(schedule.Waits[3], 0.8), share(schedule.Waits[3], 1.2))
		waited(t, attempts, 5, 24*time.Hour, 24*time.Hour)
		waited(t, attempts, 6, share(schedule.Waits[5], 0.8), share(schedule.Waits[5], 1.2))
		pause := d.attempts(t, other)[0].StartedAt.Sub(attempts[0].StartedAt)
		if pause < 10*time.Minute || pause > 10*time.Minute+tick {
			t.Errorf("the rest of the endpoint waited %s", pause)
		}
	})
}

func TestAReceiverThatComesBackAfterTenHoursGetsEverything(t *testing.T) {
	const outage = 10 * time.Hour
	var mu sync.Mutex
	var back time.Time
	during, after := 0, 0
	answer := func(_ *http.Request, at time.Time, _ http.Header) int {
		mu.Lock()
		defer mu.Unlock()
		if at.Before(back) {
			during++
			return http.StatusServiceUnavailable
		}
		after++
		return http.StatusOK
	}
	simulate(t, answer, func(t *testing.T, d *days, url string) {
		mu.Lock()
		back = time.Now().Add(outage)
		mu.Unlock()
		d.endpoint(t, url)
		const n = 40
		var ids []string
		for range n {
			ids = append(ids, d.append(t, webhook.CreateCard).DeliveryIDs...)
		}
		d.passUntilOver(t, webhook.Delivered, ids...)
		late := time.Since(back)
		t.Logf("%d requests in %s, everything delivered %s later", during, outage, late)
		// 30 s, 1, 2, 4 and 8 minutes, then every 10 minutes.
		if during < 60 || during > 10+65 {
			t.Errorf("%d requests were made while the receiver was away", during)
		}
		if after != n {
			t.Errorf("%d requests delivered %d notifications", after, n)
		}
		if late > webhook.BreakerLongest+time.Minute {
			t.Errorf("everything was delivered %s after the receiver was back", late)
		}
	})
}

// Case 18 of the known ways to lose or double events, through the wire.
func TestAnAccountsStatesArriveInOrderWhateverFails(t *testing.T) {
	var mu sync.Mutex
	var got []string
	answer := func(r *http.Request, _ time.Time, _ http.Header) int {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, r.Header.Get(signer.HeaderID))
		if len(got) == 1 || r.Header.Get(signer.HeaderID) == got[0] && r.Header.Get("Ledgerhook-Attempt") == "2" {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	}
	simulate(t, answer, func(t *testing.T, d *days, url string) {
		e := d.endpoint(t, url)
		if _, err := d.UpdateEndpoint(t.Context(), partners.Everything(), e.ID, func(e *webhook.Endpoint) error { e.Window.Ordered = true; return nil }); err != nil {
			t.Fatal(err)
		}
		tell := func(account, status string) delivery.Appended {
			t.Helper()
			id := webhook.NewID(webhook.EventPrefix)
			a, err := d.Append(t.Context(), delivery.NewEvent{IdempotencyKey: id, Digest: []byte(id), Event: webhook.Event{ID: id, PartnerCode: partnerCode,
				Type: webhook.ProfileUpdated, ObjectID: account, OrderingKey: account, Status: status, Data: []byte(`{"status":"` + status + `"}`),
				KeyID: d.key.ID(), CreatedAt: time.Now()}})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			return a
		}
		var want []string
		review := tell("account_1", "UNDER_REVIEW")
		verified := tell("account_1", "VERIFIED")
		for _, status := range []string{"REJECTED", "SUBMITTED", "REJECTED"} {
			want = append(want, tell("account_2", status).EventID)
		}
		if late := time.Since(d.began); late > 0 {
			t.Errorf("another account waited %s", late)
		}
		d.passUntilOver(t, webhook.Delivered, append(review.DeliveryIDs, verified.DeliveryIDs...)...)
		want = append([]string{review.EventID}, append(want, review.EventID, review.EventID, verified.EventID)...)
		mu.Lock()
		defer mu.Unlock()
		if len(got) != len(want) {
			t.Fatalf("%d requests came, want %d", len(got), len(want))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("request %d is about %s, want %s", i+1, got[i], want[i])
			}
		}
	})
}
