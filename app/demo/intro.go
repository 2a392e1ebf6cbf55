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
	try := func(command, note string) string {
		return fmt.Sprintf("  %s %s   %s", d.opts.Command, command, c.in(grey, "# "+note))
	}
	acme, globex := d.partners[0], d.partners[1]
	c.print(
		c.in(bold, "Ledgerhook "+d.opts.Version)+"  two partners, live traffic; Ctrl-C ends it with a summary", "",
		fact("internal API", d.app.InternalURL(), "takes events and answers the commands below"),
		fact("partner API", d.app.PublicURL(), "the signed operations of partners"),
		fact(acme.label, acme.code, "healthy"),
		fact(globex.label, globex.code, fmt.Sprintf("answers 503 to the first attempt of every %dth event", everyNth)),
		data, "",
		"Try in another terminal:", "",
		fmt.Sprintf("  export LEDGERHOOK_URL=%s LEDGERHOOK_TOKEN=%s", d.app.InternalURL(), d.app.Token()),
		try("endpoint test "+acme.endpoint, "a signed test notification"),
		try("deliveries list --partner "+globex.code+" --limit 10", "what became of the newest"),
		try("send "+acme.code+" --type TopupCard --data - <<< '"+sample+"'", "an event of yours"),
		"")
}

// sample is the event of the last command to try.
const sample = `{"id":"top_mine","cardId":"card_1","amount":250000,"fee":1250,"status":"Completed","createdAt":1767225600}`

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
