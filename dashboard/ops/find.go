package ops

import (
	"net/http"
	"net/url"
	"strings"

	"ledgerhook/dashboard/shell"
	"ledgerhook/ledger"
)

// findView is what a text was found as.
type findView struct {
	Typed string
	Hits  []foundHit
}

// foundHit is a hit with where it leads; Href is empty if there is no page.
type foundHit struct {
	ledger.Hit
	Href string
}

// findPage looks a text up as anything; a single hit that has a page is shown
// at once.
func (s pages) findPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	v := findView{Typed: strings.TrimSpace(r.URL.Query().Get("q"))}
	hits, err := s.Ledger.Find(r.Context(), q.Scope(), strings.ToValidUTF8(v.Typed, ""))
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
func (s pages) hitAt(h ledger.Hit) string {
	id := url.PathEscape(h.ID)
	search := func(key string) string { return s.Base + "/deliveries?" + url.Values{key: {h.ID}}.Encode() }
	switch h.Kind {
	case ledger.HitDelivery, ledger.HitAttempt:
		return s.Base + "/deliveries/" + id
	case ledger.HitEvent:
		return s.Base + "/events/" + id
	case ledger.HitEndpoint:
		return search("endpoint")
	case ledger.HitHost:
		return search("host")
	case ledger.HitReference:
		return search("ref")
	case ledger.HitPartner:
		return s.PageIf("/partners/", id)
	case ledger.HitOrder:
		return s.PageIf("/orders/", id)
	case ledger.HitReplay:
		return s.PageIf("/replays/", id)
	}
	return ""
}
