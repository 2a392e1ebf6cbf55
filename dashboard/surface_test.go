package dashboard

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
)

func TestEveryAnswerKeepsForeignScriptsOut(t *testing.T) {
	s := newStage(t)
	c := s.SignIn(t, "", partners.RoleAdmin)
	_, page := ask(t, c, "GET", s.ops.URL+"/ops", nil)
	script := regexp.MustCompile(`/ops/static/app\.[^"]+\.js`).FindString(page)
	if script == "" {
		t.Fatal("the page loads no script")
	}
	for _, path := range []string{"/ops", "/ops/system", "/ops/mailbox", "/ops/nothing", "/ops/static/nothing", script, "/ops/"} {
		resp, body := ask(t, c, "GET", s.ops.URL+path, nil)
		h := resp.Header
		if !strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; ") || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s: %d %v", path, resp.StatusCode, h)
		}
		if strings.Contains(body, "<style") || strings.Contains(body, "<script>") || strings.Contains(body, " style=") || strings.Contains(body, " onclick=") {
			t.Errorf("%s holds something inline", path)
		}
	}
}

func TestAFormFromAnotherSiteIsRefused(t *testing.T) {
	s := newStage(t)
	c := s.SignIn(t, "", partners.RoleAdmin)
	form := url.Values{"theme": {"dark"}}
	for _, header := range [][2]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}} {
		resp, body := ask(t, c, "POST", s.ops.URL+"/ops/preferences", form, header[0], header[1])
		if resp.StatusCode != 403 || !strings.Contains(body, "another site") || resp.Header.Get("Set-Cookie") != "" || resp.Header.Get("Content-Security-Policy") == "" {
			t.Errorf("%v: %d %s", header, resp.StatusCode, body)
		}
	}
	if resp, _ := ask(t, c, "POST", s.ops.URL+"/ops/preferences", form, "Sec-Fetch-Site", "same-origin"); resp.StatusCode != 303 {
		t.Errorf("from here: %d", resp.StatusCode)
	}
}

func TestWhoHasNotSignedInIsLedToTheSignIn(t *testing.T) {
	s := newStage(t)
	for path, want := range map[string]string{"/ops": "/ops/login", "/ops/system?x=1": "/ops/login?next=%2Fops%2Fsystem%3Fx%3D1"} {
		if resp, _ := ask(t, stranger, "GET", s.ops.URL+path, nil); resp.StatusCode != 303 || resp.Header.Get("Location") != want {
			t.Errorf("%s: %d %s", path, resp.StatusCode, resp.Header.Get("Location"))
		}
	}
	s.Bench.Partner(t, "acme")
	partner := s.SignIn(t, "acme", partners.RoleAdmin)
	if resp, _ := ask(t, partner, "GET", s.ops.URL+"/ops/system", nil); resp.StatusCode != 303 {
		t.Errorf("a partner's session at /ops: %d", resp.StatusCode)
	}
	if resp, _ := ask(t, partner, "GET", s.portal.URL+"/portal/deliveries", nil); resp.StatusCode != 200 {
		t.Errorf("at /portal: %d", resp.StatusCode)
	}
}

