package dashboard

import (
	"net/http"
	"net/url"
	"strings"

	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// partnerPath is the page of a partner.
func partnerPath(code string) string { return "/ops/partners/" + url.PathEscape(code) }

// endpointPath is the partner's page of an endpoint.
func endpointPath(id string) string { return "/portal/endpoints/" + id }

// endpointPlace is where an endpoint is shown after something was done with it.
func (s *surface) endpointPlace(e webhook.Endpoint, done string) string {
	if s.name == opsSurface {
		return partnerPath(e.PartnerCode) + "?done=" + done + "#" + e.ID
	}
	return endpointPath(e.ID) + "?done=" + done
}

// reasonOf reads why somebody does what should not be done lightly.
func reasonOf(r *http.Request) (string, error) {
	if err := r.ParseForm(); err != nil {
		return "", webhook.Invalid("form", "cannot be read")
	}
	reason := strings.TrimSpace(r.PostForm.Get("reason"))
	return reason, partners.CheckReason("reason", reason)
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
