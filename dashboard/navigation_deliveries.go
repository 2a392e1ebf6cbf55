package dashboard

import (
	"html/template"

	"ledgerhook/dashboard/locale"
	"ledgerhook/delivery"
	"ledgerhook/webhook"
)

// deliveryFunctions are what the templates call beside the shell's, in a
// language.
func deliveryFunctions(language string) template.FuncMap {
	t := func(text string, args ...any) string { return locale.Translate(language, text, args...) }
	return template.FuncMap{
		"replays":    replaysPath,
		"replaypill": replayPill,
		"failure":    func(class webhook.ErrorClass) string { return failureWords(t, class) },
		"count":      func(p delivery.ReplayPreview) string { return countWords(t, p) },
		"filter":     func(ops bool, f delivery.Filter) string { return filterWords(t, ops, f) },
		"act":        func(a activityRow) string { return tellAct(t, a) },
	}
}

// deliveriesRoutes are the pages about deliveries and replays.
func (s *surface) deliveriesRoutes() []route { return append(s.deliveryRoutes(), s.replayRoutes()...) }
