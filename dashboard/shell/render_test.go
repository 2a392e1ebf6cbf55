package shell

import (
	"net/url"
	"strings"
	"testing"

	"ledgerhook/dashboard/locale"
)

// component draws one part of a page.
func component(t *testing.T, name string, view any) string {
	t.Helper()
	page, err := ownTemplates.page("error")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := page.print(&b, locale.Speller{}, name, view); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestAFieldIsTiedToItsLabelHintAndError(t *testing.T) {
	for _, f := range []Field{
		{Name: "q", Label: "Query", Value: `a"b`, Hint: "any id", Error: "must be one", Required: true, Mono: true, Autocomplete: "off"},
		{Name: "q", Label: "Query", Type: "textarea", Value: `a"b`, Hint: "any id", Error: "must be one", Required: true, Rows: 3},
		{Name: "q", Label: "Query", Type: "select", Options: []Option{{Value: "a", Label: `a"b`, Chosen: true}}, Hint: "any id", Error: "must be one", Required: true},
	} {
		drawn := component(t, "field", f)
		for _, want := range []string{`<label for="f-q">Query</label>`, `id="f-q"`, `aria-describedby="f-q-hint f-q-error"`, `aria-invalid="true"`, " required", "&#34;"} {
			if !strings.Contains(drawn, want) {
				t.Errorf("%s lacks %s: %s", f.Type, want, drawn)
			}
		}
	}
}

func TestAListIsLeftThroughItsPager(t *testing.T) {
	at, err := url.Parse("/ops/events?state=held&cursor=abc")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := PagerOf(at, "x y"), (Pager{First: "/ops/events?state=held", Next: "/ops/events?cursor=x+y&state=held"}); got != want {
		t.Errorf("%+v", got)
	}
	if drawn := component(t, "pager", Pager{}); strings.TrimSpace(drawn) != "" {
		t.Errorf("a list of one page: %s", drawn)
	}
}
