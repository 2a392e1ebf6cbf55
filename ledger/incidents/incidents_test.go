package incidents_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/incidents"
	store "ledgerhook/ledger/incidents"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

func TestMain(m *testing.M) { ledgertest.Main(m) }

// scene is a ledger that is watched at times of the test's own.
type scene struct {
	*ledgertest.Bench
	*store.Store
	watch *incidents.Watch
	now   time.Time

	mu   sync.Mutex
	sent []string // address: subject
	fail error    // of what is sent
}

func newScene(t *testing.T, b *ledgertest.Bench) *scene {
	t.Helper()
	b.Partner(t, "acme")
	s := &scene{Bench: b, now: time.Now()}
	s.Store = store.New(b.DB, store.Audience{Mail: true, Operators: []string{"oncall@example.com"}, Webhook: "ops", OpsURL: "https://gateway.test", PortalURL: "https://pay.test"})
	s.watch = s.watcher()
	return s
}

// watcher is another process that watches.
func (s *scene) watcher() *incidents.Watch {
	return &incidents.Watch{Store: s.Store, Log: slog.New(slog.DiscardHandler),
		Rules: incidents.Rules{Breaker: 5 * time.Minute, Exhausted: 1, Disabled: true, Canary: time.Minute, Settle: 15 * time.Minute},
		Signals: func(ctx context.Context, now time.Time) (found incidents.Signals, err error) {
			found.Endpoints, err = s.Endpoints(ctx, now)
			return found, err
		},
		Send: map[incidents.Channel]func(context.Context, incidents.Message) error{incidents.Mail: s.send, incidents.Webhook: s.send},
	}
}

func (s *scene) send(_ context.Context, m incidents.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	s.sent = append(s.sent, m.Address+": "+m.Subject)
	return nil
}

// pass lets so much time pass, in which it is looked and told.
func (s *scene) pass(t *testing.T, d time.Duration) {
	t.Helper()
	step := max(30*time.Second, d/60)
	for end := s.now.Add(d); s.now.Before(end); {
		s.now = s.now.Add(step)
		if err := errors.Join(s.watch.Look(t.Context(), s.now), s.watch.Tell(t.Context(), s.now)); err != nil {
			t.Fatal(err)
		}
	}
}

// window changes an endpoint's window.
func (s *scene) window(t *testing.T, id string, change func(*webhook.Window)) {
	t.Helper()
	if _, err := s.UpdateEndpoint(t.Context(), partners.Everything(), id, func(e *webhook.Endpoint) error { change(&e.Window); return nil }); err != nil {
		t.Fatal(err)
	}
}

func (s *scene) check(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.sent)
	if !slices.Equal(s.sent, want) {
		t.Errorf("sent:\n%s\nwant:\n%s", strings.Join(s.sent, "\n"), strings.Join(want, "\n"))
	}
	s.sent = nil
}

func trip(w *webhook.Window) { w.Breaker.Trip(time.Now(), "10 of 10 attempts failed") }

const failing = "Webhooks to partner.example.com are not getting through"

// by is an entry of somebody of the test.
func by(action string, at time.Time) partners.AuditEntry {
	return partners.AuditEntry{At: at, Actor: "ann", Action: action}
}