func TestAMissingRightIsSaidInASentence(t *testing.T) {
	s := newStage(t)
	resp, body := ask(t, s.SignIn(t, "", partners.RoleViewer), "GET", s.ops.URL+"/ops/mailbox", nil)
	if resp.StatusCode != 403 || !strings.Contains(body, "your role can only read") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

func TestErrorsArePagesInPlainWordsWithTheRequestsID(t *testing.T) {
	s := newStage(t)
	c := s.SignIn(t, "", partners.RoleAdmin)
	for _, tt := range []struct {
		method, path string
		status       int
		says         string
	}{
		{"GET", "/ops/nothing", 404, "There is no such page"},
		{"DELETE", "/ops/system", 405, "does not accept that kind of request"},
		{"GET", "/ops/static/nothing", 404, "There is no such page"},
	} {
		resp, body := ask(t, c, tt.method, s.ops.URL+tt.path, nil)
		id := resp.Header.Get("X-Request-Id")
		if resp.StatusCode != tt.status || !strings.Contains(body, tt.says) || id == "" || !strings.Contains(body, id) {
			t.Errorf("%s %s: %d %s", tt.method, tt.path, resp.StatusCode, body)
		}
	}
}

func TestThemeAndLanguageAreKeptAndLeadBackHereOnly(t *testing.T) {
	s := newStage(t)
	for back, want := range map[string]string{
		"/portal?x=1": "/portal?x=1", "https://evil.example/": "/portal", "//evil.example/portal": "/portal", "/portal/../ops": "/portal",
		"/\\evil.example": "/portal", "/portalx": "/portal", "": "/portal",
	} {
		resp, _ := ask(t, stranger, "POST", s.portal.URL+"/portal/preferences", url.Values{"theme": {"dark"}, "lang": {"vi"}, "back": {back}})
		if resp.StatusCode != 303 || resp.Header.Get("Location") != want || len(resp.Header.Values("Set-Cookie")) != 2 {
			t.Errorf("%q: %d %v", back, resp.StatusCode, resp.Header)
		}
	}
	_, body := ask(t, stranger, "GET", s.portal.URL+"/portal/nothing", nil, "Cookie", "ledgerhook_theme=dark; ledgerhook_lang=vi")
	if !strings.Contains(body, `<html lang="vi" data-theme="dark"`) {
		t.Errorf("%s", body)
	}
	_, body = ask(t, stranger, "GET", s.portal.URL+"/portal/nothing", nil, "Cookie", "ledgerhook_theme=%22%3E; ledgerhook_lang=xx", "Accept-Language", "fr, zh-CN;q=0.8, vi;q=0.9")
	if !strings.Contains(body, `<html lang="vi" data-theme="auto"`) {
		t.Errorf("%s", body)
	}
}

// Times are shown, and read, where the reader is: as they chose, else as their
// browser says.
func TestTimesAreThoseOfTheReader(t *testing.T) {
	s := newStage(t)
	c := s.SignIn(t, "", partners.RoleAdmin)
	s.Bench.Partner(t, "acme")
	p, err := s.Accounts.Partner(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	for cookies, want := range map[string]struct{ offset, zone string }{
		"":                                  {"UTC", "UTC"},
		"ledgerhook_here=Asia/Ho_Chi_Minh":  {"UTC+7", "Asia/Ho_Chi_Minh"},
		"ledgerhook_here=Asia/Saigon":       {"UTC+7", "Asia/Saigon"}, // an old name that browsers tell
		"ledgerhook_here=Asia/Kathmandu":    {"UTC+5:45", "Asia/Kathmandu"},
		"ledgerhook_here=../../etc/passwd":  {"UTC", "UTC"},
		"ledgerhook_here=Local":             {"UTC", "UTC"},
		"ledgerhook_here=Mars/Olympus_Mons": {"UTC", "UTC"},
		"ledgerhook_here=Asia/Ho_Chi_Minh; ledgerhook_zone=Etc/GMT+3": {"UTC−3", "Etc/GMT+3"},
	} {
		_, body := ask(t, c, "GET", s.ops.URL+"/ops/partners/acme", nil, "Cookie", cookies)
		zone, err := time.LoadLocation(want.zone)
		if err != nil {
			t.Fatal(err)
		}
		shown := p.CreatedAt.UTC().Format("2006-01-02T15:04:05.000Z") + `" data-ago>` + p.CreatedAt.In(zone).Format("2006-01-02 15:04:05") + "<"
		if said := `<a href="/ops/account#zone">Times are in ` + want.offset + "</a>"; !strings.Contains(html.UnescapeString(body), said) || !strings.Contains(body, shown) {
			t.Errorf("%q: the page lacks %s or %s", cookies, said, shown)
		}
	}
	for typed, want := range map[string]string{"Asia/Tokyo": "ledgerhook_zone=Asia/Tokyo; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax", " UTC ": "ledgerhook_zone=UTC;", "": "ledgerhook_zone=; Path=/; Max-Age=0;"} {
		resp, _ := ask(t, c, "POST", s.ops.URL+"/ops/preferences", url.Values{"zone": {typed}, "back": {"/ops/account"}})
		if got := resp.Header.Get("Set-Cookie"); resp.StatusCode != 303 || !strings.HasPrefix(got, want) {
			t.Errorf("%q: %d %s", typed, resp.StatusCode, got)
		}
	}
	resp, body := ask(t, c, "POST", s.ops.URL+"/ops/preferences", url.Values{"zone": {"Mars"}, "back": {"/ops/account"}})
	if resp.StatusCode != 400 || !strings.Contains(body, "<code>zone</code> must be a time zone such as Asia/Ho_Chi_Minh or UTC, or empty for the browser") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if resp, body := ask(t, c, "GET", s.ops.URL+"/ops/audit?since=2026-01-31T14:00&until=then", nil); resp.StatusCode != 400 || !strings.Contains(body, "<code>until</code> must be a time like 2026-01-31T14:00, or one with an offset") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

func TestTheFirstTwoPagesShowWhatIs(t *testing.T) {
	s := newStage(t)
	c := s.SignIn(t, "", partners.RoleOperator)
	if err := s.Ledger.Heartbeat(t.Context(), "wrk_1", "host-1/42"); err != nil {
		t.Fatal(err)
	}
	letter := partners.Letter{To: partners.Addressee{PartnerCode: "acme", Email: "a@example.com", Lang: "en"}, Code: "123456"}
	if err := s.Mailbox.Carry(t.Context(), letter); err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string][]string{
		"/ops/system":  {"host-1/42", "LEDGERHOOK_TOKEN", "***", "works"},
		"/ops/mailbox": {"a@example.com", "123456"},
	} {
		resp, body := ask(t, c, "GET", s.ops.URL+path, nil)
		for _, text := range says {
			if resp.StatusCode != 200 || !strings.Contains(body, text) {
				t.Errorf("%s: %d, lacks %q: %s", path, resp.StatusCode, text, body)
			}
		}
	}
}

// A code of the mailbox lets its reader in, so each look is noted: the page
// does not look by itself.
func TestWhoReadsTheMailboxIsNoted(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := stageOn(t, b)
		operator := s.Bench.NewPerson(t, "", partners.RoleOperator)
		c := s.SignInAs(t, operator)
		for range 2 {
			if resp, body := ask(t, c, "GET", s.ops.URL+"/ops/mailbox", nil); resp.StatusCode != 200 || strings.Contains(body, "data-live") {
				t.Errorf("%d, or it refreshes itself", resp.StatusCode)
			}
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM audit WHERE action = 'mailbox.read' AND target = 'mailbox' AND actor = $1", operator.Username); n != 2 {
			t.Errorf("%d entries of the audit log for 2 looks", n)
		}
	})
}

