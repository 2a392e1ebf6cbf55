package shell

import "strings"

// NavGroup is a part of the menu under a heading.
type NavGroup struct {
	Title string
	Items []NavItem
}

// NavItem leads to a page.
type NavItem struct {
	Icon, Title, Path string
	Filtered          bool // it is a list, whose filters can be saved
	Current           bool
}

// navigation is the menu: what exists and the reader may see, with the current
// page marked.
func (q *Request) navigation(path string) (groups []NavGroup) {
	if !q.SignedIn() {
		return nil
	}
	for _, g := range q.Surface.groups {
		var shown []NavItem
		for _, item := range g.Items {
			rt, ok := q.Surface.find("GET " + item.Path)
			if !ok || !q.may(rt.may) {
				continue
			}
			item.Title = q.T(item.Title)
			item.Current = path == item.Path || item.Path != q.Base() && strings.HasPrefix(path, item.Path+"/")
			shown = append(shown, item)
		}
		if len(shown) > 0 {
			groups = append(groups, NavGroup{q.T(g.Title), shown})
		}
	}
	return groups
}

func (s *Surface) find(pattern string) (Route, bool) {
	for _, rt := range s.routes {
		if rt.pattern == pattern {
			return rt, true
		}
	}
	return Route{}, false
}

// Has reports whether the surface has a page of a pattern, such as "GET /ops".
func (s *Surface) Has(pattern string) bool {
	_, ok := s.find(pattern)
	return ok
}

// PageIf is a page if the surface has pages of its kind.
func (s *Surface) PageIf(kind, id string) string {
	for _, rt := range s.routes {
		if strings.HasPrefix(rt.pattern, "GET "+s.Base+kind+"{") {
			return s.Base + kind + id
		}
	}
	return ""
}
