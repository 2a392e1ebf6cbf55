package shell

import (
	"regexp"
	"strings"
	"time"

	"ledgerhook/dashboard/locale"
)

// saying is something that the packages below say in English, as partners read
// it in their language; %s stands for what differs each time.
type saying struct {
	text  string
	shape *regexp.Regexp
}

// sayings are tried in their order.
var sayings = sayingsOf(
	// What is wrong with a URL.
	locale.Text("must be a URL like https://partner.example.com/hook"),
	locale.Text("must be at most %s bytes long"),
	locale.Text("must begin with https://"),
	locale.Text("must not hold a user name or password: use a custom header for credentials"),
	locale.Text("must not hold a fragment: take out the # and what follows it"),
	locale.Text("must use a port from 1 to 65535"),
	locale.Text("must use port 443 or 8443"),
	locale.Text("must name its host by a valid DNS name: letters, digits and hyphens between dots, 63 characters per part and 253 in all at most"),
	locale.Text("must name its host by a DNS name, not by an address in a short, octal or hexadecimal form"),
	locale.Text("must name its host by a DNS name, not by an address"),
	locale.Text("must name its host by a full DNS name with a dot, like partner.example.com"),
	locale.Text("must name a host on the public internet: no public DNS serves names that end in %s"),
	locale.Text("must resolve to public addresses only, which %s does not"),
	// With custom headers.
	locale.Text("must have names of at most %s letters, digits and hyphens"),
	locale.Text("must not be set: the gateway or HTTP itself decides on it"),
	locale.Text("must have a value of at most %s printable ASCII characters"),
	locale.Text("must be at most %s headers"),
	locale.Text("must have %s once, in whatever case"),
	// With numbers and texts.
	locale.Text("must be 1 to %s deliveries a second, or 0 for no limit"),
	locale.Text("must be %s to %s, or 0 for the gateway's own"),
	locale.Text("must be 1 to %s"),
	locale.Text("must be a whole number"),
	locale.Text("must be at most %s characters"),
	locale.Text("must not hold control characters"),
	// Why something cannot be done just now.
	locale.Text("the partner has %s endpoints, the maximum: remove one first"),
	locale.Text("the endpoint has %s unfinished deliveries: order can be switched on while there are at most %s"),
	locale.Text("somebody else has changed it since you opened this form: open it again"),
	locale.Text("an endpoint has at most %s contacts: remove one first"),
	locale.Text("this address is no contact of the endpoint"),
	locale.Text("the partner has %s pending secrets: activate or revoke one first"),
	locale.Text("only a pending secret can be activated; %s is %s"),
	locale.Text("the active secret cannot be revoked: create and activate another one first"),
	locale.Text("this secret was shown already, once: create another one if you do not have it"),
	locale.Text("is missing: load the page again and send it from there"),
	locale.Text("the delivery never had an endpoint"),
	locale.Text("the delivery's endpoint was removed"),
	locale.Text("the delivery's event is past its retention and gone"), locale.Text("the content of the delivery's event was erased"),
	locale.Text("a test is sent once: send another"),
	locale.Text("the delivery is being sent just now: wait for the attempt to end"),
	locale.Text("the delivery has already ended: it is %s"),
	locale.Text("the delivery has changed in the meantime: try again"),
	locale.Text("the replay is %s and cannot become %s"),
	locale.Text("the username %s is taken: choose another one"),
	// What is not there, or is not the partner's.
	locale.Text("there is no delivery %s"),
	locale.Text("there is no replay %s"),
	locale.Text("there is no endpoint %s"),
	locale.Text("there is no event %s"),
	locale.Text("there is no secret %s"),
	locale.Text("there is no person %s"),
	locale.Text("there is no invitation %s"),
	locale.Text("there is no session %s"),
	locale.Text("there is no view %s"),
)

func sayingsOf(list ...string) (all []saying) {
	for _, text := range list {
		shape := strings.ReplaceAll(regexp.QuoteMeta(text), "%s", "(.+?)")
		all = append(all, saying{text, regexp.MustCompile("(?s)^" + shape + "$")})
	}
	return all
}

// translated is what was said in the reader's language; known is false if
// it is none of the sayings.
func (q *Request) translated(all []saying, said string) (text string, known bool) {
	for _, s := range all {
		found := s.shape.FindStringSubmatch(said)
		if found == nil {
			continue
		}
		var values []any
		for _, value := range found[1:] {
			if d, err := time.ParseDuration(value); err == nil && strings.HasSuffix(value, "s") {
				values = append(values, q.Duration(d))
				continue
			}
			values = append(values, q.T(value)) // a state, or what is in no language
		}
		return q.T(s.text, values...), true
	}
	return said, false
}

// Told is a sentence in the reader's language, or one that the ledger keeps
// in English as it is.
type Told struct {
	Text    string
	English bool // though the page is not
}

// storedTexts are the sentences that the ledger keeps in English, with %s for
// what stands in them.
var storedTexts = sayingsOf(
	locale.Text("attempt %s of %s, the answer asked to wait %s"), locale.Text("attempt %s of %s, %s after the last"),
	locale.Text("all %s attempts of the schedule are used"), locale.Text("a test is sent once"), locale.Text("the attempt's outcome is unknown: sent again at once"), locale.Text("sent again at once on a new connection"),
	locale.Text("cancelled by an operator"), locale.Text("cancelled by the partner"), locale.Text("its endpoint was removed"), locale.Text("expired"), locale.Text("erased"), locale.Text("filtered"),
	locale.Text("the endpoint answered 410 Gone twice in a row"), locale.Text("no delivery has succeeded for 5 days and %s have failed"),
	locale.Text("%s of the newest %s deliveries fail"),
)

// Stored is a sentence of the ledger in the reader's language, as far as it
// is a known one.
func (q *Request) Stored(sentence string) Told {
	text, known := q.translated(storedTexts, sentence)
	return Told{Text: text, English: !known && q.Locale != locale.English}
}
