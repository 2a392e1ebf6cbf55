package chart

import (
	"html/template"
	"math"
	"strings"
	"time"

	"ledgerhook/dashboard/locale"
)

// Mark is one moment of a timeline.
type Mark struct {
	At     time.Time
	Tone   string // good, bad, warn, busy or idle
	Label  string // below the dot
	Title  string // in words, for readers who cannot see it
	Future bool   // expected, drawn dashed
}

const (
	timelineHeight = 84.0
	timelineRail   = 34.0 // height of the rail
	timelineEdge   = 40.0
	timelineLeast  = 74.0 // between two marks
	timelineTight  = 58.0 // between two of many
	timelineRoom   = 840.0
)

// Timeline draws marks from left to right, for a reader. The room between two of them grows
// with the logarithm of the time between, which stands above the rail: what
// took a day does not push what took a second together.
func Timeline(r locale.Speller, title string, marks []Mark) template.HTML {
	places := place(marks)
	var s svg
	s.open("drawing-timeline", 2*timelineEdge+places[len(places)-1], timelineHeight, title)
	for i := 1; i < len(marks); i++ {
		from, to := timelineEdge+places[i-1], timelineEdge+places[i]
		class := "rail"
		if marks[i].Future {
			class += " future"
		}
		s.f(`<path class="%v" d="M%v %vH%v"/>`, class, from+10, timelineRail, to-10)
		s.f(`<text class="tick" x="%v" y="%v" text-anchor="middle">%v</text>`, (from+to)/2, timelineRail-9, "+"+gapWords(r, marks[i].At.Sub(marks[i-1].At), to-from))
	}
	for i, m := range marks {
		x, class := timelineEdge+places[i], m.Tone
		if m.Future {
			class += " future"
		}
		s.f(`<g><title>%v</title><circle class="dot %v" cx="%v" cy="%v" r="10"/>`, m.Title, class, x, timelineRail)
		if path := glyphs[m.Tone]; path != "" && !m.Future {
			s.f(`<path class="glyph %v" transform="translate(%v %v)" d="%v"/>`, m.Tone, x, timelineRail, path)
		}
		s.f(`<text class="tick" x="%v" y="%v" text-anchor="middle">%v</text>`, x, timelineRail+27, m.Label)
		s.f(`<text class="tick" x="%v" y="%v" text-anchor="middle">%v</text></g>`, x, timelineRail+42, clockOf(r, m.At))
	}
	return s.close()
}

// gapWords is the time between two marks; where there is no room for two units
// the smaller one is left out.
func gapWords(r locale.Speller, gap time.Duration, room float64) string {
	text := r.Duration(gap)
	if fields := strings.Fields(text); room < timelineLeast && len(fields) > 2 {
		return strings.Join(fields[:2], " ")
	}
	return text
}

// glyphs tell tones apart without colour.
var glyphs = map[string]string{
	"good": "m-4 .5 2.7 2.7L4-3.5",
	"bad":  "m-3-3 6 6m0-6-6 6",
	"warn": "M0-4V1M0 3.5v.1",
	"busy": "M-4 0h8M1-3 4 0 1 3",
}

// place says where each mark stands, the first one at 0; there is always one
// place at least. Many marks stand closer, to fit into a page while they can.
func place(marks []Mark) []float64 {
	least, share := timelineLeast, 9.0
	places := make([]float64, max(1, len(marks)))
	for range 2 {
		for i := 1; i < len(marks); i++ {
			gap := math.Max(0, marks[i].At.Sub(marks[i-1].At).Seconds())
			places[i] = places[i-1] + least + share*math.Log1p(gap)
		}
		gaps := float64(len(places) - 1)
		if long := places[len(places)-1]; long > timelineRoom {
			share *= math.Max(0, timelineRoom-timelineTight*gaps) / (long - least*gaps)
			least = timelineTight
		}
	}
	return places
}

func clockOf(r locale.Speller, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return r.Clock(t)
}
