package ingest

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ledgerhook/webhook"
)

// Whatever comes in, it is refused as the caller's fault or cut into items
// that lie in it in order. A list that is JSON is cut as encoding/json would.
func FuzzSplitBatch(f *testing.F) {
	for _, seed := range []string{
		`{"events":[{"partnerCode":"acme","data":{"a":[1,"]"]}},2]}`, `{"events":[]}`, `{"events":[1,]}`, `{"events":[[[[]]],{}]} `,
		` { "events" : [ "a\"]," , "\\" , null ] } `, `{"events":["\`, `{"events":[}]}`, `{"events":[{]}`, `{"events":[1]}x`,
		`{"events":[1],"events":[2]}`, `{"EVENTS":[1]}`, `[]`, ``, `[1, "]" ,{"a":["\\\"",{}]}]`, ` [null ]`, "[\"\xff\"]", `[[],[[]]]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		checkSplit(t, text)
		items := checkSplit(t, []byte(`{"events":`+string(text)+`}`))
		var want []json.RawMessage
		if json.Unmarshal(text, &want) != nil || len(want) == 0 || len(want) > maxBatch {
			return
		}
		if diff := cmp.Diff(want, items); diff != "" {
			t.Fatalf("%q (-encoding/json +splitBatch):\n%s", text, diff)
		}
	})
}

func checkSplit(t *testing.T, body []byte) []json.RawMessage {
	t.Helper()
	items, err := splitBatch(body)
	if (err == nil) != (len(items) > 0) || err != nil && webhook.KindOf(err) != webhook.KindInvalid {
		t.Fatalf("%q: %d items and %v", body, len(items), err)
	}
	rest := body
	for _, item := range items {
		at := bytes.Index(rest, item)
		if at < 0 || len(item) == 0 || len(items) > maxBatch {
			t.Fatalf("%q holds no item %q", rest, item)
		}
		rest = rest[at+len(item):]
	}
	return items
}
