package dashboard

import (
	"net/url"
	"time"

	"ledgerhook/dashboard/locale"
	"ledgerhook/webhook"
)

// The parts that pages are made of; templates/components.html draws them.

// pill is a state in a word, with an icon and a colour that say the same.
type pill struct {
	Tone string // good, bad, warn, busy or idle
	Word string // in English; it is translated where it is drawn
}

// Icon is the drawing of the pill's tone.
func (p pill) Icon() string {
	return map[string]string{"good": "check", "bad": "cross", "warn": "alert", "busy": "arrows"}[p.Tone]
}

// Good is the pill of what is as it should be; word is in English.
func Good(word string) pill { return pill{Tone: "good", Word: word} }

// Bad is the pill of what has failed or is shut; word is in English.
func Bad(word string) pill { return pill{Tone: "bad", Word: word} }

// Warn is the pill of what somebody should look at; word is in English.
func Warn(word string) pill { return pill{Tone: "warn", Word: word} }

// Busy is the pill of what is under way; word is in English.
func Busy(word string) pill { return pill{Tone: "busy", Word: word} }

// Idle is the pill of what says nothing good or bad; word is in English.
func Idle(word string) pill { return pill{Tone: "idle", Word: word} }

// stateOf is the pill of a delivery's state.
func stateOf(s webhook.State) pill {
	p, ok := states[s]
	if !ok {
		return pill{"idle", string(s)}
	}
	return p
}

var states = map[webhook.State]pill{
	webhook.Pending:   {"idle", locale.Text("pending")},
	webhook.Queued:    {"busy", locale.Text("queued")},
	webhook.Sending:   {"busy", locale.Text("sending")},
	webhook.Held:      {"warn", locale.Text("held")},
	webhook.Delivered: {"good", locale.Text("delivered")},
	webhook.Exhausted: {"bad", locale.Text("exhausted")},
	webhook.Cancelled: {"idle", locale.Text("cancelled")},
}

// notice is a sentence that must not be missed.
type notice struct{ Tone, Text string }

// none stands where there is nothing to list, and says why.
type none struct{ Title, Detail string }

// figure is one number with what it is and when it was so. An unknown one is
// a dash, with the last known value and its time.
type figure struct {
	Label string
	Value string // empty: not known
	Note  string // beside it, in small
	Tone  string // good, bad, warn; empty: plain
	Href  string // empty: leads nowhere
	At    time.Time
	Fresh bool
	Last  string // the last known value while Value is not known
}

// figureOf shows a fact; spell puts its value into words.
func figureOf[T any](label string, f fact[T], spell func(T) string) figure {
	shown := figure{Label: label, At: f.At, Fresh: f.Fresh}
	switch {
	case f.Fresh:
		shown.Value = spell(f.Value)
	case f.Known:
		shown.Last = spell(f.Value)
	}
	return shown
}

// field is one field of a form with its label, hint and error.
type field struct {
	Name, Label  string
	Type         string // of an input; or "textarea", "select"; empty: text
	Value        string
	Hint, Error  string
	Autocomplete string // empty: off
	Required     bool
	Mono         bool
	Rows         int // of a textarea
	Options      []option
}

// option is one choice of a select.
type option struct {
	Value, Label string
	Chosen       bool
}

// pager leads through a list by cursors: back to its beginning and onward.
// There are no totals and no page numbers.
type pager struct {
	First string // empty: this is it
	Next  string // empty: the list ends here
}

// pagerOf is the pager of a list at u, whose query it keeps; next is the
// cursor of what follows.
func pagerOf(u *url.URL, next string) pager {
	at := func(cursor string) string {
		query := u.Query()
		query.Del("cursor")
		if cursor != "" {
			query.Set("cursor", cursor)
		}
		if len(query) == 0 {
			return u.Path
		}
		return u.Path + "?" + query.Encode()
	}
	var p pager
	if u.Query().Get("cursor") != "" {
		p.First = at("")
	}
	if next != "" {
		p.Next = at(next)
	}
	return p
}

// tinted is f in a tone when the fact is known and so.
func (f figure) tinted(tone string, so bool) figure {
	if so && f.Fresh {
		f.Tone = tone
	}
	return f
}

func (f figure) with(note, href string) figure {
	f.Note, f.Href = note, href
	return f
}

func plain[T ~string](values []T) []string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return texts
}
