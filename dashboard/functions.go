package dashboard

import (
	"html/template"
	"log/slog"
	"time"

	"ledgerhook/partners"
)

// functions are what templates can call, in a language.
func functions(locale string) template.FuncMap {
	return template.FuncMap{
		"t":    func(text string, args ...any) string { return translate(locale, text, args...) },
		"icon": icon,
		"rfc":  func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") },
		"when": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
	}
}

func userAttr(p partners.Person) slog.Attr { return slog.String("user", p.Actor()) }
