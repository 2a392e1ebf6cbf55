package shell

import (
	"net/url"
	"strings"
	"testing"
)

// Every form belongs to a page that can be asked for.
func TestEveryFormsAddressLiesBelowAPage(t *testing.T) {
	for _, name := range []string{Ops, Portal} {
		s := NewSurface(&Shell{}, name, nil)
		s.Add(Act("POST "+s.Base+"/things/{id}/move", nil), Read("GET "+s.Base+"/things/{id}", nil), Read("GET "+s.Base, nil))
		for _, pattern := range s.Patterns() {
			form, isForm := strings.CutPrefix(pattern, "POST ")
			if !isForm {
				continue
			}
			page, err := url.Parse(s.pageOf(pattern, &url.URL{Path: form, RawQuery: "x=1"}))
			if err != nil || !s.Has("GET "+page.Path) || page.RawQuery != "x=1" {
				t.Errorf("%s belongs to %v %v", pattern, page, err)
			}
		}
	}
}
