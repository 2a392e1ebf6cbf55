package partners

import (
	"net/netip"
	"regexp"
	"strings"

	"golang.org/x/net/idna"

	"ledgerhook/webhook"
)

// The limits of an address in bytes (RFC 5321, 4.5.3.1).
const (
	maxEmail     = 254
	maxLocalPart = 64
)

// EmailDetail is what an e-mail address must be.
const EmailDetail = "must be an address like name@example.com"

// The parts of an address (RFC 5321, 4.1.2).
var (
	localPart  = regexp.MustCompile("^(?:[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*" + `|"(?:[ !#-\[\]-~]|\\[ -~])*")$`)
	domainPart = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$`)
	domainIDN  = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.VerifyDNSLength(true))
)

// ReadEmail returns the e-mail address that mail is sent to: without blanks
// around it, and a domain beyond ASCII as its xn-- names. Anything that has not
// the shape of RFC 5321 is an Invalid error of the field "email". Whether
// somebody reads there only a letter can tell.
func ReadEmail(typed string) (string, error) {
	text := strings.TrimSpace(typed)
	at := strings.LastIndexByte(text, '@')
	wrong := webhook.Invalid("email", EmailDetail)
	if at < 0 {
		return "", wrong
	}
	local, domain := text[:at], text[at+1:]
	if strings.ContainsFunc(domain, func(r rune) bool { return r > 0x7f }) {
		ascii, err := domainIDN.ToASCII(domain)
		if err != nil {
			return "", wrong
		}
		domain = ascii
	}
	if len(local) > maxLocalPart || !localPart.MatchString(local) || !domainPart.MatchString(domain) && !isLiteral(domain) || len(local)+1+len(domain) > maxEmail {
		return "", wrong
	}
	return local + "@" + domain, nil
}

// isLiteral reports whether a domain is an address in brackets.
func isLiteral(domain string) bool {
	inner, begun := strings.CutPrefix(domain, "[")
	inner, ended := strings.CutSuffix(inner, "]")
	if !begun || !ended {
		return false
	}
	text, six := strings.CutPrefix(inner, "IPv6:")
	address, err := netip.ParseAddr(text)
	return err == nil && address.Zone() == "" && address.Is4() != six
}
