package dashboard

import (
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
)

// Whoever may read a list saves its filter under a name, comes back to it by a
// link, and renames or removes it; nobody else has it.
func TestAFilterOfAListIsSavedUnderAName(t *testing.T) {
	t.Parallel()
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := stageOn(t, b)
		c, another := s.SignIn(t, "", partners.RoleViewer), s.SignIn(t, "", partners.RoleAdmin)
		send := func(act string, pairs ...string) (status int, to, body string) {
			t.Helper()
			form := url.Values{}
			for i := 0; i < len(pairs); i += 2 {
				form.Set(pairs[i], pairs[i+1])
			}
			resp, body := ask(t, c, "POST", s.ops.URL+"/ops/views/"+act, form)
			return resp.StatusCode, resp.Header.Get("Location"), html.UnescapeString(body)
		}
		_, body := ask(t, c, "GET", s.ops.URL+"/ops/orders", nil)
		if strings.Contains(body, "Save this view") {
			t.Error("a list without a filter can be saved")
		}
		_, body = ask(t, c, "GET", s.ops.URL+"/ops/orders?waits=partner&partner=&ref=&since=24h&status=", nil)
		query, _, _ := strings.Cut(strings.Split(body, `name="query" value="`)[1], `"`)
		if query = html.UnescapeString(query); query != "since=24h&waits=partner" {
			t.Fatalf("%q would be saved", query)
		}
		const name = `<b>Untold</b> "today"`
		if status, to, _ := send("save", "list", "/ops/orders", "query", query+"&cursor=dlv_1&done=x", "name", "  "+name+" "); status != 303 || to != "/ops/orders?since=24h&waits=partner" {
			t.Fatalf("%d %s", status, to)
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM audit WHERE action = 'view.save' AND target = '/ops/orders' AND detail = ''"); n != 1 {
			t.Errorf("%d entries in the audit log", n)
		}
		link := `<a class="button" href="/ops/orders?since=24h&amp;waits=partner"`
		if _, body = ask(t, c, "GET", s.ops.URL+"/ops/orders?waits=partner&since=24h", nil); !strings.Contains(body, link+` aria-current="page">`) || !strings.Contains(body, "&lt;b&gt;Untold") || strings.Contains(body, "Save this view") {
			t.Error(body)
		}
		if _, body = ask(t, c, "GET", s.ops.URL+"/ops/orders?since=24h", nil); !strings.Contains(body, link+">") || !strings.Contains(body, "Save this view") {
			t.Error(body)
		}
		for page, client := range map[string]string{"/ops/orders": "another", "/ops/events": "the same person on another list"} {
			who := another
			if page == "/ops/events" {
				who = c
			}
			if _, body := ask(t, who, "GET", s.ops.URL+page, nil); strings.Contains(body, "Untold") {
				t.Errorf("%s sees it at %s", client, page)
			}
		}
		if resp, _ := ask(t, another, "POST", s.ops.URL+"/ops/views/remove", url.Values{"list": {"/ops/orders"}, "view": {name}}); resp.StatusCode != 404 {
			t.Errorf("another removes it: %d", resp.StatusCode)
		}

		if status, _, _ := send("save", "list", "/ops/orders", "query", "status=ERROR", "name", "unclear"); status != 303 {
			t.Fatal(status)
		}
		for _, wrong := range []struct {
			act   string
			pairs []string
			code  int
			says  string
		}{
			{"save", []string{"list", "/ops/orders", "query", "x=1", "name", "  "}, 400, "The name must have 1 to 60 characters."},
			{"save", []string{"list", "/ops/orders", "query", "x=1", "name", strings.Repeat("ữ", 61)}, 400, "The name must have 1 to 60 characters."},
			{"save", []string{"list", "/ops/orders", "query", "x=1", "name", "a\x01b"}, 400, "The name must hold printable characters alone."},
			{"save", []string{"list", "/ops/orders", "query", "x=1", "name", "a\u202eb"}, 400, "The name must hold printable characters alone."},
			{"save", []string{"list", "/ops/orders", "query", "x=1", "name", "a\u200bb"}, 400, "The name must hold printable characters alone."},
			{"rename", []string{"list", "/ops/orders", "view", "unclear", "name", "a\u0085b"}, 400, "The name must hold printable characters alone."},
			{"save", []string{"list", "/ops/orders", "query", "x=1", "name", "unclear"}, 400, "Another of your views of this list has that name."},
			{"save", []string{"list", "/ops/orders", "query", "x=" + strings.Repeat("1", 2000), "name", "long"}, 400, "The filter is too long to be saved."},
			{"save", []string{"list", "/ops/orders", "query", "%zz", "name", "odd"}, 400, "query must be that of an address"},
			{"save", []string{"list", "/ops/rates", "query", "x=1", "name", "no list"}, 400, "list must be a list whose filters can be saved"},
			{"save", []string{"list", "https://elsewhere.example/", "query", "x=1", "name", "no page"}, 400, "list must be"},
			{"save", []string{"list", "/ops/audit", "query", "x=1", "name", "not theirs to see"}, 400, "list must be"},
			{"rename", []string{"list", "/ops/orders", "view", "unclear", "name", ""}, 400, "The name must have 1 to 60 characters."},
			{"rename", []string{"list", "/ops/orders", "view", "unclear", "name", name}, 400, "Another of your views of this list has that name."},
			{"rename", []string{"list", "/ops/orders", "view", "nothing", "name", "something"}, 404, ""},
			{"remove", []string{"list", "/ops/events", "view", "unclear"}, 404, ""},
		} {
			if status, _, body := send(wrong.act, wrong.pairs...); status != wrong.code || !strings.Contains(body, wrong.says) {
				t.Errorf("%s %q: %d, want %d and %q:\n%s", wrong.act, wrong.pairs, status, wrong.code, wrong.says, body)
			} else if asks := strings.Contains(body, `id="save-title"`); asks != (wrong.act == "save" && strings.Contains(wrong.says, "name")) {
				t.Errorf("%s %q asks for another name: %t", wrong.act, wrong.pairs, asks)
			}
		}
		for _, refused := range []string{"orders?since=never", "events?since=never", "deliveries?q=state:never"} {
			if resp, body := ask(t, c, "GET", s.ops.URL+"/ops/"+refused, nil); resp.StatusCode != 400 || strings.Contains(body, "Save this view") {
				t.Errorf("%s can be saved: %d", refused, resp.StatusCode)
			}
		}
		if status, to, _ := send("rename", "list", "/ops/orders", "view", name, "name", "Untold"); status != 303 || to != "/ops/views?done=rename" {
			t.Errorf("%d %s", status, to)
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM audit WHERE action LIKE 'view.%' AND detail <> ''"); n != 0 {
			t.Errorf("%d entries of the audit log hold a name", n)
		}
		if _, body = ask(t, c, "GET", s.ops.URL+"/ops/views", nil); !strings.Contains(body, ">Untold</a>") || !strings.Contains(body, "since=24h&amp;waits=partner") || !strings.Contains(body, ">unclear</a>") {
			t.Error(body)
		}
		for _, view := range []string{"Untold", "unclear"} {
			if status, to, _ := send("remove", "list", "/ops/orders", "view", view); status != 303 || to != "/ops/views?done=remove" {
				t.Errorf("%d %s", status, to)
			}
		}
		if _, body = ask(t, c, "GET", s.ops.URL+"/ops/views", nil); !strings.Contains(body, "No saved views") {
			t.Error(body)
		}
		for i := range partners.MaxViews + 1 {
			status, _, body := send("save", "list", "/ops/orders", "query", "status=ERROR", "name", fmt.Sprint("view ", i))
			if full := i == partners.MaxViews; full != (status == 409) || full && !strings.Contains(body, "A list has at most 30 saved views. Remove one first.") {
				t.Errorf("view %d: %d %s", i, status, body)
			}
		}
	})
}

