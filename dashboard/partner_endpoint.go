package dashboard

import (
	"net/http"

	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// reasonForm is a form for what needs a reason.
type reasonForm struct {
	Label, Action, ID, Hint string
	Danger                  bool
}

// openForm opens an endpoint's breaker.
func openForm(p endpointPanel) reasonForm {
	return reasonForm{"Open the breaker", "/ops/endpoints/" + p.ID + "/open-breaker", "open-" + p.ID, "Nothing goes out until somebody closes it.", true}
}

// closeForm closes an endpoint's breaker.
func closeForm(p endpointPanel) reasonForm {
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
