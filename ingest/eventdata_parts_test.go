package ingest

import (
	"bytes"
	"encoding/json"
	"testing"

	"ledgerhook/webhook"
)

// Every part is what encoding/json finds there.
func TestPartsOfAnObjectOrArrayAreWhatEncodingJSONFinds(t *testing.T) {
	t.Parallel()
	texts := []string{
		`{}`, `[]`, ` { } `, "{\r\n\t\"a\" : [ ] }", `{"a":1,"b":-0.5e3 ,"c": null}`, `{"a\"}":"\\","b\\":["]",{"c":"}"}],"\u0041":"\"\\\""}`,
		`[1 , "2",{"3":[4]},[[5],{}] ,true]`, `{"":{"":{"":""}}}`, `["a,b:c]d}"]`,
		`{"a":1,"a":[2],"a":"3"}`, `{"\ud800":"\udc00","b\ud83d":"\ud83d\ude00\ud83d"}`,
	}
	for _, about := range webhook.Catalog {
		texts = append(texts, string(about.Example))
	}
	for _, event := range readEventVectors(t).Events {
		texts = append(texts, event.Input)
	}
	for _, text := range texts {
		var want []string
		decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
		start, err := decoder.Token()
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for decoder.More() {
			if start == json.Delim('{') {
				name, _ := decoder.Token()
				want = append(want, name.(string))
			}
			var value json.RawMessage
			if err := decoder.Decode(&value); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			want = append(want, string(value))
		}
		parts := partsOf(trimSpace(json.RawMessage(text)))
		if len(parts) != len(want) {
			t.Errorf("%s: %q, want %q", text, parts, want)
			continue
		}
		for i, part := range parts {
			got := string(part)
			if start == json.Delim('{') && i%2 == 0 {
				got = decoded(part)
			}
			if got != want[i] {
				t.Errorf("%s: part %d is %s, want %s", text, i, got, want[i])
			}
		}
	}
}

// maxEventAllocs are those of reading the data of an event, by its size. The
// race detector adds some at random.
const maxEventAllocs = 250

func TestReadingAnEventAllocatesLittle(t *testing.T) {
	for _, about := range webhook.Catalog {
		if !about.FromInside {
			continue
		}
		allocs := testing.AllocsPerRun(200, func() {
			if _, err := readEvent(string(about.Type), json.RawMessage(about.Example)); err != nil {
				t.Error(err)
			}
		})
		if t.Logf("%s: %.0f allocations", about.Type, allocs); allocs > maxEventAllocs {
			t.Errorf("%s: %.0f allocations, want %d at most", about.Type, allocs, maxEventAllocs)
		}
	}
}
