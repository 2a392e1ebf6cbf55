package browsertest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"ledgerhook/app/receiver"
)

// Who is slow since when, and what changed then, stands in words beside the
// charts, on both surfaces, in every language and on a phone. The table below a
// chart leads to the deliveries of a time, a mark to where its change is told.
func TestHowLongAnswersTookIsReadAndFollowed(t *testing.T) {
	t.Parallel()
	g := start(t)
	_, endpoint := customer(t, g, "acme", oneHost, receiver.OK)
	newVisitor(t, g.Public).join(firstAdmin(t, g).invite("acme", "viewer"), "ann")
	meets(t, g, "acme", 3)
	for _, act := range []string{"pause", "resume"} {
		g.Must("POST", "/internal/v1/endpoints/"+endpoint+"/"+act, nil, http.StatusOK, nil)
	}

	b := operator(t, g)
	b.visit("/ops/partners/acme?outcomes=1h")
	b.sees("How long answers took, last hour", "Time until the first attempt, last hour", "What changed in this period", "Paused an endpoint", "Resumed an endpoint")
	const table = "#outcomes figure:nth-of-type(2) .figures-table"
	if counted := value[string](b, `[...document.querySelectorAll("`+table+` tbody tr")].filter(r => r.textContent.includes("≤")).length + " of " +
		document.querySelectorAll("`+table+` tbody tr").length`); !strings.HasSuffix(counted, " of 60") || strings.HasPrefix(counted, "0 ") {
		t.Errorf("minutes with answers: %s", counted)
	}
	b.do(click(chromedp.CSS("#outcomes figure:nth-of-type(2) summary")))
	row := value[int](b, `[...document.querySelectorAll("`+table+` tbody tr")].findIndex(r => r.textContent.includes("≤")) + 1`)
	b.follow(fmt.Sprintf("%s tbody tr:nth-of-type(%d) a", table, row))
	b.sees("acme", "delivered")
	b.visit("/ops/partners/acme?outcomes=1h")
	b.follow("#outcomes .marks li:last-of-type a")
	b.sees("Audit log", "endpoint.resume", endpoint)

	p := open(t, g.Public)
	p.isPhone()
	p.signIn("/portal", "ann", goodPassword)
	for language, texts := range map[string][]string{
		"en": {"How long answers took, last 6 hours", "Paused an endpoint"}, "vi": {"Thời gian phản hồi, 6 giờ qua", "Những thay đổi trong khoảng thời gian này"},
		"zh": {"响应耗时，最近 6 小时", "这段时间内的变更"},
	} {
		p.speaks(language)
		p.visit("/portal?outcomes=6h")
		p.sees(texts...)
		for _, theme := range []string{"light", "dark"} {
			p.wears(theme)
			p.accessible(language + ", " + theme)
		}
		p.fits(language)
		value[bool](p, `document.querySelectorAll("main details").forEach(d => { d.open = true; }) || true`)
		p.fits(language + ", with its tables")
	}
	p.follow("#outcomes .marks li:first-of-type a")
	p.sees(endpoint)
}
