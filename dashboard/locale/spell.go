package locale

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// formats are how a language writes figures and times, as the Unicode CLDR has
// it. They stand in the language's file; those of English are here.
type formats struct {
	Group   string            `json:"group"`   // between thousands
	Decimal string            `json:"decimal"` // before what is less than one
	Percent string            `json:"percent"` // after a share
	Day     string            `json:"day"`     // a layout of package time
	Units   map[string]string `json:"units"`   // ms, s, m, h and d
	Large   map[string]int64  `json:"large"`   // what a scale shortens numbers with
}

var english = formats{
	Group: ",", Decimal: ".", Percent: " %", Day: time.DateOnly,
	Units: map[string]string{"ms": "ms", "s": "s", "m": "m", "h": "h", "d": "d"},
	Large: map[string]int64{"k": 1e3, "M": 1e6, "G": 1e9},
}

// Speller writes figures and times for a reader. The zero one writes English
// and UTC.
type Speller struct {
	Locale string         // en, vi or zh; empty or any other: en
	Zone   *time.Location // nil: UTC
}

// T is an English text in the reader's language, with args in the places of
// its verbs.
func (s Speller) T(text string, args ...any) string { return Translate(s.Locale, text, args...) }

func (s Speller) formats() formats {
	all, _ := catalogues()
	if c, ok := all[s.Locale]; ok {
		return c.Formats
	}
	return english
}

// Here is a time where the reader is.
func (s Speller) Here(t time.Time) time.Time {
	if s.Zone == nil {
		return t.UTC()
	}
	return t.In(s.Zone)
}

// Offset spells how far the reader's clock is from UTC at a time: UTC, UTC+7,
// UTC−3:30.
func (s Speller) Offset(t time.Time) string {
	_, seconds := s.Here(t).Zone()
	if seconds == 0 {
		return "UTC"
	}
	sign, minutes := "+", seconds/60
	if minutes < 0 {
		sign, minutes = "−", -minutes
	}
	if minutes%60 == 0 {
		return fmt.Sprintf("UTC%s%d", sign, minutes/60)
	}
	return fmt.Sprintf("UTC%s%d:%02d", sign, minutes/60, minutes%60)
}

// Time spells a time to the second: 2026-11-30 09:05:12.
func (s Speller) Time(t time.Time) string { return s.Here(t).Format(s.formats().Day + " 15:04:05") }

// Minute spells a time to the minute: 2026-11-30 09:05.
func (s Speller) Minute(t time.Time) string { return s.Here(t).Format(s.formats().Day + " 15:04") }

// Day spells the day of a time: 2026-11-30.
func (s Speller) Day(t time.Time) string { return s.Here(t).Format(s.formats().Day) }

// Clock spells the time of day to the second: 09:05:12.
func (s Speller) Clock(t time.Time) string { return s.Here(t).Format("15:04:05") }

// HourAndMinute spells the time of day to the minute: 09:05.
func (s Speller) HourAndMinute(t time.Time) string { return s.Here(t).Format("15:04") }

// Number spells a number with thousands apart: 48,200 or 1,234.5. n is one of
// Go's or prints like one, every digit of which is kept.
func (s Speller) Number(n any) string {
	f := s.formats()
	digits, places, decimal := strings.Cut(fmt.Sprint(n), ".")
	var b strings.Builder
	if rest, negative := strings.CutPrefix(digits, "-"); negative {
		b.WriteString("−")
		digits = rest
	}
	for i, c := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteString(f.Group)
		}
		b.WriteRune(c)
	}
	if decimal {
		b.WriteString(f.Decimal + places)
	}
	return b.String()
}

// tenth spells a number to a tenth: 9.4, 12.
func (s Speller) tenth(n float64) string {
	return s.Number(strconv.FormatFloat(math.Round(n*10)/10, 'f', -1, 64))
}

// Scale spells a number for the scale of a chart, to a tenth of the largest
// unit it reaches: 1.5 k, 20 M.
func (s Speller) Scale(n int64) string {
	name, size := "", int64(1)
	for each, of := range s.formats().Large {
		if n >= of && of > size {
			name, size = " "+each, of
		}
	}
	return s.tenth(float64(n)/float64(size)) + name
}

// Duration spells a duration with two units at most: 9.4 s, 3 m 12 s.
func (s Speller) Duration(d time.Duration) string {
	unit := s.formats().Units
	if d < 0 {
		return "−" + s.Duration(-d)
	}
	if d < time.Second {
		return s.Number(d.Round(time.Millisecond).Milliseconds()) + " " + unit["ms"]
	}
	if d < time.Minute {
		return s.tenth(d.Seconds()) + " " + unit["s"]
	}
	for _, u := range []struct {
		whole, part time.Duration
		a, b        string
	}{{24 * time.Hour, time.Hour, "d", "h"}, {time.Hour, time.Minute, "h", "m"}, {time.Minute, time.Second, "m", "s"}} {
		if d < u.whole {
			continue
		}
		text := s.Number(int64(d/u.whole)) + " " + unit[u.a]
		if part := d % u.whole / u.part; part > 0 {
			text += fmt.Sprintf(" %d %s", part, unit[u.b])
		}
		return text
	}
	return ""
}

// Bytes spells a size in units of 1,024: 16 KiB.
func (s Speller) Bytes(n int64) string {
	size, units := float64(n), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	unit := 0
	for size >= 1024 && unit < len(units)-1 {
		size, unit = size/1024, unit+1
	}
	return s.tenth(size) + " " + units[unit]
}

// Percent spells a share of all to a tenth, never rounded up to all of it.
func (s Speller) Percent(part, all int64) string {
	if all == 0 {
		return "–"
	}
	return s.tenth(float64(part*1000/all)/10) + s.formats().Percent
}

// Printable is a text that shows what it holds: control characters and those
// that turn the direction of writing around are made visible.
func Printable(text []byte) string {
	shown := make([]rune, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		text = text[size:]
		switch {
		case r == '\n' || r == '\t':
		case r < 32:
			r += 0x2400
		case r == 127:
			r = 0x2421
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			r = utf8.RuneError
		}
		shown = append(shown, r)
	}
	return string(shown)
}
