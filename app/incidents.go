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
	facts := &incidentFacts{app: a, store: store}
	w := &incidents.Watch{Store: store, Rules: a.incidentRules(), Facts: facts.read, Log: a.log,
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

// incidentFacts reads what the rules look at.
type incidentFacts struct {
	app   *App
	store *ledgerincidents.Store

	certificates map[string]incidents.EndpointFact // by endpoint
	unread       []incidents.EndpointFact          // whose certificates come next
	readAt       time.Time                         // when they began to be read
}

func (f *incidentFacts) read(ctx context.Context, now time.Time) (facts incidents.Facts, err error) {
	s, err := f.app.reports.Situation(ctx)
	if err != nil {
		return facts, err
	}
	facts.Hosts, facts.HostsFailing = s.Hosts, s.HostsFailing
	for _, t := range []time.Time{s.OldestQueued, s.OldestDue, s.OldestWake} {
		if !t.IsZero() && (facts.OldestReady.IsZero() || t.Before(facts.OldestReady)) {
			facts.OldestReady = t
		}
	}
	workers, err := f.app.reports.Workers(ctx)
	if err != nil {
		return facts, fmt.Errorf("list workers: %w", err)
	}
	for _, w := range workers {
		if failed(w) {
			facts.CanaryFailed++
			facts.CanaryWhy = w.Canary.Failure
		}
	}
	rates, err := f.app.prices.Rates(ctx)
	if err != nil {
		return facts, fmt.Errorf("list rates: %w", err)
	}
	facts.RateAge = f.app.config.RateAge
	for _, r := range rates {
		facts.Rates = append(facts.Rates, incidents.RateFact{Crypto: r.Crypto, UpdatedAt: r.UpdatedAt})
	}
	if facts.Endpoints, err = f.store.Endpoints(ctx, now); err != nil {
		return facts, err
	}
	return facts, f.addCertificates(ctx, &facts, now)
}

// failed reports whether what a worker sends to itself does not arrive.
func failed(w reports.WorkerLease) bool {
	return w.Alive && !w.Canary.At.IsZero() && w.Canary.Age <= canaryLate && w.Canary.Failure != ""
}

// readCertificates reads when some certificates end, and goes on at the next
// look, so that none takes long; one that cannot be read is passed over.
func (f *incidentFacts) readCertificates(ctx context.Context, now time.Time) error {
	if len(f.unread) == 0 && now.Sub(f.readAt) >= endpointCertificatesEvery {
		all, err := f.store.Registered(ctx)
		if err != nil {
			return err
		}
		kept := map[string]incidents.EndpointFact{}
		for _, e := range all {
			if was, known := f.certificates[e.ID]; known {
				kept[e.ID] = was
			}
		}
		f.certificates, f.unread, f.readAt = kept, all, now
	}
	for range min(certificatesAtOnce, len(f.unread)) {
		e := f.unread[0]
		f.unread = f.unread[1:]
		var err error
		if e.CertificateEnds, err = f.app.reports.CertificateEnds(ctx, partners.Only(e.PartnerCode), e.ID); err != nil {
			return fmt.Errorf("read the certificate of %s: %w", e.ID, err)
		}
		delete(f.certificates, e.ID)
		if !e.CertificateEnds.IsZero() {
			f.certificates[e.ID] = e
		}
	}
	return nil
}

// addCertificates adds when the receivers' certificates end, which a few
// attempts of each endpoint tell: they are read now and then.
func (f *incidentFacts) addCertificates(ctx context.Context, facts *incidents.Facts, now time.Time) error {
	if err := f.readCertificates(ctx, now); err != nil {
		return err
	}
	there := map[string]bool{}
	for i := range facts.Endpoints {
		e := &facts.Endpoints[i]
		there[e.ID], e.CertificateEnds = true, f.certificates[e.ID].CertificateEnds
	}
	for id, e := range f.certificates {
		if !there[id] {
			facts.Endpoints = append(facts.Endpoints, e)
		}
	}
	return nil
}
