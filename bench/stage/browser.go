package stage

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
)

// SignIn is the first operator's browser, signed in at /ops.
func SignIn(g *Gateway) *http.Client {
	g.tb.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		g.tb.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Timeout: client.Timeout}
	internal, _ := g.Reach()
	response, err := browser.PostForm(internal+"/ops/login", url.Values{"username": {"admin"}, "password": {TestPassword}})
	if err != nil {
		g.tb.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if page, err := io.ReadAll(response.Body); err != nil || !strings.Contains(string(page), "/ops/logout") {
		g.tb.Fatalf("nobody is signed in: %s (%v)", response.Status, err)
	}
	return browser
}
