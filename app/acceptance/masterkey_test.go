package acceptance

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ledgerhook/bench/stage"
	"ledgerhook/ledger"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/ledger/seals"
	"ledgerhook/signer"
)

func randomKey() []byte {
	key := make([]byte, signer.MasterKeySize)
	_, _ = rand.Read(key) // never fails
	return key
}

// rotate runs the command to its end, after killing it once halfway.
func rotate(t *testing.T, g *stage.Gateway, halfway func()) {
	t.Helper()
	command, said := g.Begin("master-key", "rotate")
	stage.Eventually(t, time.Minute, "the command has begun to encrypt", func() bool { return strings.Contains(said.String(), "encrypted again with mk_") })
	command.Kill()
	halfway()
	command, said = g.Begin("master-key", "rotate")
	if code := command.Wait(2 * time.Minute); code != 0 || !strings.Contains(said.String(), "may be taken away") {
		t.Fatalf("exit code %d:\n%s", code, said)
	}
	t.Logf("%s", said)
	for _, secret := range g.Secrets {
		if strings.Contains(said.String(), secret) {
			t.Errorf("the command shows a secret: %s", said)
		}
	}
}

// use does what needs secrets: a token for an end-user, whose request is signed
// with the partner's key, an operator's sign-in, and a new webhook secret, after
// which deliveries are signed with two.
func use(t *testing.T, g *stage.Gateway, p *stage.Partner, user string) {
	t.Helper()
	if _, err := p.Token(user + "@example.com"); err != nil {
		t.Error(err)
	}
	stage.SignIn(g)
	var made struct{ SecretID, WebhookSecretKey string }
	g.Must("POST", "/internal/v1/partners/"+p.Code+"/secrets", nil, http.StatusCreated, &made)
	g.Secret(made.WebhookSecretKey)
	g.Must("POST", "/internal/v1/partners/"+p.Code+"/secrets/"+made.SecretID+"/activate", nil, http.StatusOK, nil)
	g.Must("PATCH", "/internal/v1/endpoints/"+p.Endpoint, map[string]any{"headers": map[string]string{"X-Caller": "Bearer of " + user}}, http.StatusOK, nil)
}

func TestTheMasterKeyIsChangedWhileProcessesServe(t *testing.T) {
	t.Parallel()
	url, cache, next := ledgertest.Borrowed(t), stage.StartRedis(t), randomKey()
	text := base64.StdEncoding.EncodeToString(next)
	one, other := stage.Served(t, url, cache), stage.Served(t, url, cache)
	for _, g := range []*stage.Gateway{one, other} {
		g.Secret(text)
		g.Start()
	}
	p := stage.NewPartner(one, "acme", stage.Stumble)
	producer := stage.Produce(one, p.Code, sized(600, 3000), 20)
	use(t, one, p, "before")
	for _, g := range []*stage.Gateway{one, other} { // both keys everywhere, one process after the other
		if code := g.Terminate(time.Minute); code != 0 {
			t.Fatalf("exit code %d", code)
		}
		g.Set(map[string]string{"LEDGERHOOK_MASTER_KEY": text, "LEDGERHOOK_PREVIOUS_MASTER_KEY": stage.TestMasterKey})
		g.Start()
		use(t, g, p, "beside-one-that-knows-one")
		if g == one {
			refused, said := one.Begin("master-key", "rotate")
			if code := refused.Wait(time.Minute); code != 5 || !strings.Contains(said.String(), fmt.Sprintf("/%d;", other.Process.Cmd.Process.Pid)) {
				t.Errorf("beside a process that knows one key: exit code %d: %s", code, said)
			}
		}
	}
	rotate(t, other, func() {
		use(t, one, p, "halfway")
		use(t, other, p, "halfway")
	})
	for _, g := range []*stage.Gateway{one, other} { // the old key nowhere
		if code := g.Terminate(time.Minute); code != 0 {
			t.Fatalf("exit code %d", code)
		}
		delete(g.Env, "LEDGERHOOK_PREVIOUS_MASTER_KEY")
		g.Start()
		use(t, g, p, "after")
	}
	stage.Settle(one, p, producer.Finish(), deadline)
	former := stage.Served(t, url, cache)
	former.Secret(text)
	refuseStart(t, former, 1, []string{"LEDGERHOOK_MASTER_KEY", "is not the key that this database was encrypted with"})

	l, err := ledgertest.Open(t.Context(), database.Options{DatabaseURL: url}, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	box, err := signer.NewBox(next)
	if err != nil {
		t.Fatal(err)
	}
	if others, unreadable, err := seals.New(l.DB).Look(t.Context(), box); others != 0 || len(unreadable) > 0 || err != nil {
		t.Errorf("the new key does not open everything: %v, %v", unreadable, err)
	}
}

// An embedded gateway makes the new key itself. It is killed halfway, too.
func TestAnEmbeddedGatewayChangesItsMasterKey(t *testing.T) {
	t.Parallel()
	g := stage.Embedded(t)
	g.Start()
	file := func(name string) string { return filepath.Join(g.Dir, "data", name) }
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(file(name))
		if err != nil {
			t.Fatal(err)
		}
		g.Secret(strings.TrimSpace(string(text)))
		return string(text)
	}
	old := read("master-key")
	p := stage.NewPartner(g, "acme", stage.Stumble)
	producer := stage.Produce(g, p.Code, sized(400, 3000), 20)
	use(t, g, p, "before")
	rotate(t, g, func() {
		use(t, g, p, "halfway")
		g.Kill()
		g.Start()
		use(t, g, p, "killed")
	})
	if read("previous-master-key") != old || read("master-key") == old {
		t.Error("the files do not have the keys")
	}
	if code := g.Terminate(time.Minute); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	if err := os.Remove(file("previous-master-key")); err != nil {
		t.Fatal(err)
	}
	g.Start()
	use(t, g, p, "after")
	stage.Settle(g, p, producer.Finish(), deadline)
	if code := g.Terminate(time.Minute); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	if err := os.WriteFile(file("master-key"), []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	refuseStart(t, g, 1, []string{"data/master-key is not the key that this database was encrypted with"})
}
