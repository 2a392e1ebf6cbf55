package dashboard

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"ledgerhook/dashboard/locale"
	"ledgerhook/web"
)

//go:embed templates/*.html
var templateFiles embed.FS

// parts are the templates that every page is put together with.
var parts = []string{"layout.html", "components.html"}

// pages are the templates of a process: of each file in templates/ one for each
// language, inside the layout. Each is put together when it is first asked for:
// all of them together take a third of a start, and most are never seen.
type pages struct {
	byName map[string]map[string]func() (*template.Template, error) // page, then language
}

// loadPages finds the pages. Every surface of a process has the same ones.
var loadPages = sync.OnceValues(func() (*pages, error) {
	sources, err := fs.Sub(templateFiles, "templates")
	if err != nil {
		return nil, err
	}
	files, err := fs.Glob(sources, "*.html")
	if err != nil {
		return nil, err
	}
	p := &pages{byName: map[string]map[string]func() (*template.Template, error){}}
	for _, language := range locale.All() {
		layout := sync.OnceValues(func() (*template.Template, error) {
			return template.New("").Funcs(functions(language)).ParseFS(sources, parts...)
		})
		for _, file := range files {
			if slices.Contains(parts, file) {
				continue
			}
			name := strings.TrimSuffix(file, path.Ext(file))
			if p.byName[name] == nil {
				p.byName[name] = map[string]func() (*template.Template, error){}
			}
			p.byName[name][language] = sync.OnceValues(func() (*template.Template, error) {
				base, err := layout()
				if err != nil {
					return nil, err
				}
				return template.Must(base.Clone()).ParseFS(sources, file)
			})
		}
	}
	return p, nil
})

// template is that of a page in a language.
func (p *pages) template(name, language string) (*template.Template, error) {
	made := p.byName[name][language]
	if made == nil {
		return nil, fmt.Errorf("there is no template %s", name)
	}
	t, err := made()
	if err != nil {
		return nil, fmt.Errorf("parse the page %s: %w", name, err)
	}
	return t, nil
}

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
	t, err := q.surface.pages.template(name, q.Locale)
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
