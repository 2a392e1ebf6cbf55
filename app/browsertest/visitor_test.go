package browsertest

import (
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"ledgerhook/bench/stage"
)

const goodPassword = "correct horse battery"

// visitor uses the pages without a browser: quicker where nothing is looked at.
type visitor struct {
	t      *testing.T
	base   string
	client *http.Client
}

func newVisitor(t *testing.T, base string) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{t, base, &http.Client{Jar: jar, Timeout: patience}}
}

// get opens a page.
func (v *visitor) get(path string) (status int, page string) {
	v.t.Helper()
	return v.send(http.MethodGet, path, nil)
}

// post sends a form, and follows where it leads.
func (v *visitor) post(path string, form url.Values, headers ...string) (status int, page string) {
	v.t.Helper()
	return v.send(http.MethodPost, path, form, headers...)
}

func (v *visitor) send(method, path string, form url.Values, headers ...string) (status int, page string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// must is the page of an answer with status 200.
func (v *visitor) must(status int, page string) string {
	v.t.Helper()
	if status != http.StatusOK {
		v.t.Fatalf("status %d: %.2000s", status, page)
	}
	return page
}

// signIn signs in at a surface.
func (v *visitor) signIn(base, username, password string) *visitor {
	v.t.Helper()
	if page := v.must(v.post(base+"/login", url.Values{"username": {username}, "password": {password}})); !strings.Contains(page, base+"/logout") {
		v.t.Fatalf("%s is not signed in: %.2000s", username, page)
	}
	return v
}

// firstAdmin is the first operator, signed in.
func firstAdmin(t *testing.T, g *stage.Gateway) *visitor {
	t.Helper()
	return newVisitor(t, addressOf(g, "/ops")).signIn("/ops", "admin", stage.TestPassword)
}

var invitation = regexp.MustCompile(`/(?:ops|portal)/invite/[A-Za-z0-9_-]+`)

// hidden is the value of a hidden field on a page.
func hidden(page, name string) string {
	found := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(page)
	if found == nil {
		return ""
	}
	return html.UnescapeString(found[1])
}

// invite makes a link for somebody, as an administrator of the operators, and
// returns its path.
func (v *visitor) invite(partner, role string) string {
	v.t.Helper()
	form := hidden(v.must(v.get("/ops/admin")), "form")
	page := v.must(v.post("/ops/admin/invite", url.Values{"form": {form}, "partner": {partner}, "role": {role}, "name": {"Somebody"}}))
	link := invitation.FindString(page)
	if link == "" {
		v.t.Fatalf("there is no link on the page: %.3000s", page)
	}
	return link
}

// join makes an account with an invitation.
func (v *visitor) join(link, username string) *visitor {
	v.t.Helper()
	page := v.must(v.post(link, url.Values{"username": {username}, "name": {strings.ToUpper(username[:1]) + username[1:]}, "password": {goodPassword}, "again": {goodPassword}}))
	if !strings.Contains(page, "/logout") {
		v.t.Fatalf("%s has not joined: %.2000s", username, page)
	}
	return v
}