func TestAnIncidentIsToldOnceWhenItOpensAndOnceWhenItIsOver(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := newScene(t, b)
		e := b.Endpoint(t, "acme", 5)
		for email, lang := range map[string]string{"dev@acme.example": "en", "truc@acme.example": "vi"} {
			if err := s.AddContact(t.Context(), partners.Only("acme"), e.ID, email, lang, by("endpoint.contact.add", s.now)); err != nil {
				t.Fatal(err)
			}
		}
		s.window(t, e.ID, trip)
		s.pass(t, 30*time.Minute)
		s.check(t, "dev@acme.example: "+failing, "oncall@example.com: "+failing, "ops: "+failing, "truc@acme.example: Webhook gửi đến partner.example.com không tới nơi")
		open, err := s.Open(t.Context())
		if err != nil || len(open) != 1 || open[0].Subject != e.ID || open[0].PartnerCode != "acme" || open[0].Rule != incidents.BreakerOpen {
			t.Fatalf("%v %v", open, err)
		}
		s.window(t, e.ID, func(w *webhook.Window) { w.Breaker.Close() })
		s.pass(t, 20*time.Minute)
		s.check(t, "dev@acme.example: Over: "+failing, "oncall@example.com: Over: "+failing, "ops: Over: "+failing, "truc@acme.example: Đã khắc phục: Webhook gửi đến partner.example.com không tới nơi")
		closed, err := s.Closed(t.Context())
		if err != nil || len(closed) != 1 || closed[0].ID != open[0].ID {
			t.Fatalf("%v %v", closed, err)
		}
		history, err := s.History(t.Context(), closed[0].ID)
		var acts []incidents.Act
		for _, e := range history {
			acts = append(acts, e.Act)
		}
		if err != nil || !slices.Equal(acts, []incidents.Act{incidents.ActOpen, incidents.ActClear, incidents.ActClose}) {
			t.Errorf("%v %v", acts, err)
		}
		s.pass(t, time.Hour)
		s.check(t)
	})
}

func TestABreakerThatWasOpenedByHandIsNoIncident(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := newScene(t, b)
		e := b.Endpoint(t, "acme", 5)
		s.window(t, e.ID, func(w *webhook.Window) { w.Breaker.OpenByHand("maintenance") })
		s.pass(t, time.Hour)
		s.check(t)
	})
}

// What the gateway itself breaks is told to operators alone, though the
// endpoint's breaker is open for it.
func TestAFaultOfTheGatewayIsToldToNoPartner(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := newScene(t, b)
		e := b.Endpoint(t, "acme", 5)
		if err := s.AddContact(t.Context(), partners.Only("acme"), e.ID, "dev@acme.example", "en", by("endpoint.contact.add", s.now)); err != nil {
			t.Fatal(err)
		}
		signals, ours := s.watch.Signals, true
		s.watch.Signals = func(ctx context.Context, now time.Time) (incidents.Signals, error) {
			f, err := signals(ctx, now)
			if ours {
				f.CanaryFailed, f.CanaryWhy = 1, "it could not be signed"
			}
			return f, err
		}
		s.window(t, e.ID, trip)
		s.pass(t, 50*time.Minute)
		ours = false
		s.window(t, e.ID, func(w *webhook.Window) { w.Breaker.Close() })
		s.pass(t, 30*time.Minute)
		const canary = "Our own test notifications do not arrive"
		s.check(t, "oncall@example.com: "+canary, "oncall@example.com: Over: "+canary, "ops: "+canary, "ops: Over: "+canary)
	})
}

// What was given up while the gateway was at fault is not the receiver's,
// however soon the fault was over.
func TestAFaultThatWasOverBeforeItWasAnIncidentIsToldToNoPartner(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := newScene(t, b)
		e := b.Endpoint(t, "acme", 5)
		signals, ours := s.watch.Signals, true
		s.watch.Signals = func(ctx context.Context, now time.Time) (incidents.Signals, error) {
			f, err := signals(ctx, now)
			if ours {
				f.CanaryFailed, f.CanaryWhy = 1, "it could not be signed"
			}
			return f, err
		}
		giveUp(t, b)
		s.pass(t, 30*time.Second)
		ours = false
		s.pass(t, 20*time.Minute)
		s.check(t)
		if closed, err := s.Closed(t.Context()); err != nil || len(closed) != 0 {
			t.Errorf("listed: %v (%v)", closed, err)
		}

		s.now = s.now.Add(2 * time.Hour)
		giveUp(t, b)
		change(t, b, "UPDATE deliveries SET finished_at = $1 WHERE endpoint_id = $2", s.now.UnixMicro(), e.ID)
		change(t, b, "UPDATE rollups SET hour = $1 WHERE fact = 'exhausted'", s.now.UnixMicro()/time.Hour.Microseconds())
		s.pass(t, time.Minute)
		s.check(t, "oncall@example.com: "+failing, "ops: "+failing)
		if open, err := s.Open(t.Context()); err != nil || len(open) != 1 || open[0].Rule != incidents.Exhausted || open[0].Detail != "HTTP 503" {
			t.Errorf("of a receiver that answers 503, %+v (%v) is open", open, err)
		}
	})
}

