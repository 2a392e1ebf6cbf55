package dashboard

import "ledgerhook/dashboard/locale"

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

// newPortal is the partners' surface, /portal.
func newPortal(d *Dashboard) *surface {
	s := newSurface(d, portalSurface, portalNavigation)
	s.Add(s.deliveriesRoutes()...)
	s.Add(s.verifyRoutes()...)
	s.Add(s.endpointRoutes()...)
	s.Add(s.secretRoutes()...)
	s.Add([]route{
		{"GET /portal", mayRead, s.portalHome},
		{"GET /portal/activity", mayAudit, s.activityPage},
		{"GET /portal/catalogue", mayRead, s.cataloguePage},
	}...)
	return s
}
