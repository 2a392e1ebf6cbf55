package deliveries

import (
	"net/http"
	"net/url"
	"strings"

	"ledgerhook/dashboard/shell"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// PartnerPath is the page of a partner.
func PartnerPath(code string) string { return "/ops/partners/" + url.PathEscape(code) }

// EndpointPath is the partner's page of an endpoint.
func EndpointPath(id string) string { return "/portal/endpoints/" + id }

// endpointPlace is where an endpoint is shown after something was done with it.
func (s Pages) endpointPlace(e webhook.Endpoint, done string) string {
	if s.Name == shell.Ops {
		return PartnerPath(e.PartnerCode) + "?done=" + done + "#" + e.ID
	}
	return EndpointPath(e.ID) + "?done=" + done
}

// ReasonOf reads why somebody does what should not be done lightly.
func ReasonOf(r *http.Request) (string, error) {
	if err := r.ParseForm(); err != nil {
		return "", webhook.Invalid("form", "cannot be read")
	}
	reason := strings.TrimSpace(r.PostForm.Get("reason"))
	return reason, partners.CheckReason("reason", reason)
}

// MoveEndpoint changes an endpoint and leads back to it. reasoned ones need a
// reason, which change gets.
func (s Pages) MoveEndpoint(act string, reasoned bool, change func(w *webhook.Window, reason string)) shell.Page {
	return func(w http.ResponseWriter, r *http.Request, q *shell.Request) (err error) {
		reason := ""
		if reasoned {
			if reason, err = ReasonOf(r); err != nil {
				return err
			}
		}
		by := q.Audit("endpoint." + act)
		by.Detail = reason
		e, err := s.Ledger.UpdateEndpoint(r.Context(), q.Scope(), r.PathValue("id"), func(e *webhook.Endpoint) error {
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

// PauseEndpoint holds what comes for an endpoint.
func (s Pages) PauseEndpoint() shell.Page {
	return s.MoveEndpoint("pause", false, func(w *webhook.Window, _ string) { w.Paused = true })
}

// ResumeEndpoint lets an endpoint's deliveries go out again.
func (s Pages) ResumeEndpoint() shell.Page {
	return s.MoveEndpoint("resume", false, func(w *webhook.Window, _ string) { w.Resume() })
}
