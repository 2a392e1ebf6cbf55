package dashboard

import (
	"regexp"
	"strings"
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
	words("must be a URL like https://partner.example.com/hook"),
	words("must be at most %s bytes long"),
	words("must begin with https://"),
	words("must not hold a user name or password: use a custom header for credentials"),
	words("must not hold a fragment: take out the # and what follows it"),
	words("must use a port from 1 to 65535"),
	words("must use port 443 or 8443"),
	words("must name its host by a valid DNS name: letters, digits and hyphens between dots, 63 characters per part and 253 in all at most"),
	words("must name its host by a DNS name, not by an address in a short, octal or hexadecimal form"),
	words("must name its host by a DNS name, not by an address"),
	words("must name its host by a full DNS name with a dot, like partner.example.com"),
	words("must name a host on the public internet: no public DNS serves names that end in %s"),
	words("must resolve to public addresses only, which %s does not"),
	// With custom headers.
	words("must have names of at most %s letters, digits and hyphens"),
	words("must not be set: the gateway or HTTP itself decides on it"),
	words("must have a value of at most %s printable ASCII characters"),
	words("must be at most %s headers"),
	words("must have %s once, in whatever case"),
	// With numbers and texts.
	words("must be 1 to %s deliveries a second, or 0 for no limit"),
	words("must be %s to %s, or 0 for the gateway's own"),
	words("must be 1 to %s"),
	words("must be a whole number"),
	words("must be at most %s characters"),
	words("must not hold control characters"),
	// Why something cannot be done just now.
	words("the partner has %s endpoints, which is the most: remove one first"),
	words("the endpoint has %s unfinished deliveries: order can be switched on while there are at most %s"),
	words("somebody else has changed it since you opened this form: open it again"),
	words("the partner has %s pending secrets: activate or revoke one first"),
	words("only a pending secret can be activated; %s is %s"),
	words("the active secret cannot be revoked: create and activate another one first"),
	words("this secret was shown already, once: create another one if you do not have it"),
	words("is missing: load the page again and send it from there"),
	words("the delivery never had an endpoint"),
	words("the delivery's endpoint was removed"),
	words("the delivery's event is past its retention and gone"),
	words("a test is sent once: send another"),
	words("the delivery is being sent just now: wait for the attempt to end"),
	words("the delivery has ended already: it is %s"),
	words("the delivery moved on meanwhile: try again"),
	words("the replay is %s and cannot become %s"),
	words("the username %s is taken: choose another one"),
	// What is not there, or is not the partner's.
	words("there is no delivery %s"),
	words("there is no replay %s"),
	words("there is no endpoint %s"),
	words("there is no event %s"),
	words("there is no secret %s"),
	words("there is no person %s"),
	words("there is no invitation %s"),
	words("there is no session %s"),
)

func sayingsOf(list ...string) (all []saying) {
	for _, text := range list {
		shape := strings.ReplaceAll(regexp.QuoteMeta(text), "%s", "(.+?)")
		all = append(all, saying{text, regexp.MustCompile("(?s)^" + shape + "$")})
	}
	return all
}

// translated is what was said in the language of who asks; known is false if
// it is none of the sayings.
func (q *request) translated(all []saying, said string) (text string, known bool) {
	for _, s := range all {
		found := s.shape.FindStringSubmatch(said)
		if found == nil {
			continue
		}
		var values []any
		for _, value := range found[1:] {
			values = append(values, q.T(value)) // a state, or what is in no language
		}
		return q.T(s.text, values...), true
	}
	return said, false
}
