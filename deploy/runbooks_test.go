package deploy_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// runbooks are the pages about alerts.
func runbooks(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("../docs/runbooks/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	return pages
}

func TestARunbookSaysWhatToDo(t *testing.T) {
	t.Parallel()
	have, names := metrics(t), recorded(t)
	heading := regexp.MustCompile(`(?m)^## (.*)$`)
	for _, page := range runbooks(t) {
		text := read(t, page)
		var parts []string
		for _, h := range heading.FindAllStringSubmatch(text, -1) {
			parts = append(parts, h[1])
		}
		if got := strings.Join(parts, ", "); got != "Us or them?, Look here first, Do this, It is over when" {
			t.Errorf("%s has the parts %s", page, got)
		}
		for _, fault := range unknown(text, have, names) {
			t.Errorf("%s: %s", page, fault)
		}
	}
}

func TestTheLinksOfRunbooksLeadSomewhere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#]*)(#[^)]*)?\)`)
	for _, page := range runbooks(t) {
		for _, l := range link.FindAllStringSubmatch(read(t, page), -1) {
			target := read(t, filepath.Join(filepath.Dir(page), l[1]))
			if anchor := strings.TrimPrefix(l[2], "#"); anchor != "" && !anchors(target)[anchor] {
				t.Errorf("%s: %s has no heading %s", page, l[1], l[2])
			}
		}
	}
}

// anchors are what the headings of a document are linked by.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	strange := regexp.MustCompile(`[^a-z0-9 -]`)
	for _, h := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		found[strings.ReplaceAll(strange.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")] = true
	}
	return found
}
