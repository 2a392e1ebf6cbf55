package shell

import (
	"html/template"
	"time"

	"ledgerhook/dashboard/locale"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// functions are what templates can call, in a language.
func functions(language string) template.FuncMap {
	t := func(text string, args ...any) string { return locale.Translate(language, text, args...) }
	return template.FuncMap{
		"t":         t,
		"icon":      icon,
		"rfc":       func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") },
		"when":      locale.Time,
		"num":       locale.Number,
		"took":      locale.Duration,
		"bytes":     locale.Bytes,
		"mask":      webhook.MaskCards,
		"printable": func(text string) string { return locale.Printable([]byte(text)) },
		"state":     StateOf,
		"pill":      func(tone, text string) Pill { return Pill{tone, text} },
		"notice":    func(tone, text string) Notice { return Notice{tone, text} },
		"none":      func(title, detail string) none { return none{title, detail} },
		"roles":     partners.RolesOf,
		"roleword":  func(role partners.Role) string { return roleWords[role] },
		"people":    func(f frame, list []partners.Person, caption string) peopleRows { return peopleRows{f, list, caption} },
		"formtoken": NewFormToken,
		"language":  locale.Name,
	}
}
