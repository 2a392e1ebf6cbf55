package config

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	key32      = base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))
	otherKey32 = base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{8}, 32))
)

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, yaml string, environ ...string) Config {
	t.Helper()
	cfg, err := Load(write(t, "c.yaml", yaml), environ)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return cfg
}

// refused returns the lines of Load's error.
func refused(t *testing.T, yaml string, environ ...string) []string {
	t.Helper()
	_, err := Load(write(t, "c.yaml", yaml), environ)
	if err == nil {
		t.Fatalf("Load accepted %q with %q", yaml, environ)
	}
	return strings.Split(err.Error(), "\n")
}

func TestNothingSetGivesTheDefaults(t *testing.T) {
	cfg, err := Load("", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range cfg.Masked() {
		if v.Text != v.Default {
			t.Errorf("%s = %q, want its default %q", v.Name, v.Text, v.Default)
		}
	}
	if !cfg.Embedded() || !cfg.Roles.All() || cfg.Timeout != 15*time.Second || len(cfg.Retry) != 14 {
		t.Errorf("unexpected defaults: %v", cfg)
	}
}

func TestEveryKeyOfTheFileIsRead(t *testing.T) {
	cfg := load(t, `
# everything
listen: 0.0.0.0:80
internalListen: ":81"
dataDir: /var/lib/ledgerhook
databaseUrl: postgres://u:p@db/ledgerhook
redisUrl: redis-sentinel://:pw@a:1,b:2/main/0
roles: [api, worker]
environment: sandbox
publicUrl: https://pay.example.com/
internalUrl: https://ops.example.com
oidc:
  issuer: https://id.example.com/realms/acme
  clientId: ledgerhook
  clientSecret: s3cret
  name: Acme ID
  scopes: [openid, groups]
  groupsClaim: roles
  roles: [admins=admin, all=viewer]
  breakGlass: root
masterKey: `+key32+`
previousMasterKey: `+otherKey32+`
token: 01234567890123456789012345678901
adminPassword: "pass: word"
delivery:
  allowCidrs: [127.0.0.0/8, "fd00::1/8"]
  retry: 1s, 2s
  timeout: 3s
worker: {concurrency: 10}
retention: 48h
smtpUrl: smtp://mail:25
orders: {expiry: 10m, quoteValidity: 30s, rateMaxAge: 1h}
limits: {perSecond: 1, burst: 2, createPerSecond: 3, createBurst: 4, emailPerMinute: 5, badSignaturesPerMinute: 6}
metrics: {partners: [acme, bolt]}
incidents:
  mail: [oncall@example.com, lead@example.com]
  partner: ops
  breaker: 1m
  exhausted: 2
  waiting: 3m
  certificate: 48h
  disabled: false
  canary: 4m
  backlog: 5m
  egress: 6m
  rates: 0s
  settle: 7m
log: json
url: https://gateway:8081
`)
	want := Config{
		Listen: "0.0.0.0:80", InternalListen: ":81", DataDir: "/var/lib/ledgerhook",
		DatabaseURL: "postgres://u:p@db/ledgerhook", RedisURL: "redis-sentinel://:pw@a:1,b:2/main/0",
		Roles: Roles{API: true, Worker: true}, Environment: Sandbox,
		MasterKey: bytes.Repeat([]byte{7}, 32), PreviousMasterKey: bytes.Repeat([]byte{8}, 32), Token: "01234567890123456789012345678901", AdminPassword: "pass: word",
		AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("fd00::/8")},
		Retry:      []time.Duration{time.Second, 2 * time.Second}, Timeout: 3 * time.Second,
		Concurrency: 10, Retention: 48 * time.Hour, SMTPURL: "smtp://mail:25", Log: "json", MetricsPartners: "acme,bolt",
		OrderExpiry: 10 * time.Minute, QuoteValidity: 30 * time.Second, RateAge: time.Hour,
		PerSecond: 1, Burst: 2, CreatePerSecond: 3, CreateBurst: 4, EmailPerMinute: 5, BadSignaturesPerMinute: 6,
		OIDCIssuer: "https://id.example.com/realms/acme", OIDCClientID: "ledgerhook", OIDCClientSecret: "s3cret", OIDCName: "Acme ID", OIDCScopes: "openid,groups",
		OIDCGroupsClaim: "roles", OIDCRoles: []GroupRole{{"admins", "admin"}, {"all", "viewer"}}, BreakGlass: "root",
		IncidentMail: []string{"oncall@example.com", "lead@example.com"}, IncidentPartner: "ops", IncidentBreaker: time.Minute, IncidentExhausted: 2,
		IncidentWaiting: 3 * time.Minute, IncidentCertificate: 48 * time.Hour, IncidentCanary: 4 * time.Minute, IncidentBacklog: 5 * time.Minute,
		IncidentEgress: 6 * time.Minute, IncidentSettle: 7 * time.Minute,
		PublicURL: cfg.PublicURL, InternalURL: cfg.InternalURL, URL: cfg.URL,
	}
	if diff := cmp.Diff(want, cfg, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	if cfg.PublicURL.String() != "https://pay.example.com" || cfg.InternalURL.String() != "https://ops.example.com" || cfg.URL.String() != "https://gateway:8081" {
		t.Errorf("publicUrl %v, internalUrl %v, url %v", cfg.PublicURL, cfg.InternalURL, cfg.URL)
	}
}

func TestTheEnvironmentWinsOverTheFile(t *testing.T) {
	tokenFile := write(t, "token", "from-a-file-01234567890123456789012345678901\n")
	cfg := load(t, "listen: 127.0.0.1:1\nlog: json\ntoken: in-yaml\n",
		"LEDGERHOOK_LISTEN=127.0.0.1:2", "LEDGERHOOK_LISTEN=127.0.0.1:3",
		"LEDGERHOOK_LOG=", "LEDGERHOOK_TEST_ANYTHING=1", "PATH=/bin", "LEDGERHOOK_TOKEN_FILE="+tokenFile)
	if cfg.Listen != "127.0.0.1:3" || cfg.Log != "json" || cfg.Token != "from-a-file-01234567890123456789012345678901" {
		t.Errorf("listen %q, log %q, token %q", cfg.Listen, cfg.Log, cfg.Token)
	}
}

func TestAByteOrderMarkBeforeAFileIsPassedOver(t *testing.T) {
	t.Parallel()
	token := strings.Repeat("t", 40)
	cfg := load(t, "\uFEFFtoken: "+strings.Repeat("x", 40)+"\n", "LEDGERHOOK_TOKEN_FILE="+write(t, "token", "\uFEFF"+token+"\r\n"))
	if string(cfg.Token) != token {
		t.Errorf("the token is %q", string(cfg.Token))
	}
}

func TestEverySecretCanComeFromAFile(t *testing.T) {
	values := map[string]string{
		"DATABASE_URL": "postgres://u:p@h/d", "DATABASE_READ_URL": "postgres://u:p@r/d", "REDIS_URL": "redis://h:1", "MASTER_KEY": key32, "PREVIOUS_MASTER_KEY": otherKey32,
		"TOKEN": "01234567890123456789012345678901", "ADMIN_PASSWORD": "password of admin", "SMTP_URL": "smtp://h", "OIDC_CLIENT_SECRET": "s3cret",
	}
	var environ []string
	var yaml strings.Builder
	for _, s := range Settings() {
		if s.Secret {
			path := write(t, s.field, values[strings.TrimPrefix(s.Name, Prefix)]+"\r\n")
			environ = append(environ, s.Name+"_FILE="+path)
			fmt.Fprintf(&yaml, "%sFile: %s\n", s.Key, path)
		}
	}
	if len(environ) != len(values) {
		t.Fatalf("%d secrets, want %d", len(environ), len(values))
	}
	const oidc = "oidc: {issuer: 'https://id.example.com', clientId: a, roles: [b=admin]}\n"
	for name, cfg := range map[string]Config{"environment": load(t, oidc, environ...), "file": load(t, oidc+yaml.String())} {
		if cfg.DatabaseURL != "postgres://u:p@h/d" || cfg.ReadURL != "postgres://u:p@r/d" || cfg.RedisURL != "redis://h:1" || len(cfg.MasterKey) != 32 || len(cfg.PreviousMasterKey) != 32 ||
			cfg.Token != "01234567890123456789012345678901" || cfg.AdminPassword != "password of admin" || cfg.SMTPURL != "smtp://h" || cfg.OIDCClientSecret != "s3cret" {
			t.Errorf("from the %s: %v", name, cfg)
		}
	}
}

func TestWhatKubernetesSetsForAServiceIsPassedOver(t *testing.T) {
	t.Parallel()
	for _, service := range []string{"LEDGERHOOK", "LEDGERHOOK_API"} {
		for _, link := range []string{"_PORT=tcp://10.96.0.7:8080", "_SERVICE_HOST=10.96.0.7", "_SERVICE_HOST=fd00::7", "_SERVICE_PORT=8080", "_SERVICE_PORT_HTTP_PUBLIC=8080",
			"_PORT_8080_TCP=tcp://10.96.0.7:8080", "_PORT_8080_TCP=tcp://[fd00::7]:8080", "_PORT_8080_TCP_ADDR=10.96.0.7", "_PORT_8080_TCP_PORT=8080", "_PORT_8080_TCP_PROTO=tcp", "_PORT_53_UDP=udp://10.96.0.7:53"} {
			if _, err := Load("", []string{service + link}); err != nil {
				t.Errorf("%s%s: %v", service, link, err)
			}
		}
		for _, other := range []string{"_PORT=8080", "_SERVICE_HOST=", "_SERVICE_PORT=http", "_PORT_TCP=tcp://10.96.0.7:8080", "_SERVICE_NAME=x", "_HOST=10.96.0.7"} {
			if _, err := Load("", []string{service + other}); err == nil || !strings.Contains(err.Error(), "there is no such variable") {
				t.Errorf("%s%s is taken: %v", service, other, err)
			}
		}
	}
}

func TestWrongSettingsAreNamed(t *testing.T) {
	empty := write(t, "empty", "\n")
	const oidc = "oidc: {issuer: 'https://id.example.com', clientId: a, clientSecret: b, roles: [c=admin]}"
	for _, tt := range []struct {
		name, yaml, env string
		want            string // part of the only line
	}{
		{"misspelt variable", "", "LEDGERHOOK_LISTN=x", "LEDGERHOOK_LISTN: there is no such variable; the nearest is LEDGERHOOK_LISTEN"},
		{"file of a plain setting", "", "LEDGERHOOK_LISTEN_FILE=x", "LEDGERHOOK_LISTEN_FILE: there is no such variable"},
		{"misspelt section", "\ndelivry: {timeout: 3s}", "", `c.yaml:2: there is no key "delivry"; the nearest is delivery`},
		{"misspelt key", "delivery:\n  retries: 1s", "", `c.yaml:2: there is no key "delivery.retries"; the nearest is delivery.retry`},
		{"key twice", "log: text\nlog: json", "", "c.yaml:2: log is there twice"},
		{"section is no section", "delivery: 5", "", "delivery must hold keys and values"},
		{"mapping for a value", "log: {a: b}", "", "log must be a plain value"},
		{"alias", "token: *a", "", "must be a plain value"},
		{"anchor", "token: &a x", "", "must be a plain value"},
		{"tag", "token: !!str x", "", "must be a plain value"},
		{"second document", "log: text\n---\nlog: json", "", "second document"},
		{"empty list with a default", "delivery: {retry: []}", "", "delivery.retry is empty"},
		{"broken YAML", "listen: [", "", "c.yaml:1:9: is not valid YAML"},
		{"a list at the top", "- a", "", "the file must hold keys and values"},
		{"listen", "", "LEDGERHOOK_LISTEN=8080", `LEDGERHOOK_LISTEN (listen): must be host:port, not "8080"`},
		{"certificate without key", "", "LEDGERHOOK_TLS_CERT=/c.pem", "LEDGERHOOK_TLS_KEY (tls.key): is required with LEDGERHOOK_TLS_CERT"},
		{"key without certificate", "internalTls: {key: /k.pem}", "", "LEDGERHOOK_INTERNAL_TLS_CERT (internalTls.cert): is required with LEDGERHOOK_INTERNAL_TLS_KEY"},
		{"plain URL with certificate", "tls: {cert: /c.pem, key: /k.pem}", "LEDGERHOOK_PUBLIC_URL=http://pay.example.com", "LEDGERHOOK_PUBLIC_URL (publicUrl): must be https://, since LEDGERHOOK_TLS_CERT is set"},
		{"named port", "", "LEDGERHOOK_LISTEN=localhost:http", "must be host:port"},
		{"port range", "", "LEDGERHOOK_LISTEN=localhost:65536", "must be host:port"},
		{"one listener for both", "internalListen: 127.0.0.1:8080", "", "INTERNAL_LISTEN (internalListen): must be host:port, different from"},
		{"database", "", "LEDGERHOOK_DATABASE_URL=mysql://x", "must be empty or a postgres:// URL"},
		{"a replica of nothing", "", "LEDGERHOOK_DATABASE_READ_URL=postgres://replica/d", "LEDGERHOOK_DATABASE_READ_URL (databaseReadUrl): is for a replica of LEDGERHOOK_DATABASE_URL, which is not set"},
		{"a replica that is no PostgreSQL", "", "LEDGERHOOK_DATABASE_READ_URL=replica:5432", "must be empty or a postgres:// URL"},
		{"redis", "", "LEDGERHOOK_REDIS_URL=localhost:6379", "must be empty or a redis://"},
		{"roles", "", "LEDGERHOOK_ROLES=api,wrker", `LEDGERHOOK_ROLES (roles): must be a list of api, worker, dashboard, not "api,wrker"`},
		{"roles apart on an embedded store", "", "LEDGERHOOK_ROLES=api", "LEDGERHOOK_ROLES (roles): must be api,worker,dashboard in one process"},
		{"environment", "environment: test", "", "must be production or sandbox"},
		{"public URL", "", "LEDGERHOOK_PUBLIC_URL=pay.example.com", "must be http:// or https://"},
		{"public URL with path", "", "LEDGERHOOK_PUBLIC_URL=https://a/b", "without a path"},
		{"public URL with query", "", "LEDGERHOOK_PUBLIC_URL=https://a?b", "without a path"},
		{"public URL with port 0", "", "LEDGERHOOK_PUBLIC_URL=https://a:0", "without a path"},
		{"master key", "", "LEDGERHOOK_MASTER_KEY=c2hvcnQ=", "must be base64 of exactly 32 bytes"},
		{"previous master key", "", "LEDGERHOOK_PREVIOUS_MASTER_KEY=c2hvcnQ=", "LEDGERHOOK_PREVIOUS_MASTER_KEY (previousMasterKey): must be base64 of exactly 32 bytes"},
		{"one master key twice", "masterKey: " + key32, "LEDGERHOOK_PREVIOUS_MASTER_KEY=" + key32, "LEDGERHOOK_PREVIOUS_MASTER_KEY (previousMasterKey): is the same as LEDGERHOOK_MASTER_KEY"},
		{"token", "", "LEDGERHOOK_TOKEN=a 01234567890123456789012345678901", "must be at least 32 printable ASCII"},
		{"a short token", "", "LEDGERHOOK_TOKEN=a", "must be at least 32 printable ASCII"},
		{"a token that is nearly long enough", "", "LEDGERHOOK_TOKEN=0123456789012345678901234567890", "must be at least 32 printable ASCII"},
		{"a retention within the schedule", "", "LEDGERHOOK_RETENTION=1s", "LEDGERHOOK_RETENTION (retention): must be longer than LEDGERHOOK_DELIVERY_RETRY takes, 75h52m35s"},
		{"a retention as long as the schedule", "delivery:\n  retry: 0s,1h", "LEDGERHOOK_RETENTION=1h", "must be longer than LEDGERHOOK_DELIVERY_RETRY takes, 1h0m0s"},
		{"admin password", "", "LEDGERHOOK_ADMIN_PASSWORD=secret\twords", "without control characters"},
		{"short admin password", "", "LEDGERHOOK_ADMIN_PASSWORD=seven77", "8 to 200 characters"},
		{"CIDR without length", "", "LEDGERHOOK_DELIVERY_ALLOW_CIDRS=10.0.0.1", "must be a list of networks"},
		{"mapped CIDR", "", "LEDGERHOOK_DELIVERY_ALLOW_CIDRS=::ffff:10.0.0.0/104", "must be a list of networks"},
		{"retry unit", "", "LEDGERHOOK_DELIVERY_RETRY=0s,5", "must be 1 to 50 waits"},
		{"retry zero later", "", "LEDGERHOOK_DELIVERY_RETRY=0s,0s", "only the first may be 0s"},
		{"retry negative", "", "LEDGERHOOK_DELIVERY_RETRY=-1s", "must be 1 to 50 waits"},
		{"retry too long", "", "LEDGERHOOK_DELIVERY_RETRY=721h", "must be 1 to 50 waits"},
		{"retry too many", "", "LEDGERHOOK_DELIVERY_RETRY=1s" + strings.Repeat(",1s", 50), "must be 1 to 50 waits"},
		{"timeout short", "", "LEDGERHOOK_DELIVERY_TIMEOUT=2999ms", `must be a duration from 3s to 30s, not "2.999s"`},
		{"timeout long", "delivery: {timeout: 31s}", "", `LEDGERHOOK_DELIVERY_TIMEOUT (delivery.timeout): must be a duration from 3s to 30s, not "31s"`},
		{"timeout without unit", "delivery: {timeout: 15}", "", `must be a duration from 3s to 30s, not "15"`},
		{"concurrency", "", "LEDGERHOOK_WORKER_CONCURRENCY=0", "must be a whole number from 1 to 10000"},
		{"concurrency large", "", "LEDGERHOOK_WORKER_CONCURRENCY=10001", "must be a whole number from 1 to 10000"},
		{"concurrency text", "", "LEDGERHOOK_WORKER_CONCURRENCY=many", `must be a whole number from 1 to 10000, not "many"`},
		{"retention", "retention: 0s", "", "must be a duration above 0"},
		{"smtp", "", "LEDGERHOOK_SMTP_URL=http://mail", "must be empty or an smtp:// or smtps:// URL"},
		{"order expiry", "orders: {expiry: 25h}", "", `LEDGERHOOK_ORDER_EXPIRY (orders.expiry): must be a duration from 1s to 24h, not "25h"`},
		{"quote validity", "", "LEDGERHOOK_QUOTE_VALIDITY=0s", `LEDGERHOOK_QUOTE_VALIDITY (orders.quoteValidity): must be a duration from 1s to 1h, not "0s"`},
		{"addresses", "incidents: {mail: [oncall]}", "", `LEDGERHOOK_INCIDENTS_MAIL (incidents.mail): must be a list of addresses such as oncall@example.com,lead@example.com, not "oncall"`},
		{"an account of incidents", "", "LEDGERHOOK_INCIDENTS_PARTNER=a,b", `LEDGERHOOK_INCIDENTS_PARTNER (incidents.partner): must be empty or the code of a partner account, not "a,b"`},
		{"a rule", "", "LEDGERHOOK_INCIDENTS_BREAKER=-1s", `LEDGERHOOK_INCIDENTS_BREAKER (incidents.breaker): must be a duration from 0s to 24h, not "-1s"`},
		{"settling", "", "LEDGERHOOK_INCIDENTS_SETTLE=0s", `LEDGERHOOK_INCIDENTS_SETTLE (incidents.settle): must be a duration from 1s to 24h, not "0s"`},
		{"rate age", "", "LEDGERHOOK_RATE_MAX_AGE=5", `LEDGERHOOK_RATE_MAX_AGE (orders.rateMaxAge): must be a duration from 1s to 24h, not "5"`},
		{"requests", "", "LEDGERHOOK_LIMIT_PER_SECOND=0", `LEDGERHOOK_LIMIT_PER_SECOND (limits.perSecond): must be a whole number from 1 to 100000, not "0"`},
		{"burst", "", "LEDGERHOOK_LIMIT_BURST=1e3", `LEDGERHOOK_LIMIT_BURST (limits.burst): must be a whole number from 1 to 100000, not "1e3"`},
		{"creates", "", "LEDGERHOOK_LIMIT_CREATE_PER_SECOND=-5", "LEDGERHOOK_LIMIT_CREATE_PER_SECOND (limits.createPerSecond): must be a whole number"},
		{"burst of creates", "limits: {createBurst: 100001}", "", "LEDGERHOOK_LIMIT_CREATE_BURST (limits.createBurst): must be a whole number"},
		{"e-mails", "", "LEDGERHOOK_LIMIT_EMAIL_PER_MINUTE=0", "LEDGERHOOK_LIMIT_EMAIL_PER_MINUTE (limits.emailPerMinute): must be a whole number"},
		{"bad signatures", "", "LEDGERHOOK_LIMIT_BAD_SIGNATURES_PER_MINUTE=0", "LEDGERHOOK_LIMIT_BAD_SIGNATURES_PER_MINUTE (limits.badSignaturesPerMinute): must be a whole number"},
		{"misspelt limit", "limits: {perMinute: 1}", "", `c.yaml:1: there is no key "limits.perMinute"; the nearest is limits.`},
		{"partners of metrics", "metrics: {partners: [acme, '']}", "", "LEDGERHOOK_METRICS_PARTNERS (metrics.partners): must be all, none, or a list of partner codes"},
		{"issuer", oidc, "LEDGERHOOK_OIDC_ISSUER=id.example.com", "LEDGERHOOK_OIDC_ISSUER (oidc.issuer): must be empty or an https:// URL"},
		{"issuer on the network without TLS", oidc, "LEDGERHOOK_OIDC_ISSUER=http://id.example.com", "LEDGERHOOK_OIDC_ISSUER (oidc.issuer): must be empty or an https:// URL"},
		{"issuer with a query", oidc, "LEDGERHOOK_OIDC_ISSUER=https://id.example.com/?x", "LEDGERHOOK_OIDC_ISSUER (oidc.issuer): must be empty or an https:// URL"},
		{"issuer without a client's secret", "oidc: {issuer: 'https://id.example.com', clientId: a, roles: [b=admin]}", "", "LEDGERHOOK_OIDC_CLIENT_SECRET (oidc.clientSecret): is required with LEDGERHOOK_OIDC_ISSUER"},
		{"issuer without roles", "oidc: {issuer: 'https://id.example.com', clientId: a, clientSecret: b}", "", "LEDGERHOOK_OIDC_ROLES (oidc.roles): is required with LEDGERHOOK_OIDC_ISSUER"},
		{"client without an issuer", "oidc: {clientId: a}", "", "LEDGERHOOK_OIDC_ISSUER (oidc.issuer): is required with LEDGERHOOK_OIDC_CLIENT_ID"},
		{"role of a group", oidc, "LEDGERHOOK_OIDC_ROLES=b=admin,c=root", `LEDGERHOOK_OIDC_ROLES (oidc.roles): must be a list of group=role such as`},
		{"group without a role", oidc, "LEDGERHOOK_OIDC_ROLES=b", "LEDGERHOOK_OIDC_ROLES (oidc.roles): must be a list of group=role"},
		{"role without a group", oidc, "LEDGERHOOK_OIDC_ROLES==admin", "LEDGERHOOK_OIDC_ROLES (oidc.roles): must be a list of group=role"},
		{"scopes", oidc, "LEDGERHOOK_OIDC_SCOPES=profile,email", "LEDGERHOOK_OIDC_SCOPES (oidc.scopes): must be a list of scopes with openid"},
		{"break-glass administrator", oidc, "LEDGERHOOK_OIDC_BREAK_GLASS=Admin", "LEDGERHOOK_OIDC_BREAK_GLASS (oidc.breakGlass): must be a username in lower case"},
		{"provider's name", oidc, "LEDGERHOOK_OIDC_NAME=" + strings.Repeat("x", 41), "LEDGERHOOK_OIDC_NAME (oidc.name): must be 1 to 40 characters"},
		{"internal URL", "", "LEDGERHOOK_INTERNAL_URL=https://a/ops", "LEDGERHOOK_INTERNAL_URL (internalUrl): must be http:// or https:// and a host, without a path"},
		{"log", "", "LEDGERHOOK_LOG=xml", `must be text or json, not "xml"`},
		{"client URL", "", "LEDGERHOOK_URL=localhost:8081", "LEDGERHOOK_URL (url): must be http:// or https://"},
		{"missing secret file", "", "LEDGERHOOK_TOKEN_FILE=/nowhere/token", "LEDGERHOOK_TOKEN_FILE (tokenFile): must be a readable file: open /nowhere/token"},
		{"empty secret file", "", "LEDGERHOOK_TOKEN_FILE=" + empty, empty + " is empty"},
		{"secret twice", "token: a\ntokenFile: b", "", "LEDGERHOOK_TOKEN (token): is set together with LEDGERHOOK_TOKEN_FILE"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines := refused(t, tt.yaml, tt.env)
			if len(lines) != 1 || !strings.Contains(lines[0], tt.want) {
				t.Errorf("got %q\nwant one line with %q", lines, tt.want)
			}
		})
	}
}

