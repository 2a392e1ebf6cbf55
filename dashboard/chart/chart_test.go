package chart

import (
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledgerhook/dashboard/locale"
)

var hour = time.Date(2026, 11, 28, 14, 0, 0, 0, time.UTC)

func TestBarsHaveTheSameInATable(t *testing.T) {
	c := StackedBars(locale.Speller{}, "Deliveries by hour", "Hour", []Series{{"delivered", "good"}, {"exhausted", "bad"}},
		[]HourBar{{Hour: hour, Counts: []int64{1200, 3}}, {Hour: hour.Add(time.Hour), Counts: []int64{0, 0}}})
	if n := strings.Count(string(c.SVG), "<rect"); n != 2*len(frames) {
		t.Errorf("%d bars, want 2 in each drawing: none for what did not happen", n)
	}
	if got := strings.Join(c.Rows[1], "|"); got != "2026-11-28 14:00|1,200|3" || len(c.Rows) != 2 || len(c.Head) != 3 {
		t.Errorf("%v %v", c.Head, c.Rows)
	}
}

// scale are the steps of levels.
var scale = []time.Duration{5 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, time.Second, 2500 * time.Millisecond, 15 * time.Second, time.Minute, 2 * time.Hour}

func TestLevelsHaveTheSameInATable(t *testing.T) {
	c := Levels(locale.Speller{}, "How long answers took", "From", "Answers", []Series{{"p50", "p50"}, {"p95", "p95"}, {"p99", "p99"}}, scale, []LevelBar{
		{Hour: hour, Count: 1200, Steps: []int{1, 2, 8}}, {Hour: hour.Add(time.Hour), Count: 5, Steps: []int{2, 2, 2}}, {Hour: hour.Add(2 * time.Hour), Steps: []int{-1, -1, -1}}})
	if n := strings.Count(string(c.SVG), "<rect"); n != 4*len(frames) {
		t.Errorf("%d parts, want 3 and 1 in each drawing: none for what reaches no further", n)
	}
	for i, want := range []string{"2026-11-28 16:00|0|–|–|–", "2026-11-28 15:00|5|≤ 250 ms|≤ 250 ms|≤ 250 ms", "2026-11-28 14:00|1,200|≤ 100 ms|≤ 250 ms|> 2 h"} {
		if got := strings.Join(c.Rows[i], "|"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if !strings.Contains(string(c.SVG), "<title>2026-11-28 14:00: p50 ≤ 100 ms, p95 ≤ 250 ms, p99 &gt; 2 h</title>") {
		t.Errorf("a bar does not say what it shows: %s", c.SVG)
	}
}

// The parts of a bar stand on each other and reach as high as its last step.
func TestABarOfLevelsIsAsHighAsItsLastStep(t *testing.T) {
	for name, test := range map[string]struct {
		steps []int
		want  []float64
	}{
		"the lowest of a scale of four steps": {[]int{0, 0, 0}, []float64{40}},
		"rising":                              {[]int{0, 1, 3}, []float64{40, 40, 80}},
		"above all":                           {[]int{7, 8, 8}, []float64{160 * 8. / 9, 160 / 9.}},
	} {
		drawing := string(drawLevels(locale.Speller{}, frames[0], "t", []Series{{"p50", "p50"}, {"p95", "p95"}, {"p99", "p99"}}, scale, []LevelBar{{Hour: hour, Count: 1, Steps: test.steps}}))
		below := chartHeight - chartBottom
		bars := regexp.MustCompile(`<rect class="plot p\d+" x="[\d.]+" y="([\d.]+)" width="[\d.]+" height="([\d.]+)">`).FindAllStringSubmatch(drawing, -1)
		if len(bars) != len(test.want) {
			t.Errorf("%s: %d parts: %s", name, len(bars), drawing)
			continue
		}
		for i, b := range bars {
			y, _ := strconv.ParseFloat(b[1], 64)
			height, _ := strconv.ParseFloat(b[2], 64)
			if math.Abs(height-test.want[i]) > .11 || math.Abs(y+height-below) > .21 {
				t.Errorf("%s: part %d from %v is %v high, want %v", name, i, y, height, test.want[i])
			}
			below = y
		}
	}
}

// Whatever is drawn is well-formed, and no text in it becomes markup.
func TestDrawingsAreWellFormedWhateverTheTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"plain", `</title><script>alert(1)</script>`, `"><x y='`, "%s %d", "giờ 时"}).Draw(t, "text")
		counts := rapid.SliceOfN(rapid.Int64Range(0, 1e12), 2, 2)
		var bars []HourBar
		var levels []LevelBar
		var marks []Mark
		for i := range rapid.IntRange(0, 30).Draw(t, "n") {
			at := hour.Add(time.Duration(i) * time.Hour)
			flag := Flag{Letter: rapid.SampledFrom([]string{"", "A", "<"}).Draw(t, "letter"), Title: text, Href: `/?a="><script>&b`}
			bars = append(bars, HourBar{at, counts.Draw(t, "counts"), rapid.SampledFrom([]string{"", `/?a="><script>&b`}).Draw(t, "href"), flag})
			low := rapid.IntRange(0, len(scale)).Draw(t, "low")
			levels = append(levels, LevelBar{bars[i].Hour, bars[i].Counts[0], []int{low, rapid.IntRange(low, len(scale)).Draw(t, "high")}, bars[i].Href, flag})
			marks = append(marks, Mark{At: at, Tone: rapid.SampledFrom([]string{"good", "bad", "warn", "busy", "idle"}).Draw(t, "tone"), Label: text, Title: text, Future: i%2 == 1})
		}
		for name, drawing := range map[string]string{
			"bars":     string(drawBars(locale.Speller{}, frames[0], text, []Series{{text, "good"}, {text, "bad"}}, bars)),
			"levels":   string(drawLevels(locale.Speller{}, frames[1], text, []Series{{text, "p50"}, {text, "p99"}}, scale, levels)),
			"spark":    string(Spark(text, []int64{0, 3, 1e12}, []int64{2, 0, 5})),
			"timeline": string(Timeline(locale.Speller{}, text, marks)),
		} {
			if strings.Contains(drawing, "<script") || strings.Contains(drawing, "%!") || strings.Contains(drawing, "NaN") {
				t.Errorf("%s: %s", name, drawing)
			}
			for d := xml.NewDecoder(strings.NewReader(drawing)); ; {
				if _, err := d.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("%s: %v in %s", name, err, drawing)
				}
			}
		}
	})
}

