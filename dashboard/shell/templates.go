package shell

import (
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"maps"
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

// Templates are the pages of one package: each file is one,
// inside the layout. It is put together when it is first asked for: all of
// them together take a third of a start, and most are never seen.
type Templates struct {
	files     fs.FS
	functions func(*locale.Speller) template.FuncMap
	pages     func() (map[string]*printer, error) // by name
}

// printer prints a page for whoever reads it, in their language. What a template calls belongs to it and
// not to one of its executions, so each copy of it serves one reader at a time;
// as many are made as are needed at once.
type printer struct {
	page   func() (*template.Template, error) // never executed: it is copied
	copies sync.Pool                          // of *printed
	set    *Templates
}

// printed is a copy of a page with the reader that it is printed for.
type printed struct {
	*template.Template
	reader *locale.Speller
}

// print writes the template name of the page for a reader, of data.
func (p *printer) print(to io.Writer, reader locale.Speller, name string, data any) error {
	c, _ := p.copies.Get().(*printed)
	if c == nil {
		page, err := p.page()
		if err != nil {
			return err
		}
		c = &printed{reader: &locale.Speller{}}
		if c.Template, err = page.Clone(); err != nil {
			return err
		}
		c.Funcs(p.set.allFunctions(c.reader))
	}
	defer p.copies.Put(c)
	*c.reader = reader
	return c.ExecuteTemplate(to, name, data)
}

// NewTemplates are those in the folder templates of files, each named like its
// file. What parts.html defines there belongs to all of them. functions are
// what they call beside the shell's own, for a reader; nil: nothing.
func NewTemplates(files fs.FS, functions func(*locale.Speller) template.FuncMap) *Templates {
	t := &Templates{files: files, functions: functions}
	t.pages = sync.OnceValues(t.find)
	return t
}

func (t *Templates) find() (map[string]*printer, error) {
	own, err := fs.Sub(t.files, "templates")
	if err != nil {
		return nil, err
	}
	files, err := fs.Glob(own, "*.html")
	if err != nil {
		return nil, err
	}
	pages := map[string]*printer{}
	base := sync.OnceValues(func() (*template.Template, error) { return t.base(own, files) })
	for _, file := range files {
		if slices.Contains(layout, file) || file == "parts.html" {
			continue
		}
		pages[strings.TrimSuffix(file, path.Ext(file))] = &printer{set: t, page: sync.OnceValues(func() (*template.Template, error) {
			base, err := base()
			if err != nil {
				return nil, err
			}
			return template.Must(base.Clone()).ParseFS(own, file)
		})}
	}
	return pages, nil
}

// base is what every page begins with.
func (t *Templates) base(own fs.FS, files []string) (*template.Template, error) {
	base := template.New("").Funcs(t.allFunctions(&locale.Speller{}))
	shell, err := fs.Sub(templateFiles, "templates")
	if err != nil {
		return nil, err
	}
	if base, err = base.ParseFS(shell, layout...); err != nil || !slices.Contains(files, "parts.html") {
		return base, err
	}
	return base.ParseFS(own, "parts.html")
}

// allFunctions are what the pages call, for a reader.
func (t *Templates) allFunctions(reader *locale.Speller) template.FuncMap {
	all := functions(reader)
	if t.functions != nil {
		maps.Copy(all, t.functions(reader))
	}
	return all
}

// page is the one of a name; nil if there is none.
func (t *Templates) page(name string) (*printer, error) {
	pages, err := t.pages()
	if err != nil || pages[name] == nil {
		return nil, err
	}
	if _, err := pages[name].page(); err != nil {
		return nil, fmt.Errorf("parse the page %s: %w", name, err)
	}
	return pages[name], nil
}

// CheckTemplates puts every page together, which else happens when somebody asks
// for it.
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
		_, wrong := t.page(name)
		err = errors.Join(err, wrong)
	}
	return err
}

// page is one of the surface.
func (s *Surface) page(name string) (*printer, error) {
	for _, set := range append(s.templates, ownTemplates) {
		if p, err := set.page(name); p != nil || err != nil {
			return p, err
		}
	}
	return nil, fmt.Errorf("there is no template %s", name)
}
