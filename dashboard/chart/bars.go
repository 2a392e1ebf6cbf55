package chart

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"ledgerhook/dashboard/locale"
)

// Bar draws a share of the longest bar.
func Bar(name, tone string, n, most int64) template.HTML {
	var s svg
	s.open("bar", 200, 10, name)
	s.f(`<rect class="track" x="0" y="0" width="200" height="10" rx="3"/>`)
	if n > 0 && most > 0 {
		s.f(`<rect class="plot %v" x="0" y="0" width="%v" height="10" rx="3"/>`, tone, max(2, 200*float64(n)/float64(most)))
	}
	return s.close()
}

// Spark draws so many good and bad of each hour as small bars, the bad below.
func Spark(title string, good, bad []int64) template.HTML {
	const height, step = 24.0, 5.0
	most := int64(1)
	for i := range good {
		most = max(most, good[i]+bad[i])
	}
	var s svg
	s.open("spark", step*float64(len(good)), height, title)
	s.f(`<path class="grid" d="M0 %vH%v"/>`, height-.5, step*float64(len(good)))
	for i := range good {
		y := height
		for _, part := range []struct {
			tone string
			n    int64
		}{{"bad", bad[i]}, {"good", good[i]}} {
			if part.n > 0 {
				h := max(1.5, height*float64(part.n)/float64(most))
				y -= h
				s.f(`<rect class="plot %v" x="%v" y="%v" width="%v" height="%v"/>`, part.tone, step*float64(i), max(0, y), step-1, h)
			}
		}
	}
	return s.close()
}

// Part is a share of a whole; its tone colours it. An open one is left out.
type Part struct {
	Tone  string
	Count int
}

// Parts is one bar of the parts of total; the table beside it says the same.
func Parts(parts []Part, total int) template.HTML {
	var b strings.Builder
	b.WriteString(`<svg class="parts" viewBox="0 0 1000 14" preserveAspectRatio="none" aria-hidden="true" focusable="false"><rect class="track" width="1000" height="14"/>`)
	x := 0.0
	for _, p := range parts {
		if p.Count == 0 || total == 0 || p.Tone == "open" {
			continue
		}
		width := 1000 * float64(p.Count) / float64(total)
		fmt.Fprintf(&b, `<rect class="plot %s" x="%.1f" width="%.1f" height="14"/>`, p.Tone, x, max(width, 3))
		x += width
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}

// Phase is a part of an attempt.
type Phase struct {
	Name string
	Took time.Duration
}

// Phases draws where the time of an attempt went, which was total if the
// phases do not say that it was more, for a reader.
func Phases(r locale.Speller, title string, phases []Phase, total time.Duration) template.HTML {
	const width, height = 720.0, 14.0
	var s svg
	s.open("phases", width, height, title)
	var known time.Duration
	for _, p := range phases {
		known += max(0, p.Took)
	}
	x, whole := 0.0, max(total, known, 1)
	for i, p := range phases {
		if p.Took <= 0 {
			continue
		}
		w := width * float64(p.Took) / float64(whole)
		s.f(`<rect class="phase-%v" x="%v" y="0" width="%v" height="%v"><title>%v</title></rect>`, i, x, max(1.5, w), height, p.Name+" "+r.Duration(p.Took))
		x += w
	}
	return s.close()
}
