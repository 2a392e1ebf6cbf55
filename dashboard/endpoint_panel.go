package dashboard

import (
	"cmp"
	"context"
	"strings"
	"time"

	"ledgerhook/dashboard/locale"
	"ledgerhook/delivery"
	"ledgerhook/ledger"
	"ledgerhook/webhook"
)

// endpointPanel is an endpoint with what its receiver answered of late.
type endpointPanel struct {
	webhook.Endpoint
	Advice      []delivery.Advice
	Newest      webhook.Attempt // zero: there is none of late
	Certificate time.Time       // when it ends; zero: none was shown
}

func (s *surface) endpointPanels(ctx context.Context, code string) ([]endpointPanel, error) {
	found, err := s.Ledger.Endpoints(ctx, code)
	if err != nil {
		return nil, err
	}
	panels := make([]endpointPanel, len(found))
	for i, e := range found {
		if panels[i], err = s.endpointPanel(ctx, e); err != nil {
			return nil, err
		}
	}
	return panels, nil
}

func (s *surface) endpointPanel(ctx context.Context, e webhook.Endpoint) (endpointPanel, error) {
	attempts, err := s.Ledger.RecentAttempts(ctx, e.ID)
	if err != nil {
		return endpointPanel{}, err
	}
	p := endpointPanel{Endpoint: e, Advice: delivery.AdviceOn(attempts, cmp.Or(e.Timeout, s.Timeout), time.Now())}
	if len(attempts) > 0 {
		p.Newest = attempts[0]
	}
	p.Certificate, err = s.Ledger.CertificateEnds(ctx, ledger.Only(e.PartnerCode), e.ID)
	return p, err
}

// certificateSoon is when the end of a certificate is near.
const certificateSoon = 14 * 24 * time.Hour

// State is how the endpoint is as far as people decide.
func (p endpointPanel) State() pill {
	switch w := p.Window; {
	case w.PartnerDisabled:
		return pill{"bad", locale.Text("partner disabled")}
	case w.Disabled:
		return pill{"bad", locale.Text("disabled")}
	case w.Paused:
		return pill{"warn", locale.Text("paused")}
	}
	return pill{"good", locale.Text("active")}
}

// Breaker is where the endpoint's breaker stands.
func (p endpointPanel) Breaker() pill {
	switch p.Window.Breaker.State {
	case webhook.BreakerOpen:
		return pill{"bad", locale.Text("breaker open")}
	case webhook.BreakerHalfOpen:
		return pill{"warn", locale.Text("breaker on probation")}
	}
	return pill{"good", locale.Text("breaker closed")}
}

// BreakerClosed reports whether deliveries pass the breaker.
func (p endpointPanel) BreakerClosed() bool { return p.Window.Breaker.State == webhook.BreakerClosed }

// Shut reports whether resuming does something.
func (p endpointPanel) Shut() bool { return p.Window.Paused || p.Window.Disabled }

// TypesWord lists the types that the endpoint takes.
func (p endpointPanel) TypesWord() string {
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
func (p endpointPanel) Waiting() int {
	return p.Window.WaitingFirst + p.Window.WaitingAgain + p.Window.WaitingBlocked
}

// Rate is how many deliveries a second the endpoint takes at most.
func (p endpointPanel) Rate() string {
	if n := delivery.RateLimit(p.Window); n > 0 {
		return formatNumber(n) + " a second"
	}
	return "no limit"
}

// Width says how much of the window is in use.
func (p endpointPanel) Width() string {
	return formatNumber(p.Window.Used) + " of " + formatNumber(p.Window.Grown) + " in flight, grows to " + formatNumber(p.Window.MaxInFlight)
}

// CertificateEndsSoon reports whether somebody must renew it now.
func (p endpointPanel) CertificateEndsSoon() bool {
	return !p.Certificate.IsZero() && time.Until(p.Certificate) < certificateSoon
}

// receiverAdvice is what the newest attempts at an endpoint tell; nothing if
// they cannot be read or it is removed.
func (s *surface) receiverAdvice(ctx context.Context, q *request, endpointID string) []string {
	if endpointID == "" {
		return nil
	}
	panel, err := patiently(ctx, func(ctx context.Context) (endpointPanel, error) {
		e, err := s.Ledger.EndpointIn(ctx, q.scope(), endpointID)
		if err != nil {
			return endpointPanel{}, err
		}
		return s.endpointPanel(ctx, e)
	})
	if err != nil {
		return nil
	}
	return q.advices(panel)
}

// advices are what a receiver's answers say to its owner.
func (q *request) advices(p endpointPanel) (said []string) {
	for _, advice := range p.Advice {
		said = append(said, q.T(advice.Text, advice.Values...))
	}
	return said
}
