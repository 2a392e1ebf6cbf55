package ingest

import (
	"net/http/httptest"
	"strings"
	"testing"

	"ledgerhook/web"
	"ledgerhook/webhook"
)

// BenchmarkReadEvent reads the body of a POST of one event, up to what is
// appended to the ledger.
func BenchmarkReadEvent(b *testing.B) {
	for _, about := range webhook.Catalog {
		if !about.FromInside {
			continue
		}
		body := `{"partnerCode":"acme","webhookType":"` + string(about.Type) + `","data":` + string(about.Example) + `}`
		b.Run(string(about.Type), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				r := httptest.NewRequest("POST", "/internal/v1/events", strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				var request eventRequest
				if err := web.DecodeJSON(r, maxBody, &request); err != nil {
					b.Fatal(err)
				}
				if _, err := readEvent(request.WebhookType, request.Data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
