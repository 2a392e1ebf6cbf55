package shell

import (
	"bytes"
	"fmt"
	"net/http"

	"ledgerhook/web"
)

// frame is what every template is executed with: the request, and the page's own
// view in View.
type frame struct {
	*Request
	View      any
	RequestID string
	Nav       []NavGroup
}

// Asset is the address of a static file, with the hash of its content.
func (f frame) Asset(name string) string {
	return f.Base() + "/static/" + f.Surface.assets.hashed[name]
}

// CanFind reports whether the surface has a page that finds anything.
func (f frame) CanFind() bool { return f.Surface.Has("GET " + f.Base() + "/find") }

// HasAccount reports whether the surface has a page about oneself.
func (f frame) HasAccount() bool { return f.Surface.Has("GET " + f.Base() + "/account") }

// execute renders strangers' pages one after the other: any number may come at
// once, and what others wait for goes on between two of them.
func (f frame) execute(p *printer, to *bytes.Buffer) error {
	if !f.SignedIn() {
		f.Surface.rendering <- struct{}{}
		defer func() { <-f.Surface.rendering }()
	}
	return p.print(to, f.Speller, "layout", f)
}

// Render answers with the template of a page, status 200.
func (q *Request) Render(w http.ResponseWriter, r *http.Request, name string, view any) error {
	return q.RenderStatus(w, r, http.StatusOK, name, view)
}

// RenderStatus answers with the template of a page. An error means that
// nothing was written.
func (q *Request) RenderStatus(w http.ResponseWriter, r *http.Request, status int, name string, view any) error {
	p, err := q.Surface.page(name)
	if err != nil {
		return err
	}
	var body bytes.Buffer
	f := frame{Request: q, View: view, RequestID: web.RequestID(r.Context()), Nav: q.navigation(r.URL.Path)}
	if err := f.execute(p, &body); err != nil {
		return fmt.Errorf("render the page %s: %w", name, err)
	}
	q.note(r.Context())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // fails only when the client is gone
	return nil
}
