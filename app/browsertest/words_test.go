package browsertest

import (
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"

	"ledgerhook/app/receiver"
)

// cutOff are the labels of the drawings on the page that are not seen whole, or
// are too small to read.
const cutOff = `[...document.querySelectorAll("svg.drawing-bars")].filter(s => s.checkVisibility()).flatMap(s => {
	const box = s.getBoundingClientRect();
	return [...s.querySelectorAll("text")].filter(label => {
		const at = label.getBoundingClientRect();
		return at.left < box.left || at.right > box.right || at.top < box.top || at.bottom > box.bottom || at.height < 11;
	}).map(label => label.textContent);
})`

// Figures and days are written as their readers write them, times are those of
// where they are, and a chart is read on a phone as well.
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
	call(b, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Kolkata"})
	b.signIn("/portal", "ann", goodPassword)
	// The share of attempts, the highest rate, of when the page is, and how a day
	// and a duration look.
	for _, reader := range []struct{ language, share, rate, updated, day, took string }{
		{"en", "66.6 %", "1,000 is the highest", "Updated just now", `^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`, `\d m?s`},
		{"vi", "66,6%", "cao nhất là 1.000", "Cập nhật vừa xong", `^\d\d/\d\d/\d{4} \d\d:\d\d:\d\d`, `\d (ms|giây)`},
		{"zh", "66.6%", "最高 1,000", "刚刚更新", `^\d{4}年\d{1,2}月\d{1,2}日 \d\d:\d\d:\d\d`, `\d (毫秒|秒)`},
	} {
		b.speaks(reader.language)
		b.visit("/portal/endpoints/new")
		if said := value[string](b, `document.querySelector("main").textContent`); !strings.Contains(said, reader.rate) {
			t.Errorf("in %s the form does not say %q", reader.language, reader.rate)
		}
		b.visit("/portal")
		b.sees(reader.share, reader.updated, "UTC+5:30")
		for _, theme := range []string{"light", "dark"} {
			b.wears(theme)
			b.accessible(reader.language + ", " + theme)
		}
		b.fits(reader.language)
		if labels := value[[]string](b, cutOff); len(labels) > 0 {
			t.Errorf("in %s a phone does not show %q whole", reader.language, labels)
		}
		b.visit("/portal/deliveries?q=state:any")
		if got := value[string](b, `document.querySelector("tbody time small").textContent`); !regexp.MustCompile(reader.day).MatchString(strings.TrimSpace(got)) {
			t.Errorf("in %s a time is %q", reader.language, got)
		}
		at, err := time.Parse(time.RFC3339, value[string](b, `document.querySelector("tbody time").dateTime`))
		if here := at.Add(5*time.Hour + 30*time.Minute).Format("15:04:05"); err != nil || !strings.HasSuffix(value[string](b, `document.querySelector("tbody time").textContent`), here) {
			t.Errorf("%v: in %s the time that is %s there is %q", err, reader.language, here, value[string](b, `document.querySelector("tbody time").textContent`))
		}
		if got := b.text(); !regexp.MustCompile(reader.took).MatchString(got) {
			t.Errorf("in %s no duration is written like %s:\n%s", reader.language, reader.took, got)
		}
	}
}
