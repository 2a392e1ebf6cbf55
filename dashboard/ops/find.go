package ops

import (
	"net/http"
	"net/url"
	"strings"

	"ledgerhook/dashboard/shell"
	"ledgerhook/ledger/reports"
)

// findView is what a text was found as.
type findView struct {
	Typed string
	Hits  []foundHit
}

// foundHit is a hit with where it leads; Href is empty if there is no page.
type foundHit struct {
	reports.Hit
	Href string
}

// findPage looks a text up as anything; a single hit that has a page is shown
// at once.
func (s pages) findPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	v := findView{Typed: strings.TrimSpace(r.URL.Query().Get("q"))}
	hits, err := s.Reports.Find(r.Context(), q.Scope(), strings.ToValidUTF8(v.Typed, ""))
	if err != nil {
		return err
	}
	for _, h := range hits {
		v.Hits = append(v.Hits, foundHit{h, s.hitAt(h)})
	}
	if len(v.Hits) == 1 && v.Hits[0].Href != "" {
		http.Redirect(w, r, v.Hits[0].Href, http.StatusSeeOther)
		return nil
	}
	return q.Render(w, r, "find", v)
}

// hitAt is the page about a hit.
func (s pages) hitAt(h reports.Hit) string {
	id := url.PathEscape(h.ID)
	search := func(key string) string { return s.Base + "/deliveries?" + url.Values{key: {h.ID}}.Encode() }
	switch h.Kind {
	case reports.HitDelivery, reports.HitAttempt:
		return s.Base + "/deliveries/" + id
	case reports.HitEvent:
		return s.Base + "/events/" + id
	case reports.HitEndpoint:
		return search("endpoint")
	case reports.HitHost:
		return search("host")
	case reports.HitReference:
		return search("ref")
	case reports.HitPartner:
		return s.PageIf("/partners/", id)
	case reports.HitOrder:
		return s.PageIf("/orders/", id)
	case reports.HitReplay:
		return s.PageIf("/replays/", id)
	}
	return ""
}
