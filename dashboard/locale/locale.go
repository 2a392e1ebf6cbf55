// Package locale puts texts and figures in the reader's language.
//
// A text is written in English where it is shown: {{t "…"}} in a template,
// Text("…") or T("…") in Go. Every other language is a file of its own, named
// by its code, which holds what the language calls itself, how it writes
// figures and days, and the translations by the English text. A new file is a
// new language. A text may hold the verbs of fmt, in every language the same
// ones.
package locale

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// The languages that code names. The operators' pages are in English.
const (
	English    = "en"
	Vietnamese = "vi"
	Chinese    = "zh"
)

//go:embed *.json
var files embed.FS

// catalogue is one language.
type catalogue struct {
	Name    string            `json:"name"` // what it calls itself
	Formats formats           `json:"formats"`
	Texts   map[string]string `json:"texts"` // by the English ones
}

// catalogues are all languages by their codes. They are read when the first
// page is prepared: most commands show none.
var catalogues = sync.OnceValues(func() (map[string]catalogue, error) {
	all := map[string]catalogue{English: {Name: "English", Formats: english}}
	entries, err := files.ReadDir(".")
	if err != nil {
		return all, err
	}
	for _, e := range entries {
		source, err := files.ReadFile(e.Name())
		if err != nil {
			return all, err
		}
		var c catalogue
		if err := json.Unmarshal(source, &c); err != nil {
			return all, fmt.Errorf("%s: %w", e.Name(), err)
		}
		all[strings.TrimSuffix(e.Name(), path.Ext(e.Name()))] = c
	}
	return all, nil
})

// Load reads the translations, once. An error names the file that cannot be
// read; without it, what the functions below say is in English.
func Load() error {
	_, err := catalogues()
	return err
}

// All are the codes of the languages, English first.
func All() []string {
	all, _ := catalogues()
	codes := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(code string) bool { return code == English })
	return append([]string{English}, codes...)
}

// Name is what a language calls itself; empty if there is none of the code.
func Name(language string) string {
	all, _ := catalogues()
	return all[language].Name
}

// Text marks an English text that is shown later, through Translate.
func Text(text string) string { return text }

// Translate is text in a language, with args in the places of its verbs. A
// text that has no translation stays English.
func Translate(language, text string, args ...any) string {
	all, _ := catalogues()
	if translated, ok := all[language].Texts[text]; ok {
		text = translated
	}
	if len(args) > 0 {
		return fmt.Sprintf(text, args...)
	}
	return text
}

// Preferred is the first of the languages in an Accept-Language header, by its
// weights; empty: none of them. The interface spells Chinese "cn".
func Preferred(header string) string {
	all, _ := catalogues()
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
			language = Chinese
		}
		if _, ours := all[language]; ours && weight > bestWeight {
			best, bestWeight = language, weight
		}
	}
	return best
}
