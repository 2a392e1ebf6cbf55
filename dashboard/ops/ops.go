// Package ops has the operators' own pages.
package ops

import (
	"embed"
	"html/template"

	"ledgerhook/dashboard/deliveries"
	"ledgerhook/dashboard/locale"
	"ledgerhook/dashboard/shell"
)

var navigation = []shell.NavGroup{
	{Title: "", Items: []shell.NavItem{
		{Icon: "pulse", Title: "Overview", Path: "/ops"},
		{Icon: "alert", Title: "Incidents", Path: "/ops/incidents"},
	}},
	{Title: "Traffic", Items: []shell.NavItem{
		{Icon: "send", Title: "Deliveries", Path: "/ops/deliveries", Filtered: true},
		{Icon: "inbox", Title: "Events", Path: "/ops/events", Filtered: true},
		{Icon: "coins", Title: "Orders", Path: "/ops/orders", Filtered: true},
		{Icon: "scales", Title: "Rates", Path: "/ops/rates"},
		{Icon: "people", Title: "Partners", Path: "/ops/partners", Filtered: true},
	}},
	{Title: "Recover", Items: []shell.NavItem{
		{Icon: "replay", Title: "Replays", Path: "/ops/replays"},
		{Icon: "scales", Title: "Reconcile", Path: "/ops/reconcile"},
	}},
	{Title: "Gateway", Items: []shell.NavItem{
		{Icon: "gauge", Title: "System", Path: "/ops/system"},
		{Icon: "mail", Title: "Mailbox", Path: "/ops/mailbox"},
		{Icon: "list", Title: "Audit log", Path: "/ops/audit", Filtered: true},
		{Icon: "key", Title: "Access", Path: "/ops/admin"},
	}},
}

//go:embed templates/*.html
var files embed.FS

var templates = shell.NewTemplates(files, functions)

// pages are the operators' pages, beside those about deliveries.
type pages struct {
	deliveries.Pages
	chain *chainWatch // of the audit log
}

// New is the operators' surface, /ops.
func New(sh *shell.Shell) *shell.Surface {
	surface := shell.NewSurface(sh, shell.Ops, navigation, templates, deliveries.Templates)
	s := pages{Pages: deliveries.Pages{Surface: surface}, chain: &chainWatch{}}
	s.Add(s.Routes()...)
	s.Add(s.partnerRoutes()...)
	s.Add(s.orderRoutes()...)
	s.Add(s.rateRoutes()...)
	s.Add(s.incidentRoutes()...)
	s.Add(
		shell.Read("GET /ops", s.opsHome),
		shell.Act("GET /ops/mailbox", s.mailboxPage),
		shell.Read("GET /ops/system", s.systemPage),
		shell.Read("GET /ops/events", s.eventsPage),
		shell.Read("GET /ops/events/{id}", s.eventPage),
		shell.Audit("GET /ops/audit", s.auditPage),
		shell.Audit("GET /ops/audit.csv", s.auditExport),
		shell.Read("GET /ops/find", s.findPage),
		shell.Read("GET /ops/reconcile", s.reconcilePage),
		shell.Read("POST /ops/reconcile", s.reconcile),
		shell.Read("POST /ops/reconcile/evidence", shell.Form(s.reconcileEvidence)),
	)
	return surface
}

// english writes the figures of the operators' pages.
var english locale.Speller

// functions are what the templates call beside the shell's.
func functions(*locale.Speller) template.FuncMap {
	return template.FuncMap{
		"result":      resultOf,
		"orderpill":   orderPill,
		"refusedpill": refusedPill,
		"openform":    openForm,
		"closeform":   closeForm,
	}
}
