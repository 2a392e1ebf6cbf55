package browsertest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"ledgerhook/app/receiver"
)

// noteClicks counts what a person presses the mouse for.
const noteClicks = `addEventListener("pointerdown", event => {
	if (event.isTrusted) sessionStorage.clicks = 1 + Number(sessionStorage.clicks ?? 0);
}, true)`

// task is something that people do all day.
type task struct {
	name string
	most int // clicks
	tab  *tab
	from string // the page that it begins at
	do   func(b *tab)
}

// types fills in the search of all pages and presses Enter.
func (b *tab) types(text string) {
	b.t.Helper()
	if status := b.goes(chromedp.SendKeys(chromedp.CSS("#find"), text+"\r")); status != http.StatusOK {
		b.t.Fatalf("%q is answered with %d:\n%s", text, status, b.where())
	}
}

// menu opens a page by the menu.
func (b *tab) menu(path string) {
	b.t.Helper()
	b.follow(`#menu a[href="` + path + `"]`)
}

// What people do all day takes few clicks, each of a mouse on the page.
func TestTasksTakeFewClicks(t *testing.T) {
	t.Parallel()
	g := start(t)
	w := &world{Gateway: g, t: t}
	w.acme = onboard(t, g, "acme", "Acme Pay")
	their := &mood{}
	their.be(receiver.Answer{Status: http.StatusServiceUnavailable, Body: "maintenance"})
	w.listen(w.acme, their.answer)
	order := w.acme.cashout("ORD-2041")
	g.Must("POST", "/internal/v1/orders/"+order+"/transitions", map[string]any{"status": "PAYMENT_COMPLETED", "reason": "it was paid"}, http.StatusOK, nil)
	g.Await("acme", patience)
	failed := len(g.Deliveries("acme", "exhausted"))
	if failed == 0 {
		t.Fatal("the partner was told of its order")
	}
	rewrite(t, g, aMinutePasses)
	admin := firstAdmin(t, g)
	newVisitor(t, g.Public).join(admin.invite("acme", "admin"), "ann")
	newVisitor(t, addressOf(g, "/ops")).join(admin.invite("", "viewer"), "leaver")
	ops, portal := operator(t, g), open(t, g.Public)
	portal.signIn("/portal", "ann", goodPassword)
	for _, b := range []*tab{ops, portal} {
		call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: noteClicks})
	}

	var table strings.Builder
	columns := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "task\tclicks\tat most")
	for _, task := range []task{
		{"why the partner was not told of an order", 3, ops, "/ops", func(b *tab) {
			b.types("ORD-2041")
			if value[string](b, `location.pathname`) == "/ops/find" {
				b.follow(`a[href="/ops/orders/` + order + `"]`)
			}
			b.sees("Its notifications")
			b.follow(`#sent tbody td:last-child`)
			b.sees("Given up after 2 attempts", "answered 503", "On the receiver's side")
		}},
		{"replay a partner's failures of the last hour and watch it end", 4, ops, "/ops", func(b *tab) {
			their.be(receiver.OK)
			b.follow(`#verdict a[href="/ops/partners/acme"]`)
			b.follow(`a[href^="?span=1h"]`)
			b.follow(`a[href*="/replays/new"]`)
			b.fill("reason", "their maintenance is over")
			b.press("Start the replay")
			b.sees("finished", "answered 2xx")
			g.Await("acme", patience)
			if again := len(g.Deliveries("acme", "delivered")); again != failed {
				b.t.Errorf("%d of %d are delivered", again, failed)
			}
		}},
		{"which partner is slow, and since when", 1, ops, "/ops", func(b *tab) {
			rewrite(t, g, `UPDATE windows SET took_us = 6600000, usual_us = 330000, slow_since = CAST(strftime('%s', 'now') AS INTEGER) * 1000000 - 600000000`)
			b.sees("acme answers in 6.6 s, 20 times its usual, since")
		}},
		{"hand over the evidence of a delivery", 2, ops, "/ops", func(b *tab) {
			b.types(g.Deliveries("acme", "exhausted")[0].DeliveryID)
			b.follow(`main a[href$="/evidence"]`)
			b.sees("In short, to send on", "Our signature")
		}},
		{"rotate a secret", 4, portal, "/portal", func(b *tab) {
			b.menu("/portal/secrets")
			if status := b.goes(click(chromedp.Search(button("Create a secret")))); status != http.StatusCreated {
				b.t.Fatalf("status %d", status)
			}
			g.Secret(value[string](b, `document.querySelector(".made code").textContent`))
			b.opens("Activate…")
			b.press("Activate it now")
			b.sees("The new secret signs from now on", "Still signs beside the active one")
		}},
		{"disable somebody who leaves", 2, ops, "/ops", func(b *tab) {
			b.menu("/ops/admin")
			b.press("Disable leaver")
			b.sees("disabled")
		}},
	} {
		b := task.tab.in(t)
		b.visit(task.from)
		value[string](b, `sessionStorage.clicks = "0"`)
		task.do(b)
		clicks := value[int](b, `Number(sessionStorage.clicks)`)
		if clicks > task.most {
			t.Errorf("%s: %d clicks, want %d at most", task.name, clicks, task.most)
		}
		fmt.Fprintf(columns, "%s\t%d\t%d\n", task.name, clicks, task.most)
	}
	if err := columns.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", table.String())
}

