package ingest

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ledgerhook/signer"
	"ledgerhook/webhook"
)

// Whatever comes in, it is refused with fields named, or its data is in RFC
// 8785 form and reads back as itself.
func FuzzReadEvent(f *testing.F) {
	for _, about := range webhook.Catalog {
		f.Add(string(about.Type), []byte(about.Example))
	}
	v := readEventVectors(f)
	for _, event := range v.Events {
		f.Add(event.Name, []byte(event.Input))
	}
	for _, edge := range v.Edge {
		f.Add("CreateCard", []byte(edge.Input))
	}
	f.Add("TopupCard", []byte(`{"id":"\ud83d\ude42|\u00e9","cardId":"c","amount":"12.750","fee":-0,"status":"Pending","createdAt":"1e2"}`))
	f.Add("ProfileApplication.Updated", []byte(`{"accountId":"a","createdAt":1,"kycStatus":"NONE","rejectReason":null}`))
	f.Fuzz(func(t *testing.T, webhookType string, data []byte) {
		p, err := readEvent(webhookType, data)
		if err != nil {
			if eventProblems(t, webhookType, data); p.Data != nil {
				t.Fatalf("data %s beside the error %v", p.Data, err)
			}
			return
		}
		canonical, err := signer.Canonical(p.Data)
		if err != nil || !bytes.Equal(canonical, p.Data) {
			t.Fatalf("%s is not canonical: %s (%v)", p.Data, canonical, err)
		}
		again, err := readEvent(webhookType, json.RawMessage(p.Data))
		if err != nil {
			t.Fatalf("%s is not read again: %v", p.Data, err)
		}
		if diff := cmp.Diff(p, again); diff != "" {
			t.Fatalf("read again (-first +second):\n%s", diff)
		}
	})
}
