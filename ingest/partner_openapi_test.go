package ingest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"ledgerhook/ingest"
	"ledgerhook/signer"
	"ledgerhook/webhook"
)

var loadPartnerDocument = sync.OnceValues(func() (*document, error) { return readDocument("../docs/openapi-partner.yaml") })

// partnerDocument is docs/openapi-partner.yaml. Every exchange of the tests is
// held against it.
func partnerDocument(t testing.TB) *document {
	t.Helper()
	d, err := loadPartnerDocument()
	if err != nil {
		t.Fatalf("docs/openapi-partner.yaml: %v", err)
	}
	return d
}

func TestThePartnerDocumentHasExactlyTheOperations(t *testing.T) {
	var documented []string
	for pattern := range partnerDocument(t).routes {
		documented = append(documented, pattern)
	}
	slices.Sort(documented)
	if diff := cmp.Diff(ingest.PartnerRoutes(), documented); diff != "" {
		t.Errorf("routes (-served +documented):\n%s", diff)
	}
	var keys []string
	for _, k := range partnerDocument(t).spec.Components.Headers["ErrorCode"].Value.Schema.Value.Enum {
		keys = append(keys, k.(string))
	}
	var want []string
	for _, k := range catalogue(t) {
		want = append(want, string(k))
	}
	slices.Sort(keys)
	slices.Sort(want)
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("errors (-catalogue +documented):\n%s", diff)
	}
}

// Notifications are documented for programs and made from the catalogue: an
// example is the body that partners get of the catalogue's own, and nothing
// that is sent goes without a word.
func TestThePartnerDocumentHasEveryNotificationOfTheCatalogue(t *testing.T) {
	webhooks := partnerDocument(t).spec.Webhooks
	var documented []string
	for name := range webhooks {
		documented = append(documented, name)
	}
	var sent []string
	for _, about := range webhook.Catalog {
		name := string(about.Type)
		sent = append(sent, name)
		if webhooks[name] == nil {
			continue // named below
		}
		content := webhooks[name].Post.RequestBody.Value.Content["application/json"]
		if enum := content.Schema.Value.Properties["webhookType"].Value.Enum; len(enum) != 1 || enum[0] != name {
			t.Errorf("webhookType of %s is %v", name, enum)
		}
		checkSent(t, name, about.Fields, content.Schema.Value.Properties["data"].Value)
		checkExample(t, about, content.Examples[name])
	}
	slices.Sort(documented)
	slices.Sort(sent)
	if diff := cmp.Diff(sent, documented); diff != "" {
		t.Errorf("types (-catalogue +documented):\n%s", diff)
	}
}

// checkSent compares what partners get: every field is there, under both its names.
func checkSent(t *testing.T, at string, fields []webhook.Field, documented *openapi3.Schema) {
	t.Helper()
	var names []string
	for _, f := range fields {
		names = append(names, f.Names()...)
		schema := documented.Properties[f.Name]
		switch {
		case schema == nil: // named below
		case f.Kind == webhook.FieldObject:
			checkSent(t, at+"/"+f.Name, f.Members, schema.Value)
		case f.Kind == webhook.FieldList:
			checkSent(t, at+"/"+f.Name, f.Members, schema.Value.Items.Value)
		case f.Kind == webhook.FieldChoice && fmt.Sprint(f.Values) != fmt.Sprint(schema.Value.Enum):
			t.Errorf("%s/%s may be %v, documented is %v", at, f.Name, f.Values, schema.Value.Enum)
		}
	}
	required, have := slices.Clone(documented.Required), slices.Collect(maps.Keys(documented.Properties))
	have = slices.DeleteFunc(have, func(name string) bool { return name == "signature" }) // not of the catalogue
	for _, list := range [][]string{names, required, have} {
		slices.Sort(list)
	}
	if diff := cmp.Diff(names, have); diff != "" {
		t.Errorf("fields of %s (-catalogue +documented):\n%s", at, diff)
	}
	if diff := cmp.Diff(names, required); diff != "" {
		t.Errorf("fields of %s that are always there (-catalogue +documented):\n%s", at, diff)
	}
}

func checkExample(t *testing.T, about webhook.EventType, documented *openapi3.ExampleRef) {
	t.Helper()
	if documented == nil {
		t.Errorf("%s has no example", about.Type)
		return
	}
	var data struct{ Status string }
	if err := json.Unmarshal([]byte(about.Example), &data); err != nil {
		t.Fatal(err)
	}
	want, err := signer.Notification{
		WebhookType: string(about.Type), Success: about.Type.Success(data.Status), Data: []byte(about.Example), TopLevelSignature: about.Type.TopLevelSignature(),
	}.Body("bGVkZ2VyaG9vayBzaWducyBkYXRh")
	if err != nil {
		t.Fatal(err)
	}
	loose, err := json.Marshal(documented.Value.Value)
	if err != nil {
		t.Fatal(err)
	}
	if have, err := signer.Canonical(loose); err != nil || string(have) != string(want) {
		t.Errorf("the example of %s is\n%s (%v), and is sent as\n%s", about.Type, have, err, want)
	}
}
