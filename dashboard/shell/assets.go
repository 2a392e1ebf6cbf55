package shell

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"ledgerhook/web"
	"ledgerhook/webhook"
)

//go:embed static
var staticFiles embed.FS

// assets are the static files, each under a name that changes with its content.
type assets struct {
	hashed map[string]string // app.css → app.3kQ….css
	files  map[string]asset  // by the hashed name
}

type asset struct {
	kind string
	body []byte
}

func loadAssets() (*assets, error) {
	a := &assets{hashed: map[string]string{}, files: map[string]asset{}}
	entries, err := fs.ReadDir(staticFiles, "static")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		body, err := staticFiles.ReadFile("static/" + e.Name())
		if err != nil {
			return nil, err
		}
		ext := path.Ext(e.Name())
		sum := sha256.Sum256(body)
		name := strings.TrimSuffix(e.Name(), ext) + "." + base64.RawURLEncoding.EncodeToString(sum[:9]) + ext
		a.hashed[e.Name()] = name
		a.files[name] = asset{mime.TypeByExtension(ext), body}
	}
	return a, nil
}

// staticFile serves a static file for as long as the browser likes to keep it.
func (s *Surface) staticFile(w http.ResponseWriter, r *http.Request, _ *Request) error {
	f, ok := s.assets.files[r.PathValue("name")]
	if !ok {
		return &webhook.Error{Kind: webhook.KindNotFound, Message: "there is no such file"}
	}
	w.Header().Set("Content-Type", f.kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	web.Quiet(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(f.body) // fails only when the client is gone
	})).ServeHTTP(w, r)
	return nil
}