func TestAllProblemsAreReportedAtOnce(t *testing.T) {
	lines := refused(t, "lisen: a\nlog: xml\n", "LEDGERHOOK_FOO=1", "LEDGERHOOK_DELIVERY_TIMEOUT=1s",
		"LEDGERHOOK_DATABASE_URL=postgres://db/x", "LEDGERHOOK_ROLES=api")
	want := []string{`"lisen"`, "LEDGERHOOK_FOO", "LEDGERHOOK_ROLES", "LEDGERHOOK_MASTER_KEY", "LEDGERHOOK_TOKEN", "LEDGERHOOK_DELIVERY_TIMEOUT", "LEDGERHOOK_LOG"}
	if len(lines) != len(want) {
		t.Fatalf("got %d lines, want %d: %q", len(lines), len(want), lines)
	}
	for i, part := range want {
		if !strings.Contains(lines[i], part) {
			t.Errorf("line %d is %q, want one about %s", i, lines[i], part)
		}
	}
}

func TestAMissingFileIsNamed(t *testing.T) {
	if _, err := Load("/nowhere/c.yaml", nil); err == nil || !strings.Contains(err.Error(), "/nowhere/c.yaml") {
		t.Errorf("got %v", err)
	}
}

func TestAnEmptyFileIsFine(t *testing.T) {
	load(t, "")
	load(t, "# nothing\n")
	load(t, "delivery:\n")
}

