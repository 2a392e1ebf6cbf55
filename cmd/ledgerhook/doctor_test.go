package main

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ledgerhook/delivery/queue/queuetest"
	"ledgerhook/ledger"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/webhook"
)

// misconfiguration is something that can be set wrong, and what the doctor says
// of it: in a line that begins with a cross and the name of what was checked.
type misconfiguration struct {
	is    string // as the documentation lists it
	env   []string
	check string
	says  string
}

// set are settings with which a gateway on PostgreSQL would start.
func set(databaseURL string, more ...string) []string {
	return append([]string{
		"LEDGERHOOK_DATABASE_URL=" + databaseURL, "LEDGERHOOK_TOKEN=internal-token-of-the-doctors-test-0",
		"LEDGERHOOK_MASTER_KEY=" + base64.StdEncoding.EncodeToString([]byte("master-key-of-the-test-32-bytes!")),
	}, more...)
}

// migrated is the address of a database with the schema; prepare changes it.
func migrated(t *testing.T, statements ...string) string {
	t.Helper()
	o := ledgertest.Options(t, "postgres")
	if _, err := ledger.Migrate(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	change := ledgertest.OpenRaw(t, o)
	for _, statement := range statements {
		if _, err := change.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return o.DatabaseURL
}

// sealed is a database that was first started with another master key.
func sealed(t *testing.T) string {
	t.Helper()
	address := migrated(t)
	box, err := signer.NewBox([]byte("another-key-of-the-test-32-bytes"))
	if err != nil {
		t.Fatal(err)
	}
	db, err := database.Open(t.Context(), database.Options{DatabaseURL: address})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.KeepMasterKey(t.Context(), box); err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return address
}

// inside is a database with an endpoint for these types at an address that may
// not be dialled, and a partner whose secret no key has sealed.
func inside(t *testing.T, types ...webhook.Type) string {
	t.Helper()
	address := migrated(t)
	l, err := ledgertest.Open(t.Context(), database.Options{DatabaseURL: address}, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	err = l.CreatePartner(t.Context(), partners.Partner{Code: "acme", PublicKey: []byte("pem"), SealedSecret: []byte("sealed"), Settings: partners.DefaultSettings(), CreatedAt: now},
		partners.Secret{ID: webhook.NewID(webhook.SecretPrefix), PartnerCode: "acme", State: partners.SecretActive, Sealed: []byte("sealed"), CreatedAt: now, ActivatedAt: now})
	if err == nil {
		var box *signer.Box
		if box, err = signer.NewBox([]byte("master-key-of-the-test-32-bytes!")); err == nil {
			err = l.DB.KeepMasterKey(t.Context(), box)
		}
	}
	if err == nil {
		_, err = l.CreateEndpoint(t.Context(), webhook.Endpoint{PartnerCode: "acme", URL: "https://10.0.0.1/hook", Types: types, CreatedAt: now, Window: webhook.Window{MaxInFlight: 4}}, nil)
	}
	if err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return address
}

// redis is a Redis with one of its own settings changed.
func redis(t *testing.T, name, value string) string {
	t.Helper()
	r := queuetest.Start(t)
	if err := r.Client(t).ConfigSet(t.Context(), name, value).Err(); err != nil {
		t.Fatal(err)
	}
	return "LEDGERHOOK_REDIS_URL=" + r.URL
}

func misconfigurations(t *testing.T) []misconfiguration {
	t.Helper()
	nowhere := "postgres://nobody@127.0.0.1:1/ledger"
	foreign := ledgertest.Options(t, "postgres")
	if _, err := ledgertest.OpenRaw(t, foreign).ExecContext(t.Context(), "CREATE TABLE invoices (id TEXT)"); err != nil {
		t.Fatal(err)
	}
	empty := ledgertest.Options(t, "postgres").DatabaseURL
	address, choosy := inside(t), inside(t, webhook.TopupCard)
	damaged := filepath.Join(t.TempDir(), "data")
	if err := os.MkdirAll(filepath.Join(damaged, "ledger.db"), 0o700); err != nil {
		t.Fatal(err)
	}
	return []misconfiguration{
		{"a variable of no setting", []string{"LEDGERHOOK_RETENTON=1h"}, "settings", "the nearest is LEDGERHOOK_RETENTION"},
		{"a value that cannot be read", []string{"LEDGERHOOK_DELIVERY_TIMEOUT=soon"}, "settings", "LEDGERHOOK_DELIVERY_TIMEOUT"},
		{"a listener without a port", []string{"LEDGERHOOK_LISTEN=80"}, "settings", "must be host:port"},
		{"roles apart with an embedded store", []string{"LEDGERHOOK_ROLES=worker"}, "settings", "a store is embedded"},
		{"no master key with PostgreSQL", []string{"LEDGERHOOK_DATABASE_URL=" + nowhere}, "settings", "LEDGERHOOK_MASTER_KEY (masterKey): is required"},
		{"no token with PostgreSQL", []string{"LEDGERHOOK_DATABASE_URL=" + nowhere}, "settings", "LEDGERHOOK_TOKEN (token): is required"},
		{"a token that is too short", []string{"LEDGERHOOK_TOKEN=short"}, "settings", "at least 32"},
		{"a master key of another length", []string{"LEDGERHOOK_MASTER_KEY=abc"}, "settings", "exactly 32 bytes"},
		{"a previous master key that is the present one", set(nowhere, "LEDGERHOOK_PREVIOUS_MASTER_KEY="+base64.StdEncoding.EncodeToString([]byte("master-key-of-the-test-32-bytes!"))), "settings", "is the same as LEDGERHOOK_MASTER_KEY"},
		{"a secret's file that is not there", []string{"LEDGERHOOK_TOKEN_FILE=/nowhere"}, "settings", "must be a readable file"},
		{"a weak first password", []string{"LEDGERHOOK_ADMIN_PASSWORD=password1"}, "settings", "LEDGERHOOK_ADMIN_PASSWORD"},
		{"a malformed network", []string{"LEDGERHOOK_DELIVERY_ALLOW_CIDRS=10.0.0.0/33"}, "settings", "must be a list of networks"},
		{"a malformed retry schedule", []string{"LEDGERHOOK_DELIVERY_RETRY=0s,-1s"}, "settings", "LEDGERHOOK_DELIVERY_RETRY"},
		{"a retention shorter than the retries", []string{"LEDGERHOOK_RETENTION=1h"}, "settings", "must be longer than LEDGERHOOK_DELIVERY_RETRY"},
		{"a malformed public URL", []string{"LEDGERHOOK_PUBLIC_URL=ftp://x"}, "settings", "LEDGERHOOK_PUBLIC_URL"},
		{"an operators' sign-in without its client", []string{"LEDGERHOOK_OIDC_ISSUER=https://id.example.com"}, "settings", "LEDGERHOOK_OIDC_CLIENT_ID (oidc.clientId): is required with LEDGERHOOK_OIDC_ISSUER"},
		{"a replica of no database", []string{"LEDGERHOOK_DATABASE_READ_URL=" + nowhere}, "settings", "is for a replica of LEDGERHOOK_DATABASE_URL, which is not set"},
		{"a certificate that is not there", []string{"LEDGERHOOK_TLS_CERT=/nowhere.pem", "LEDGERHOOK_TLS_KEY=/nowhere.pem"}, "settings", "/nowhere.pem"},
		{"a database of another kind", []string{"LEDGERHOOK_DATABASE_URL=mysql://x"}, "settings", "postgres:// URL"},
		{"a database that cannot be reached", set(nowhere), "ledger", "cannot be reached"},
		{"a database without the schema", set(empty), "ledger", `run "ledgerhook migrate"`},
		{"a database of somebody else", set(foreign.DatabaseURL), "ledger", "not Ledgerhook's"},
		{"a database that needs a newer program", set(migrated(t, "INSERT INTO ledgerhook_migrations (version_id, is_applied) VALUES (99999, TRUE)", "UPDATE meta SET value = '99999' WHERE key = 'schema/oldest'")), "ledger", "run the newer ledgerhook"},
		{"a database that is read-only", set(migrated(t) + "&default_transaction_read_only=on"), "ledger", "read-only"},
		{"another master key than the database's", set(sealed(t)), "keys", "LEDGERHOOK_MASTER_KEY"},
		{"a secret that the master key does not open", set(address), "keys", "does not open what these hold encrypted: partners acme"},
		{"an embedded ledger that cannot be opened", []string{"LEDGERHOOK_DATA_DIR=" + damaged}, "ledger", "ledger.db"},
		{"a Redis that cannot be reached", set(nowhere, "LEDGERHOOK_REDIS_URL=redis://127.0.0.1:1"), "queue", "127.0.0.1:1"},
		{"a Redis that takes nothing", set(nowhere, redis(t, "min-replicas-to-write", "1")), "queue", "NOREPLICAS"},
		{"a Redis that may evict what is queued", set(nowhere, redis(t, "maxmemory-policy", "allkeys-lru")), "queue", "noeviction"},
		{"a replica that is none", set(address, "LEDGERHOOK_DATABASE_READ_URL="+address), "replica", "no standby"},
		{"a mail server that cannot be reached", []string{"LEDGERHOOK_SMTP_URL=smtp://127.0.0.1:1"}, "mail", "reach the mail server"},
		{"addresses for incidents without a mail server", []string{"LEDGERHOOK_INCIDENTS_MAIL=oncall@example.com"}, "mail", "set LEDGERHOOK_SMTP_URL"},
		{"a mail server with nobody to tell of incidents", set(address, "LEDGERHOOK_SMTP_URL=smtp://127.0.0.1:1"), "incidents", "set LEDGERHOOK_INCIDENTS_MAIL"},
		{"an account for incidents that is not there", set(address, "LEDGERHOOK_INCIDENTS_PARTNER=ops"), "incidents", "LEDGERHOOK_INCIDENTS_PARTNER: there is no partner ops"},
		{"an account for incidents without an endpoint that takes them", set(choosy, "LEDGERHOOK_INCIDENTS_PARTNER=acme"), "incidents", "partner acme has no endpoint that is enabled and takes all types"},
		{"a sign-in provider that does not answer", set(nowhere, "LEDGERHOOK_OIDC_ISSUER=http://127.0.0.1:1", "LEDGERHOOK_OIDC_CLIENT_ID=ledgerhook", "LEDGERHOOK_OIDC_CLIENT_SECRET=secret", "LEDGERHOOK_OIDC_ROLES=staff=viewer"), "sign-in", "ask http://127.0.0.1:1 for its addresses"},
		{"an endpoint inside a private network", set(address), "egress", "10.0.0.1"},
	}
}

func TestTheDoctorNamesEveryMisconfiguration(t *testing.T) {
	t.Parallel()
	all := misconfigurations(t)
	if len(all) < 25 {
		t.Errorf("only %d", len(all))
	}
	documented, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		t.Run(m.is, func(t *testing.T) {
			got := runProgram(t, m.env, "", "doctor")
			named := false
			for line := range strings.Lines(got.out) {
				fields := strings.Fields(line)
				named = named || len(fields) > 2 && fields[0] == "✗" && fields[1] == m.check && strings.Contains(line, m.says)
			}
			if got.code != exitDegraded || !named {
				t.Errorf("exit code %d, %s does not say %q:\n%s%s", got.code, m.check, m.says, got.out, got.errors)
			}
			if !strings.Contains(string(documented), "| "+m.is+" | `"+m.check+"` |") {
				t.Errorf("docs/cli.md does not list it")
			}
		})
	}
}
