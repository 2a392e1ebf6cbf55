// Package config turns a YAML file and the environment into one validated
// struct.
//
// The environment wins over the file, the file over the defaults. An empty
// variable counts as not set. Every unknown key and every bad value is an
// error that names the key and what would be right; a secret's value never
// appears in one.
//
// The struct Config is the only list of settings: the keys of the file, the
// variables, defaults, meanings and the texts of errors come from its tags.
package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Prefix begins the name of every variable of the environment.
const Prefix = "LEDGERHOOK_"

// The values of Config.Environment.
const (
	Production = "production"
	Sandbox    = "sandbox"
)

// The values of Config.MetricsPartners that are no lists.
const (
	allPartners = "all"
	noPartners  = "none"
)

// Config is the whole configuration of a process, as Load validated it.
type Config struct {
	Listen         string `env:"LISTEN" key:"listen" envDefault:"127.0.0.1:8080" want:"host:port" about:"address of the public listener"`
	InternalListen string `env:"INTERNAL_LISTEN" key:"internalListen" envDefault:"127.0.0.1:8081" want:"host:port, different from the public listener's" about:"address of the internal listener: internal API, operators' pages, metrics, health"`

	TLSCert         string `env:"TLS_CERT" key:"tls.cert" want:"the path of a PEM file" about:"certificate chain with which the public listener speaks TLS itself, read again when it changes; empty: it speaks plain HTTP"`
	TLSKey          string `env:"TLS_KEY" key:"tls.key" want:"the path of a PEM file" about:"private key of LEDGERHOOK_TLS_CERT"`
	InternalTLSCert string `env:"INTERNAL_TLS_CERT" key:"internalTls.cert" want:"the path of a PEM file" about:"the same for the internal listener"`
	InternalTLSKey  string `env:"INTERNAL_TLS_KEY" key:"internalTls.key" want:"the path of a PEM file" about:"private key of LEDGERHOOK_INTERNAL_TLS_CERT"`

	TrustedProxies []netip.Prefix `env:"TRUSTED_PROXIES" key:"trustedProxies" want:"a list of networks such as 10.0.0.0/8,fd00::/8" about:"networks of the proxies in front, whose X-Forwarded-For, X-Forwarded-Proto and Forwarded are trusted; empty: none's"`

	DataDir     string `env:"DATA_DIR" key:"dataDir" envDefault:"./data" want:"a directory" about:"directory of the embedded stores and of generated secrets"`
	DatabaseURL string `env:"DATABASE_URL" key:"databaseUrl" secret:"url" want:"empty or a postgres:// URL" about:"PostgreSQL; empty: SQLite in the data directory"`
	ReadURL     string `env:"DATABASE_READ_URL" key:"databaseReadUrl" secret:"url" want:"empty or a postgres:// URL" about:"streaming replica of LEDGERHOOK_DATABASE_URL that pages and lists are read from; empty: from that itself"`
	RedisURL    string `env:"REDIS_URL" key:"redisUrl" secret:"url" want:"empty or a redis://, rediss://, redis-sentinel:// or redis-cluster:// URL" about:"Redis; empty: embedded"`

	Roles       Roles    `env:"ROLES" key:"roles" envDefault:"api,worker,dashboard" want:"a list of api, worker, dashboard" about:"what this process does; an embedded store needs all three in one process"`
	Environment string   `env:"ENVIRONMENT" key:"environment" envDefault:"production" want:"production or sandbox" about:"sandbox raises the minimum amount of an order"`
	PublicURL   *url.URL `env:"PUBLIC_URL" key:"publicUrl" want:"http:// or https:// and a host, without a path" about:"how partners reach the public listener, used in links; empty: from the listener"`

	MasterKey         []byte `env:"MASTER_KEY" key:"masterKey" secret:"all" want:"base64 of exactly 32 bytes (openssl rand -base64 32 makes one)" about:"encrypts secrets and private keys at rest; required with postgres://, else generated into the data directory"`
	PreviousMasterKey []byte `env:"PREVIOUS_MASTER_KEY" key:"previousMasterKey" secret:"all" want:"base64 of exactly 32 bytes" about:"the master key before, while LEDGERHOOK_MASTER_KEY takes its place; empty: the key is not being changed"`
	Token             string `env:"TOKEN" key:"token" secret:"all" want:"at least 32 printable ASCII characters without blanks" about:"bearer token of the internal API; required with postgres://, else generated into the data directory"`
	AdminPassword     string `env:"ADMIN_PASSWORD" key:"adminPassword" secret:"all" want:"8 to 200 characters without control characters" about:"password of the first operator, admin; empty: generated and printed once"`

	InternalURL      *url.URL    `env:"INTERNAL_URL" key:"internalUrl" want:"http:// or https:// and a host, without a path" about:"how operators reach the internal listener; the sign-in provider sends them back there; empty: from the listener"`
	OIDCIssuer       string      `env:"OIDC_ISSUER" key:"oidc.issuer" want:"empty or an https:// URL without query and fragment (http:// to this machine)" about:"OpenID Connect provider that operators sign in at; empty: they have passwords"`
	OIDCClientID     string      `env:"OIDC_CLIENT_ID" key:"oidc.clientId" want:"the client's id at the provider" about:"what Ledgerhook is called at LEDGERHOOK_OIDC_ISSUER"`
	OIDCClientSecret string      `env:"OIDC_CLIENT_SECRET" key:"oidc.clientSecret" secret:"all" want:"the client's secret at the provider" about:"secret of LEDGERHOOK_OIDC_CLIENT_ID"`
	OIDCName         string      `env:"OIDC_NAME" key:"oidc.name" envDefault:"single sign-on" want:"1 to 40 characters" about:"name of the provider on the button"`
	OIDCScopes       string      `env:"OIDC_SCOPES" key:"oidc.scopes" envDefault:"openid,profile,email" want:"a list of scopes with openid, such as openid,profile,email,groups" about:"what is asked of the provider"`
	OIDCGroupsClaim  string      `env:"OIDC_GROUPS_CLAIM" key:"oidc.groupsClaim" envDefault:"groups" want:"the name of a claim" about:"claim of the ID token, else of the userinfo, that lists somebody's groups"`
	OIDCRoles        []GroupRole `env:"OIDC_ROLES" key:"oidc.roles" want:"a list of group=role such as payments-admins=admin,support=operator with the roles viewer, operator, admin, auditor" about:"roles of the provider's groups; the first group of the list that somebody is in counts"`
	BreakGlass       string      `env:"OIDC_BREAK_GLASS" key:"oidc.breakGlass" envDefault:"admin" want:"a username in lower case" about:"the one operator who may sign in with a password beside the provider"`

	AllowCIDRs  []netip.Prefix  `env:"DELIVERY_ALLOW_CIDRS" key:"delivery.allowCidrs" want:"a list of networks such as 127.0.0.0/8,fd00::/8" about:"networks that deliveries may reach although they are not public, with http, any port and literal addresses"`
	Retry       []time.Duration `env:"DELIVERY_RETRY" key:"delivery.retry" envDefault:"0s,5s,30s,2m,5m,15m,30m,1h,2h,4h,8h,12h,24h,24h" want:"1 to 50 waits such as 0s,5s,2m, each at most 720h, only the first may be 0s" about:"waits before each attempt, jittered by 20 % either way"`
	Timeout     time.Duration   `env:"DELIVERY_TIMEOUT" key:"delivery.timeout" envDefault:"15s" want:"a duration from 3s to 30s" about:"limit of a whole attempt"`
	Concurrency int             `env:"WORKER_CONCURRENCY" key:"worker.concurrency" envDefault:"500" want:"a whole number from 1 to 10000" about:"attempts a worker process makes at once"`
	Retention   time.Duration   `env:"RETENTION" key:"retention" envDefault:"720h" want:"a duration above 0 such as 720h" about:"how long events and deliveries are kept"`

	OrderExpiry   time.Duration `env:"ORDER_EXPIRY" key:"orders.expiry" envDefault:"15m" want:"a duration from 1s to 24h" about:"after which an order fails unless its payout has begun"`
	QuoteValidity time.Duration `env:"QUOTE_VALIDITY" key:"orders.quoteValidity" envDefault:"1m" want:"a duration from 1s to 1h" about:"how long an order gets the price of its quote"`
	RateAge       time.Duration `env:"RATE_MAX_AGE" key:"orders.rateMaxAge" envDefault:"5m" want:"a duration from 1s to 24h" about:"how old a rate may be and still give a price"`

	PerSecond              int `env:"LIMIT_PER_SECOND" key:"limits.perSecond" envDefault:"20" want:"a whole number from 1 to 100000" about:"requests a second for a partner without a limit of its own"`
	Burst                  int `env:"LIMIT_BURST" key:"limits.burst" envDefault:"100" want:"a whole number from 1 to 100000" about:"requests at once for a partner without a limit of its own"`
	CreatePerSecond        int `env:"LIMIT_CREATE_PER_SECOND" key:"limits.createPerSecond" envDefault:"5" want:"a whole number from 1 to 100000" about:"creates a second for a partner without a limit of its own"`
	CreateBurst            int `env:"LIMIT_CREATE_BURST" key:"limits.createBurst" envDefault:"60" want:"a whole number from 1 to 100000" about:"creates at once for a partner without a limit of its own"`
	EmailPerMinute         int `env:"LIMIT_EMAIL_PER_MINUTE" key:"limits.emailPerMinute" envDefault:"10" want:"a whole number from 1 to 100000" about:"tokens a minute for an e-mail, and as many tries of a code"`
	BadSignaturesPerMinute int `env:"LIMIT_BAD_SIGNATURES_PER_MINUTE" key:"limits.badSignaturesPerMinute" envDefault:"30" want:"a whole number from 1 to 100000" about:"bad signatures a minute for a partnerCode from one address, after which further ones get 429"`

	SMTPURL         string `env:"SMTP_URL" key:"smtpUrl" secret:"url" want:"empty or an smtp:// or smtps:// URL" about:"mail server for one-time codes, invitations and incidents; empty: codes go to the operators' development mailbox, and nobody is told of incidents by e-mail"`
	MetricsPartners string `env:"METRICS_PARTNERS" key:"metrics.partners" envDefault:"all" want:"all, none, or a list of partner codes" about:"partners that have a label of their own in the metrics, 1000 at most; the others are _other"`

	IncidentMail        []string      `env:"INCIDENTS_MAIL" key:"incidents.mail" want:"a list of addresses such as oncall@example.com,lead@example.com" about:"who is told of every incident by e-mail; empty: operators and administrators with an e-mail address"`
	IncidentPartner     string        `env:"INCIDENTS_PARTNER" key:"incidents.partner" want:"empty or the code of a partner account" about:"account whose endpoints get every incident as a signed notification; empty: none"`
	IncidentBreaker     time.Duration `env:"INCIDENTS_BREAKER" key:"incidents.breaker" envDefault:"5m" want:"a duration from 0s to 24h" about:"for how long an endpoint's breaker is open to be an incident; 0s: never one"`
	IncidentExhausted   int           `env:"INCIDENTS_EXHAUSTED" key:"incidents.exhausted" envDefault:"1" want:"a whole number from 0 to 1000" about:"how many deliveries of an endpoint are given up in an hour to be an incident; 0: never one"`
	IncidentWaiting     time.Duration `env:"INCIDENTS_WAITING" key:"incidents.waiting" envDefault:"15m" want:"a duration from 0s to 24h" about:"for how long a delivery waits for its first attempt at an endpoint that takes others to be an incident; 0s: never one"`
	IncidentCertificate time.Duration `env:"INCIDENTS_CERTIFICATE" key:"incidents.certificate" envDefault:"336h" want:"a duration from 0s to 2160h" about:"how long before a receiver's certificate ends it is an incident; 0s: never one"`
	IncidentDisabled    bool          `env:"INCIDENTS_DISABLED" key:"incidents.disabled" envDefault:"true" want:"true or false" about:"whether an endpoint that was disabled for its failures is an incident"`
	IncidentCanary      time.Duration `env:"INCIDENTS_CANARY" key:"incidents.canary" envDefault:"1m" want:"a duration from 0s to 24h" about:"for how long what the gateway sends to itself does not arrive to be an incident; 0s: never one"`
	IncidentBacklog     time.Duration `env:"INCIDENTS_BACKLOG" key:"incidents.backlog" envDefault:"2m" want:"a duration from 0s to 24h" about:"for how long a delivery that is ready to leave waits for the gateway to be an incident; 0s: never one"`
	IncidentEgress      time.Duration `env:"INCIDENTS_EGRESS" key:"incidents.egress" envDefault:"1m" want:"a duration from 0s to 24h" about:"for how long most receivers fail at once to be an incident; 0s: never one"`
	IncidentRates       time.Duration `env:"INCIDENTS_RATES" key:"incidents.rates" envDefault:"10m" want:"a duration from 0s to 24h" about:"for how long an exchange rate is too old to be an incident; 0s: never one"`
	IncidentSettle      time.Duration `env:"INCIDENTS_SETTLE" key:"incidents.settle" envDefault:"15m" want:"a duration from 1s to 24h" about:"for how long a fault is over for its incident to be closed; if it comes back before, it is the same incident"`

	Log string   `env:"LOG" key:"log" want:"text or json" about:"format of the log; empty: text on a terminal, else json"`
	URL *url.URL `env:"URL" key:"url" envDefault:"http://127.0.0.1:8081" want:"http:// or https:// and a host, without a path" about:"internal listener that client commands reach"`
}