// What failed is sent again from where it is seen; the preview is the same for
// everybody who is given its address.
func TestWhatFailedIsReplayedFromWhereItIsSeen(t *testing.T) {
	t.Parallel()
	g := start(t)
	customer(t, g, "acme", oneHost, receiver.Answer{Status: http.StatusServiceUnavailable})
	meets(t, g, "acme", 2)
	rewrite(t, g, aMinutePasses)
	b := operator(t, g)
	preview := func(page, selector string) string {
		t.Helper()
		b.visit(page)
		b.follow(selector)
		b.sees("2 deliveries", "would be sent again")
		return value[string](b, `location.pathname + location.search`)
	}
	const link = `a[href*="/replays/new"]`
	address := preview("/ops", "#verdict "+link)
	preview("/ops/partners/acme", link)
	b.visit("/ops/deliveries")
	b.press("Replay all that match")
	b.sees("2 deliveries", "would be sent again")

	meets(t, g, "acme", 1)
	another := operator(t, g)
	another.visit(address)
	another.sees("2 deliveries", "would be sent again")
	b.fill("reason", "for all that needs attention")
	b.press("Start the replay")
	b.sees("How far it is")
}

// When several partners fail, what was given up at them is sent again from the
// first page: at all of them, or at those that are left ticked.
func TestFailuresOfSeveralPartnersAreReplayedFromTheFirstPage(t *testing.T) {
	t.Parallel()
	g := start(t)
	customer(t, g, "acme", oneHost, receiver.Answer{Status: http.StatusServiceUnavailable})
	meets(t, g, "acme", 1)
	globex, _ := customer(t, g, "globex", otherHost, receiver.Answer{Status: http.StatusUnauthorized})
	meets(t, g, "globex", 2)
	initech, _ := customer(t, g, "initech", oneHost, receiver.Answer{Status: http.StatusBadGateway})
	meets(t, g, "initech", 1)
	initech.be(receiver.OK)
	meets(t, g, "initech", 1)
	rewrite(t, g, aMinutePasses)
	b := operator(t, g)
	b.visit("/ops")
	b.sees("2 of 3 partners fail")
	b.follow(`#verdict a[href*="/replays/new"]`)
	b.sees("3 deliveries", "Of these partners")
	b.accessible("light")
	b.wears("dark")
	b.accessible("dark")
	if *screens != "" {
		b.photograph("replay-of-several")
	}
	b.do(click(chromedp.CSS(`input[name="only"][value="acme"]`)))
	b.press("Preview again")
	b.sees("2 deliveries")
	address := value[string](b, `location.pathname + location.search`)
	b.visit(address)
	b.sees("2 deliveries")
	globex.be(receiver.OK)
	b.fill("reason", "their key is right again")
	b.press("Start the replay")
	b.sees("finished", "answered 2xx")
	g.Await("globex", patience)
	if again, still := len(g.Deliveries("globex", "delivered")), len(g.Deliveries("acme", "exhausted")); again != 2 || still != 1 {
		t.Errorf("%d of globex are delivered, want 2; %d of acme exhausted, want 1", again, still)
	}
}

// rowsAre measures the list: the heights of its rows.
const rowsAre = `[...document.querySelectorAll("table.lines tbody tr")].map(r => Math.round(r.getBoundingClientRect().height))`

// The list of deliveries is dense, its rows are links, and what is selected is
// counted in a bar that stays in sight. On a phone a delivery takes three lines.
func TestTheListOfDeliveries(t *testing.T) {
	t.Parallel()
	g := start(t)
	customer(t, g, "acme", oneHost, receiver.Answer{Status: http.StatusServiceUnavailable})
	meets(t, g, "acme", 2)
	for code, hold := range map[string]string{"globex": "pause", "initech": "open-breaker"} {
		_, endpoint := customer(t, g, code, oneHost, receiver.OK)
		g.Must("POST", "/internal/v1/endpoints/"+endpoint+"/"+hold, map[string]any{"reason": "they asked for it"}, http.StatusOK, nil)
		postEvents(g, code, 20)
	}
	b := operator(t, g)
	b.visit("/ops/deliveries?q=state:any")
	for _, state := range []string{"behind breaker", "held", "exhausted"} {
		if !value[bool](b, `[...document.querySelectorAll("td.state")].some(c => c.innerText.trim() === "`+state+`")`) {
			t.Errorf("no row reads %q", state)
		}
	}
	if *screens != "" {
		b.photograph("list-light")
	}
	for _, height := range value[[]int](b, rowsAre) {
		if height > 41 {
			t.Errorf("a row is %d pixels high, want 40 and its line", height)
		}
	}
	b.do(click(chromedp.CSS("tbody tr:nth-child(2) input")), click(chromedp.CSS("tbody tr:nth-child(3) input")))
	b.sees("2 selected")
	value[bool](b, `document.querySelector("tbody tr:nth-child(4) td.pick").click(), true`) // beside its checkbox
	b.sees("3 selected")
	value[bool](b, `document.querySelector("tbody tr:last-child").scrollIntoView(), true`)
	if top := value[int](b, `Math.round(document.querySelector(".selection").getBoundingClientRect().top)`); top != 0 {
		t.Errorf("the bar of what is selected is %d pixels below the top, want 0", top)
	}
	b.wears("dark")
	b.accessible("dark")
	if *screens != "" {
		b.photograph("list-dark")
	}
	b.wears("light")
	b.accessible("light")
	b.press("Replay selected")
	b.sees("Nothing to replay")

	b.isPhone()
	b.visit("/ops/deliveries?q=state:any")
	if *screens != "" {
		b.photograph("list-phone")
	}
	for _, height := range value[[]int](b, rowsAre) {
		if height > 90 {
			t.Errorf("a delivery is %d pixels high on a phone, want three lines", height)
		}
	}
	b.fits("on a phone")
	b.accessible("on a phone")
	b.follow("tbody tr:nth-child(2) td.what")
	b.sees("Payload")
}
