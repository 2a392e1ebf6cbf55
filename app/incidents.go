package app

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/incidents"
	ledgerincidents "ledgerhook/ledger/incidents"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
	"ledgerhook/partners/mail"
	"ledgerhook/signer"
)

const (
	// canaryLate is when a canary's result says nothing about now any more:
	// three were due in this time.
	canaryLate = 3*canaryEvery + canaryTimeout
	// endpointCertificatesEvery is how often the ends of certificates are read.
	endpointCertificatesEvery = 10 * time.Minute
	// certificatesAtOnce is how many of them a look reads.
	certificatesAtOnce = 100
)

// audience says whom to tell of incidents. A process without pages knows where
// they are from the settings alone.
func (a *App) audience() ledgerincidents.Audience {
	to := ledgerincidents.Audience{Mail: a.config.SMTPURL != "", Operators: a.config.IncidentMail, Webhook: a.config.IncidentPartner}
	if a.config.Roles.Dashboard || a.config.InternalURL != nil {
		to.OpsURL = a.config.Operators(a.internal.Addr()).String()
	}
	switch {
	case a.config.PublicURL != nil:
		to.PortalURL = a.config.PublicURL.String()
	case a.config.Roles.Dashboard:
		to.PortalURL = a.PublicURL()
	}
	return to
}

// incidentRules are the settings' rules.
func (a *App) incidentRules() incidents.Rules {
	c := a.config
	return incidents.Rules{Breaker: c.IncidentBreaker, Exhausted: c.IncidentExhausted, Waiting: c.IncidentWaiting, Certificate: c.IncidentCertificate,
		Disabled: c.IncidentDisabled, Canary: c.IncidentCanary, Backlog: c.IncidentBacklog, Egress: c.IncidentEgress, Rates: c.IncidentRates, Settle: c.IncidentSettle}
}

// newWatch looks for incidents and tells of them.
func (a *App) newWatch() (*incidents.Watch, error) {
	store := a.incidents
	reader := &signalReader{app: a, store: store}
	w := &incidents.Watch{Store: store, Rules: a.incidentRules(), Signals: reader.read, Log: a.log,
		Send: map[incidents.Channel]func(context.Context, incidents.Message) error{}}
	w.Measure(a.registry)
	if a.config.IncidentPartner != "" {
		w.Send[incidents.Webhook] = a.notifyOfIncident
	}
	if a.config.SMTPURL == "" {
		return w, nil
	}
	server, err := mail.NewSMTP(a.config.SMTPURL)
	if err != nil {
		return nil, err
	}
	w.Send[incidents.Mail] = func(ctx context.Context, m incidents.Message) error {
		err := server.WriteAs(ctx, m.ID, m.Address, m.Subject, m.Body)
		switch {
		case err == nil:
			a.mailed(mail.Sent)
		case errors.Is(err, mail.ErrUndeliverable):
			a.mailed(mail.Lost)
			return fmt.Errorf("%w: %w", incidents.ErrHopeless, err)
		default:
			a.mailed(mail.Failed)
		}
		return err
	}
	return w, nil
}

// notifyOfIncident makes an event of a message, once however often it is tried:
// from then on it is delivered as every other is.
func (a *App) notifyOfIncident(ctx context.Context, m incidents.Message) error {
	e, err := m.Event()
	if err == nil {
		e.Data, err = signer.Canonical(e.Data)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", incidents.ErrHopeless, err)
	}
	e.KeyID, e.CreatedAt = a.keys.current().ID(), time.Now()
	digest := sha256.Sum256(e.Data)
	_, err = a.ledger.Append(ctx, delivery.NewEvent{Event: e, IdempotencyKey: m.ID, Digest: digest[:]})
	return err
}

// signalReader reads what the rules look at.
type signalReader struct {
	app   *App
	store *ledgerincidents.Store

	certificates map[string]incidents.EndpointSignals // by endpoint
	unread       []incidents.EndpointSignals          // whose certificates come next
	readAt       time.Time                            // when they began to be read
}

func (r *signalReader) read(ctx context.Context, now time.Time) (signals incidents.Signals, err error) {
	situation, err := r.app.reports.Situation(ctx)
	if err != nil {
		return signals, err
	}
	signals.Hosts, signals.HostsFailing = situation.Hosts, situation.HostsFailing
	for _, t := range []time.Time{situation.OldestQueued, situation.OldestDue, situation.OldestWake} {
		if !t.IsZero() && (signals.OldestReady.IsZero() || t.Before(signals.OldestReady)) {
			signals.OldestReady = t
		}
	}
	workers, err := r.app.reports.Workers(ctx)
	if err != nil {
		return signals, fmt.Errorf("list workers: %w", err)
	}
	for _, w := range workers {
		if failed(w) {
			signals.CanaryFailed++
			signals.CanaryWhy = w.Canary.Failure
		}
	}
	rates, err := r.app.prices.Rates(ctx)
	if err != nil {
		return signals, fmt.Errorf("list rates: %w", err)
	}
	signals.RateAge = r.app.config.RateAge
	for _, rate := range rates {
		signals.Rates = append(signals.Rates, incidents.RateSignal{Crypto: rate.Crypto, UpdatedAt: rate.UpdatedAt})
	}
	if signals.Endpoints, err = r.store.Endpoints(ctx, now); err != nil {
		return signals, err
	}
	return signals, r.addCertificates(ctx, &signals, now)
}

// failed reports whether what a worker sends to itself does not arrive.
func failed(w reports.WorkerLease) bool {
	return w.Alive && !w.Canary.At.IsZero() && w.Canary.Age <= canaryLate && w.Canary.Failure != ""
}

// readCertificates reads when some certificates end, and goes on at the next
// look, so that none takes long; one that cannot be read is passed over.
func (r *signalReader) readCertificates(ctx context.Context, now time.Time) error {
	if len(r.unread) == 0 && now.Sub(r.readAt) >= endpointCertificatesEvery {
		all, err := r.store.Registered(ctx)
		if err != nil {
			return err
		}
		kept := map[string]incidents.EndpointSignals{}
		for _, e := range all {
			if was, known := r.certificates[e.ID]; known {
				kept[e.ID] = was
			}
		}
		r.certificates, r.unread, r.readAt = kept, all, now
	}
	for range min(certificatesAtOnce, len(r.unread)) {
		e := r.unread[0]
		r.unread = r.unread[1:]
		var err error
		if e.CertificateEnds, err = r.app.reports.CertificateEnds(ctx, partners.Only(e.PartnerCode), e.ID); err != nil {
			return fmt.Errorf("read the certificate of %s: %w", e.ID, err)
		}
		delete(r.certificates, e.ID)
		if !e.CertificateEnds.IsZero() {
			r.certificates[e.ID] = e
		}
	}
	return nil
}

// addCertificates adds when the receivers' certificates end, which a few
// attempts of each endpoint tell: they are read now and then.
func (r *signalReader) addCertificates(ctx context.Context, signals *incidents.Signals, now time.Time) error {
	if err := r.readCertificates(ctx, now); err != nil {
		return err
	}
	there := map[string]bool{}
	for i := range signals.Endpoints {
		e := &signals.Endpoints[i]
		there[e.ID], e.CertificateEnds = true, r.certificates[e.ID].CertificateEnds
	}
	for id, e := range r.certificates {
		if !there[id] {
			signals.Endpoints = append(signals.Endpoints, e)
		}
	}
	return nil
}
