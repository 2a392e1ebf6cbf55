package dashboard

import (
	"fmt"
	"strconv"
	"strings"
)

// The languages of the portal. The operators' pages are in English.
const (
	english    = "en"
	vietnamese = "vi"
	chinese    = "zh"
)

// texts are translations by the English text they are of, which stands in
// templates as {{t "…"}} and in Go as words("…") or T("…"). A text may hold
// the verbs of fmt, in every language the same ones.
type texts map[string]translation

type translation struct{ vi, zh string }

// allTexts is every catalogue; each is a file text_*.go of its own.
var allTexts = joinTexts(shellTexts, peopleTexts, deliveriesTexts, replaysTexts, endpointsTexts, secretsTexts, adviceTexts, findingTexts, homeTexts, verifyTexts, catalogueTexts)

func joinTexts(lists ...texts) texts {
	all := texts{}
	for _, list := range lists {
		for english, t := range list {
			if _, twice := all[english]; twice {
				panic("dashboard: translated twice: " + english)
			}
			all[english] = t
		}
	}
	return all
}

// words marks a text that is shown later, through T.
func words(text string) string { return text }

// translate is text in a language, with args in the places of its verbs.
func translate(locale, text string, args ...any) string {
	if t, ok := allTexts[text]; ok {
		switch locale {
		case vietnamese:
			text = t.vi
		case chinese:
			text = t.zh
		}
	}
	if len(args) > 0 {
		return fmt.Sprintf(text, args...)
	}
	return text
}

// T is text in the language of who asks, with args in the places of its verbs.
func (q *request) T(text string, args ...any) string { return translate(q.Locale, text, args...) }

// preferredLocale is the first of our languages in an Accept-Language header,
// by its weights; empty: none of them. The interface spells Chinese "cn".
func preferredLocale(header string) string {
	best, bestWeight := "", 0.0
	for part := range strings.SplitSeq(header, ",") {
		tag, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		weight := 1.0
		if q, ok := strings.CutPrefix(strings.TrimSpace(params), "q="); ok {
			var err error
			if weight, err = strconv.ParseFloat(q, 64); err != nil {
				continue
			}
		}
		language, _, _ := strings.Cut(strings.ToLower(tag), "-")
		if language == "cn" {
			language = chinese
		}
		if weight > bestWeight && (language == english || language == vietnamese || language == chinese) {
			best, bestWeight = language, weight
		}
	}
	return best
}
