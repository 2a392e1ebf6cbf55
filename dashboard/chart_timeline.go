package dashboard

import (
	"html/template"
	"math"
	"time"
)

// mark is one moment of a timeline.
type mark struct {
	At     time.Time
	Tone   string // good, bad, warn, busy or idle
	Label  string // below the dot
	Title  string // in words, for who cannot see it
	Future bool   // expected, drawn dashed
}

const (
	timelineHeight = 84.0
	timelineRail   = 34.0 // height of the rail
	timelineEdge   = 40.0
	timelineLeast  = 74.0 // between two marks
)

// timeline draws marks from left to right. The room between two of them grows
// with the logarithm of the time between, which stands above the rail: what
// took a day does not push what took a second together.
func timeline(title string, marks []mark) template.HTML {
	places := place(marks)
	width := 2*timelineEdge + places[len(places)-1]
	var s svg
	s.open("drawing-timeline", math.Max(width, chartWidth), timelineHeight, title)
	for i := 1; i < len(marks); i++ {
		from, to := timelineEdge+places[i-1], timelineEdge+places[i]
		class := "rail"
		if marks[i].Future {
			class += " future"
		}
		s.f(`<path class="%v" d="M%v %vH%v"/>`, class, from+10, timelineRail, to-10)
		s.f(`<text class="tick" x="%v" y="%v" text-anchor="middle">%v</text>`, (from+to)/2, timelineRail-9, "+"+formatDuration(marks[i].At.Sub(marks[i-1].At)))
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
		s.f(`<text class="tick" x="%v" y="%v" text-anchor="middle">%v</text></g>`, x, timelineRail+42, clockOf(m.At))
	}
	return s.close()
}

// glyphs tell tones apart without colour.
var glyphs = map[string]string{
	"good": "m-4 .5 2.7 2.7L4-3.5",
	"bad":  "m-3-3 6 6m0-6-6 6",
	"warn": "M0-4V1M0 3.5v.1",
	"busy": "M-4 0h8M1-3 4 0 1 3",
}

// place says where each mark stands, the first one at 0; there is always one
// place at least.
func place(marks []mark) []float64 {
	places := make([]float64, max(1, len(marks)))
	for i := 1; i < len(marks); i++ {
		gap := math.Max(0, marks[i].At.Sub(marks[i-1].At).Seconds())
		places[i] = places[i-1] + timelineLeast + 9*math.Log1p(gap)
	}
	return places
}

func clockOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("15:04:05")
}
