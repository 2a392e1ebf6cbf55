package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
)

// A process that is stopped keeps its connections and answers nothing, for
// ever. Whoever asks for a page is answered all the same: whoever was known before
// reads what is remembered, everybody else is told to come back.
func TestWhileItsDatabaseStandsStillEveryPageAnswersInTime(t *testing.T) {
	t.Parallel()
	w, address := ledgertest.NewWire(t, ledgertest.Borrowed(t))
	b := &ledgertest.Bench{At: database.Options{DatabaseURL: address}}
	b.Reopen(t)
	t.Cleanup(func() { _ = b.Close() })
	s := stageOn(t, b)
	b.Partner(t, "acme")
	b.Endpoint(t, "acme", 32)
	ids := []string{"{code}", "acme", "{type}", "CreateCard", "{$}", "", "{id}", "x", "{name}", "x", "{token}", "x"}
	for part, make := range belongings {
		ids = append([]string{"/" + part + "/{id}", "/" + part + "/" + make(t, s, "acme")}, ids...)
	}
	var asked []func()
	for base, server := range map[string]string{"/ops": s.ops.URL, "/portal": s.portal.URL} {
		partner := map[string]string{"/portal": "acme"}[base]
		known, unknown := s.SignIn(t, partner, partners.RoleAdmin), s.SignIn(t, partner, partners.RoleAdmin)
		if resp, body := ask(t, known, "GET", server+base, nil); resp.StatusCode != http.StatusOK {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
		for _, pattern := range patternsOf(base) {
			method, path, _ := strings.Cut(pattern, " ")
			address, signedIn := server+strings.NewReplacer(ids...).Replace(path), !forAnybody.MatchString(path)
			asked = append(asked,
				func() { answersInTime(t, unknown, method, address, signedIn) },
				func() { answersInTime(t, known, method, address, signedIn && method == "POST") })
		}
	}
	w.Stop()
	defer w.Cut()
	var all sync.WaitGroup
	for _, ask := range asked {
		all.Go(ask)
	}
	all.Wait()
}

// answersInTime fails the test unless an answer begins, which tells to come
// back later if it is refused, or if it must be.
func answersInTime(t *testing.T, c *http.Client, method, address string, refused bool) {
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	form := url.Values{"form": {formToken()}, "reason": {"x"}}
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Error(err)
		return
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := c.Do(r)
	if err != nil {
		t.Errorf("%s %s: %v", method, r.URL.Path, err)
		return
	}
	resp.Body.Close() // of a stream there is no end
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	comeBack := resp.StatusCode == http.StatusServiceUnavailable && err == nil && seconds > 0
	if !comeBack && (refused || resp.StatusCode >= 500) {
		t.Errorf("%s %s: %d, Retry-After %q", method, r.URL.Path, resp.StatusCode, resp.Header.Get("Retry-After"))
	}
}

// forAnybody are the pages that nobody has to have signed in for.
var forAnybody = regexp.MustCompile(`^/(ops|portal)/(login(/provider|/callback)?|logout|preferences|invite/\{token\}|static/\{name\}|\{\$\})$`)

// patternsOf lists the routes of the surface at base.
func patternsOf(base string) []string {
	return slices.DeleteFunc(Patterns(), func(pattern string) bool {
		_, path, _ := strings.Cut(pattern, " ")
		return path != base && !strings.HasPrefix(path, base+"/") && !strings.HasPrefix(path, base+".")
	})
}