const secret = "s3cr3t-w0rds-that-are-long-enough-4"

func TestSecretsNeverAppear(t *testing.T) {
	cfg := load(t, "",
		"LEDGERHOOK_DATABASE_URL=postgres://user:"+secret+"@db:5432/ledgerhook?password="+secret,
		"LEDGERHOOK_DATABASE_READ_URL=postgres://user:"+secret+"@a:1,b:2/ledgerhook?target_session_attrs=prefer-standby",
		"LEDGERHOOK_REDIS_URL=redis-sentinel://:"+secret+"?x@a:1,b:2/main", "LEDGERHOOK_MASTER_KEY="+key32, "LEDGERHOOK_PREVIOUS_MASTER_KEY="+otherKey32,
		"LEDGERHOOK_TOKEN="+secret, "LEDGERHOOK_ADMIN_PASSWORD="+secret, "LEDGERHOOK_SMTP_URL=smtp://u:"+secret+"@mail:25",
		"LEDGERHOOK_OIDC_ISSUER=https://id.example.com", "LEDGERHOOK_OIDC_CLIENT_ID=a", "LEDGERHOOK_OIDC_CLIENT_SECRET="+secret, "LEDGERHOOK_OIDC_ROLES=b=admin")
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("started", "config", cfg)
	shown := map[string]string{"log": logged.String(), "%v": fmt.Sprintf("%v", cfg), "%+v": fmt.Sprintf("%+v", cfg), "%#v": fmt.Sprintf("%#v", cfg)}
	for how, text := range shown {
		if strings.Contains(text, secret) || strings.Contains(text, key32) || strings.Contains(text, otherKey32) {
			t.Errorf("%s shows a secret: %s", how, text)
		}
		if !strings.Contains(text, "postgres://***@db:5432/ledgerhook") {
			t.Errorf("%s does not show the database's host: %s", how, text)
		}
	}
}

