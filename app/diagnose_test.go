package app_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ledgerhook/app"
	"ledgerhook/config"
	"ledgerhook/dashboard/oidc/oidctest"
	"ledgerhook/delivery/queue/queuetest"
	"ledgerhook/ledger"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/signer"
)

// A key that was only looked at must not become the database's: the first
// server would then refuse the right one for good.
func TestTheDoctorChangesNothing(t *testing.T) {
	for _, driver := range ledgertest.Drivers {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			o := ledgertest.Options(t, driver)
			if _, err := ledger.Migrate(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			cfg := config.Config{DatabaseURL: o.DatabaseURL, DataDir: o.DataDir}
			if driver == "postgres" {
				cfg.MasterKey, cfg.Token = bytes.Repeat([]byte{1}, signer.MasterKeySize), "t0ken"
			}
			files := listFiles(t, o.DataDir)
			wantCheck(t, app.Diagnose(t.Context(), cfg), "keys", true, "none yet")
			if diff := cmp.Diff(files, listFiles(t, o.DataDir)); diff != "" {
				t.Errorf("files of the data directory (-before +after):\n%s", diff)
			}

			keep(t, o, 2)
			says := "LEDGERHOOK_MASTER_KEY or"
			if driver == "sqlite" {
				says = filepath.Join(o.DataDir, "master-key") + " is missing"
			}
			wantCheck(t, app.Diagnose(t.Context(), cfg), "keys", false, says)
			if diff := cmp.Diff(files, listFiles(t, o.DataDir)); diff != "" {
				t.Errorf("files of the data directory (-before +after):\n%s", diff)
			}
			cfg.MasterKey = bytes.Repeat([]byte{2}, signer.MasterKeySize)
			wantCheck(t, app.Diagnose(t.Context(), cfg), "keys", true, "the master key fits")
		})
	}
}

// keep starts the ledger with the master key of one repeated byte, as the
// first server does.
func keep(t *testing.T, o database.Options, key byte) {
	t.Helper()
	box, err := signer.NewBox(bytes.Repeat([]byte{key}, signer.MasterKeySize))
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledgertest.Open(t.Context(), o, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.DB.KeepMasterKey(t.Context(), box); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func wantCheck(t *testing.T, checks []app.Check, name string, ok bool, says string) {
	t.Helper()
	for _, c := range checks {
		if c.Name == name {
			if c.OK != ok || !strings.Contains(c.Detail, says) {
				t.Errorf("%s: ok %t, %q; want %t, %q", name, c.OK, c.Detail, ok, says)
			}
			return
		}
	}
	t.Errorf("no check of %s in %+v", name, checks)
}

func listFiles(t *testing.T, dir string) (names []string) {
	t.Helper()
	if dir == "" {
		return nil
	}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, _ fs.DirEntry, err error) error {
		names = append(names, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestTheDoctorTellsOfStoresThatTakeNothing(t *testing.T) {
	t.Parallel()
	o := ledgertest.Options(t, "postgres")
	if _, err := ledger.Migrate(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	redis := queuetest.Start(t)
	cfg := config.Config{DatabaseURL: o.DatabaseURL, RedisURL: redis.URL, MasterKey: bytes.Repeat([]byte{1}, signer.MasterKeySize), Token: "t0ken"}
	well := app.Diagnose(t.Context(), cfg)
	wantCheck(t, well, "ledger", true, "accepts writes")
	wantCheck(t, well, "queue", true, "accepts writes")
	cfg.DatabaseURL += "&default_transaction_read_only=on"
	if err := redis.Client(t).ConfigSet(t.Context(), "min-replicas-to-write", "1").Err(); err != nil {
		t.Fatal(err)
	}
	ill := app.Diagnose(t.Context(), cfg)
	wantCheck(t, ill, "ledger", false, "read-only")
	wantCheck(t, ill, "queue", false, "NOREPLICAS")
}

func TestTheDoctorTellsOfAReplicaThatIsNone(t *testing.T) {
	t.Parallel()
	var addresses []string
	for range 2 {
		o := ledgertest.Options(t, "postgres")
		if _, err := ledger.Migrate(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		addresses = append(addresses, o.DatabaseURL)
	}
	cfg := config.Config{DatabaseURL: addresses[0], MasterKey: bytes.Repeat([]byte{1}, signer.MasterKeySize), Token: "t0ken"}
	for _, c := range app.Diagnose(t.Context(), cfg) {
		if c.Name == "replica" {
			t.Errorf("a replica is checked that nobody has: %+v", c)
		}
	}
	for address, want := range map[string]string{
		addresses[0]: "no standby", addresses[1]: "another database", "postgres://127.0.0.1:1/nobody": "ask the replica how far it is",
	} {
		cfg.ReadURL = address
		wantCheck(t, app.Diagnose(t.Context(), cfg), "replica", false, want)
	}
}

func TestTheDoctorTriesTheMailServer(t *testing.T) {
	t.Parallel()
	cfg := config.Config{DataDir: t.TempDir()}
	wantCheck(t, app.Diagnose(t.Context(), cfg), "mail", true, "no mail server")
	cfg.SMTPURL = "smtp://127.0.0.1:1" // where nobody listens
	wantCheck(t, app.Diagnose(t.Context(), cfg), "mail", false, "reach the mail server")
}

func TestTheDoctorAsksTheSignInProvider(t *testing.T) {
	t.Parallel()
	cfg := config.Config{DataDir: t.TempDir()}
	wantCheck(t, app.Diagnose(t.Context(), cfg), "sign-in", true, "no provider")
	issuer, stop := oidctest.Start(t, "http://127.0.0.1:1/ops/login/callback")
	cfg.OIDCIssuer = issuer
	wantCheck(t, app.Diagnose(t.Context(), cfg), "sign-in", true, issuer+" answers")
	cfg.OIDCIssuer += "other"
	wantCheck(t, app.Diagnose(t.Context(), cfg), "sign-in", false, "ask "+issuer+"other for its addresses")
	stop()
	cfg.OIDCIssuer = issuer
	wantCheck(t, app.Diagnose(t.Context(), cfg), "sign-in", false, "connection refused")
}
