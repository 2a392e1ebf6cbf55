package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ledgerhook/ledger"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
)

// A process that is stopped keeps its connections and answers nothing, for
// ever. Whoever asks for a page is answered all the same: who was known before
// reads what is remembered, everybody else is told to come back.
func TestWhileItsDatabaseStandsStillEveryPageAnswersInTime(t *testing.T) {
	t.Parallel()
	w, address := ledgertest.NewWire(t, ledgertest.Borrowed(t))
	b := &ledgertest.Bench{Options: ledger.Options{DatabaseURL: address}}
	b.Reopen(t)
	t.Cleanup(func() { _ = b.Ledger.Close() })
	s := stageOn(t, b)
	b.Partner(t, "acme")
	b.Endpoint(t, "acme", 32)
	ids := []string{"{code}", "acme", "{type}", "CreateCard", "{$}", "", "{id}", "x", "{name}", "x", "{token}", "x"}
	for part, make := range belongings {
		ids = append([]string{"/" + part + "/{id}", "/" + part + "/" + make(t, s, "acme")}, ids...)
	}
	var asked []func()
	for _, surface := range []*surface{{Dashboard: s.Dashboard, name: opsSurface, base: "/ops"}, {Dashboard: s.Dashboard, name: portalSurface, base: "/portal"}} {
		server, partner, routes := s.ops.URL, "", surface.opsRoutes
		if surface.name == portalSurface {
			server, partner, routes = s.portal.URL, "acme", surface.portalRoutes
		}
		known, unknown := s.signIn(t, partner, partners.RoleAdmin), s.signIn(t, partner, partners.RoleAdmin)
		if resp, body := ask(t, known, "GET", server+surface.base, nil); resp.StatusCode != http.StatusOK {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
		for _, rt := range routes() {
			method, path, _ := strings.Cut(rt.pattern, " ")
			address := server + strings.NewReplacer(ids...).Replace(path)
			asked = append(asked,
				func() { answersInTime(t, unknown, method, address, rt.may != mayAnyone) },
				func() { answersInTime(t, known, method, address, rt.may != mayAnyone && method == "POST") })
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
	form := url.Values{"form": {newFormToken()}, "reason": {"x"}}
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
