package shell

import (
	"html/template"
	"strings"
	"time"

	"ledgerhook/dashboard/locale"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// around are the parts of a text before and after its one verb, for what is
// no text itself.
func around(text string) [2]string {
	before, after, _ := strings.Cut(text, "%s")
	return [2]string{before, after}
}

// functions are what templates can call, for a reader.
func functions(s *locale.Speller) template.FuncMap {
	return template.FuncMap{
		"t":         func(text string, args ...any) string { return s.T(text, args...) },
		"around":    around,
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
