package shell

import (
	"net/url"
	"time"

	"ledgerhook/dashboard/locale"
	"ledgerhook/webhook"
)

// The parts that pages are made of; templates/components.html draws them.

// Pill is a state in a word, with an icon and a colour that say the same.
type Pill struct {
	Tone string // good, bad, warn, busy, held, shut or idle
	Word string // in English; it is translated where it is drawn
}

// Icon is the drawing of the pill's tone.
func (p Pill) Icon() string {
	return map[string]string{"good": "check", "bad": "cross", "warn": "alert", "busy": "arrows", "held": "pause", "shut": "stop"}[p.Tone]
}

// Good is the pill of what is as it should be; word is in English.
func Good(word string) Pill { return Pill{Tone: "good", Word: word} }

// Bad is the pill of what has failed or is shut; word is in English.
func Bad(word string) Pill { return Pill{Tone: "bad", Word: word} }

// Warn is the pill of what somebody should look at; word is in English.
func Warn(word string) Pill { return Pill{Tone: "warn", Word: word} }

// Busy is the pill of what is under way; word is in English.
func Busy(word string) Pill { return Pill{Tone: "busy", Word: word} }

// Idle is the pill of what says nothing good or bad; word is in English.
func Idle(word string) Pill { return Pill{Tone: "idle", Word: word} }

// StateOf is the pill of a delivery's state.
func StateOf(s webhook.State) Pill {
	p, ok := states[s]
	if !ok {
		return Idle(string(s))
	}
	return p
}

// Standing is the pill of how a delivery stands: its state, what a pending one
// waits for, or that its event was delivered all the same.
func Standing(d webhook.Delivery, w webhook.Window) Pill {
	switch shown := d.Shown(w); {
	case d.Settled() && d.DeliveredBy < d.ID:
		return Good(locale.Text("delivered before"))
	case d.Settled():
		return Good(locale.Text("delivered by replay"))
	case shown != webhook.Pending:
		return StateOf(shown)
	case w.Breaker.State != webhook.BreakerClosed:
		return Pill{Tone: "shut", Word: locale.Text("behind breaker")}
	case d.Attempts > 0:
		return Warn(locale.Text("retrying"))
	}
	return Idle(locale.Text("waiting"))
}

var states = map[webhook.State]Pill{
	webhook.Pending:   Idle(locale.Text("pending")),
	webhook.Queued:    Busy(locale.Text("queued")),
	webhook.Sending:   Busy(locale.Text("sending")),
	webhook.Held:      {Tone: "held", Word: locale.Text("held")},
	webhook.Delivered: Good(locale.Text("delivered")),
	webhook.Exhausted: Bad(locale.Text("exhausted")),
	webhook.Cancelled: Idle(locale.Text("cancelled")),
}

// Notice is a sentence that must not be missed.
type Notice struct{ Tone, Text string }

// Repair is a link from a warning to what repairs it.
type Repair struct{ Icon, Text, Href string }

// none stands where there is nothing to list, and says why.
type none struct{ Title, Detail string }

// Figure is one number with what it is and when it was so. An unknown one is
// a dash, with the last known value and its time.
type Figure struct {
	Label string
	Value string // empty: not known
	Note  string // beside it, in small
	Tone  string // good, bad, warn; empty: plain
	Href  string // empty: leads nowhere
	At    time.Time
	Fresh bool
	Last  string // the last known value while Value is not known
}

// FigureOf shows a reading; spell puts its value into words.
func FigureOf[T any](label string, r Reading[T], spell func(T) string) Figure {
	shown := Figure{Label: label, At: r.At, Fresh: r.Fresh}
	switch {
	case r.Fresh:
		shown.Value = spell(r.Value)
	case r.Known:
		shown.Last = spell(r.Value)
	}
	return shown
}

// Field is one field of a form with its label, hint and error.
type Field struct {
	Name, Label  string
	Type         string // of an input; or "textarea", "select"; empty: text
	Value        string
	Hint, Error  string
	Autocomplete string // empty: off
	Required     bool
	Mono         bool
	Rows         int // of a textarea
	Options      []Option
}

// Option is one choice of a select.
type Option struct {
	Value, Label string
	Chosen       bool
}

// Pager leads through a list by cursors: back to its beginning and onward.
// There are no totals and no page numbers.
type Pager struct {
	First string // empty: this is it
	Next  string // empty: the list ends here
}

// PagerOf is the pager of a list at u, whose query it keeps; next is the
// cursor of what follows.
func PagerOf(u *url.URL, next string) Pager {
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
	var p Pager
	if u.Query().Get("cursor") != "" {
		p.First = at("")
	}
	if next != "" {
		p.Next = at(next)
	}
	return p
}

// Tinted is f in a tone when the reading is known and so.
func (f Figure) Tinted(tone string, so bool) Figure {
	if so && f.Fresh {
		f.Tone = tone
	}
	return f
}

// With is f with a note beside its value, and where it leads; both may be empty.
func (f Figure) With(note, href string) Figure {
	f.Note, f.Href = note, href
	return f
}

// Plain are values as plain texts.
func Plain[T ~string](values []T) []string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return texts
}
