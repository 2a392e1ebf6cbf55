package incidents

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// LookEvery is how often faults are looked for, and sendEvery how often what is
// to be told is looked for.
const (
	LookEvery = 15 * time.Second
	sendEvery = 2 * time.Second
	// forgetEvery is how often what is kept no longer is deleted.
	forgetEvery = time.Hour
	// stepTimeout bounds a look and a message each.
	stepTimeout = 30 * time.Second
	// messagesAtOnce is how many messages are read at once.
	messagesAtOnce = 20
)

// Message is something to be told, until it is sent or given up.
type Message struct {
	ID         string // msg_…
	IncidentID string // empty: a test
	About      Act    // empty: a test
	Channel    Channel
	Address    string // an e-mail; for a webhook the code of the account whose endpoints get it
	Letter
	CreatedAt time.Time
	DueAt     time.Time // when it is tried next; zero: not any more
	Tries     int
	SentAt    time.Time // zero: not yet
	Failure   string    // why the last try failed
}

// Channel is a way of telling.
type Channel string

// The channels.
const (
	Mail    Channel = "mail"
	Webhook Channel = "webhook"
)

var channels = []Channel{Mail, Webhook}

// ErrHopeless marks a failure that no further try will mend.
var ErrHopeless = errors.New("the message cannot be delivered")

// retryWaits are the waits between the tries of a message, ClaimedFor the time
// after which one that nobody finished is tried again.
var retryWaits = []time.Duration{10 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 8 * time.Hour}

// ClaimedFor is after which time a message is sent again whose sender said
// nothing more of it.
const ClaimedFor = time.Minute

// Store keeps incidents and what is to be told of them.
type Store interface {
	// Unclosed lists every incident that is not closed.
	Unclosed(ctx context.Context) ([]Incident, error)
	// Outcome is what became of the deliveries made from since until until, to an
	// endpoint or to all (empty id).
	Outcome(ctx context.Context, endpointID string, since, until time.Time) (Outcome, error)
	// Keep stores changes, their history and the messages that they cause, each
	// change whole or not at all; one that somebody else was quicker with is left
	// out. Every watched incident counts as looked at now.
	Keep(ctx context.Context, changes []Change, now time.Time) error
	// Due lists messages to be sent by a channel at now, the longest due first.
	Due(ctx context.Context, by Channel, now time.Time, limit int) ([]Message, error)
	// Claim makes a try of a message this process's own until m.DueAt; false:
	// somebody else has it. was is when it was due.
	Claim(ctx context.Context, m Message, was time.Time) (bool, error)
	// Settle keeps what became of a try that was claimed until claimed, unless
	// somebody else has claimed it since.
	Settle(ctx context.Context, m Message, claimed time.Time) error
	// Forget deletes what was closed, and told by a test, long before now.
	Forget(ctx context.Context, now time.Time) error
}

// Watch looks for faults and tells of them. One process of all runs it; two
// that do so for a moment tell nothing twice.
type Watch struct {
	Store Store
	Rules Rules
	// Signals reads what the rules look at.
	Signals func(ctx context.Context, now time.Time) (Signals, error)
	// Send makes one try to bring a message to its address.
	Send map[Channel]func(ctx context.Context, m Message) error
	Log  *slog.Logger

	open *prometheus.GaugeVec
}

// Measure registers how many incidents are open with reg.
func (w *Watch) Measure(reg prometheus.Registerer) {
	w.open = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ledgerhook_incidents",
		Help: "Incidents that are not closed, by kind: open, or acknowledged by somebody. The process that leads has them."}, []string{"kind", "state"})
	reg.MustRegister(w.open)
}

// Run looks and tells until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { w.every(ctx, LookEvery, "look for incidents", w.Look) })
	all.Go(func() { w.every(ctx, forgetEvery, "forget old incidents", w.Store.Forget) })
	for _, by := range channels { // each by itself: a mail server that hangs holds up no notification
		all.Go(func() {
			w.every(ctx, sendEvery, "tell of incidents by "+string(by), func(ctx context.Context, now time.Time) error { return w.tellBy(ctx, by, now) })
		})
	}
	all.Wait()
	if w.open != nil {
		w.open.Reset() // another process knows now
	}
}