// Two flags that stand close share their room: both have a line, the first its letter.
func TestTheLettersOfFlagsDoNotCoverEachOther(t *testing.T) {
	var bars []HourBar
	for i := range 60 {
		b := HourBar{Hour: hour.Add(time.Duration(i) * time.Minute)}
		if i == 10 || i == 11 || i == 40 {
			b.Flag = Flag{Letter: string(rune('A' + i)), Title: "changed", Href: "#changes"}
		}
		bars = append(bars, b)
	}
	drawing := string(drawBars(locale.Speller{}, frames[1], "t", nil, bars))
	lines, letters := strings.Count(drawing, `<a class="flag" href="#changes" tabindex="-1"><title>changed</title>`), strings.Count(drawing, "<circle")
	if lines != 3 || letters != 2 || !strings.Contains(drawing, ">"+string(rune('A'+10))+"<") || strings.Contains(drawing, ">"+string(rune('A'+11))+"<") {
		t.Errorf("%d flags with %d letters: %s", lines, letters, drawing)
	}
}

func TestATimelineIsInOrderAndADayDoesNotPushSecondsTogether(t *testing.T) {
	places := place([]Mark{{At: hour}, {At: hour.Add(5 * time.Second)}, {At: hour.Add(24 * time.Hour)}})
	if places[1]-places[0] < timelineLeast || places[2]-places[1] <= places[1]-places[0] || places[2]-places[1] > 4*timelineLeast {
		t.Errorf("%v", places)
	}
}

func TestTheScaleEndsAtARoundNumber(t *testing.T) {
	for most, want := range map[int64]int64{0: 4, 4: 4, 5: 5, 9: 10, 1201: 2000, 48_200: 50_000} {
		if got := niceTop(most); got != want {
			t.Errorf("%d: %d, want %d", most, got, want)
		}
	}
}

func TestManyAttemptsFitIntoAPage(t *testing.T) {
	marks := []Mark{{At: hour}}
	for i := range 14 {
		marks = append(marks, Mark{At: hour.Add(time.Duration(i*i) * time.Hour)})
	}
	if places := place(marks); places[len(places)-1] > timelineRoom {
		t.Errorf("%v", places)
	}
	if got := gapWords(locale.Speller{}, 64*time.Minute, timelineTight); got != "1 h" {
		t.Errorf("between two that stand close: %q", got)
	}
}