// What nobody's page can lead to is refused as what it is, in every place where
// it can stand, and shows nothing of anything else.
func TestWhatCannotBeAnIDOrATextIsNoFaultOfOurs(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := stageOn(t, b)
		b.Partner(t, "acme")
		for _, who := range []struct {
			client   *http.Client
			base     string
			patterns []string
		}{
			{s.SignIn(t, "", partners.RoleAdmin), s.ops.URL, patternsOf("/ops")},
			{s.SignIn(t, "acme", partners.RoleAdmin), s.portal.URL, patternsOf("/portal")},
		} {
			for _, pattern := range who.patterns {
				method, path, _ := strings.Cut(strings.TrimSuffix(pattern, "{$}"), " ")
				if strings.HasSuffix(path, "/live") || strings.HasSuffix(path, ".csv") || slices.Contains([]string{"/logout", "/account/password", "/account/totp/off"}, strings.TrimPrefix(path, "/"+strings.Split(path, "/")[1])) {
					continue // signs out, or asks for a password, of which these people have none
				}
				for _, odd := range []string{"%00", "%FF", "x%2Fhistory", "windows"} {
					at := who.base + regexp.MustCompile(`\{\w+\}`).ReplaceAllString(path, odd)
					text, _ := url.PathUnescape(odd)
					form := url.Values{}
					for _, name := range []string{"form", "reason", "role", "type", "url", "name", "username", "password", "current", "partner", "text", "references", "id"} {
						form.Set(name, text)
					}
					query := ""
					for _, name := range []string{"q", "cursor", "after", "partner", "actor", "action", "target", "ref", "id", "newest"} {
						query += "&" + name + "=" + odd
					}
					if resp, body := ask(t, who.client, method, at+"?"+query[1:], form); resp.StatusCode >= 500 {
						t.Errorf("%s with %s: %d %.400s", pattern, odd, resp.StatusCode, body)
					}
				}
			}
		}
	})
}

// An id that another page's memory could be kept under is no such endpoint.
func TestAnEndpointsPageIsAskedForByItsIDAlone(t *testing.T) {
	s := newStage(t)
	s.Bench.Partner(t, "acme")
	c := s.SignIn(t, "acme", partners.RoleViewer)
	for range 2 {
		for _, id := range []string{"x", "x%2Fhistory"} {
			if resp, _ := ask(t, c, "GET", s.portal.URL+"/portal/endpoints/"+id, nil); resp.StatusCode != http.StatusNotFound {
				t.Errorf("%s: status %d", id, resp.StatusCode)
			}
		}
	}
	if n := s.Memory.Len(); n > 1 { // the session
		t.Errorf("%d values are remembered", n)
	}
}
