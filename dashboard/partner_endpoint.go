package dashboard

import (
	"net/http"
	"strings"
	"time"

	"ledgerhook/dashboard/locale"
	"ledgerhook/delivery"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

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

// reasonForm is a form for what needs a reason.
type reasonForm struct {
	Label, Action, ID, Hint string
	Danger                  bool
}

// OpenForm opens the endpoint's breaker.
func (p endpointPanel) OpenForm() reasonForm {
	return reasonForm{"Open the breaker", "/ops/endpoints/" + p.ID + "/open-breaker", "open-" + p.ID, "Nothing goes out until somebody closes it.", true}
}

// CloseForm closes the endpoint's breaker.
func (p endpointPanel) CloseForm() reasonForm {
	return reasonForm{"Close the breaker", "/ops/endpoints/" + p.ID + "/close-breaker", "close-" + p.ID, "Deliveries pass at once; it opens again when they fail.", false}
}

// SwitchForm disables the partner, or enables it.
func (v partnerView) SwitchForm() reasonForm {
	path := partnerPath(v.Partner.Value.Code)
	if v.Partner.Value.Disabled {
		return reasonForm{"Enable the partner", path + "/enable", "enable", "Its requests are taken again, and what was held goes out.", false}
	}
	return reasonForm{"Disable the partner", path + "/disable", "disable", "Its requests are refused, and its deliveries are held until it is enabled.", true}
}

// reasonOf reads why somebody does what should not be done lightly.
func reasonOf(r *http.Request) (string, error) {
	if err := r.ParseForm(); err != nil {
		return "", webhook.Invalid("form", "cannot be read")
	}
	reason := strings.TrimSpace(r.PostForm.Get("reason"))
	return reason, partners.CheckReason("reason", reason)
}

// endpointPlace is where an endpoint is shown after something was done with it.
func (s *surface) endpointPlace(e webhook.Endpoint, done string) string {
	if s.name == opsSurface {
		return partnerPath(e.PartnerCode) + "?done=" + done + "#" + e.ID
	}
	return endpointPath(e.ID) + "?done=" + done
}

// moveEndpoint changes an endpoint and leads back to it. reasoned ones need a
// reason, which change gets.
func (s *surface) moveEndpoint(act string, reasoned bool, change func(w *webhook.Window, reason string)) page {
	return func(w http.ResponseWriter, r *http.Request, q *request) (err error) {
		reason := ""
		if reasoned {
			if reason, err = reasonOf(r); err != nil {
				return err
			}
		}
		by := q.audit("endpoint." + act)
		by.Detail = reason
		e, err := s.Ledger.UpdateEndpointIn(r.Context(), q.scope(), r.PathValue("id"), func(e *webhook.Endpoint) error {
			change(&e.Window, reason)
			return nil
		}, by)
		if err != nil {
			return err
		}
		http.Redirect(w, r, s.endpointPlace(e, act), http.StatusSeeOther)
		return nil
	}
}

func (s *surface) pauseEndpoint() page {
	return s.moveEndpoint("pause", false, func(w *webhook.Window, _ string) { w.Paused = true })
}

func (s *surface) resumeEndpoint() page {
	return s.moveEndpoint("resume", false, func(w *webhook.Window, _ string) { w.Resume() })
}

func (s *surface) openBreaker() page {
	return s.moveEndpoint("open-breaker", true, func(w *webhook.Window, reason string) { w.Breaker.OpenByHand("opened by hand: " + reason) })
}

func (s *surface) closeBreaker() page {
	return s.moveEndpoint("close-breaker", true, func(w *webhook.Window, _ string) { w.Breaker.Close() })
}

// switchPartner disables a partner or enables it, with a reason.
func (s *surface) switchPartner(off bool) page {
	act := map[bool]string{true: "disable", false: "enable"}[off]
	return func(w http.ResponseWriter, r *http.Request, q *request) error {
		reason, err := reasonOf(r)
		if err != nil {
			return err
		}
		by := q.audit("partner." + act)
		by.Detail = reason
		p, err := s.Ledger.UpdatePartner(r.Context(), r.PathValue("code"), func(p *partners.Partner) error {
			p.Disabled = off
			return nil
		}, by)
		if err != nil {
			return err
		}
		http.Redirect(w, r, partnerPath(p.Code)+"?done="+act, http.StatusSeeOther)
		return nil
	}
}

// partnerRoutes are the pages about partners and what can be done there.
func (s *surface) partnerRoutes() []route {
	return []route{
		{"GET /ops/partners", mayRead, s.partnersPage},
		{"POST /ops/partners", mayAct, s.createPartner},
		{"GET /ops/partners/{code}", mayRead, s.partnerPage},
		{"POST /ops/partners/{code}/disable", mayAct, s.switchPartner(true)},
		{"POST /ops/partners/{code}/enable", mayAct, s.switchPartner(false)},
		{"POST /ops/endpoints/{id}/pause", mayAct, s.pauseEndpoint()},
		{"POST /ops/endpoints/{id}/resume", mayAct, s.resumeEndpoint()},
		{"POST /ops/endpoints/{id}/open-breaker", mayAct, s.openBreaker()},
		{"POST /ops/endpoints/{id}/close-breaker", mayAct, s.closeBreaker()},
	}
}
