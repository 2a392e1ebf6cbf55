package browsertest

import (
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"ledgerhook/app/receiver"
)

// Figures and days are written as their readers write them.
func TestEveryReaderGetsTheirOwnFigures(t *testing.T) {
	t.Parallel()
	g := start(t)
	w := &world{Gateway: g, t: t}
	w.acme = onboard(t, g, "acme", "Acme Pay")
	answers := []receiver.Answer{receiver.OK, {Status: http.StatusServiceUnavailable}, receiver.OK}
	var next atomic.Int64
	w.listen(w.acme, func(receiver.Received) receiver.Answer { // two deliveries: one at once, one at the second attempt
		return answers[next.Add(1)-1]
	})
	for range 2 {
		w.post("acme", 1)
		w.Await("acme", patience)
	}
	newVisitor(t, g.Public).join(firstAdmin(t, g).invite("acme", "developer"), "ann")
	b := open(t, g.Public)
	b.isPhone()
	b.signIn("/portal", "ann", goodPassword)
	// The share of attempts, the highest rate, and how a day and a duration look.
	for _, reader := range []struct{ language, share, rate, day, took string }{
		{"en", "66.6 %", "1,000 is the highest", `^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`, `\d m?s`},
		{"vi", "66,6%", "cao nhất là 1.000", `^\d\d/\d\d/\d{4} \d\d:\d\d:\d\d`, `\d (ms|giây)`},
		{"zh", "66.6%", "最高 1,000", `^\d{4}年\d{1,2}月\d{1,2}日 \d\d:\d\d:\d\d`, `\d (毫秒|秒)`},
	} {
		b.speaks(reader.language)
		b.visit("/portal/endpoints/new")
		if said := value[string](b, `document.querySelector("main").textContent`); !strings.Contains(said, reader.rate) {
			t.Errorf("in %s the form does not say %q", reader.language, reader.rate)
		}
		b.visit("/portal")
		b.sees(reader.share)
		for _, theme := range []string{"light", "dark"} {
			b.wears(theme)
			b.accessible(reader.language + ", " + theme)
		}
		b.fits(reader.language)
		b.visit("/portal/deliveries?q=state:any")
		if got := value[string](b, `document.querySelector("tbody time").title`); !regexp.MustCompile(reader.day).MatchString(got) {
			t.Errorf("in %s a time is %q", reader.language, got)
		}
		if got := b.text(); !regexp.MustCompile(reader.took).MatchString(got) {
			t.Errorf("in %s no duration is written like %s:\n%s", reader.language, reader.took, got)
		}
	}
}
