package chart

import (
	"encoding/xml"
	"errors"
	"io"
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

// Whatever is drawn is well-formed, and no text in it becomes markup.
func TestDrawingsAreWellFormedWhateverTheTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"plain", `</title><script>alert(1)</script>`, `"><x y='`, "%s %d", "giờ 时"}).Draw(t, "text")
		counts := rapid.SliceOfN(rapid.Int64Range(0, 1e12), 2, 2)
		var bars []HourBar
		var marks []Mark
		for i := range rapid.IntRange(0, 30).Draw(t, "n") {
			at := hour.Add(time.Duration(i) * time.Hour)
			bars = append(bars, HourBar{at, counts.Draw(t, "counts"), rapid.SampledFrom([]string{"", `/?a="><script>&b`}).Draw(t, "href")})
			marks = append(marks, Mark{At: at, Tone: rapid.SampledFrom([]string{"good", "bad", "warn", "busy", "idle"}).Draw(t, "tone"), Label: text, Title: text, Future: i%2 == 1})
		}
		for name, drawing := range map[string]string{
			"bars":     string(drawBars(locale.Speller{}, frames[0], text, []Series{{text, "good"}, {text, "bad"}}, bars)),
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
// numbers and whatever the language.
func TestEveryLabelOfBarsIsWhole(t *testing.T) {
	for _, language := range locale.All() {
		for _, f := range frames {
			for _, hours := range []int{1, 6, 24, 30, 31} {
				for most := int64(1); most < 1e13; most *= 10 {
					var bars []HourBar
					for i := range hours {
						bars = append(bars, HourBar{Hour: hour.Add(time.Duration(i) * time.Hour), Counts: []int64{most}})
					}
					drawing := string(drawBars(locale.Speller{Locale: language}, f, "t", []Series{{"delivered", "good"}}, bars))
					end := 0.0 // of the hour before
					for _, tick := range ticks.FindAllStringSubmatch(drawing, -1) {
						x, _ := strconv.ParseFloat(tick[1], 64)
						y, _ := strconv.ParseFloat(tick[2], 64)
						from := x - textWidth(tick[4])
						if tick[3] == "middle" {
							from += textWidth(tick[4]) / 2
						}
						to := from + textWidth(tick[4])
						if from < 0 || to > f.width || y < 11 || y > chartHeight || tick[3] == "middle" && from < end {
							t.Errorf("%s, %d hours up to %d in %s: %q stands from %v to %v at %v, the one before ends at %v", f.class, hours, most, language, tick[4], from, to, y, end)
						}
						if tick[3] == "middle" {
							end = to
						}
					}
				}
			}
		}
	}
}
