package ingest_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ledgerhook/ingest"
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
