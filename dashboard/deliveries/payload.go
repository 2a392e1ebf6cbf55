package deliveries

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"ledgerhook/dashboard/locale"
	"ledgerhook/webhook"
)

// payloadView is the body of a notification.
type payloadView struct {
	Pretty, Raw string
	Signed      bool // with its signature, byte for byte as it was sent
	Bytes       int64
}

// Indent is JSON spread over lines, and anything else as it is.
func Indent(body []byte) string {
	var b bytes.Buffer
	if err := json.Indent(&b, body, "", "  "); err != nil {
		return locale.Printable(body)
	}
	return locale.Printable(b.Bytes())
}

// curlLine sends a body again as an attempt did, with its signature and time:
// the receiver may find it too old. Masked headers are left out.
func curlLine(url string, sent http.Header, body []byte) string {
	var b strings.Builder
	b.WriteString("curl -sS -i -X POST " + shellQuote(url))
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		for _, value := range sent[name] {
			if value != "***" {
				b.WriteString(" \\\n  -H " + shellQuote(name+": "+locale.Printable([]byte(value))))
			}
		}
	}
	b.WriteString(" \\\n  --data-raw " + shellQuote(string(body)))
	return b.String()
}

// PayloadDiff is how a payload differs from an older one that was delivered.
type PayloadDiff struct {
	With string // the older one's delivery; empty: there is none
	Rows []DiffRow
}

// DiffRow is one field that is not the same. Shape tells that the field is new,
// missing or of another kind, not just of another value.
type DiffRow struct {
	Path, Was, Is string
	Shape         bool
}

// maxDiff is how many differences are told, maxPath how much of a path in bytes.
const (
	maxDiff = 100
	maxPath = 200
)

// DiffPayloads compares two JSON documents field by field; differences of
// shape come first. Its work grows with the documents and not with their paths.
func DiffPayloads(with string, was, is []byte) PayloadDiff {
	var c comparison
	c.compare(Decode(was), Decode(is), true, true)
	rows := append(c.shapes, c.values...)
	return PayloadDiff{With: with, Rows: rows[:min(len(rows), maxDiff)]}
}

// comparison walks two documents side by side.
type comparison struct {
	path           []string // from the root to where it is
	shapes, values []DiffRow
}

// compare compares what stands at the path in both, if it had and has something.
func (c *comparison) compare(was, is any, had, has bool) {
	old, oldHolds := heldBy(was)
	now, nowHolds := heldBy(is)
	had, has = had && !oldHolds, has && !nowHolds // a value
	if shape := had != has || fmt.Sprintf("%T", was) != fmt.Sprintf("%T", is); (had || has) && (shape || was != is) {
		rows := &c.values
		if shape {
			rows = &c.shapes
		}
		if len(*rows) < maxDiff {
			*rows = append(*rows, DiffRow{c.spellPath(), spellValue(was, had), spellValue(is, has), shape})
		}
	}
	for name := range now {
		if _, there := old[name]; !there {
			old[name] = absent{}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		c.path = append(c.path, name)
		inner, there := now[name]
		_, isNew := old[name].(absent)
		c.compare(old[name], inner, !isNew, there)
		c.path = c.path[:len(c.path)-1]
	}
}

// absent stands for what a document does not hold.
type absent struct{}

// heldBy is what an object or an array holds, by its part of a path.
func heldBy(v any) (held map[string]any, holds bool) {
	held = make(map[string]any)
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			held["."+name] = member
		}
		return held, true
	case []any:
		for i, item := range v {
			held["["+strconv.Itoa(i)+"]"] = item
		}
		return held, true
	}
	return held, false
}

// spellPath is the path as far as it is told.
func (c *comparison) spellPath() string {
	var b strings.Builder
	for _, part := range c.path {
		if b.WriteString(part); b.Len() > maxPath {
			return strings.TrimPrefix(strings.ToValidUTF8(b.String()[:maxPath], ""), ".") + "…"
		}
	}
	return strings.TrimPrefix(b.String(), ".")
}

// Decode reads a JSON document, its numbers as they are written; nil if it is not JSON.
func Decode(document []byte) (v any) {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	if decoder.Decode(&v) != nil {
		return nil
	}
	return v
}

func spellValue(v any, there bool) string {
	if !there {
		return ""
	}
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	shown := webhook.MaskCards(string(text)) // before it is cut, which may be within a number
	if len(shown) > 200 {
		shown = strings.ToValidUTF8(shown[:200], "") + "…"
	}
	return locale.Printable([]byte(shown))
}
