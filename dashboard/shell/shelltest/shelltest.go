// Package shelltest asks for pages as a browser does.
package shelltest

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
)

// Visitors sign in with a ledger under test.
type Visitors struct{ Bench *ledgertest.Bench }

// SignIn makes a person and returns a client that is signed in as them; an
// empty partner makes an operator.
func (v Visitors) SignIn(t *testing.T, partner string, role partners.Role) *http.Client {
	t.Helper()
	return v.SignInAs(t, v.Bench.NewPerson(t, partner, role))
}

// SignInAs returns a client that is signed in as a person and follows no
// redirect.
func (v Visitors) SignInAs(t *testing.T, person partners.Person) *http.Client {
	t.Helper()
	name := "ledgerhook_ops"
	if !person.IsOperator() {
		name = "ledgerhook_portal"
	}
	return &http.Client{CheckRedirect: Stranger.CheckRedirect, Transport: WithCookie(name + "=" + v.Bench.SignIn(t, person))}
}

// WithCookie sends a cookie with every request.
type WithCookie string

// RoundTrip implements http.RoundTripper.
func (c WithCookie) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Add("Cookie", string(c))
	return http.DefaultTransport.RoundTrip(r)
}

// Stranger has not signed in, and follows no redirect.
var Stranger = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// Ask sends a request, a POST with its form, within two minutes, and returns the answer
// with its body. headers are names and values in turn.
func Ask(t *testing.T, c *http.Client, method, address string, form url.Values, headers ...string) (*http.Response, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if method == "POST" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}
