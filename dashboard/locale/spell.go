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

// Time spells a time in UTC to the second.
func Time(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// Number spells a whole number with thousands apart.
func Number(n any) string {
	digits, places, decimal := strings.Cut(fmt.Sprint(n), ".")
	sign := ""
	if rest, negative := strings.CutPrefix(digits, "-"); negative {
		sign, digits = "−", rest
	}
	var b strings.Builder
	for i, c := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	if decimal {
		b.WriteString("." + places)
	}
	return sign + b.String()
}

// Duration spells a duration with two units at most: 9.4 s, 3 m 12 s.
func Duration(d time.Duration) string {
	if d < 0 {
		return "−" + Duration(-d)
	}
	if d < time.Second {
		return strconv.FormatInt(d.Round(time.Millisecond).Milliseconds(), 10) + " ms"
	}
	if d < time.Minute {
		return strconv.FormatFloat(math.Round(d.Seconds()*10)/10, 'f', -1, 64) + " s"
	}
	for _, u := range []struct {
		whole, part time.Duration
		a, b        string
	}{{24 * time.Hour, time.Hour, "d", "h"}, {time.Hour, time.Minute, "h", "m"}, {time.Minute, time.Second, "m", "s"}} {
		if d < u.whole {
			continue
		}
		text := fmt.Sprintf("%d %s", d/u.whole, u.a)
		if part := d % u.whole / u.part; part > 0 {
			text += fmt.Sprintf(" %d %s", part, u.b)
		}
		return text
	}
	return ""
}

// Bytes spells a size in units of 1,024: 16 KiB.
func Bytes(n int64) string {
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	size, units := float64(n), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	unit := 0
	for size >= 1024 && unit < len(units)-1 {
		size, unit = size/1024, unit+1
	}
	return strconv.FormatFloat(math.Round(size*10)/10, 'f', -1, 64) + " " + units[unit]
}

// Percent spells a share of all to a tenth, never rounded up to all of it.
func Percent(part, all int64) string {
	if all == 0 {
		return "–"
	}
	tenths := part * 1000 / all
	text := Number(tenths / 10)
	if tenths%10 != 0 {
		text += "." + Number(tenths%10)
	}
	return text + " %"
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
