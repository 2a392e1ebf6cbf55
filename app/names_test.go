package app_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
)

// Whoever reads a package by go doc is told what it is for and what each of
// its names does.
func TestEveryPackageAndExportedNameSaysWhatItIs(t *testing.T) {
	files := token.NewFileSet()
	packages := map[string][]*ast.File{}
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && notOurs(entry.Name()):
			return fs.SkipDir
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(files, path.Join("..", name), nil, parser.ParseComments|parser.SkipObjectResolution)
		packages[path.Dir(name)] = append(packages[path.Dir(name)], file)
		return err
	})
	if err != nil || len(packages) < 20 {
		t.Fatalf("%d packages, %v", len(packages), err)
	}
	for dir, sources := range packages {
		named := false
		for _, file := range sources {
			named = named || strings.HasPrefix(new(doc.Package).Synopsis(file.Doc.Text()), beginning(file.Name.Name, dir))
			for _, bare := range undocumented(file) {
				t.Errorf("%s: %s has no doc comment", files.Position(bare.Pos()), bare.Name)
			}
		}
		if !named {
			t.Errorf("no file of %s begins with a comment %q that says its one job", dir, beginning(sources[0].Name.Name, dir)+"…")
		}
	}
}

// beginning is how the doc comment of a package begins.
func beginning(name, dir string) string {
	if name == "main" {
		return "Command " + path.Base(dir) + " "
	}
	return "Package " + name + " "
}

// undocumented are the exported names of a file without a doc comment: of
// methods those of exported types, of groups those that neither the group nor
// they themselves say anything of.
func undocumented(file *ast.File) (bare []*ast.Ident) {
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && d.Doc == nil && (d.Recv == nil || ofExported(d.Recv.List[0].Type)) {
				bare = append(bare, d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() && d.Doc == nil && s.Doc == nil {
						bare = append(bare, s.Name)
					}
				case *ast.ValueSpec:
					for _, name := range s.Names {
						if name.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
							bare = append(bare, name)
						}
					}
				}
			}
		}
	}
	return bare
}

// ofExported tells whether the type of a receiver is exported.
func ofExported(receiver ast.Expr) bool {
	switch r := receiver.(type) {
	case *ast.Ident:
		return r.IsExported()
	case *ast.StarExpr:
		return ofExported(r.X)
	case *ast.IndexExpr:
		return ofExported(r.X)
	case *ast.IndexListExpr:
		return ofExported(r.X)
	}
	return false
}