// giveUp has a delivery of acme end in vain.
func giveUp(t *testing.T, b *ledgertest.Bench) {
	t.Helper()
	if _, err := b.Append(t.Context(), ledgertest.NewEvent("acme", webhook.NewID("tp_"), "Pending")); err != nil {
		t.Fatal(err)
	}
	job, ok, err := b.Claim(t.Context(), b.Tickets()[0], "wrk_test")
	if err != nil || !ok {
		t.Fatalf("claimed %t (%v)", ok, err)
	}
	d := job.Delivery
	_, err = b.Record(t.Context(), delivery.Result{DeliveryID: d.ID, EndpointID: d.EndpointID, Generation: d.Generation,
		Attempt: webhook.Attempt{ID: webhook.NewID(webhook.AttemptPrefix), Number: 1, StartedAt: time.Now(), Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorHTTP5xx, StatusCode: 503},
		Verdict: delivery.Verdict{State: webhook.Exhausted, Reason: "attempts"}})
	if err != nil {
		t.Fatal(err)
	}
}

func change(t *testing.T, b *ledgertest.Bench, statement string, args ...any) {
	t.Helper()
	if _, err := b.Raw.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

// Two processes that both believe to lead tell nothing twice.
func TestTwoThatWatchTellOnce(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := newScene(t, b)
		e := b.Endpoint(t, "acme", 5)
		s.window(t, e.ID, trip)
		all := []*incidents.Watch{s.watch, s.watcher(), s.watcher()}
		for range 24 {
			s.now = s.now.Add(30 * time.Second)
			var done sync.WaitGroup
			for _, w := range all {
				done.Go(func() {
					if err := errors.Join(w.Look(t.Context(), s.now), w.Tell(t.Context(), s.now)); err != nil {
						t.Error(err)
					}
				})
			}
			done.Wait()
		}
		s.check(t, "oncall@example.com: "+failing, "ops: "+failing)
		if n := b.Count(t, "SELECT COUNT(*) FROM incidents"); n != 1 {
			t.Errorf("%d incidents", n)
		}
	})
}

// A message whose server is away is tried again until it arrives, one that
// nobody will ever take is given up, and one whose sender died is sent again.
func TestAMessageIsTriedUntilItArrives(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := newScene(t, b)
		if n, err := s.Test(t.Context(), by("incident.test", s.now)); err != nil || n != 2 {
			t.Fatalf("%d messages, %v", n, err)
		}
		s.fail = errors.New("come back later")
		s.pass(t, 10*time.Minute)
		s.check(t)
		s.fail = nil
		s.pass(t, time.Hour)
		s.check(t, "oncall@example.com: Ledgerhook: a test message", "ops: Ledgerhook: a test message")

		s.fail = incidents.ErrHopeless
		if _, err := s.Test(t.Context(), by("incident.test", s.now)); err != nil {
			t.Fatal(err)
		}
		s.pass(t, time.Minute)
		s.fail = nil
		s.pass(t, 24*time.Hour)
		s.check(t)

		if _, err := s.Test(t.Context(), by("incident.test", s.now)); err != nil {
			t.Fatal(err)
		}
		var due []incidents.Message
		for _, channel := range []incidents.Channel{incidents.Webhook, incidents.Mail} {
			var err error
			if due, err = s.Due(t.Context(), channel, s.now, 10); err != nil || len(due) != 1 {
				t.Fatalf("%s: %d due, %v", channel, len(due), err)
			}
		}
		m := due[0] // its sender dies
		m.DueAt = s.now.Add(incidents.ClaimedFor)
		for _, want := range []bool{true, false} {
			if mine, err := s.Claim(t.Context(), m, due[0].DueAt); err != nil || mine != want {
				t.Fatalf("claimed: %v, %v", mine, err)
			}
		}
		late := m // what one says that had claimed it before
		late.Failure = "too late"
		if err := s.Settle(t.Context(), late, due[0].DueAt); err != nil || b.Count(t, "SELECT COUNT(*) FROM incident_messages WHERE failure = 'too late'") != 0 {
			t.Errorf("a late sender was believed (%v)", err)
		}
		s.pass(t, 30*time.Second)
		if len(s.sent) != 1 {
			t.Errorf("sent meanwhile: %q", s.sent)
		}
		s.pass(t, time.Minute)
		s.check(t, "oncall@example.com: Ledgerhook: a test message", "ops: Ledgerhook: a test message")
	})
}

