package config

import (
	"bytes"
	"cmp"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	minTimeout, maxTimeout = 3 * time.Second, 30 * time.Second
	maxRetries             = 50
	maxWait                = 720 * time.Hour
	maxConcurrency         = 10000
	maxLimit               = 100_000
	minToken               = 32             // characters
	maxHold                = 24 * time.Hour // of a fault before it is an incident
)

// check adds to bad what is wrong with values of the right kind, alone and
// together. What is in bad already is left as it is.
func (c Config) check(bad map[string]string) {
	single := map[string]bool{
		"LISTEN":                          isAddress(c.Listen),
		"INTERNAL_LISTEN":                 isAddress(c.InternalListen) && (c.InternalListen != c.Listen || strings.HasSuffix(c.Listen, ":0")),
		"DATABASE_URL":                    c.DatabaseURL == "" || hasScheme(c.DatabaseURL, "postgres", "postgresql"),
		"DATABASE_READ_URL":               c.ReadURL == "" || hasScheme(c.ReadURL, "postgres", "postgresql"),
		"REDIS_URL":                       c.RedisURL == "" || hasScheme(c.RedisURL, "redis", "rediss", "redis-sentinel", "redis-cluster"),
		"ENVIRONMENT":                     c.Environment == Production || c.Environment == Sandbox,
		"TOKEN":                           c.Token == "" || len(c.Token) >= minToken && allRunes(c.Token, func(r rune) bool { return r > ' ' && r < 0x7f }),
		"ADMIN_PASSWORD":                  c.AdminPassword == "" || isPassword(c.AdminPassword),
		"DELIVERY_RETRY":                  validRetry(c.Retry),
		"DELIVERY_TIMEOUT":                between(c.Timeout, minTimeout, maxTimeout),
		"WORKER_CONCURRENCY":              between(c.Concurrency, 1, maxConcurrency),
		"RETENTION":                       c.Retention > 0,
		"ORDER_EXPIRY":                    between(c.OrderExpiry, time.Second, 24*time.Hour),
		"QUOTE_VALIDITY":                  between(c.QuoteValidity, time.Second, time.Hour),
		"RATE_MAX_AGE":                    between(c.RateAge, time.Second, 24*time.Hour),
		"SMTP_URL":                        c.SMTPURL == "" || isSMTP(c.SMTPURL),
		"OIDC_ISSUER":                     c.OIDCIssuer == "" || isIssuer(c.OIDCIssuer),
		"OIDC_NAME":                       between(utf8.RuneCountInString(c.OIDCName), 1, 40) && allRunes(c.OIDCName, unicode.IsPrint),
		"OIDC_SCOPES":                     slices.Contains(strings.Split(c.OIDCScopes, ","), "openid") && !strings.ContainsAny(c.OIDCScopes, " \t\""),
		"OIDC_BREAK_GLASS":                between(len(c.BreakGlass), 3, 64) && c.BreakGlass == strings.ToLower(c.BreakGlass) && !strings.ContainsAny(c.BreakGlass, " \t\""),
		"METRICS_PARTNERS":                arePartners(c.MetricsPartners),
		"LOG":                             c.Log == "" || c.Log == "text" || c.Log == "json",
		"INCIDENTS_MAIL":                  areEmails(c.IncidentMail),
		"INCIDENTS_PARTNER":               c.IncidentPartner == "" || arePartners(c.IncidentPartner) && !strings.Contains(c.IncidentPartner, ","),
		"INCIDENTS_BREAKER":               between(c.IncidentBreaker, 0, maxHold),
		"INCIDENTS_EXHAUSTED":             between(c.IncidentExhausted, 0, 1000),
		"INCIDENTS_WAITING":               between(c.IncidentWaiting, 0, maxHold),
		"INCIDENTS_CERTIFICATE":           between(c.IncidentCertificate, 0, 90*24*time.Hour),
		"INCIDENTS_CANARY":                between(c.IncidentCanary, 0, maxHold),
		"INCIDENTS_BACKLOG":               between(c.IncidentBacklog, 0, maxHold),
		"INCIDENTS_EGRESS":                between(c.IncidentEgress, 0, maxHold),
		"INCIDENTS_RATES":                 between(c.IncidentRates, 0, maxHold),
		"INCIDENTS_SETTLE":                between(c.IncidentSettle, time.Second, maxHold),
		"LIMIT_PER_SECOND":                between(c.PerSecond, 1, maxLimit),
		"LIMIT_BURST":                     between(c.Burst, 1, maxLimit),
		"LIMIT_CREATE_PER_SECOND":         between(c.CreatePerSecond, 1, maxLimit),
		"LIMIT_CREATE_BURST":              between(c.CreateBurst, 1, maxLimit),
		"LIMIT_EMAIL_PER_MINUTE":          between(c.EmailPerMinute, 1, maxLimit),
		"LIMIT_BAD_SIGNATURES_PER_MINUTE": between(c.BadSignaturesPerMinute, 1, maxLimit),
	}
	for _, s := range settings {
		ok, checked := single[strings.TrimPrefix(s.Name, Prefix)]
		if checked && !ok && bad[s.Name] == "" {
			bad[s.Name] = s.wrong(c.show(s))
		}
	}
	c.checkTogether(bad)
}

