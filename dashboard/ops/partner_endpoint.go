package ops

import (
	"net/http"

	"ledgerhook/dashboard/deliveries"
	"ledgerhook/dashboard/shell"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// reasonForm is a form for what needs a reason.
type reasonForm struct {
	Label, Action, ID, Hint string
	Danger                  bool
}

// openForm opens an endpoint's breaker.
func openForm(p deliveries.EndpointPanel) reasonForm {
	return reasonForm{"Open the breaker", "/ops/endpoints/" + p.ID + "/open-breaker", "open-" + p.ID, "Nothing goes out until somebody closes it.", true}
}

// closeForm closes an endpoint's breaker.
func closeForm(p deliveries.EndpointPanel) reasonForm {
	return reasonForm{"Close the breaker", "/ops/endpoints/" + p.ID + "/close-breaker", "close-" + p.ID, "Deliveries pass at once; it opens again when they fail.", false}
}

// SwitchForm disables the partner, or enables it.
func (v partnerView) SwitchForm() reasonForm {
	path := deliveries.PartnerPath(v.Code)
	if v.Partner.Value.Disabled {
		return reasonForm{"Enable the partner", path + "/enable", "enable", "Its requests are accepted again, and held deliveries go out.", false}
	}
	return reasonForm{"Disable the partner", path + "/disable", "disable", "Its requests are refused, and its deliveries are held until it is enabled.", true}
}

func (s pages) openBreaker() shell.Page {
	return s.MoveEndpoint("open-breaker", true, func(w *webhook.Window, reason string) { w.Breaker.OpenByHand("opened by hand: " + reason) })
}

func (s pages) closeBreaker() shell.Page {
	return s.MoveEndpoint("close-breaker", true, func(w *webhook.Window, _ string) { w.Breaker.Close() })
}

// switchPartner disables a partner or enables it, with a reason.
func (s pages) switchPartner(off bool) shell.Page {
	act := map[bool]string{true: "disable", false: "enable"}[off]
	return func(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
		reason, err := deliveries.ReasonOf(r)
		if err != nil {
			return err
		}
		by := q.Audit("partner." + act)
		by.Detail = reason
		p, err := s.Ledger.UpdatePartner(r.Context(), r.PathValue("code"), func(p *partners.Partner) error {
			p.Disabled = off
			return nil
		}, by)
		if err != nil {
			return err
		}
		http.Redirect(w, r, deliveries.PartnerPath(p.Code)+"?done="+act, http.StatusSeeOther)
		return nil
	}
}

// partnerRoutes are the pages about partners and what can be done there.
func (s pages) partnerRoutes() []shell.Route {
	return []shell.Route{
		shell.Read("GET /ops/partners", s.partnersPage),
		shell.Act("POST /ops/partners", shell.Form(s.createPartner)),
		shell.Read("GET /ops/partners/{code}", s.partnerPage),
		shell.Act("POST /ops/partners/{code}/disable", s.switchPartner(true)),
		shell.Act("POST /ops/partners/{code}/enable", s.switchPartner(false)),
		shell.Act("POST /ops/endpoints/{id}/pause", s.PauseEndpoint()),
		shell.Act("POST /ops/endpoints/{id}/resume", s.ResumeEndpoint()),
		shell.Act("POST /ops/endpoints/{id}/open-breaker", s.openBreaker()),
		shell.Act("POST /ops/endpoints/{id}/close-breaker", s.closeBreaker()),
	}
}
