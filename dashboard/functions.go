package dashboard

import (
	"fmt"
	"html/template"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"

	"ledgerhook/dashboard/locale"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// functions are what templates can call, in a language.
func functions(language string) template.FuncMap {
	t := func(text string, args ...any) string { return locale.Translate(language, text, args...) }
	return template.FuncMap{
		"t":         t,
		"icon":      icon,
		"rfc":       func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") },
		"when":      formatTime,
		"num":       formatNumber,
		"took":      formatDuration,
		"bytes":     formatBytes,
		"result":    resultOf,
		"mask":      webhook.MaskCards,
		"printable": func(text string) string { return printable([]byte(text)) },
		"state":     stateOf,
		"pill":      func(tone, text string) pill { return pill{tone, text} },
		"notice":    func(tone, text string) notice { return notice{tone, text} },
		"none":      func(title, detail string) none { return none{title, detail} },
		"roles":     partners.RolesOf,
		"roleword":  func(role partners.Role) string { return roleWords[role] },
		"people":    func(f frame, list []partners.Person, caption string) peopleRows { return peopleRows{f, list, caption} },
		"formtoken": newFormToken,
		"language":  locale.Name,
	}
}

// formatTime spells a time in UTC to the second.
func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// formatNumber spells a whole number with thousands apart.
func formatNumber(n any) string {
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

// formatDuration spells a duration with two units at most: 9.4 s, 3 m 12 s.
func formatDuration(d time.Duration) string {
	if d < 0 {
		return "−" + formatDuration(-d)
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

// formatBytes spells a size in units of 1,024: 16 KiB.
func formatBytes(n int64) string {
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

func userAttr(p partners.Person) slog.Attr { return slog.String("user", p.Actor()) }
