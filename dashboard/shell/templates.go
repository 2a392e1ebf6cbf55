package shell

import (
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"ledgerhook/dashboard/locale"
)

//go:embed templates/*.html
var templateFiles embed.FS

// ownTemplates are the pages of the shell.
var ownTemplates = NewTemplates(templateFiles, nil)

// layout are the templates that every page is put together with.
var layout = []string{"layout.html", "components.html"}

// Templates are the pages of one package: of each file one for each language,
// inside the layout. Each is put together when it is first asked for: all of
// them together take a third of a start, and most are never seen.
type Templates struct {
	files     fs.FS
	functions func(*locale.Speller) template.FuncMap
	pages     func() (map[string]pageTemplate, error) // by name
}

// pageTemplate is the template of a page by language.
type pageTemplate map[string]func() (*template.Template, error)

// NewTemplates are those in the folder templates of files, each named like its
// file. What parts.html defines there belongs to all of them. functions are
// what they call beside the shell's own, for a reader; nil: nothing.
func NewTemplates(files fs.FS, functions func(*locale.Speller) template.FuncMap) *Templates {
	t := &Templates{files: files, functions: functions}
	t.pages = sync.OnceValues(t.find)
	return t
}

func (t *Templates) find() (map[string]pageTemplate, error) {
	own, err := fs.Sub(t.files, "templates")
	if err != nil {
		return nil, err
	}
	files, err := fs.Glob(own, "*.html")
	if err != nil {
		return nil, err
	}
	pages := map[string]pageTemplate{}
	for _, language := range locale.All() {
		base := sync.OnceValues(func() (*template.Template, error) { return t.base(own, files, language) })
		for _, file := range files {
			if slices.Contains(layout, file) || file == "parts.html" {
				continue
			}
			name := strings.TrimSuffix(file, path.Ext(file))
			if pages[name] == nil {
				pages[name] = pageTemplate{}
			}
			pages[name][language] = sync.OnceValues(func() (*template.Template, error) {
				base, err := base()
				if err != nil {
					return nil, err
				}
				return template.Must(base.Clone()).ParseFS(own, file)
			})
		}
	}
	return pages, nil
}

// base is what every page of a language begins with.
func (t *Templates) base(own fs.FS, files []string, language string) (*template.Template, error) {
	reader := &locale.Speller{Locale: language}
	base := template.New("").Funcs(functions(reader))
	if t.functions != nil {
		base.Funcs(t.functions(reader))
	}
	shell, err := fs.Sub(templateFiles, "templates")
	if err != nil {
		return nil, err
	}
	if base, err = base.ParseFS(shell, layout...); err != nil || !slices.Contains(files, "parts.html") {
		return base, err
	}
	return base.ParseFS(own, "parts.html")
}

// template is that of a page in a language; nil if there is none of the name.
func (t *Templates) template(name, language string) (*template.Template, error) {
	pages, err := t.pages()
	if err != nil || pages[name][language] == nil {
		return nil, err
	}
	made, err := pages[name][language]()
	if err != nil {
		return nil, fmt.Errorf("parse the page %s: %w", name, err)
	}
	return made, nil
}

// CheckTemplates puts every page together in every language, which else happens
// when somebody asks for it.
func (s *Surface) CheckTemplates() error {
	err := ownTemplates.check()
	for _, set := range s.templates {
		err = errors.Join(err, set.check())
	}
	return err
}

func (t *Templates) check() error {
	pages, err := t.pages()
	for name := range pages {
		for _, language := range locale.All() {
			_, wrong := t.template(name, language)
			err = errors.Join(err, wrong)
		}
	}
	return err
}

// template is that of a page of the surface in a language.
func (s *Surface) template(name, language string) (*template.Template, error) {
	for _, set := range append(s.templates, ownTemplates) {
		if t, err := set.template(name, language); t != nil || err != nil {
			return t, err
		}
	}
	return nil, fmt.Errorf("there is no template %s", name)
}
