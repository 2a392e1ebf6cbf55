package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

const (
	// refusalsWaiting is how many refusals wait to be stored, at most, and how
	// many are stored at once. More within refusalsEvery are dropped.
	refusalsWaiting = 1000
	refusalsEvery   = time.Second
	refusalsTimeout = 10 * time.Second

	maxReference = 128 // bytes of a reference worth keeping
	maxFaults    = 5   // fields that a kept reason names
	maxReason    = 500 // bytes of it
)

// RefusalStore is the ledger as what was sent in vain is kept there, at most a
// thousand at once.
type RefusalStore interface {
	AddRefusals(ctx context.Context, refusals []delivery.Refusal) error
}

// Refusals keeps events that were refused and events that came again, for the
// people who look for them. No event waits for it: what does not fit into its
// buffer, or cannot be stored, is dropped and counted.
type Refusals struct {
	store   RefusalStore
	metrics *Metrics
	log     *slog.Logger
	waiting chan delivery.Refusal
}

// NewRefusals returns an empty buffer in front of store; Run empties it.
func NewRefusals(store RefusalStore, m *Metrics, log *slog.Logger) *Refusals {
	return &Refusals{store: store, metrics: m, log: log, waiting: make(chan delivery.Refusal, refusalsWaiting)}
}

// Run stores every second what has come, and the rest when ctx ends.
func (r *Refusals) Run(ctx context.Context) { repeat(ctx, refusalsEvery, r.flush) }

// repeat runs do now and then, and once more when ctx has ended.
func repeat(ctx context.Context, every time.Duration, do func(context.Context)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			do(ctx)
		case <-ctx.Done():
			do(ctx)
			return
		}
	}
}

func (r *Refusals) flush(ctx context.Context) {
	waiting := make([]delivery.Refusal, len(r.waiting))
	for i := range waiting {
		waiting[i] = <-r.waiting
	}
	if len(waiting) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refusalsTimeout)
	defer cancel()
	if err := r.store.AddRefusals(ctx, waiting); err != nil {
		r.metrics.refusalsDropped.Add(float64(len(waiting)))
		r.log.Warn("refused events were not stored for later look-up", "events", len(waiting), "error", err)
	}
}

func (r *Refusals) keep(what delivery.Refusal) {
	what.ID, what.At = webhook.NewID(webhook.RefusalPrefix), time.Now()
	select {
	case r.waiting <- what:
	default:
		r.metrics.refusalsDropped.Inc()
	}
}

// refused keeps why an event was not stored, if that was its sender's fault. It
// takes nothing from the event but what it is about, and from the error nothing
// but what its sender was told.
func (r *Refusals) refused(request eventRequest, err error) {
	var e *webhook.Error
	if !errors.As(err, &e) || e.Kind == webhook.KindInternal || e.Kind == webhook.KindUnavailable {
		return
	}
	told := webhook.Error{Message: e.Message, Fields: e.Fields[:min(len(e.Fields), maxFaults)]}
	what := delivery.Refusal{Result: delivery.Refused, Reason: told.Error()}
	what.Reason = what.Reason[:min(len(what.Reason), maxReason)]
	if partners.CheckCode(request.PartnerCode) == nil {
		what.PartnerCode = request.PartnerCode
	}
	if about, known := webhook.Describe(webhook.Type(request.WebhookType)); known {
		what.Type, what.Reference = about.Type, referenceIn(request.Data, about.IDField)
	}
	for _, text := range []*string{&what.PartnerCode, &what.Reference, &what.Reason} {
		if holdsCardNumber(*text) {
			*text = "(digits)"
		}
	}
	r.keep(what)
}

// referenceIn is the member of data that names what an event is about; empty
// if there is none that could be stored.
func referenceIn(data json.RawMessage, name string) string {
	var members map[string]json.RawMessage
	var reference string
	if json.Unmarshal(data, &members) != nil || json.Unmarshal(members[name], &reference) != nil || len(reference) > maxReference {
		return ""
	}
	return reference
}

// duplicate keeps that an event came again.
func (r *Refusals) duplicate(e webhook.Event, of string) {
	r.keep(delivery.Refusal{Result: delivery.Duplicate, PartnerCode: e.PartnerCode, Type: e.Type, Reference: e.ObjectID, EventID: of})
}

// refused counts and keeps an event that was not accepted, and returns err.
func (a *Internal) refused(ctx context.Context, request eventRequest, began time.Time, err error) error {
	a.Refusals.refused(request, err)
	return a.Metrics.refused(ctx, request.WebhookType, began, err)
}

// accepted counts an event that was accepted, and keeps one that came again.
func (a *Internal) accepted(ctx context.Context, e delivery.NewEvent, answer delivery.Appended, began time.Time) {
	a.Metrics.accepted(ctx, e, answer, began)
	if answer.Duplicate {
		a.Refusals.duplicate(e.Event, answer.EventID)
	}
}
