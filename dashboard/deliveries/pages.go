// Package deliveries has the pages about deliveries, which operators and
// partners share: their list, one of them with its attempts, and their replays.
package deliveries

import (
	"embed"
	"html/template"

	"ledgerhook/dashboard/locale"
	"ledgerhook/dashboard/shell"
	"ledgerhook/delivery"
	"ledgerhook/webhook"
)

//go:embed templates/*.html
var files embed.FS

// Templates are those of the pages.
var Templates = shell.NewTemplates(files, functions)

// Pages are the pages about deliveries on one surface.
type Pages struct{ *shell.Surface }

// functions are what the templates call beside the shell's, in a
// language.
func functions(language string) template.FuncMap {
	t := func(text string, args ...any) string { return locale.Translate(language, text, args...) }
	return template.FuncMap{
		"replays":    replaysPath,
		"replaypill": replayPill,
		"failure":    func(class webhook.ErrorClass) string { return failureWords(t, class) },
		"count":      func(p delivery.ReplayPreview) string { return countWords(t, p) },
		"filter":     func(ops bool, f delivery.Filter) string { return filterWords(t, ops, f) },
		"act":        func(a ActivityRow) string { return tellAct(t, a) },
	}
}

// Routes are the pages about deliveries and replays.
func (s Pages) Routes() []shell.Route { return append(s.deliveryRoutes(), s.replayRoutes()...) }
