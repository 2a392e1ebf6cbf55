package main

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// The picture, in pixels: two panels beside each other, a legend above them.
const (
	pictureWidth, pictureHeight = 960, 420
	panelWidth, panelHeight     = 390, 270
	panelTop                    = 90
	panelLeft                   = 70
	panelStep                   = 480 // from one panel to the next
)

// colours are told apart on white and on black, and by those who see no red or
// no green; neighbours differ in lightness, too.
var colours = []string{"#2f7de1", "#e8890c", "#1f9d78", "#b565d9"}

const style = `<style>
text { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #57606a }
.strong { font-weight: 600 } .end { text-anchor: end } .middle { text-anchor: middle }
.grid { stroke: #8c959f; stroke-opacity: .3 } .frame { stroke: #8c959f; fill: none }
.curve { fill: none; stroke-width: 2; stroke-linejoin: round } .dashed { stroke-dasharray: 5 4 }
@media (prefers-color-scheme: dark) { text { fill: #9da7b3 } }
</style>
`

// point is a value at a rate, both above 0.
type point struct{ x, y float64 }

// curve is a line through points; single ones are drawn as rings.
type curve struct {
	colour string
	dashed bool
	points []point
	single []point
}

// draw draws throughput and latency of all settings against the rate of POSTs.
func draw(results []Result) string {
	var s strings.Builder
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img">`+"\n", pictureWidth, pictureHeight)
	s.WriteString("<title>Throughput and latency against the rate of events</title>\n" + style)
	var throughput, latency []curve
	for i, r := range results {
		colour := colours[i%len(colours)]
		x, y := 20+i%2*panelStep, 22+i/2*20
		fmt.Fprintf(&s, `<line x1="%d" y1="%d" x2="%d" y2="%d" class="curve" stroke="%s"/><text x="%d" y="%d">%s: at most %.0f/s</text>`+"\n",
			x, y-4, x+24, y-4, colour, x+32, y, html.EscapeString(r.Title), r.delivered())
		t, p50, p99 := curve{colour: colour}, curve{colour: colour}, curve{colour: colour, dashed: true}
		for _, p := range r.Phases {
			if p.Asked == 0 {
				continue
			}
			t.points = append(t.points, point{p.Asked, p.Delivered})
			p50.points = append(p50.points, point{p.Asked, p.P50})
			p99.points = append(p99.points, point{p.Asked, p.P99})
		}
		for _, c := range []curve{t, p50, p99} {
			slices.SortFunc(c.points, func(a, b point) int { return cmp.Compare(a.x, b.x) })
		}
		most := r.Phases[0]
		t.single = []point{{most.Accepted, most.Delivered}}
		throughput, latency = append(throughput, t), append(latency, p50, p99)
	}
	panel(&s, panelLeft, "delivered events/s; ring: as fast as 32 senders get answers", throughput)
	panel(&s, panelLeft+panelStep, "ms from POST to receiver; solid: p50, dashed: p99", latency)
	s.WriteString("</svg>\n")
	return s.String()
}

// panel draws curves on logarithmic axes.
func panel(s *strings.Builder, left int, title string, curves []curve) {
	x, y := axes(curves)
	across := func(v float64) float64 { return float64(left) + x.part(v)*panelWidth }
	down := func(v float64) float64 { return panelTop + (1-y.part(v))*panelHeight }
	fmt.Fprintf(s, `<text x="%d" y="%d" class="strong">%s</text>`+"\n", left, panelTop-12, html.EscapeString(title))
	for _, v := range x.ticks() {
		fmt.Fprintf(s, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" class="grid"/><text x="%.1f" y="%d" class="middle">%s</text>`+"\n",
			across(v), panelTop, across(v), panelTop+panelHeight, across(v), panelTop+panelHeight+18, number(v))
	}
	for _, v := range y.ticks() {
		fmt.Fprintf(s, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" class="grid"/><text x="%d" y="%.1f" class="end">%s</text>`+"\n",
			left, down(v), left+panelWidth, down(v), left-8, down(v)+4, number(v))
	}
	fmt.Fprintf(s, `<rect x="%d" y="%d" width="%d" height="%d" class="frame"/>`+"\n", left, panelTop, panelWidth, panelHeight)
	fmt.Fprintf(s, `<text x="%d" y="%d" class="middle">events posted a second</text>`+"\n", left+panelWidth/2, panelTop+panelHeight+40)
	for _, c := range curves {
		class := "curve"
		if c.dashed {
			class += " dashed"
		}
		var line []string
		for _, p := range c.points {
			line = append(line, fmt.Sprintf("%.1f,%.1f", across(p.x), down(p.y)))
			fmt.Fprintf(s, `<circle cx="%.1f" cy="%.1f" r="2.5" fill="%s"/>`+"\n", across(p.x), down(p.y), c.colour)
		}
		fmt.Fprintf(s, `<polyline points="%s" class="%s" stroke="%s"/>`+"\n", strings.Join(line, " "), class, c.colour)
		for _, p := range c.single {
			fmt.Fprintf(s, `<circle cx="%.1f" cy="%.1f" r="5" class="curve" stroke="%s"/>`+"\n", across(p.x), down(p.y), c.colour)
		}
	}
}

// axis is logarithmic from lo to hi, both 1, 2 or 5 times a power of ten.
type axis struct{ lo, hi float64 }

// part is how far along the axis v lies, from 0 to 1.
func (a axis) part(v float64) float64 { return math.Log(v/a.lo) / math.Log(a.hi/a.lo) }

// ticks are the values to name: at most ten.
func (a axis) ticks() (all []float64) {
	for _, steps := range [][]float64{{1, 2, 5}, {1}} {
		all = nil
		for power := math.Floor(math.Log10(a.lo)); power <= math.Ceil(math.Log10(a.hi)); power++ {
			for _, step := range steps {
				if v := step * math.Pow(10, power); v > a.lo*0.999 && v < a.hi*1.001 {
					all = append(all, v)
				}
			}
		}
		if len(all) <= 10 {
			break
		}
	}
	return all
}

// axes hold all points of the curves.
func axes(curves []curve) (x, y axis) {
	none := axis{math.Inf(1), 0}
	x, y = none, none
	for _, c := range curves {
		for _, points := range [][]point{c.points, c.single} {
			for _, p := range points {
				x, y = axis{min(x.lo, p.x), max(x.hi, p.x)}, axis{min(y.lo, p.y), max(y.hi, p.y)}
			}
		}
	}
	return x.rounded(), y.rounded()
}

// rounded widens an axis to round numbers, and one of nothing to one decade.
func (a axis) rounded() axis {
	if a.hi <= 0 || a.lo <= 0 {
		return axis{1, 10}
	}
	round := func(v float64, up bool) float64 {
		power := math.Pow(10, math.Floor(math.Log10(v)))
		best := power
		for _, step := range []float64{1, 2, 5, 10} {
			if step*power <= v*1.0001 {
				best = step * power
			} else if up && best < v*0.9999 {
				return step * power
			}
		}
		return best
	}
	a = axis{round(a.lo, false), round(a.hi, true)}
	if a.lo == a.hi {
		a.hi *= 10
	}
	return a
}

// number writes a round number with its thousands told apart.
func number(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%d,%03d", int(v)/1000, int(v)%1000)
	}
	return fmt.Sprintf("%g", math.Round(v*1000)/1000)
}