func (w *Watch) every(ctx context.Context, interval time.Duration, what string, do func(context.Context, time.Time) error) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	failing := false
	for {
		err := do(ctx, time.Now())
		if err != nil && ctx.Err() == nil && !failing {
			w.Log.Warn("a recurring task failed", "task", what, "error", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Look looks for faults once.
func (w *Watch) Look(ctx context.Context, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	known, err := w.Store.Unclosed(ctx)
	if err != nil {
		return err
	}
	signals, err := w.Signals(ctx, now)
	if err != nil {
		return err
	}
	w.measure(known)
	changes, failed := w.withOutcomes(ctx, Decide(w.Rules, signals, known, now), now)
	if len(known)+len(changes) == 0 {
		return failed
	}
	if err := w.Store.Keep(ctx, changes, now); err != nil {
		return errors.Join(failed, err)
	}
	for _, c := range changes {
		if c.Act.Told() {
			w.Log.Warn("an incident: "+Headline(c.Incident), "act", string(c.Act), "incident", c.ID, "kind", string(c.Kind), "rule", string(c.Rule), "partner", c.PartnerCode, "endpoint", c.Subject)
		}
	}
	return failed
}

// withOutcomes adds what became of deliveries to the changes that say so. One
// whose outcome cannot be read is left for the next look, and holds up no other.
func (w *Watch) withOutcomes(ctx context.Context, changes []Change, now time.Time) (ready []Change, failed error) {
	for _, c := range changes {
		if c.Act == ActClose && c.Kind.counts() {
			var err error
			if c.Outcome, err = w.Store.Outcome(ctx, c.Subject, c.Since(), now); err != nil {
				failed = errors.Join(failed, fmt.Errorf("close incident %s: %w", c.ID, err))
				continue
			}
		}
		ready = append(ready, c)
	}
	return ready, failed
}

func (w *Watch) measure(known []Incident) {
	if w.open == nil {
		return
	}
	for _, kind := range Kinds {
		var open, acknowledged float64
		for _, i := range known {
			switch {
			case i.Kind != kind || i.State != Open:
			case i.Acknowledged():
				acknowledged++
			default:
				open++
			}
		}
		w.open.WithLabelValues(string(kind), "open").Set(open)
		w.open.WithLabelValues(string(kind), "acknowledged").Set(acknowledged)
	}
}

// Tell sends what is due at now.
func (w *Watch) Tell(ctx context.Context, now time.Time) error {
	var failed error
	for _, by := range channels {
		failed = errors.Join(failed, w.tellBy(ctx, by, now))
	}
	return failed
}

func (w *Watch) tellBy(ctx context.Context, by Channel, now time.Time) error {
	began := time.Now()
	due, err := w.Store.Due(ctx, by, now, messagesAtOnce)
	if err != nil {
		return err
	}
	for _, m := range due {
		if err := w.tell(ctx, m, now.Add(time.Since(began))); err != nil { // those before it may have taken long
			return err
		}
	}
	return nil
}

// tell makes one try. A process that dies during it leaves the message to be
// sent again under the same id.
func (w *Watch) tell(ctx context.Context, m Message, now time.Time) error {
	was, claimed := m.DueAt, now.Add(ClaimedFor)
	m.DueAt = claimed
	m.Tries++
	if mine, err := w.Store.Claim(ctx, m, was); err != nil || !mine {
		return err
	}
	err := w.try(ctx, m)
	if err != nil && ctx.Err() != nil {
		return ctx.Err() // it failed for that, and is tried again
	}
	switch {
	case err == nil:
		m.DueAt, m.SentAt, m.Failure = time.Time{}, now, ""
	case errors.Is(err, ErrHopeless) || m.Tries > len(retryWaits):
		m.DueAt, m.Failure = time.Time{}, err.Error()
		w.Log.Error("nobody could be told of an incident", "incident", m.IncidentID, "channel", string(m.Channel), "error", err)
	default:
		m.DueAt, m.Failure = now.Add(retryWaits[m.Tries-1]), err.Error()
	}
	return w.Store.Settle(context.WithoutCancel(ctx), m, claimed)
}

func (w *Watch) try(ctx context.Context, m Message) error {
	send := w.Send[m.Channel]
	if send == nil {
		return errors.New("this gateway is not set up to send it")
	}
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	return send(ctx, m)
}
