// Package chart draws figures: bars, timelines and codes as SVG, with the same
// as a table for readers who cannot see them. Every text in a drawing is escaped.
package chart

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"ledgerhook/dashboard/locale"
)

// Chart is a drawing with the same as a table; the component "chart" shows it.
type Chart struct {
	Title  string
	Legend []Series
	SVG    template.HTML
	Wide   bool // the drawing may be wider than the page and is then scrolled
	Head   []string
	Rows   [][]string
	Hrefs  []string // of what stands in each row; empty: nowhere
}

// Href leads to what stands in a row of the table; empty: nowhere.
func (c Chart) Href(row int) string {
	if row < len(c.Hrefs) {
		return c.Hrefs[row]
	}
	return ""
}

// Series is one quantity of a chart; its tone colours it.
type Series struct{ Name, Tone string }

// HourBar is what a bar of one hour, or another time, is stacked of, in the order
// of the series.
type HourBar struct {
	Hour   time.Time // its beginning
	Counts []int64
	Href   string // a list of what it counts; empty: there is none
	Flag   Flag
}

// Flag marks that something happened in the time of a bar; one without a letter
// marks nothing.
type Flag struct {
	Letter string
	Title  string // what happened, in words
	Href   string // where that is told
}

const (
	chartHeight = 204.0
	chartBottom = 22.0 // for the hours
	chartTop    = 22.0 // for flags
	flagRoom    = 13.0 // of a letter
)

// frame is what bars are drawn in: the page shows the drawing that is as wide
// as its window, in which labels have the size of small text.
type frame struct {
	class string
	width float64
	hours int // that are named at most
}

var frames = []frame{{"drawing-bars wide", 720, 8}, {"drawing-bars narrow", 340, 4}}

// StackedBars draws bars by the hour, or by days or less than an hour, oldest
// first, with the table beside it, newest first, for a reader. Every text is
// escaped. A bar leads to its list for whoever points; the table does for all.
func StackedBars(r locale.Speller, title, hourWord string, quantities []Series, bars []HourBar) Chart {
	c := Chart{Title: title, Legend: quantities, Head: []string{hourWord}}
	for _, q := range quantities {
		c.Head = append(c.Head, q.Name)
	}
	for i := len(bars) - 1; i >= 0; i-- {
		row := []string{r.Minute(bars[i].Hour)}
		for _, n := range bars[i].Counts {
			row = append(row, r.Number(n))
		}
		c.Rows, c.Hrefs = append(c.Rows, row), append(c.Hrefs, bars[i].Href)
	}
	for _, f := range frames {
		c.SVG += drawBars(r, f, title, quantities, bars)
	}
	return c
}

func drawBars(r locale.Speller, f frame, title string, quantities []Series, bars []HourBar) template.HTML {
	var most int64
	for _, b := range bars {
		most = max(most, sum(b.Counts))
	}
	top := niceTop(most)
	var scale []tick
	for i := range 5 {
		if value := float64(top) * float64(i) / 4; i == 0 || i == 4 || value == math.Trunc(value) {
			scale = append(scale, tick{float64(i) / 4, r.Scale(int64(value))})
		}
	}
	columns := make([]column, len(bars))
	for i, b := range bars {
		columns[i] = column{at: b.Hour, href: b.Href, flag: b.Flag}
		for j, n := range b.Counts {
			if n > 0 && j < len(quantities) {
				columns[i].parts = append(columns[i].parts, part{quantities[j].Tone, float64(n) / float64(top), r.Minute(b.Hour) + ": " + r.Number(n) + " " + quantities[j].Name})
			}
		}
	}
	return drawColumns(r, f, title, scale, columns)
}

// tick is what a scale says at a share of its height; empty: a line only.
type tick struct {
	at    float64
	label string
}

// column is a bar of parts, the lowest first; without any it is no link.
type column struct {
	at    time.Time // its beginning
	href  string
	title string // of all parts together; empty: each has its own
	parts []part
	flag  Flag
}

// part is a share of the height of the scale.
type part struct {
	tone   string
	height float64
	title  string
}

