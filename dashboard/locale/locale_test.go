package locale

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template/parse"

	"ledgerhook/delivery"
	"ledgerhook/signer"
	"ledgerhook/webhook"
)

var update = flag.Bool("update", false, "write the files of translations sorted by the English text")

// Whatever a partner reads is there in every language, and nothing is
// translated that nobody reads.
func TestEveryTextIsTranslatedAndUsed(t *testing.T) {
	used := textsInTemplates(t)
	maps.Copy(used, textsInCode(t))
	for _, text := range slices.Concat(delivery.AdviceTexts(), signer.FindingTexts(), catalogTexts(webhook.Catalog)) {
		used[text] = "a package below"
	}
	all, err := catalogues()
	if err != nil {
		t.Fatal(err)
	}
	for _, language := range All()[1:] {
		texts := all[language].Texts
		for text, where := range used {
			translated, ok := texts[text]
			switch {
			case !ok:
				t.Errorf("%s.json lacks %q of %s", language, text, where)
			case strings.TrimSpace(translated) == "":
				t.Errorf("%s.json has no words for %q", language, text)
			case !slices.Equal(verbs(text), verbs(translated)):
				t.Errorf("%s.json: %q and %q have other verbs", language, text, translated)
			}
		}
		for text := range texts {
			if used[text] == "" {
				t.Errorf("%s.json: %q is translated and not used", language, text)
			}
		}
	}
}

// A file has one layout, so that a change shows what was translated anew, and
// no text stands in it twice.
func TestEveryFileIsSortedByTheEnglishText(t *testing.T) {
	all, err := catalogues()
	if err != nil {
		t.Fatal(err)
	}
	for _, language := range All()[1:] {
		var sorted bytes.Buffer
		e := json.NewEncoder(&sorted)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(all[language]); err != nil {
			t.Fatal(err)
		}
		file := language + ".json"
		if *update {
			if err := os.WriteFile(file, sorted.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if source, err := os.ReadFile(file); err != nil || !bytes.Equal(source, sorted.Bytes()) {
			t.Errorf("%s is not sorted, or has a text twice: look at what go test ./dashboard/locale -update makes of it (%v)", file, err)
		}
		if Name(language) == "" {
			t.Errorf("%s does not say what the language calls itself", file)
		}
	}
}

// catalogTexts are what the catalogue of types says.
func catalogTexts(catalog []webhook.EventType) (all []string) {
	var of func([]webhook.Field)
	of = func(fields []webhook.Field) {
		for _, f := range fields {
			all = append(all, f.Doc)
			of(f.Members)
		}
	}
	for _, e := range catalog {
		all = append(all, e.Title)
		of(e.Fields)
	}
	return all
}

var verb = regexp.MustCompile(`%[a-z]`)

func verbs(text string) []string { return verb.FindAllString(text, -1) }

// textsInTemplates finds every {{t "…"}}, and the words of pills beside them.
func textsInTemplates(t *testing.T) map[string]string {
	used := map[string]string{}
	for file, source := range sources(t, ".html") {
		tree := parse.New(file)
		tree.Mode = parse.SkipFuncCheck
		trees := map[string]*parse.Tree{}
		if _, err := tree.Parse(source, "", "", trees); err != nil {
			t.Fatal(err)
		}
		texts, pills := map[string]string{}, map[string]string{}
		for _, tree := range trees {
			walkTemplate(tree.Root, func(c *parse.CommandNode) {
				if text := literal(c, "t", 1); text != "" {
					texts[text] = file
				}
				if text := literal(c, "pill", 2); text != "" {
					pills[text] = file
				}
			})
		}
		if len(texts) > 0 { // else it is one of the operators' alone
			maps.Copy(used, texts)
			maps.Copy(used, pills)
		}
	}
	return used
}

// sources are the files of the pages, tests aside, whose names end in ext.
func sources(t *testing.T, ext string) map[string]string {
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ext) || strings.HasSuffix(name, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path.Join("..", name))
		found[name] = string(source)
		return err
	})
	if err != nil || len(found) < 10 {
		t.Fatalf("%d files %s of the pages, %v", len(found), ext, err)
	}
	return found
}

// literal is the text that a command calls a function with; empty: another.
func literal(c *parse.CommandNode, function string, arg int) string {
	name, ok := c.Args[0].(*parse.IdentifierNode)
	if !ok || name.Ident != function || len(c.Args) <= arg {
		return ""
	}
	if text, ok := c.Args[arg].(*parse.StringNode); ok {
		return text.Text
	}
	return ""
}

func walkTemplate(n parse.Node, visit func(*parse.CommandNode)) {
	pipe := func(p *parse.PipeNode) {
		if p != nil {
			walkTemplate(p, visit)
		}
	}
	branch := func(b *parse.BranchNode) {
		pipe(b.Pipe)
		walkTemplate(b.List, visit)
		if b.ElseList != nil {
			walkTemplate(b.ElseList, visit)
		}
	}
	switch n := n.(type) {
	case *parse.ListNode:
		for _, child := range n.Nodes {
			walkTemplate(child, visit)
		}
	case *parse.ActionNode:
		pipe(n.Pipe)
	case *parse.TemplateNode:
		pipe(n.Pipe)
	case *parse.IfNode:
		branch(&n.BranchNode)
	case *parse.RangeNode:
		branch(&n.BranchNode)
	case *parse.WithNode:
		branch(&n.BranchNode)
	case *parse.PipeNode:
		for _, c := range n.Cmds {
			visit(c)
			for _, arg := range c.Args {
				walkTemplate(arg, visit)
			}
		}
	}
}

// textsInCode finds every Text("…") and T("…").
func textsInCode(t *testing.T) map[string]string {
	used := map[string]string{}
	for name, source := range sources(t, ".go") {
		file, err := parser.ParseFile(token.NewFileSet(), name, source, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 || !namesText(call.Fun) {
				return true
			}
			if literal, ok := call.Args[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				text, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				used[text] = name
			}
			return true
		})
	}
	return used
}

func namesText(f ast.Expr) bool {
	selected, ok := f.(*ast.SelectorExpr)
	return ok && (selected.Sel.Name == "Text" || selected.Sel.Name == "T")
}

func TestTheBrowsersLanguageIsHeeded(t *testing.T) {
	for header, want := range map[string]string{
		"": "", "fr": "", "vi": Vietnamese, "vi-VN,vi;q=0.9,en;q=0.8": Vietnamese, "en;q=0.5,zh-TW;q=0.6": Chinese, "cn": Chinese,
		"fr,en;q=x,zh;q=0.1": Chinese, "zh;q=0, en;q=0.1": English, ";;,": "",
	} {
		if got := Preferred(header); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}
