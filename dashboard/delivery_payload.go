package dashboard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// payloadView is the body of a notification.
type payloadView struct {
	Pretty, Raw string
	Signed      bool // with its signature, byte for byte as it was sent
	Bytes       int64
}

// indent is JSON spread over lines, or what is none as it is.
func indent(body []byte) string {
	var b bytes.Buffer
	if err := json.Indent(&b, body, "", "  "); err != nil {
		return printable(body)
	}
	return printable(b.Bytes())
}

// curlLine sends a body again as an attempt did, with its signature and time:
// the receiver may find it too old. Masked headers are left out.
func curlLine(url string, sent http.Header, body []byte) string {
	var b strings.Builder
	b.WriteString("curl -sS -i -X POST " + shellQuote(url))
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		for _, value := range sent[name] {
			if value != "***" {
				b.WriteString(" \\\n  -H " + shellQuote(name+": "+printable([]byte(value))))
			}
		}
	}
	b.WriteString(" \\\n  --data-raw " + shellQuote(string(body)))
	return b.String()
}

// payloadDiff is how a payload differs from an older one that was delivered.
type payloadDiff struct {
	With string // the older one's delivery; empty: there is none
	Rows []diffRow
}

// diffRow is one field that is not the same. Shape tells that the field is new,
// missing or of another kind, not just of another value.
type diffRow struct {
	Path, Was, Is string
	Shape         bool
}

// maxDiff is how many differences are told.
const maxDiff = 100

// diffPayloads compares two JSON documents field by field; differences of
// shape come first.
func diffPayloads(with string, was, is []byte) payloadDiff {
	old, now := map[string]any{}, map[string]any{}
	flatten("", decode(was), old)
	flatten("", decode(is), now)
	d := payloadDiff{With: with}
	paths := maps.Clone(old)
	maps.Copy(paths, now)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		a, had := old[path]
		b, has := now[path]
		if had && has && a == b {
			continue
		}
		d.Rows = append(d.Rows, diffRow{path, spellValue(a, had), spellValue(b, has), !had || !has || fmt.Sprintf("%T", a) != fmt.Sprintf("%T", b)})
	}
	slices.SortStableFunc(d.Rows, func(x, y diffRow) int {
		switch {
		case x.Shape == y.Shape:
			return 0
		case x.Shape:
			return -1
		}
		return 1
	})
	d.Rows = d.Rows[:min(len(d.Rows), maxDiff)]
	return d
}

func decode(document []byte) (v any) {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	if decoder.Decode(&v) != nil {
		return nil
	}
	return v
}

// flatten lists the leaves of a document by their paths.
func flatten(path string, v any, into map[string]any) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			flatten(strings.TrimPrefix(path+"."+name, "."), member, into)
		}
	case []any:
		for i, item := range v {
			flatten(path+"["+strconv.Itoa(i)+"]", item, into)
		}
	default:
		into[path] = v
	}
}

func spellValue(v any, there bool) string {
	if !there {
		return ""
	}
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	if len(text) > 200 {
		text = append([]byte(strings.ToValidUTF8(string(text[:200]), "")), "…"...)
	}
	return printable(text)
}