// drawColumns draws bars beside their scale.
func drawColumns(r locale.Speller, f frame, title string, scale []tick, columns []column) template.HTML {
	height, left := chartHeight-chartTop-chartBottom, 0.0
	for _, t := range scale {
		left = max(left, textWidth(t.label)+10)
	}
	var s svg
	role := "img"
	if slices.ContainsFunc(columns, func(c column) bool { return c.href != "" }) {
		role = "group"
	}
	s.openAs(role, f.class, f.width, chartHeight, title)
	label := r.HourAndMinute
	if n := len(columns); n > 1 && columns[n-1].at.Sub(columns[0].at) > 36*time.Hour {
		label = r.Day
	}
	for _, t := range scale {
		y := chartTop + height - height*t.at
		s.f(`<path class="grid" d="M%v %vH%v"/>`, left, y, f.width)
		if t.label != "" {
			s.f(`<text class="tick" x="%v" y="%v" text-anchor="end">%v</text>`, left-7, y+4, t.label)
		}
	}
	step := (f.width - left) / float64(max(1, len(columns)))
	widest := 0.0
	for _, c := range columns {
		widest = max(widest, textWidth(label(c.at)))
	}
	every := max((len(columns)+f.hours-1)/f.hours, int(math.Ceil((widest+labelRoom)/step)))
	free := 0.0             // from where on the next label covers none
	flagged := math.Inf(-1) // where the newest letter stands
	for i, c := range columns {
		x, y := left+step*float64(i)+step*.14, chartTop+height
		shut := ""
		switch {
		case len(c.parts) == 0:
		case c.href != "":
			s.f(`<a href="%v" tabindex="-1">`, c.href)
			shut = "</a>"
		case c.title != "":
			s.f(`<g>`)
			shut = "</g>"
		}
		s.title(c.title)
		for _, p := range c.parts {
			h := math.Max(1, height*p.height)
			y -= h
			s.f(`<rect class="plot %v" x="%v" y="%v" width="%v" height="%v">`, p.tone, x, y, step*.72, h)
			s.title(p.title)
			s.f(`</rect>`)
		}
		s.b.WriteString(shut)
		if c.flag.Letter != "" {
			at := left + step*(float64(i)+.5)
			s.f(`<a class="flag" href="%v" tabindex="-1"><title>%v</title><path d="M%v %vV%v"/>`, c.flag.Href, c.flag.Title, at, chartTop-6, chartTop+height)
			if letter := min(at, f.width-7); letter-flagged >= flagRoom { // the others have their line, and their letter in the list
				s.f(`<circle cx="%v" cy="%v" r="6.5"/><text x="%v" y="%v" text-anchor="middle">%v</text>`, letter, chartTop-12, letter, chartTop-8.5, c.flag.Letter)
				flagged = letter
			}
			s.f(`</a>`)
		}
		if i%every == 0 {
			when := label(c.at)
			half := textWidth(when) / 2
			if at := min(left+step*(float64(i)+.5), f.width-half); at-half >= free {
				s.f(`<text class="tick" x="%v" y="%v" text-anchor="middle">%v</text>`, at, chartHeight-6, when)
				free = at + half + labelRoom
			}
		}
	}
	return s.close()
}

// labelRoom is what is left between two times below the columns.
const labelRoom = 4.0

// textWidth is how wide a label is at most, in the units of a drawing.
func textWidth(text string) (width float64) {
	for _, c := range text {
		if c >= 0x2e80 { // as wide as high
			width += 11
		} else {
			width += 7
		}
	}
	return width
}

func sum(counts []int64) (total int64) {
	for _, n := range counts {
		total += n
	}
	return total
}

// niceTop is the top of a scale that most fits under: 1, 2, 4 or 5 times a
// power of ten, at least 4.
func niceTop(most int64) int64 {
	for power := int64(1); power > 0 && power < math.MaxInt64/10; power *= 10 {
		for _, n := range []int64{1, 2, 4, 5} {
			if top := n * power; top >= max(most, 4) {
				return top
			}
		}
	}
	return math.MaxInt64
}

// svg writes a drawing. Numbers and texts go through f, which escapes.
type svg struct{ b strings.Builder }

func (s *svg) open(class string, width, height float64, title string) {
	s.openAs("img", class, width, height, title)
}

// openAs begins a drawing of a role: img, or group if it holds links.
func (s *svg) openAs(role, class string, width, height float64, title string) {
	s.f(`<svg class="%v" viewBox="0 0 %v %v" width="%v" height="%v" role="%v" focusable="false"><title>%v</title>`, class, width, height, width, height, role, title)
}

// f adds markup; the arguments, numbers or texts, stand for its %v.
func (s *svg) f(markup string, args ...any) {
	for i, a := range args {
		switch a := a.(type) {
		case float64:
			args[i] = number(a)
		case string:
			args[i] = template.HTMLEscapeString(a)
		}
	}
	fmt.Fprintf(&s.b, markup, args...)
}

// title says in words what is drawn around it, if there are any.
func (s *svg) title(words string) {
	if words != "" {
		s.f(`<title>%v</title>`, words)
	}
}

func (s *svg) close() template.HTML {
	s.b.WriteString("</svg>")
	return template.HTML(s.b.String())
}

// number spells a coordinate to a tenth.
func number(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }
