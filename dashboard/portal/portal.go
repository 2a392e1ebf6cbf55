// Package portal has the partners' own pages.
package portal

import (
	"embed"

	"ledgerhook/dashboard/deliveries"
	"ledgerhook/dashboard/locale"
	"ledgerhook/dashboard/shell"
	"ledgerhook/web"
)

var navigation = []shell.NavGroup{
	{Title: "", Items: []shell.NavItem{{Icon: "pulse", Title: locale.Text("Home"), Path: "/portal"}}},
	{Title: locale.Text("Webhooks"), Items: []shell.NavItem{
		{Icon: "send", Title: locale.Text("Deliveries"), Path: "/portal/deliveries", Filtered: true},
		{Icon: "link", Title: locale.Text("Endpoints"), Path: "/portal/endpoints"},
		{Icon: "key", Title: locale.Text("Secrets"), Path: "/portal/secrets"},
		{Icon: "replay", Title: locale.Text("Recover"), Path: "/portal/recover"},
	}},
	{Title: locale.Text("Develop"), Items: []shell.NavItem{
		{Icon: "book", Title: locale.Text("Event types"), Path: "/portal/catalogue"},
		{Icon: "check", Title: locale.Text("Verify a signature"), Path: "/portal/verify"},
	}},
	{Title: locale.Text("Account"), Items: []shell.NavItem{
		{Icon: "people", Title: locale.Text("People"), Path: "/portal/people"},
		{Icon: "list", Title: locale.Text("Activity"), Path: "/portal/activity"},
	}},
}

//go:embed templates/*.html
var files embed.FS

var templates = shell.NewTemplates(files, nil)

// pages are the partners' pages, beside those about deliveries.
type pages struct {
	deliveries.Pages
	checks *web.Limiter // of signatures, by partner
}

// New is the partners' surface, /portal.
func New(sh *shell.Shell) *shell.Surface {
	surface := shell.NewSurface(sh, shell.Portal, navigation, templates, deliveries.Templates)
	s := pages{Pages: deliveries.Pages{Surface: surface}, checks: web.NewLimiter(nil)}
	s.Add(s.Routes()...)
	s.Add(s.verifyRoutes()...)
	s.Add(s.endpointRoutes()...)
	s.Add(s.secretRoutes()...)
	s.Add(
		shell.Read("GET /portal", s.portalHome),
		shell.Audit("GET /portal/activity", s.activityPage),
		shell.Read("GET /portal/catalogue", s.cataloguePage),
	)
	return surface
}