// ShowsPartner reports whether a partner has a label of its own in the metrics.
func (c Config) ShowsPartner(code string) bool {
	if c.MetricsPartners == allPartners {
		return true
	}
	for one := range strings.SplitSeq(c.MetricsPartners, ",") {
		if strings.TrimSpace(one) == code {
			return c.MetricsPartners != noPartners
		}
	}
	return false
}

// Embedded reports whether the database or the queue lives inside the process.
func (c Config) Embedded() bool { return c.DatabaseURL == "" || c.RedisURL == "" }

// Public is how partners reach the public listener: PublicURL, or without it
// the listener's own address.
func (c Config) Public(listener net.Addr) *url.URL {
	if c.PublicURL != nil {
		u := *c.PublicURL
		return &u
	}
	return listenerURL(listener, c.TLSCert != "")
}

// Operators is how operators reach the internal listener: InternalURL, or
// without it the listener's own address.
func (c Config) Operators(listener net.Addr) *url.URL {
	if c.InternalURL != nil {
		u := *c.InternalURL
		return &u
	}
	return c.Internal(listener)
}

// Internal is how the internal listener is reached from its own machine.
func (c Config) Internal(listener net.Addr) *url.URL {
	return listenerURL(listener, c.InternalTLSCert != "")
}

// listenerURL leads to a listener from its own machine: the address it got,
// with localhost for every address.
func listenerURL(listener net.Addr, secure bool) *url.URL {
	host, port, _ := net.SplitHostPort(listener.String())
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	scheme := "http"
	if secure {
		scheme = "https"
	}
	return &url.URL{Scheme: scheme, Host: net.JoinHostPort(host, port)}
}

// Load reads the YAML file at path ("": none) and environ ("NAME=value", the
// last one of a name counts) and returns the validated configuration. The
// error joins every problem found, one line each.
func Load(path string, environ []string) (Config, error) {
	values := map[string]string{}
	var problems []error
	if path != "" {
		layer, errs := readFile(path)
		problems = append(problems, errs...)
		problems = append(problems, mergeLayer(values, layer)...)
	}
	layer, errs := readEnviron(environ)
	problems = append(problems, errs...)
	problems = append(problems, mergeLayer(values, layer)...)

	cfg, bad := parse(values)
	cfg.check(bad)
	for _, s := range Settings() {
		if bad[s.Name] != "" {
			problems = append(problems, fmt.Errorf("%s (%s): %s", s.Name, s.Key, bad[s.Name]))
		}
	}
	if len(problems) > 0 {
		return Config{}, errors.Join(problems...)
	}
	return cfg, nil
}
