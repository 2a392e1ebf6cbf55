package dashboard

import "strings"

// navGroup is a part of the menu under a heading.
type navGroup struct {
	Title string
	Items []navItem
}

// navItem leads to a page.
type navItem struct {
	Icon, Title, Path string
	Current           bool
}

// navigation is the menu: what exists and who asks may see, the page that he
// is on marked.
func (q *request) navigation(path string) (groups []navGroup) {
	if !q.SignedIn() {
		return nil
	}
	for _, g := range q.surface.groups {
		var shown []navItem
		for _, item := range g.Items {
			rt, ok := q.surface.find("GET " + item.Path)
			if !ok || !q.may(rt.may) {
				continue
			}
			item.Title = q.T(item.Title)
			item.Current = path == item.Path || item.Path != q.Base() && strings.HasPrefix(path, item.Path+"/")
			shown = append(shown, item)
		}
		if len(shown) > 0 {
			groups = append(groups, navGroup{q.T(g.Title), shown})
		}
	}
	return groups
}

func (s *surface) find(pattern string) (route, bool) {
	for _, rt := range s.routes {
		if rt.pattern == pattern {
			return rt, true
		}
	}
	return route{}, false
}

func (s *surface) has(pattern string) bool {
	_, ok := s.find(pattern)
	return ok
}

// PageIf is a page if the surface has pages of its kind.
func (s *surface) PageIf(kind, id string) string {
	for _, rt := range s.routes {
		if strings.HasPrefix(rt.pattern, "GET "+s.base+kind+"{") {
			return s.base + kind + id
		}
	}
	return ""
}
