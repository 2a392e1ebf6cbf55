package deliveries

import (
	"cmp"
	"context"
	"strings"
	"time"

	"ledgerhook/dashboard/locale"
	"ledgerhook/dashboard/shell"
	"ledgerhook/delivery"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// EndpointPanel is an endpoint with what its receiver answered of late.
type EndpointPanel struct {
	webhook.Endpoint
	Advice      []delivery.Advice
	Newest      webhook.Attempt // zero: there is none of late
	Certificate time.Time       // when it ends; zero: none was shown
}

// EndpointPanels are the endpoints of a partner.
func (s Pages) EndpointPanels(ctx context.Context, code string) ([]EndpointPanel, error) {
	found, err := s.Ledger.Endpoints(ctx, code)
	if err != nil {
		return nil, err
	}
	panels := make([]EndpointPanel, len(found))
	for i, e := range found {
		if panels[i], err = s.PanelOf(ctx, e); err != nil {
			return nil, err
		}
	}
	return panels, nil
}

// PanelOf is an endpoint with what its newest attempts tell.
func (s Pages) PanelOf(ctx context.Context, e webhook.Endpoint) (EndpointPanel, error) {
	attempts, err := s.Reports.RecentAttempts(ctx, e.ID)
	if err != nil {
		return EndpointPanel{}, err
	}
	p := EndpointPanel{Endpoint: e, Advice: delivery.AdviceOn(attempts, cmp.Or(e.Timeout, s.Timeout), time.Now())}
	if len(attempts) > 0 {
		p.Newest = attempts[0]
	}
	p.Certificate, err = s.Reports.CertificateEnds(ctx, partners.Only(e.PartnerCode), e.ID)
	return p, err
}

// certificateSoon is when the end of a certificate is near.
const certificateSoon = 14 * 24 * time.Hour

// State is how the endpoint is as far as people decide.
func (p EndpointPanel) State() shell.Pill {
	switch w := p.Window; {
	case w.PartnerDisabled:
		return shell.Bad(locale.Text("partner disabled"))
	case w.Disabled:
		return shell.Bad(locale.Text("disabled"))
	case w.Paused:
		return shell.Warn(locale.Text("paused"))
	}
	return shell.Good(locale.Text("active"))
}

// Breaker is where the endpoint's breaker stands.
func (p EndpointPanel) Breaker() shell.Pill {
	switch p.Window.Breaker.State {
	case webhook.BreakerOpen:
		return shell.Bad(locale.Text("breaker: holds deliveries back"))
	case webhook.BreakerHalfOpen:
		return shell.Warn(locale.Text("breaker: trying again"))
	}
	return shell.Good(locale.Text("breaker: holds nothing back"))
}

// BreakerClosed reports whether deliveries pass the breaker.
func (p EndpointPanel) BreakerClosed() bool { return p.Window.Breaker.State == webhook.BreakerClosed }

// Shut reports whether resuming does something.
func (p EndpointPanel) Shut() bool { return p.Window.Paused || p.Window.Disabled }

// TypesWord lists the types that the endpoint takes.
func (p EndpointPanel) TypesWord() string {
	if len(p.Types) == 0 {
		return "all types"
	}
	var names []string
	for _, t := range p.Types {
		names = append(names, string(t))
	}
	return strings.Join(names, ", ")
}

// Waiting is how many deliveries wait for the endpoint.
func (p EndpointPanel) Waiting() int {
	return p.Window.WaitingFirst + p.Window.WaitingAgain + p.Window.WaitingBlocked
}

// Rate is how many deliveries a second the endpoint takes at most.
func (p EndpointPanel) Rate() string {
	if n := delivery.RateLimit(p.Window); n > 0 {
		return english.Number(n) + " a second"
	}
	return "no limit"
}

// Width says how much of the window is in use.
func (p EndpointPanel) Width() string {
	return english.Number(p.Window.Used) + " of " + english.Number(p.Window.Grown) + " in flight, grows to " + english.Number(p.Window.MaxInFlight)
}

// CertificateEndsSoon reports whether somebody must renew it now.
func (p EndpointPanel) CertificateEndsSoon() bool {
	return !p.Certificate.IsZero() && time.Until(p.Certificate) < certificateSoon
}

// receiverAdvice is what the newest attempts at an endpoint tell; nothing if
// they cannot be read or it is removed.
func (s Pages) receiverAdvice(ctx context.Context, q *shell.Request, endpointID string) []string {
	if endpointID == "" {
		return nil
	}
	panel, err := shell.WithDeadline(ctx, func(ctx context.Context) (EndpointPanel, error) {
		e, err := s.Ledger.Endpoint(ctx, q.Scope(), endpointID)
		if err != nil {
			return EndpointPanel{}, err
		}
		return s.PanelOf(ctx, e)
	})
	if err != nil {
		return nil
	}
	return Advices(q, panel)
}

// Advices are what a receiver's answers say to its owner.
func Advices(q *shell.Request, p EndpointPanel) (said []string) {
	for _, advice := range p.Advice {
		said = append(said, advice.Say(q.T, q.Duration))
	}
	return said
}
