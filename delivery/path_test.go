package delivery_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestThePathIsAsThePackageSays looks for every function that the package's
// comment names as a step of the path, or beside it.
func TestThePathIsAsThePackageSays(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "delivery.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	folders := map[string]string{"ingest": "../ingest", "ledger": "../ledger", "delivery": ".", "sender": "sender", "queue": "queue"}
	have := map[string]bool{}
	for name, folder := range folders {
		declared(t, have, name, folder)
	}
	step := regexp.MustCompile(`(?m)^\t(\S+) {2,}\S`).FindAllStringSubmatch(file.Doc.Text(), -1)
	if len(step) != 10 || !strings.Contains(file.Doc.Text(), "Ten functions") {
		t.Fatalf("the comment lists %d functions and not the ten it counts", len(step))
	}
	for _, s := range step {
		if !have[s[1]] {
			t.Errorf("the path names %s, which there is not", s[1])
		}
	}
	for _, s := range regexp.MustCompile(`\b(?:delivery|ledger|queue)\.\w+\.\w+\b`).FindAllString(file.Doc.Text(), -1) {
		if !have[s] {
			t.Errorf("the comment names %s, which there is not", s)
		}
	}
}

// declared adds the functions of a package, as "package.Type.function".
func declared(t *testing.T, to map[string]bool, name, folder string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			full := name + "." + f.Name.Name
			if f.Recv != nil {
				of := f.Recv.List[0].Type
				if star, ok := of.(*ast.StarExpr); ok {
					of = star.X
				}
				if of, ok := of.(*ast.Ident); ok {
					full = name + "." + of.Name + "." + f.Name.Name
				}
			}
			to[full] = true
		}
	}
}
