package dashboard

import (
	"io/fs"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ledgerhook/dashboard/locale"
	"ledgerhook/partners"
)

// What the content policy would block must not be written in the first place.
func TestNoTemplateHoldsAnythingInline(t *testing.T) {
	inline := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|javascript:|<script(?: [^>]*)?>[^<]`)
	files, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		source, err := templateFiles.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := inline.Find(source); found != nil {
			t.Errorf("%s: %s", file, found)
		}
	}
}

// html/template escapes whatever a page shows, unless somebody vouches for it:
// only our own drawings may be vouched for.
func TestOnlyDrawingsAreVouchedFor(t *testing.T) {
	vouched := regexp.MustCompile(`template\.(HTML|HTMLAttr|JS|JSStr|CSS|URL|Srcset)\(`)
	drawings := []string{"icon.go", "chart.go", "account_qr.go", "order.go", "replay.go"}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") || slices.Contains(drawings, e.Name()) {
			continue
		}
		source, err := os.ReadFile(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		if found := vouched.Find(source); found != nil {
			t.Errorf("%s vouches with %s", e.Name(), found)
		}
	}
}

func TestScriptInATextIsShownAsText(t *testing.T) {
	const script = `"><script>alert(1)</script>`
	s := newStage(t)
	c := s.signIn(t, "", partners.RoleOperator)
	letter := partners.Letter{To: partners.Addressee{PartnerCode: script, Email: script, Lang: script}, Code: script}
	if err := s.mailbox.Carry(t.Context(), letter); err != nil {
		t.Fatal(err)
	}
	s.Settings[0].Value, s.Settings[0].Meaning = script, script
	for _, path := range []string{"/ops/mailbox", "/ops/system", "/ops/nothing?x=" + "%22%3E%3Cscript%3Ealert(1)%3C/script%3E"} {
		if _, body := ask(t, c, "GET", s.ops.URL+path, nil); strings.Contains(body, "<script>alert") || !strings.Contains(body, "</html>") {
			t.Errorf("%s: %s", path, body)
		}
	}
}

// component draws one part of a page.
func component(t *testing.T, name string, view any) string {
	t.Helper()
	pages, err := loadPages()
	if err != nil {
		t.Fatal(err)
	}
	page, err := pages.template("error", locale.English)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := page.ExecuteTemplate(&b, name, view); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Each is put together when it is first asked for, and must not fail then.
func TestEveryPageCanBePutTogetherInEveryLanguage(t *testing.T) {
	t.Parallel()
	pages, err := loadPages()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pages.template("nothing", locale.English); err == nil {
		t.Error("there is a page called nothing")
	}
	files, err := templateFiles.ReadDir("templates")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file.Name(), ".html")
		if slices.Contains(parts, file.Name()) {
			continue
		}
		for _, language := range locale.All() {
			page, err := pages.template(name, language)
			if err != nil || page.Lookup("layout") == nil {
				t.Errorf("%s in %s: %v", name, language, err)
			}
		}
	}
}

func TestAFieldIsTiedToItsLabelHintAndError(t *testing.T) {
	for _, f := range []field{
		{Name: "q", Label: "Query", Value: `a"b`, Hint: "any id", Error: "must be one", Required: true, Mono: true, Autocomplete: "off"},
		{Name: "q", Label: "Query", Type: "textarea", Value: `a"b`, Hint: "any id", Error: "must be one", Required: true, Rows: 3},
		{Name: "q", Label: "Query", Type: "select", Options: []option{{Value: "a", Label: `a"b`, Chosen: true}}, Hint: "any id", Error: "must be one", Required: true},
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
	if got, want := pagerOf(at, "x y"), (pager{First: "/ops/events?state=held", Next: "/ops/events?cursor=x+y&state=held"}); got != want {
		t.Errorf("%+v", got)
	}
	if drawn := component(t, "pager", pager{}); strings.TrimSpace(drawn) != "" {
		t.Errorf("a list of one page: %s", drawn)
	}
}
