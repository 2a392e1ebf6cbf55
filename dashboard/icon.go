package dashboard

import "html/template"

// icon is a drawing of 16 × 16 that takes the colour of the text around it.
func icon(name string) template.HTML {
	return template.HTML(`<svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">` + icons[name] + `</svg>`)
}

var icons = map[string]string{}
