package dashboard

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"

	"ledgerhook/web"
)

// frame is what every template is executed with: who asks, and the page's own
// view in View.
type frame struct {
	*request
	View      any
	RequestID string
	Nav       []navGroup
}

// Asset is the address of a static file, with the hash of its content.
func (f frame) Asset(name string) string {
	return f.Base() + "/static/" + f.surface.assets.hashed[name]
}

// CanFind reports whether the surface has a page that finds anything.
func (f frame) CanFind() bool { return f.surface.has("GET " + f.Base() + "/find") }

// HasAccount reports whether the surface has a page about oneself.
func (f frame) HasAccount() bool { return f.surface.has("GET " + f.Base() + "/account") }

// execute renders strangers' pages one after the other: any number may come at
// once, and what others wait for goes on between two of them.
func (f frame) execute(t *template.Template, to *bytes.Buffer) error {
	if !f.SignedIn() {
		f.surface.rendering <- struct{}{}
		defer func() { <-f.surface.rendering }()
	}
	return t.ExecuteTemplate(to, "layout", f)
}

// render answers with the template of a page, status 200.
func (q *request) render(w http.ResponseWriter, r *http.Request, name string, view any) error {
	return q.renderStatus(w, r, http.StatusOK, name, view)
}

// renderStatus answers with the template of a page. An error means that
// nothing was written.
func (q *request) renderStatus(w http.ResponseWriter, r *http.Request, status int, name string, view any) error {
	t, err := q.surface.template(name, q.Locale)
	if err != nil {
		return err
	}
	var body bytes.Buffer
	f := frame{request: q, View: view, RequestID: web.RequestID(r.Context()), Nav: q.navigation(r.URL.Path)}
	if err := f.execute(t, &body); err != nil {
		return fmt.Errorf("render the page %s: %w", name, err)
	}
	q.note(r.Context())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // fails only when the client is gone
	return nil
}
