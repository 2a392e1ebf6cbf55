package shell

import (
	"html/template"
	"time"

	"ledgerhook/dashboard/locale"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// functions are what templates can call, for a reader.
func functions(s *locale.Speller) template.FuncMap {
	return template.FuncMap{
		"t":         s.T,
		"icon":      icon,
		"rfc":       func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") },
		"when":      func(t time.Time) string { return s.Time(t) },
		"num":       func(n any) string { return s.Number(n) },
		"took":      func(d time.Duration) string { return s.Duration(d) },
		"bytes":     func(n int64) string { return s.Bytes(n) },
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
