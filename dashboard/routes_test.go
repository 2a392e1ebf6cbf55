package dashboard

import (
	"net/url"
	"strings"
	"testing"
)

// Every form belongs to a page that can be asked for.
func TestEveryFormsAddressLiesBelowAPage(t *testing.T) {
	for _, name := range []string{opsSurface, portalSurface} {
		s := newSurface(&Dashboard{}, name, nil)
		s.Add(Act("POST "+s.base+"/things/{id}/move", nil), Read("GET "+s.base+"/things/{id}", nil), Read("GET "+s.base, nil))
		for _, pattern := range s.Patterns() {
			form, isForm := strings.CutPrefix(pattern, "POST ")
			if !isForm {
				continue
			}
			page, err := url.Parse(s.pageOf(pattern, &url.URL{Path: form, RawQuery: "x=1"}))
			if err != nil || !s.has("GET "+page.Path) || page.RawQuery != "x=1" {
				t.Errorf("%s belongs to %v %v", pattern, page, err)
			}
		}
	}
}