// In the portal that is so for a partner's people, in their language.
func TestAPartnersPersonSavesAView(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Bench.Partner(t, "acme")
	c := s.SignIn(t, "acme", partners.RoleViewer)
	form := url.Values{"list": {"/portal/deliveries"}, "query": {"q=state:exhausted"}, "name": {""}}
	if resp, body := ask(t, c, "POST", s.portal.URL+"/portal/views/save", form, "Accept-Language", "vi"); resp.StatusCode != 400 || !strings.Contains(body, "Tên phải có 1 đến 60 ký tự.") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	form.Set("name", "bỏ lỡ")
	if resp, _ := ask(t, c, "POST", s.portal.URL+"/portal/views/save", form); resp.Header.Get("Location") != "/portal/deliveries?q=state%3Aexhausted" {
		t.Errorf("%d %s", resp.StatusCode, resp.Header.Get("Location"))
	}
	if _, body := ask(t, c, "GET", s.portal.URL+"/portal/deliveries", nil); !strings.Contains(body, `href="/portal/deliveries?q=state%3Aexhausted">bỏ lỡ</a>`) {
		t.Error(body)
	}
	form.Set("list", "/ops/deliveries")
	if resp, _ := ask(t, c, "POST", s.portal.URL+"/portal/views/save", form); resp.StatusCode != 400 {
		t.Errorf("a list of the operators': %d", resp.StatusCode)
	}
}

// Of several renamings to one name at once one is done, and the others are told
// that the name is taken.
func TestViewsAreRenamedToOneNameAtOnce(t *testing.T) {
	t.Parallel()
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := stageOn(t, b)
		c := s.SignIn(t, "", partners.RoleViewer)
		const views = 8
		for i := range views {
			form := url.Values{"list": {"/ops/orders"}, "query": {"status=ERROR"}, "name": {fmt.Sprint("view ", i)}}
			if resp, body := ask(t, c, "POST", s.ops.URL+"/ops/views/save", form); resp.StatusCode != 303 {
				t.Fatalf("%d %s", resp.StatusCode, body)
			}
		}
		var all sync.WaitGroup
		answers := make([]int, views)
		for i := range views {
			all.Go(func() {
				form := url.Values{"list": {"/ops/orders"}, "view": {fmt.Sprint("view ", i)}, "name": {"one"}}
				resp, _ := ask(t, c, "POST", s.ops.URL+"/ops/views/rename", form)
				answers[i] = resp.StatusCode
			})
		}
		all.Wait()
		slices.Sort(answers)
		if want := append([]int{303}, slices.Repeat([]int{400}, views-1)...); !slices.Equal(answers, want) {
			t.Errorf("answered with %v, want %v", answers, want)
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM saved_views"); n != views {
			t.Errorf("%d views are left", n)
		}
	})
}

// A list is shown without its saved views while these cannot be read.
func TestAListDoesNotWaitForItsSavedViews(t *testing.T) {
	t.Parallel()
	b := ledgertest.NewFresh(t, "postgres")
	s := stageOn(t, b)
	c := s.SignIn(t, "", partners.RoleViewer)
	b.Partner(t, "acme")
	o := b.Order(t, "acme", "ORD-1", time.Hour)
	tx, err := b.Raw.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(t.Context(), "LOCK TABLE saved_views"); err != nil {
		t.Fatal(err)
	}
	if resp, body := ask(t, c, "GET", s.ops.URL+"/ops/orders", nil); resp.StatusCode != 200 || !strings.Contains(body, "/ops/orders/"+o.ID) {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}