func TestErrorsHoldNoSecret(t *testing.T) {
	for _, tt := range []struct{ yaml, env string }{
		{"", "LEDGERHOOK_DATABASE_URL=" + secret + "://x"},
		{"", "LEDGERHOOK_REDIS_URL=redis//:" + secret},
		{"", "LEDGERHOOK_MASTER_KEY=" + secret},
		{"", "LEDGERHOOK_PREVIOUS_MASTER_KEY=" + secret},
		{"", "LEDGERHOOK_TOKEN=" + secret + " x"},
		{"", "LEDGERHOOK_ADMIN_PASSWORD=" + secret + "\n"},
		{"", "LEDGERHOOK_SMTP_URL=smtp://u:" + secret + "@[mail"},
		{"token: !" + secret, ""},
		{"token: *" + secret, ""},
		{"token: @" + secret, ""},
		{"token: \"" + secret, ""},
		{"token: {" + secret + ": x}", ""},
		{"token: [[" + secret + "]]", ""},
		{"token: " + secret + "\n  " + secret + ": x", ""},
	} {
		for _, line := range refused(t, tt.yaml, tt.env) {
			if strings.Contains(line, secret) {
				t.Errorf("%q %q: the error quotes the secret: %s", tt.yaml, tt.env, line)
			}
		}
	}
}

