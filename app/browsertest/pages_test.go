package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"ledgerhook/bench/stage"
	"ledgerhook/dashboard"
)

// pages are the routes that show something; what is left out is said why.
func pages(t *testing.T) (patterns []string) {
	t.Helper()
	for _, p := range dashboard.Patterns() {
		switch {
		case !strings.HasPrefix(p, "GET "):
		case strings.HasSuffix(p, "/{$}"): // leads on
		case strings.HasSuffix(p, "/login/provider"), strings.HasSuffix(p, "/login/callback"): // lead to the sign-in provider and back
		case strings.Contains(p, "/static/"), strings.HasSuffix(p, ".csv"), strings.HasSuffix(p, ".pem"), strings.HasSuffix(p, "/live"): // no page
		default:
			patterns = append(patterns, p)
		}
	}
	if len(patterns) < 10 {
		t.Fatalf("only %d pages: %q", len(patterns), patterns)
	}
	return patterns
}

// public reports whether a page is for readers who have not signed in.
func public(pattern string) bool {
	return strings.HasSuffix(pattern, "/login") || strings.Contains(pattern, "/invite/")
}

// name is a page's picture.
func name(pattern string) string {
	return strings.Trim(strings.NewReplacer("GET /", "", "/{", "-", "/", "-", "}", "").Replace(pattern), "-")
}

// everyone are the first operator, an administrator of acme and two strangers,
// each with a tab.
type everyone struct{ ops, portal, outside, outsidePortal *tab }

func (w *world) everyone(t *testing.T) everyone {
	t.Helper()
	e := everyone{open(t, w.address("/ops")), open(t, w.address("/portal")), open(t, w.address("/ops")), open(t, w.address("/portal"))}
	e.ops.signIn("/ops", "admin", stage.TestPassword)
	e.portal.signIn("/portal", "acme-admin", goodPassword)
	return e
}

// who looks at a page.
func (e everyone) who(pattern string) *tab {
	ops := strings.HasPrefix(pattern, "GET /ops")
	switch {
	case public(pattern) && ops:
		return e.outside
	case public(pattern):
		return e.outsidePortal
	case ops:
		return e.ops
	}
	return e.portal
}

func (b *tab) signIn(base, username, password string) {
	b.t.Helper()
	b.visit(base + "/login")
	b.fill("username", username)
	b.fill("password", password)
	b.press("Sign in")
}

// chosen are the pages that the documentation shows, and that are looked at in
// every language.
var chosen = map[string]string{ // the picture's theme
	"ops": "light", "ops-deliveries": "light", "ops-deliveries-id": "dark", "ops-partners-code": "light",
	"ops-reconcile": "dark", "ops-replays-id": "light", "portal": "light", "portal-deliveries-id": "dark",
}

// showsTables fails the test if a table of the page must be scrolled sideways
// to be seen whole, on a screen that has the room.
func (b *tab) showsTables(as string) {
	b.t.Helper()
	for _, cut := range value[[]string](b, `[...document.querySelectorAll("main .table")].filter(t => t.scrollWidth > t.clientWidth).
		map(t => t.scrollWidth - t.clientWidth + " pixels: " + t.textContent.trim().slice(0, 80))`) {
		b.t.Errorf("%s: a table is cut by %s", as, cut)
	}
}

// Every page is readable for everybody, in light and dark, and says nothing to
// the console.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people(firstAdmin(t, w.Gateway))
	e := w.everyone(t)
	for _, pattern := range pages(t) {
		t.Run(name(pattern), func(t *testing.T) {
			path, ok := w.path(pattern)
			if !ok {
				t.Fatalf("tell world.path of which thing to look at %s", pattern)
			}
			b := e.who(pattern).in(t)
			for _, theme := range []string{"light", "dark"} {
				b.wears(theme)
				if theme == "light" {
					b.visit(path)
				}
				if *screens != "" && chosen[name(pattern)] == theme {
					b.photograph(name(pattern))
				}
				b.themed(theme)
				if overflow := value[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); overflow > 0 {
					t.Errorf("%s: the page is %d pixels too wide", theme, overflow)
				}
			}
			b.showsTables("en")
		})
	}
	for _, language := range []string{"vi", "zh"} {
		e.portal.speaks(language)
		for _, pattern := range pages(t) {
			if path, ok := w.path(pattern); ok && strings.HasPrefix(pattern, "GET /portal") && !public(pattern) {
				t.Run(fmt.Sprintf("%s in %s", name(pattern), language), func(t *testing.T) {
					b := e.portal.in(t)
					b.visit(path)
					if got := value[string](b, `document.documentElement.lang`); got != language {
						t.Errorf("the page is in %q", got)
					}
					b.accessible("dark")
					b.showsTables(language)
				})
			}
		}
	}
}
