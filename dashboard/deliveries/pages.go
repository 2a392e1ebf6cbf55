// Package deliveries has the pages about deliveries, which operators and
// partners share: their list, one of them with its attempts, and their replays.
package deliveries

import (
	"embed"
	"html/template"
	"slices"

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

// english writes the figures of what operators alone see.
var english locale.Speller

// functions are what the templates call beside the shell's, for a reader.
func functions(s *locale.Speller) template.FuncMap {
	return template.FuncMap{
		"replays":    replaysPath,
		"replaypill": replayPill,
		"failure":    func(class webhook.ErrorClass) string { return failureWords(s.T, class) },
		"leaveout":   func(p delivery.ReplayPreview) string { return leaveOutWords(*s, p) },
		"count":      func(p delivery.ReplayPreview) string { return countWords(*s, p) },
		"filter":     func(ops bool, f delivery.Filter) string { return filterWords(*s, ops, f) },
		"utc":        exactUTC,
		"adds":       addsToStatus,
		"trigger":    func(t webhook.Trigger) string { return s.T(triggerWords[t]) },
		"act":        func(a ActivityRow) string { return tellAct(s.T, a) },
	}
}

// Routes are the pages about deliveries, their evidence and replays.
func (s Pages) Routes() []shell.Route {
	return slices.Concat(s.deliveryRoutes(), s.evidenceRoutes(), s.replayRoutes())
}
