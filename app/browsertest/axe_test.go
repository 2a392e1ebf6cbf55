package browsertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// axe is the script of axe-core, which judges pages by the rules of WCAG.
var axe = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ledgerhook-axe-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	target := filepath.Join(dir, "axe")
	if err := os.CopyFS(target, os.DirFS(filepath.Join("testdata", "axe"))); err != nil {
		return "", err
	}
	if output, err := exec.Command("npm", "ci", "--prefix", target, "--ignore-scripts", "--no-audit", "--no-fund").CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, output)
	}
	script, err := os.ReadFile(filepath.Join(target, "node_modules", "axe-core", "axe.min.js"))
	return string(script), err
})

// violation is a rule that a page breaks, and where.
type violation struct {
	ID    string
	Help  string
	Nodes []struct {
		HTML           string
		Target         []any
		FailureSummary string
	}
}

func (v violation) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %s", v.ID, v.Help)
	for _, n := range v.Nodes[:min(len(v.Nodes), 3)] {
		fmt.Fprintf(&text, "\n  %v %.200s\n  %s", n.Target, n.HTML, strings.ReplaceAll(n.FailureSummary, "\n", "\n  "))
	}
	return text.String()
}

// accessible fails the test for each rule of WCAG 2.2 A or AA that the page
// breaks.
func (b *tab) accessible(as string) {
	b.t.Helper()
	b.obeys(`["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"]`, as)
}

// themed looks at the page in a theme: the dark one, which comes second, by the
// rules about colours, which are all that it changes.
func (b *tab) themed(theme string) {
	b.t.Helper()
	if theme == "light" {
		b.accessible(theme)
		return
	}
	b.obeys(`{type: "rule", values: ["color-contrast", "link-in-text-block"]}`, theme)
}

// obeys fails the test for each of the rules that the page breaks. The tab has
// axe in every page from the first such look on. It need not fetch the page's
// styles and media once more, which none of the rules is about.
func (b *tab) obeys(rules, as string) {
	b.t.Helper()
	script, err := axe()
	if err != nil {
		b.t.Fatal(err)
	}
	if !value[bool](b, `typeof axe === "object"`) {
		call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		value[any](b, script+"; true")
	}
	found := value[[]violation](b, `axe.run(document, {runOnly: `+rules+`, resultTypes: ["violations"], preload: false})
		.then(r => r.violations.map(v => ({ID: v.id, Help: v.help, Nodes: v.nodes.map(n => ({HTML: n.html, Target: n.target, FailureSummary: n.failureSummary}))})))`,
		chromedp.EvalAwaitPromise)
	for _, v := range found {
		b.t.Errorf("%s: %s", as, v)
	}
}
