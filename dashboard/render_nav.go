package dashboard

import (
	"strings"

	"ledgerhook/dashboard/locale"
)

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

var opsNavigation = []navGroup{
	{"", []navItem{{Icon: "pulse", Title: "Overview", Path: "/ops"}}},
	{"Traffic", []navItem{
		{Icon: "send", Title: "Deliveries", Path: "/ops/deliveries"},
		{Icon: "inbox", Title: "Events", Path: "/ops/events"},
		{Icon: "coins", Title: "Orders", Path: "/ops/orders"},
		{Icon: "scales", Title: "Rates", Path: "/ops/rates"},
		{Icon: "people", Title: "Partners", Path: "/ops/partners"},
	}},
	{"Recover", []navItem{
		{Icon: "replay", Title: "Replays", Path: "/ops/replays"},
		{Icon: "scales", Title: "Reconcile", Path: "/ops/reconcile"},
	}},
	{"Gateway", []navItem{
		{Icon: "gauge", Title: "System", Path: "/ops/system"},
		{Icon: "mail", Title: "Mailbox", Path: "/ops/mailbox"},
		{Icon: "list", Title: "Audit log", Path: "/ops/audit"},
		{Icon: "key", Title: "Access", Path: "/ops/admin"},
	}},
}

var portalNavigation = []navGroup{
	{"", []navItem{{Icon: "pulse", Title: locale.Text("Home"), Path: "/portal"}}},
	{locale.Text("Webhooks"), []navItem{
		{Icon: "send", Title: locale.Text("Deliveries"), Path: "/portal/deliveries"},
		{Icon: "link", Title: locale.Text("Endpoints"), Path: "/portal/endpoints"},
		{Icon: "key", Title: locale.Text("Secrets"), Path: "/portal/secrets"},
		{Icon: "replay", Title: locale.Text("Recover"), Path: "/portal/recover"},
	}},
	{locale.Text("Develop"), []navItem{
		{Icon: "book", Title: locale.Text("Event types"), Path: "/portal/catalogue"},
		{Icon: "check", Title: locale.Text("Verify a signature"), Path: "/portal/verify"},
	}},
	{locale.Text("Account"), []navItem{
		{Icon: "people", Title: locale.Text("People"), Path: "/portal/people"},
		{Icon: "list", Title: locale.Text("Activity"), Path: "/portal/activity"},
	}},
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
