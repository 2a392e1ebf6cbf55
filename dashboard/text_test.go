package dashboard

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
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

// Whatever a partner reads is there in all three languages, and nothing is
// translated that nobody reads.
func TestEveryTextIsTranslatedAndUsed(t *testing.T) {
	used := textsInTemplates(t)
	maps.Copy(used, textsInCode(t))
	for _, text := range slices.Concat(delivery.AdviceTexts(), signer.FindingTexts(), catalogTexts(webhook.Catalog)) {
		used[text] = "a package below"
	}
	for text, where := range used {
		tr, ok := allTexts[text]
		if !ok {
			t.Errorf("%s: %q is not translated", where, text)
			continue
		}
		for locale, translated := range map[string]string{vietnamese: tr.vi, chinese: tr.zh} {
			if strings.TrimSpace(translated) == "" {
				t.Errorf("%q has no text in %s", text, locale)
			}
			if !slices.Equal(verbs(text), verbs(translated)) {
				t.Errorf("%q and %q have other verbs", text, translated)
			}
		}
	}
	for text := range allTexts {
		if used[text] == "" {
			t.Errorf("%q is translated and not used", text)
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
	files, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := templateFiles.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		trees, err := parse.Parse(file, string(source), "", "", functions(english), builtins)
		if err != nil {
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

var builtins = map[string]any{"and": 1, "or": 1, "not": 1, "len": 1, "index": 1, "slice": 1, "print": 1, "printf": 1, "println": 1, "html": 1, "js": 1,
	"urlquery": 1, "call": 1, "eq": 1, "ne": 1, "lt": 1, "le": 1, "gt": 1, "ge": 1}

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

// textsInCode finds every words("…") and T("…").
func textsInCode(t *testing.T) map[string]string {
	used := map[string]string{}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
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
				used[text] = e.Name()
			}
			return true
		})
	}
	return used
}

func namesText(f ast.Expr) bool {
	switch f := f.(type) {
	case *ast.Ident:
		return f.Name == "words"
	case *ast.SelectorExpr:
		return f.Sel.Name == "T"
	}
	return false
}

func TestTheBrowsersLanguageIsHeeded(t *testing.T) {
	for header, want := range map[string]string{
		"": "", "fr": "", "vi": vietnamese, "vi-VN,vi;q=0.9,en;q=0.8": vietnamese, "en;q=0.5,zh-TW;q=0.6": chinese, "cn": chinese,
		"fr,en;q=x,zh;q=0.1": chinese, "zh;q=0, en;q=0.1": english, ";;,": "",
	} {
		if got := preferredLocale(header); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}
