package shell

import "html/template"

// icon is a drawing of 16 × 16 that takes the colour of the text around it.
// Only the names below have one.
func icon(name string) template.HTML {
	return template.HTML(`<svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">` + icons[name] + `</svg>`)
}

var icons = map[string]string{
	"alert":  `<path d="M8 2.2 14.6 13.6H1.4z"/><path d="M8 6.6v3"/><path d="M8 11.7v.1"/>`,
	"arrows": `<path d="M2.5 6h9.5l-2.5-2.5"/><path d="M13.5 10H4l2.5 2.5"/>`,
	"auto":   `<circle cx="8" cy="8" r="5.5"/><path class="fill" d="M8 2.5a5.5 5.5 0 0 1 0 11z"/>`,
	"blank":  `<path d="M2 9.5 4 3.5h8l2 6v3.5H2z"/><path d="M2 9.5h3.5l1 1.5h3l1-1.5H14"/>`,
	"book":   `<path d="M8 4C6.5 2.8 4.5 2.5 2 2.5v10c2.5 0 4.5.3 6 1.5 1.5-1.2 3.5-1.5 6-1.5v-10c-2.5 0-4.5.3-6 1.5z"/><path d="M8 4v10"/>`,
	"check":  `<path d="m3 8.5 3.3 3.3L13 5"/>`,
	"coins":  `<ellipse cx="8" cy="4.5" rx="5" ry="2.3"/><path d="M3 4.5v7c0 1.3 2.2 2.3 5 2.3s5-1 5-2.3v-7"/><path d="M3 8c0 1.3 2.2 2.3 5 2.3S13 9.3 13 8"/>`,
	"copy":   `<rect x="5.5" y="5.5" width="8" height="8" rx="1.5"/><path d="M10.5 5.5v-2a1 1 0 0 0-1-1h-6a1 1 0 0 0-1 1v6a1 1 0 0 0 1 1h2"/>`,
	"cross":  `<path d="m4 4 8 8"/><path d="m12 4-8 8"/>`,
	"dot":    `<circle class="fill" cx="8" cy="8" r="2.5"/>`,
	"first":  `<path d="M3.5 3.5v9"/><path d="M12.5 8H6.5"/><path d="m9.5 4.5-3.5 3.5 3.5 3.5"/>`,
	"gauge":  `<path d="M2.5 12a6.3 6.3 0 1 1 11 0"/><path d="m8 9.5 3-3.5"/><circle class="fill" cx="8" cy="9.8" r="1"/>`,
	"inbox":  `<path d="M2 9.5 4 3.5h8l2 6v3.5H2z"/><path d="M2 9.5h3.5l1 1.5h3l1-1.5H14"/>`,
	"info":   `<circle cx="8" cy="8" r="6"/><path d="M8 7.5v3.5"/><path d="M8 5v.1"/>`,
	"key":    `<circle cx="5" cy="11" r="2.8"/><path d="m7 9 6-6"/><path d="m10.5 5.5 2 2"/>`,
	"leave":  `<path d="M9.5 2.5h-6v11h6"/><path d="M6.5 8H14"/><path d="m11.5 5.5 2.5 2.5-2.5 2.5"/>`,
	"link":   `<path d="M7 9 9 7"/><path d="M8.5 4.5 10 3a2.8 2.8 0 0 1 4 4l-1.5 1.5"/><path d="M7.5 11.5 6 13a2.8 2.8 0 0 1-4-4l1.5-1.5"/>`,
	"list":   `<path d="M6 4h8"/><path d="M6 8h8"/><path d="M6 12h8"/><path d="M2.5 4v.1"/><path d="M2.5 8v.1"/><path d="M2.5 12v.1"/>`,
	"mail":   `<rect x="2" y="3.5" width="12" height="9" rx="1.5"/><path d="m2.5 5 5.5 4 5.5-4"/>`,
	"menu":   `<path d="M2.5 4.5h11"/><path d="M2.5 8h11"/><path d="M2.5 11.5h11"/>`,
	"moon":   `<path d="M13.5 9.5A6 6 0 0 1 6.5 2.5a5.8 5.8 0 1 0 7 7z"/>`,
	"next":   `<path d="M3.5 8h9"/><path d="m9 4.5 3.5 3.5L9 11.5"/>`,
	"pause":  `<path d="M5.5 3.5v9"/><path d="M10.5 3.5v9"/>`,
	"people": `<circle cx="6" cy="5.5" r="2.5"/><path d="M1.5 13.5c.3-2.7 2-4 4.5-4s4.2 1.3 4.5 4"/><path d="M10.5 3.2a2.5 2.5 0 0 1 0 4.6"/><path d="M12 9.8c1.5.5 2.3 1.8 2.5 3.7"/>`,
	"pulse":  `<path d="M1.5 8.5h3l2-5 3 9 2-4h3"/>`,
	"replay": `<path d="M3 8a5 5 0 1 0 1.7-3.8"/><path d="M2.8 2.5v3h3"/>`,
	"scales": `<path d="M8 2.5v11"/><path d="M5 13.5h6"/><path d="M3 4.5h10"/><path d="M3.5 4.5 1.5 9.5h4z"/><path d="m12.5 4.5-2 5h4z"/>`,
	"search": `<circle cx="7" cy="7" r="4.5"/><path d="m10.5 10.5 3.5 3.5"/>`,
	"send":   `<path d="M14 2 7 9"/><path d="m14 2-4.5 12L7 9 2 6.5z"/>`,
	"stop":   `<circle cx="8" cy="8" r="5.5"/><path d="M5 8h6"/>`,
	"sun":    `<circle cx="8" cy="8" r="3"/><path d="M8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9"/>`,
}