func TestAnIncidentIsAcknowledgedAndSnoozedWithAnEntryInTheAuditLog(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := newScene(t, b)
		e := b.Endpoint(t, "acme", 5)
		s.window(t, e.ID, trip)
		s.pass(t, 10*time.Minute)
		open, err := s.Open(t.Context())
		if err != nil || len(open) != 1 {
			t.Fatalf("%d open, %v", len(open), err)
		}
		id := open[0].ID
		if err := s.Snooze(t.Context(), id, time.Hour, by("incident.snooze", s.now)); err != nil {
			t.Fatal(err)
		}
		if err := s.Acknowledge(t.Context(), id, by("incident.acknowledge", s.now)); err != nil {
			t.Fatal(err)
		}
		if err := s.Acknowledge(t.Context(), id, by("incident.acknowledge", s.now)); webhook.KindOf(err) != webhook.KindConflict {
			t.Errorf("acknowledged twice: %v", err)
		}
		if err := s.Acknowledge(t.Context(), webhook.NewID(incidents.Prefix), by("incident.acknowledge", s.now)); webhook.KindOf(err) != webhook.KindNotFound {
			t.Errorf("no address: %v", err)
		}
		got, err := s.Incident(t.Context(), id)
		if err != nil || !got.Acknowledged() || got.AckedBy != "ann" || !got.Snoozed(s.now) {
			t.Errorf("%+v %v", got, err)
		}
		for _, action := range []string{"incident.acknowledge", "incident.snooze"} {
			if n := b.Count(t, "SELECT COUNT(*) FROM audit WHERE action = $1 AND target = $2 AND actor = 'ann'", action, id); n != 1 {
				t.Errorf("%d entries of %s", n, action)
			}
		}
		s.sent = nil
		s.pass(t, 25*time.Hour)
		s.check(t) // nobody is reminded
		s.window(t, e.ID, func(w *webhook.Window) { w.Breaker.Close() })
		s.pass(t, 20*time.Minute)
		s.check(t, "oncall@example.com: Over: "+failing, "ops: Over: "+failing)
		if err := s.Snooze(t.Context(), id, time.Hour, by("incident.snooze", s.now)); webhook.KindOf(err) != webhook.KindConflict {
			t.Errorf("one that is closed: %v", err)
		}
	})
}

