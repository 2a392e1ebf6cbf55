package browsertest

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"ledgerhook/bench/stage"
)

// twice takes a walk with scripts and without: the pages need none.
func twice(t *testing.T, walk func(t *testing.T, open func(t *testing.T, base string) *tab)) {
	t.Run("with scripts", func(t *testing.T) { walk(t, open) })
	t.Run("without scripts", func(t *testing.T) {
		walk(t, func(t *testing.T, base string) *tab { return open(t, base).withoutScripts() })
	})
}

func TestFirstLogin(t *testing.T) {
	t.Parallel()
	g := start(t)
	twice(t, func(t *testing.T, open func(*testing.T, string) *tab) {
		b := open(t, addressOf(g, "/ops"))
		b.visit("/ops/audit") // leads to the sign-in page, and back after it
		b.sees("Sign in")
		b.fill("username", "admin")
		b.fill("password", "not the password")
		if status := b.goes(click(chromedp.Search(button("Sign in")))); status != 401 {
			t.Errorf("a wrong password is answered with %d", status)
		}
		b.sees("The username or the password is wrong.")
		b.fill("password", stage.TestPassword)
		b.press("Sign in")
		b.sees("Audit log", "login.fail")
		b.visit("/ops")
		b.sees("Updated")
		b.follow(`a[href="/ops/account"]`)
		b.sees("Administrator")
	})
}

// Theme and language are chosen on any page, stay, and lead back to it.
func TestThemeAndLanguage(t *testing.T) {
	t.Parallel()
	g := start(t)
	onboard(t, g, "acme", "Acme Pay")
	link := firstAdmin(t, g).invite("acme", "admin")
	newVisitor(t, g.Public).join(link, "ann")
	twice(t, func(t *testing.T, open func(*testing.T, string) *tab) {
		b := open(t, g.Public)
		b.signIn("/portal", "ann", goodPassword)
		is := func(what, script, want string) {
			t.Helper()
			if got := value[string](b, script); got != want {
				t.Errorf("%s is %q, want %q", what, got, want)
			}
		}
		background := `getComputedStyle(document.documentElement).backgroundColor`
		light := value[string](b, background)
		b.visit("/portal/people")
		b.follow(`.preferences [name=theme][value=dark]`)
		is("the theme", `document.documentElement.dataset.theme`, "dark")
		is("the page", `location.pathname`, "/portal/people")
		if dark := value[string](b, background); dark == light {
			t.Errorf("light and dark are both %s", dark)
		}
		heading := value[string](b, `document.querySelector("h1").innerText`)
		for _, language := range []string{"vi", "zh"} {
			b.follow(`.preferences [name=lang][value=` + language + `]`)
			is("the language", `document.documentElement.lang`, language)
			is("the page", `location.pathname`, "/portal/people")
			if got := value[string](b, `document.querySelector("h1").innerText`); got == heading {
				t.Errorf("in %s the heading is still %q", language, got)
			}
		}
		b.visit("/portal")
		is("the language", `document.documentElement.lang`, "zh")
		is("the theme", `document.documentElement.dataset.theme`, "dark")
		b.follow(`.preferences [name=lang][value=en]`)
		b.follow(`.preferences [name=theme][value=light]`)
		is("the theme", `document.documentElement.dataset.theme`, "light")
		if got := value[string](b, background); !strings.EqualFold(got, light) {
			t.Errorf("light is %s now, %s before", got, light)
		}
	})
}