func TestMaskURL(t *testing.T) {
	for in, want := range map[string]string{
		"":                                   "",
		"secret":                             "***",
		"postgres://h/db":                    "postgres://h/db",
		"postgres://u:p@h1:1,h2:2/db?a=b#c":  "postgres://***@h1:1,h2:2/db",
		"postgres://u:p@x@h/db":              "postgres://***@h/db",
		"postgres://u:p?x@h/db":              "postgres://***",
		"postgres://u:p#x@h/db":              "postgres://***",
		"redis://h?password=a@b":             "redis://***",
		"redis-cluster://:p@[::1]:1,[::2]:2": "redis-cluster://***@[::1]:1,[::2]:2",
	} {
		if got := maskURL(in); got != want {
			t.Errorf("maskURL(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestGroupsGiveRolesInTheirOrder(t *testing.T) {
	cfg := load(t, "", "LEDGERHOOK_OIDC_ISSUER=http://127.0.0.1:5556/dex", "LEDGERHOOK_OIDC_CLIENT_ID=a", "LEDGERHOOK_OIDC_CLIENT_SECRET=b",
		"LEDGERHOOK_OIDC_ROLES=/Payments/Admins=admin, a=b=viewer", "LEDGERHOOK_INTERNAL_URL=https://ops.example.com/")
	if want := []GroupRole{{"/Payments/Admins", "admin"}, {"a=b", "viewer"}}; !slices.Equal(cfg.OIDCRoles, want) {
		t.Errorf("%v, want %v", cfg.OIDCRoles, want)
	}
	if at := cfg.Operators(nil).String(); at != "https://ops.example.com" {
		t.Errorf("operators reach it at %s", at)
	}
}

func TestThePublicURLComesFromTheListener(t *testing.T) {
	tcp := func(ip string, port int) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: port} }
	for _, tt := range []struct {
		env  string
		addr net.Addr
		want string
	}{
		{"", tcp("127.0.0.1", 8080), "http://127.0.0.1:8080"},
		{"", tcp("0.0.0.0", 80), "http://localhost:80"},
		{"", tcp("::", 80), "http://localhost:80"},
		{"", tcp("::1", 80), "http://[::1]:80"},
		{"LEDGERHOOK_PUBLIC_URL=https://pay.example.com", tcp("::1", 80), "https://pay.example.com"},
	} {
		if got := load(t, "", tt.env).Public(tt.addr).String(); got != tt.want {
			t.Errorf("%s on %v: %s, want %s", tt.env, tt.addr, got, tt.want)
		}
	}
}

func TestOnlyTheListedPartnersAreShown(t *testing.T) {
	for _, tt := range []struct {
		yaml, env string
		want      []bool // of acme, bolt and none
	}{
		{"", "", []bool{true, true, true}},
		{"", "LEDGERHOOK_METRICS_PARTNERS=none", []bool{false, false, false}},
		{"", "LEDGERHOOK_METRICS_PARTNERS=acme, core", []bool{true, false, false}},
		{"metrics: {partners: [bolt, none]}", "", []bool{false, true, true}},
	} {
		cfg := load(t, tt.yaml, tt.env)
		got := []bool{cfg.ShowsPartner("acme"), cfg.ShowsPartner("bolt"), cfg.ShowsPartner("none")}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s%s (-want +got):\n%s", tt.yaml, tt.env, diff)
		}
	}
}

func TestEverySettingIsDescribedOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Settings() {
		if s.Name == Prefix || s.Key == "" || s.Want == "" || s.Meaning == "" {
			t.Errorf("%+v lacks something", s)
		}
		if seen[s.Name] || seen[s.Key] {
			t.Errorf("%s (%s) is there twice", s.Name, s.Key)
		}
		seen[s.Name], seen[s.Key] = true, true
	}
}

func TestDurationsReadAsTheyAreWritten(t *testing.T) {
	for _, s := range []string{"0s", "10s", "1m", "10m", "1m30s", "1h", "10h", "720h", "1h0m1s", "1h30m", "1.5s", "100ms"} {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := duration(d); got != s {
			t.Errorf("duration(%s) = %s", s, got)
		}
	}
}
