package chart

import (
	"html/template"
	"strings"
	"time"

	"ledgerhook/dashboard/locale"
)

// LevelBar is which step of a scale each of some quantities reaches in an hour,
// or another time, the lowest first.
type LevelBar struct {
	Hour  time.Time // its beginning
	Count int64     // of what it is about; without any it is empty
	Steps []int     // places in the scale, its length for more than the last
	Href  string    // a list of what it counts; empty: there is none
	Flag  Flag
}

// scaleLabels is how many steps of a scale are named at most.
const scaleLabels = 6

// Levels draws how far up a scale of times quantities reach by the hour, oldest
// first, with the table beside it, newest first, as StackedBars does. The steps
// of the scale are of one height.
func Levels(r locale.Speller, title, hourWord, countWord string, quantities []Series, scale []time.Duration, bars []LevelBar) Chart {
	c := Chart{Title: title, Legend: quantities, Head: []string{hourWord, countWord}}
	for _, q := range quantities {
		c.Head = append(c.Head, q.Name)
	}
	for i := len(bars) - 1; i >= 0; i-- {
		row := []string{r.Minute(bars[i].Hour), r.Number(bars[i].Count)}
		for j := range quantities {
			row = append(row, levelWords(r, scale, bars[i], j))
		}
		c.Rows, c.Hrefs = append(c.Rows, row), append(c.Hrefs, bars[i].Href)
	}
	for _, f := range frames {
		c.SVG += drawLevels(r, f, title, quantities, scale, bars)
	}
	return c
}

// levelWords say within what a quantity of a bar lies; a dash if it is empty.
func levelWords(r locale.Speller, scale []time.Duration, b LevelBar, quantity int) string {
	if b.Count == 0 {
		return "–"
	}
	return stepWords(r, scale, b.Steps[quantity], "≤ ")
}

// stepWords name a step of a scale, after a sign unless it lies above the last.
func stepWords(r locale.Speller, scale []time.Duration, step int, sign string) string {
	if step == len(scale) {
		return "> " + r.Duration(scale[step-1])
	}
	return sign + r.Duration(scale[step])
}

func drawLevels(r locale.Speller, f frame, title string, quantities []Series, scale []time.Duration, bars []LevelBar) template.HTML {
	top := 3
	for _, b := range bars {
		if b.Count > 0 {
			top = max(top, b.Steps[len(quantities)-1])
		}
	}
	share := func(step int) float64 { return float64(step+1) / float64(top+1) }
	ticks := []tick{{}}
	for step := top; step >= 0; step -= (top + scaleLabels) / scaleLabels {
		ticks = append(ticks, tick{share(step), stepWords(r, scale, step, "")})
	}
	columns := make([]column, len(bars))
	for i, b := range bars {
		columns[i] = column{at: b.Hour, href: b.Href, flag: b.Flag}
		if b.Count == 0 {
			continue
		}
		var words []string
		for j, q := range quantities {
			words = append(words, q.Name+" "+levelWords(r, scale, b, j))
		}
		columns[i].title = r.Minute(b.Hour) + ": " + strings.Join(words, ", ")
		below := 0.0
		for j, q := range quantities {
			if height := share(b.Steps[j]); height > below {
				columns[i].parts = append(columns[i].parts, part{tone: q.Tone, height: height - below})
				below = height
			}
		}
	}
	return drawColumns(r, f, title, ticks, columns)
}