// A partner sees and changes the contacts of its own endpoints alone.
func TestContactsBelongToTheirPartner(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := newScene(t, b)
		b.Partner(t, "bolt")
		e := b.Endpoint(t, "acme", 5)
		add := func(scope partners.Scope, email, lang string) error {
			return s.AddContact(t.Context(), scope, e.ID, email, lang, by("endpoint.contact.add", s.now))
		}
		if err := add(partners.Only("bolt"), "eve@bolt.example", "en"); webhook.KindOf(err) != webhook.KindNotFound {
			t.Errorf("a stranger: %v", err)
		}
		for _, wrong := range [][2]string{{"no address", "en"}, {"dev@acme.example", "fr"}} {
			if err := add(partners.Only("acme"), wrong[0], wrong[1]); webhook.KindOf(err) != webhook.KindInvalid {
				t.Errorf("%q: %v", wrong, err)
			}
		}
		for n := range incidents.MaxContacts {
			if err := add(partners.Only("acme"), string(rune('a'+n))+"@acme.example", "en"); err != nil {
				t.Fatal(err)
			}
		}
		if err := add(partners.Only("acme"), "z@acme.example", "en"); webhook.KindOf(err) != webhook.KindConflict {
			t.Errorf("one too many: %v", err)
		}
		if err := add(partners.Only("acme"), "a@acme.example", "zh"); err != nil {
			t.Error(err)
		}
		remove := func(scope partners.Scope, email string) error {
			return s.RemoveContact(t.Context(), scope, e.ID, email, by("endpoint.contact.remove", s.now))
		}
		if err := remove(partners.Only("bolt"), "a@acme.example"); webhook.KindOf(err) != webhook.KindConflict {
			t.Errorf("a stranger removes: %v", err)
		}
		s.window(t, e.ID, trip)
		s.watch.Send = nil // all are still to be told
		s.pass(t, 6*time.Minute)
		if err := remove(partners.Only("acme"), "b@acme.example"); err != nil {
			t.Error(err)
		}
		for email, want := range map[string]int{"b@acme.example": 0, "c@acme.example": 1} {
			if n := b.Count(t, "SELECT COUNT(*) FROM incident_messages WHERE due_at > 0 AND address = $1", email); n != want {
				t.Errorf("%s is still to be told %d times", email, n)
			}
		}
		got, err := s.Contacts(t.Context(), partners.Only("acme"), e.ID)
		if err != nil || len(got) != incidents.MaxContacts-1 || got[0].Email != "a@acme.example" || got[0].Lang != "zh" {
			t.Errorf("%v %v", got, err)
		}
		if got, err := s.Contacts(t.Context(), partners.Only("bolt"), e.ID); err != nil || len(got) != 0 {
			t.Errorf("a stranger sees %v %v", got, err)
		}
		if err := b.RemoveEndpoint(t.Context(), partners.Only("acme"), e.ID); err != nil {
			t.Fatal(err)
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM endpoint_contacts"); n != 0 {
			t.Errorf("%d contacts outlive their endpoint", n)
		}
	})
}

func TestWithoutSettingsOperatorsWithAnAddressAreTold(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := newScene(t, b)
		for _, role := range []partners.Role{partners.RoleOperator, partners.RoleViewer} {
			p := b.NewPerson(t, "", role)
			if _, err := b.Raw.ExecContext(t.Context(), "UPDATE people SET email = $1 WHERE id = $2", string(role)+"@example.com", p.ID); err != nil {
				t.Fatal(err)
			}
		}
		s.Store = store.New(b.DB, store.Audience{Mail: true})
		s.watch = s.watcher()
		if _, err := s.Test(t.Context(), by("incident.test", s.now)); err != nil {
			t.Fatal(err)
		}
		s.pass(t, time.Minute)
		s.check(t, "operator@example.com: Ledgerhook: a test message")
		if _, err := store.New(b.DB, store.Audience{}).Test(t.Context(), by("incident.test", s.now)); webhook.KindOf(err) != webhook.KindConflict {
			t.Errorf("nobody can be told: %v", err)
		}
	})
}

func TestOldIncidentsAreForgotten(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := newScene(t, b)
		e := b.Endpoint(t, "acme", 5)
		s.window(t, e.ID, trip)
		s.pass(t, 10*time.Minute)
		s.window(t, e.ID, func(w *webhook.Window) { w.Breaker.Close() })
		s.pass(t, 20*time.Minute)
		if n, err := s.Test(t.Context(), by("incident.test", s.now)); err != nil || n != 2 {
			t.Fatalf("%d tests (%v)", n, err)
		}
		s.now = s.now.Add(store.Kept + time.Hour)
		s.window(t, e.ID, trip)
		if err := s.Forget(t.Context(), s.now); err != nil {
			t.Fatal(err)
		}
		s.pass(t, time.Minute)
		for _, table := range []string{"incident_history", "incident_messages", "incidents WHERE state <> 'watched'"} {
			if n := b.Count(t, "SELECT COUNT(*) FROM "+table); n != 0 {
				t.Errorf("%d rows of %s are left", n, table)
			}
		}
	})
}
