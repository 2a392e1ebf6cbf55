package demo

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// login is how somebody signs in.
type login struct{ username, password string }

// addUsers makes a user of the portal for each partner.
func (d *demo) addUsers(ctx context.Context) error {
	for _, p := range d.partners {
		name := p.code + "-dev"
		password, err := d.app.AddPortalUser(ctx, p.code, strings.ToLower(name))
		if err != nil {
			return err
		}
		p.login = login{strings.ToLower(name), password}
	}
	return nil
}

// operator is how the operator signs in: with the password that was generated
// for this data directory, or the configured one.
func (d *demo) operator(s settings) login {
	switch {
	case d.first.Password != "":
		return login{d.first.Username, d.first.Password}
	case s.adminPassword:
		return login{"admin", "as in LEDGERHOOK_ADMIN_PASSWORD"}
	}
	return login{"admin", "as printed by the first demo with this data"}
}

// introduce says what runs where, and what to try.
func (d *demo) introduce(s settings) {
	c := d.screen
	line := func(name, value, note string) string {
		return fmt.Sprintf("  %-13s %s  %s", name, c.in(cyan, value), c.in(grey, note))
	}
	data := line("data", s.dir, "removed at the end")
	if !s.temporary {
		data = line("data", s.dir, "kept")
	}
	note := func(text string) string { return "  " + c.in(grey, "# "+text) }
	acme, globex := d.partners[0], d.partners[1]
	signIn := func(l login) string {
		return fmt.Sprintf("  %-13s %s  %s", "", c.in(bold, l.username), l.password)
	}
	c.print(
		c.in(bold, "Ledgerhook "+d.opts.Version)+"  two partners, live traffic; Ctrl-C ends it with a summary", "",
		line("dashboard", d.app.InternalURL()+"/ops", "for operators; sign in as"), signIn(d.operator(s)),
		line("portal", d.app.PublicURL()+"/portal", "for partners; sign in as"), signIn(acme.login), signIn(globex.login), "",
		line("internal API", d.app.InternalURL(), "accepts events, serves the commands below"),
		line("partner API", d.app.PublicURL(), "the signed operations of partners"),
		line("partner", acme.code, "is healthy"),
		line("partner", globex.code, fmt.Sprintf("answers every %dth event with 503 at first", everyNth)),
		data, "",
		"Try in another terminal:", "",
		"  export LEDGERHOOK_URL="+d.app.InternalURL(),
		"  export LEDGERHOOK_TOKEN="+d.app.Token(), "",
		note("send a signed test notification"),
		"  "+d.opts.Command+" endpoint test "+acme.endpoint,
		note("list the newest deliveries"),
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
