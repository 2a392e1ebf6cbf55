package dashboard

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ledgerhook/dashboard/ops"
	"ledgerhook/dashboard/portal"
	"ledgerhook/dashboard/shell"
	"ledgerhook/dashboard/shell/shelltest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// Each is put together when it is first asked for, and must not fail then.
func TestEveryPageCanBePutTogetherInEveryLanguage(t *testing.T) {
	t.Parallel()
	for _, s := range []*shell.Surface{ops.New(&shell.Shell{}), portal.New(&shell.Shell{})} {
		if err := s.CheckTemplates(); err != nil {
			t.Error(err)
		}
	}
}

// What the content policy would block must not be written in the first place.
func TestNoTemplateHoldsAnythingInline(t *testing.T) {
	inline := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|javascript:|<script(?: [^>]*)?>[^<]`)
	for name, source := range sources(t, ".html") {
		if found := inline.FindString(source); found != "" {
			t.Errorf("%s: %s", name, found)
		}
	}
}

// sources are the files of all pages, tests aside, whose names end in ext.
func sources(t *testing.T, ext string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ext) || strings.HasSuffix(name, "_test.go") {
			return err
		}
		source, err := os.ReadFile(name)
		found[name] = string(source)
		return err
	})
	if err != nil || len(found) < 20 {
		t.Fatalf("%d files %s, %v", len(found), ext, err)
	}
	return found
}

// html/template escapes whatever a page shows, unless somebody vouches for it:
// only our own drawings may be vouched for.
func TestOnlyDrawingsAreVouchedFor(t *testing.T) {
	vouched := regexp.MustCompile(`template\.(HTML|HTMLAttr|JS|JSStr|CSS|URL|Srcset)\(`)
	drawings := []string{"chart/bars.go", "chart/chart.go", "chart/qr.go", "ops/order.go", "shell/icon.go"}
	for name, source := range sources(t, ".go") {
		if found := vouched.FindString(source); found != "" && !slices.Contains(drawings, name) {
			t.Errorf("%s vouches with %s", name, found)
		}
	}
}

func TestScriptInATextIsShownAsText(t *testing.T) {
	const script = `"><script>alert(1)</script>`
	s := newStage(t)
	c := s.SignIn(t, "", partners.RoleOperator)
	letter := partners.Letter{To: partners.Addressee{PartnerCode: script, Email: script, Lang: script}, Code: script}
	if err := s.Mailbox.Carry(t.Context(), letter); err != nil {
		t.Fatal(err)
	}
	s.Settings[0].Value, s.Settings[0].Meaning = script, script
	for _, path := range []string{"/ops/mailbox", "/ops/system", "/ops/nothing?x=" + "%22%3E%3Cscript%3Ealert(1)%3C/script%3E"} {
		if _, body := ask(t, c, "GET", s.ops.URL+path, nil); strings.Contains(body, "<script>alert") || !strings.Contains(body, "</html>") {
			t.Errorf("%s: %s", path, body)
		}
	}
}

// Whoever asks for what nobody else asks for fills no memory with it.
func TestWhatAnybodyCanMakeUpIsNotRemembered(t *testing.T) {
	s := newStage(t)
	s.Bench.Partner(t, "acme")
	c := s.SignIn(t, "acme", partners.RoleViewer)
	ask(t, c, "GET", s.portal.URL+"/portal/deliveries", nil)
	known := s.Memory.Len()
	for _, path := range []string{"?q=state:any+until:2026-11-28T10:00:01", "?q=tp_1", "?cursor=" + webhook.NewID(webhook.DeliveryPrefix)} {
		if resp, _ := ask(t, c, "GET", s.portal.URL+"/portal/deliveries"+path, nil); resp.StatusCode != 200 {
			t.Errorf("%s: status %d", path, resp.StatusCode)
		}
	}
	for i := range 3 {
		ask(t, &http.Client{Transport: shelltest.WithCookie(fmt.Sprint("ledgerhook_portal=made up ", i))}, "GET", s.portal.URL+"/portal/login", nil)
	}
	if n := s.Memory.Len(); n != known {
		t.Errorf("%d more values are remembered", n-known)
	}
}
