package app

import (
	"net/http"

	"ledgerhook/docs"
)

// docsPage leads to the documents that partners need.
const docsPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Ledgerhook for partners</title>
<h1>Ledgerhook for partners</h1>
<ul>
<li><a href="/docs/interface.md">The partner interface</a>: how to begin, every operation, notifications, errors
<li><a href="/docs/openapi-partner.yaml">OpenAPI</a>: operations and notifications for programs
<li><a href="/.well-known/jwks.json">The gateway's public keys</a>
</ul>
`

// mountDocs serves the documents for partners.
func mountDocs(mux *http.ServeMux) {
	for path, document := range map[string]struct {
		kind string
		body []byte
	}{
		"/docs":                      {"text/html; charset=utf-8", []byte(docsPage)},
		"/docs/interface.md":         {"text/plain; charset=utf-8", docs.Interface}, // which browsers show
		"/docs/openapi-partner.yaml": {"application/yaml", docs.PartnerAPI},
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			h := w.Header()
			h.Set("Content-Type", document.kind)
			h.Set("Cache-Control", "public, max-age=300")
			h.Set("X-Content-Type-Options", "nosniff")
			h.Set("Content-Security-Policy", "default-src 'none'")
			_, _ = w.Write(document.body) // fails only when the client is gone
		})
	}
}