func (c Config) checkTogether(bad map[string]string) {
	rule := func(name string, ok bool, message string) {
		if !ok && bad[Prefix+name] == "" {
			bad[Prefix+name] = message
		}
	}
	postgres := c.DatabaseURL != "" && bad[Prefix+"DATABASE_URL"] == ""
	const required = "is required with a postgres:// database"
	rule("MASTER_KEY", !postgres || c.MasterKey != nil, required)
	rule("PREVIOUS_MASTER_KEY", c.PreviousMasterKey == nil || !bytes.Equal(c.PreviousMasterKey, c.MasterKey), "is the same as LEDGERHOOK_MASTER_KEY, which is to be the new one")
	rule("TOKEN", !postgres || c.Token != "", required)
	rule("DATABASE_READ_URL", c.ReadURL == "" || c.DatabaseURL != "", "is for a replica of LEDGERHOOK_DATABASE_URL, which is not set")
	const together = "is required with "
	rule("TLS_CERT", c.TLSKey == "" || c.TLSCert != "", together+Prefix+"TLS_KEY")
	rule("TLS_KEY", c.TLSCert == "" || c.TLSKey != "", together+Prefix+"TLS_CERT")
	rule("INTERNAL_TLS_CERT", c.InternalTLSKey == "" || c.InternalTLSCert != "", together+Prefix+"INTERNAL_TLS_KEY")
	rule("INTERNAL_TLS_KEY", c.InternalTLSCert == "" || c.InternalTLSKey != "", together+Prefix+"INTERNAL_TLS_CERT")
	for _, its := range []struct {
		name string
		set  bool
	}{{"OIDC_CLIENT_ID", c.OIDCClientID != ""}, {"OIDC_CLIENT_SECRET", c.OIDCClientSecret != ""}, {"OIDC_ROLES", len(c.OIDCRoles) > 0}} {
		rule(its.name, c.OIDCIssuer == "" || its.set, together+Prefix+"OIDC_ISSUER")
		rule("OIDC_ISSUER", c.OIDCIssuer != "" || !its.set, together+Prefix+its.name)
	}
	rule("PUBLIC_URL", c.TLSCert == "" || c.PublicURL == nil || c.PublicURL.Scheme == "https", "must be https://, since LEDGERHOOK_TLS_CERT is set")
	length := scheduleLength(c.Retry)
	rule("RETENTION", bad[Prefix+"DELIVERY_RETRY"] != "" || c.Retention > length,
		"must be longer than LEDGERHOOK_DELIVERY_RETRY takes, "+length.String()+": what is still tried would be deleted")
	rule("ROLES", !c.Embedded() || c.Roles.All(),
		"must be api,worker,dashboard in one process, because a store is embedded; "+
			"set LEDGERHOOK_DATABASE_URL and LEDGERHOOK_REDIS_URL to run roles apart")
}

// scheduleLength is how long after its event the last attempt of a delivery is
// made, without the jitter.
func scheduleLength(waits []time.Duration) (sum time.Duration) {
	for _, w := range waits {
		sum += w
	}
	return sum
}

func between[T cmp.Ordered](v, least, most T) bool { return v >= least && v <= most }

// isAddress reports whether a is host:port with a numeric port. The host may
// be empty; port 0 lets the system choose.
func isAddress(a string) bool {
	_, port, err := net.SplitHostPort(a)
	return err == nil && validPort(port, 0)
}

// hasScheme reports whether a URL has one of schemes and something after it.
// The rest is left to the driver: lists of hosts are not URLs to net/url.
func hasScheme(value string, schemes ...string) bool {
	scheme, rest, _ := strings.Cut(value, "://")
	return rest != "" && slices.Contains(schemes, scheme)
}

// arePartners reports whether value could be a list of partner codes. What a
// code may be is said where partners are made.
func arePartners(value string) bool {
	for code := range strings.SplitSeq(value, ",") {
		if code = strings.TrimSpace(code); code == "" || len(code) > 64 || strings.ContainsAny(code, " \t\"") {
			return false
		}
	}
	return true
}

// areEmails reports whether each of addresses could be one. What an address may
// be is said where mail is written.
func areEmails(addresses []string) bool {
	return !slices.ContainsFunc(addresses, func(a string) bool {
		at := strings.LastIndexByte(a, '@')
		return at < 1 || at == len(a)-1 || len(a) > 254 || strings.ContainsAny(a, " \t\"<>")
	})
}

func isSMTP(value string) bool {
	u, err := url.Parse(value)
	return err == nil && (u.Scheme == "smtp" || u.Scheme == "smtps") && u.Hostname() != ""
}

// isIssuer reports whether a provider could be called value. Whoever listens in
// on the way to it signs in as anybody, so that only this machine is trusted
// without TLS.
func isIssuer(value string) bool {
	u, err := url.Parse(value)
	if err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(value, "?#") {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && ip.IsLoopback())
}

func validRetry(waits []time.Duration) bool {
	for i, w := range waits {
		if w < 0 || w == 0 && i > 0 || w > maxWait {
			return false
		}
	}
	return len(waits) >= 1 && len(waits) <= maxRetries
}

// isPassword reports whether the pages could take p as a password. What else
// they ask of one is checked where it is first used.
func isPassword(p string) bool {
	n := utf8.RuneCountInString(p)
	return n >= 8 && n <= 200 && allRunes(p, func(r rune) bool { return r >= ' ' && r != 0x7f })
}

func allRunes(s string, ok func(rune) bool) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !ok(r) })
}
