package ingest

import (
	"crypto/rsa"
	"log/slog"
	"net/http"

	"ledgerhook/signer"
	"ledgerhook/web"
)

// Public serves what partners fetch without a credential.
type Public struct {
	Keys    func() []*rsa.PublicKey // the gateway's that are published now
	Metrics *web.Metrics
	Log     *slog.Logger
}

// Register mounts the public documents.
func (p *Public) Register(mux *http.ServeMux) {
	surface := web.Surface{Name: "public", Log: p.Log, Metrics: p.Metrics}
	mux.Handle("GET /.well-known/jwks.json", surface.Handle(func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Content-Type", "application/jwk-set+json")
		w.Header().Set("Cache-Control", "public, max-age=300")
		_, err := w.Write(signer.JWKS(p.Keys()...))
		return err
	}))
}