var ticks = regexp.MustCompile(`<text class="tick" x="([\d.-]+)" y="([\d.-]+)" text-anchor="(\w+)">([^<]*)</text>`)

// No label is cut off at an edge or covers its neighbour, however large the
// numbers and whatever the language; nor is the letter of a flag.
func TestEveryLabelOfBarsIsWhole(t *testing.T) {
	changed := Flag{Letter: "A", Title: "changed", Href: "#changes"}
	for _, language := range locale.All() {
		for _, f := range frames {
			for _, apart := range []time.Duration{time.Hour, 24 * time.Hour} {
				var bars []LevelBar
				for i := range 31 {
					bars = append(bars, LevelBar{Hour: hour.Add(time.Duration(i) * apart), Count: 1, Steps: []int{1}, Flag: changed})
				}
				drawing := string(drawLevels(locale.Speller{Locale: language}, f, "t", []Series{{"p50", "p50"}}, scale, bars))
				wholeLabels(t, fmt.Sprintf("%s, 31 bars each %s in %s", f.class, apart, language), f, drawing)
				if n := strings.Count(drawing, `text-anchor="middle"`) - strings.Count(drawing, "<circle"); n < 3 {
					t.Errorf("%s, 31 bars each %s in %s: %d times are told", f.class, apart, language, n)
				}
			}
			for _, hours := range []int{1, 6, 24, 30, 31} {
				for most := int64(1); most < 1e13; most *= 10 {
					var bars []HourBar
					for i := range hours {
						bars = append(bars, HourBar{Hour: hour.Add(time.Duration(i) * time.Hour), Counts: []int64{most}, Flag: changed})
					}
					drawing := string(drawBars(locale.Speller{Locale: language}, f, "t", []Series{{"delivered", "good"}}, bars))
					wholeLabels(t, fmt.Sprintf("%s, %d hours up to %d in %s", f.class, hours, most, language), f, drawing)
				}
				for top := range len(scale) + 1 {
					var bars []LevelBar
					for i := range hours {
						bars = append(bars, LevelBar{Hour: hour.Add(time.Duration(i) * time.Hour), Count: 1, Steps: []int{top}, Flag: changed})
					}
					drawing := string(drawLevels(locale.Speller{Locale: language}, f, "t", []Series{{"p50", "p50"}}, scale, bars))
					wholeLabels(t, fmt.Sprintf("%s, %d hours up to step %d in %s", f.class, hours, top, language), f, drawing)
				}
			}
		}
	}
}

var letters = regexp.MustCompile(`<circle cx="([\d.-]+)" cy="([\d.-]+)" r="([\d.-]+)"/><text x="([\d.-]+)"`)

// wholeLabels fails the test if a label or the letter of a flag is cut off or
// covers its neighbour.
func wholeLabels(t *testing.T, name string, f frame, drawing string) {
	t.Helper()
	end, above := 0.0, 0.0 // of the hour before, of the label of the scale before
	for _, tick := range ticks.FindAllStringSubmatch(drawing, -1) {
		label := html.UnescapeString(tick[4])
		x, _ := strconv.ParseFloat(tick[1], 64)
		y, _ := strconv.ParseFloat(tick[2], 64)
		from := x - textWidth(label)
		if tick[3] == "middle" {
			from += textWidth(label) / 2
		}
		to := from + textWidth(label)
		if from < 0 || to > f.width || y < 11 || y > chartHeight || tick[3] == "middle" && from < end || tick[3] == "end" && above > 0 && math.Abs(y-above) < 11 {
			t.Errorf("%s: %q stands from %v to %v at %v, the one before ends at %v", name, label, from, to, y, end)
		}
		if tick[3] == "middle" {
			end = to
		} else {
			above = y
		}
	}
	end = 0
	flags := letters.FindAllStringSubmatch(drawing, -1)
	for _, letter := range flags {
		x, _ := strconv.ParseFloat(letter[1], 64)
		y, _ := strconv.ParseFloat(letter[2], 64)
		r, _ := strconv.ParseFloat(letter[3], 64)
		if x-r < end-.1 || x+r+.5 > f.width || y-r < .5 || letter[4] != letter[1] {
			t.Errorf("%s: the letter at %s stands from %v to %v, the one before ends at %v", name, letter[4], x-r, x+r, end)
		}
		end = x + r
	}
	if len(flags) == 0 {
		t.Errorf("%s: no flag has a letter", name)
	}
}
