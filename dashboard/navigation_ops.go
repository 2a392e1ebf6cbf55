package dashboard

import "html/template"

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

// newOps is the operators' surface, /ops.
func newOps(d *Dashboard) *surface {
	s := newSurface(d, opsSurface, opsNavigation)
	s.Add(s.deliveriesRoutes()...)
	s.Add(s.partnerRoutes()...)
	s.Add(s.orderRoutes()...)
	s.Add(s.rateRoutes()...)
	s.Add([]route{
		{"GET /ops", mayRead, s.opsHome},
		{"GET /ops/mailbox", mayAct, s.mailboxPage},
		{"GET /ops/system", mayRead, s.systemPage},
		{"GET /ops/events", mayRead, s.eventsPage},
		{"GET /ops/events/{id}", mayRead, s.eventPage},
		{"GET /ops/audit", mayAudit, s.auditPage},
		{"GET /ops/audit.csv", mayAudit, s.auditExport},
		{"GET /ops/find", mayRead, s.findPage},
		{"GET /ops/reconcile", mayRead, s.reconcilePage},
		{"POST /ops/reconcile", mayRead, s.reconcile},
	}...)
	return s
}

// opsFunctions are what the templates call beside the shell's.
func opsFunctions(string) template.FuncMap {
	return template.FuncMap{
		"result":      resultOf,
		"orderpill":   orderPill,
		"refusedpill": refusedPill,
		"openform":    openForm,
		"closeform":   closeForm,
	}
}
