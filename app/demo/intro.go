package demo

import (
	"fmt"
	"strings"
	"time"
)

// introduce says what runs where, and what to try.
func (d *demo) introduce(s settings) {
	c := d.screen
	fact := func(name, value, note string) string {
		return fmt.Sprintf("  %-13s %s  %s", name, c.in(cyan, value), c.in(grey, note))
	}
	data := fact("data", s.dir, "removed at the end")
	if !s.temporary {
		data = fact("data", s.dir, "kept")
	}
	note := func(text string) string { return "  " + c.in(grey, "# "+text) }
	acme, globex := d.partners[0], d.partners[1]
	c.print(
		c.in(bold, "Ledgerhook "+d.opts.Version)+"  two partners, live traffic; Ctrl-C ends it with a summary", "",
		fact("internal API", d.app.InternalURL(), "takes events, answers the commands below"),
		fact("partner API", d.app.PublicURL(), "the signed operations of partners"),
		fact("partner", acme.code, "is healthy"),
		fact("partner", globex.code, fmt.Sprintf("answers every %dth event with 503 at first", everyNth)),
		data, "",
		"Try in another terminal:", "",
		"  export LEDGERHOOK_URL="+d.app.InternalURL(),
		"  export LEDGERHOOK_TOKEN="+d.app.Token(), "",
		note("send a signed test notification"),
		"  "+d.opts.Command+" endpoint test "+acme.endpoint,
		note("see what became of the newest deliveries"),
		"  "+d.opts.Command+" deliveries list --partner "+globex.code+" --limit 10",
		note("send an event of your own and watch it arrive here"),
		`  echo '{"id":"mine","cardId":"card_1001","amount":250000,"fee":1250,`,
		`    "status":"Completed","createdAt":1767225600}' |`,
		"  "+d.opts.Command+" send "+acme.code+" --type TopupCard --data -",
		"")
}

// stand shows how things stand, below the lines.
func (d *demo) stand() {
	have := d.tally.standing()
	s := d.screen
	parts := []string{
		fmt.Sprintf("%d accepted", have.accepted),
		s.in(green, fmt.Sprintf("%d verified", have.arrived)),
		s.in(yellow, fmt.Sprintf("%d retried", have.again)),
		fmt.Sprintf("%d under way", have.accepted-have.arrived),
	}
	s.stand(s.in(grey, "── ") + strings.Join(parts, s.in(grey, " · ")) + s.in(grey, " ── "+time.Since(d.began).Round(time.Second).String()+" "))
}
