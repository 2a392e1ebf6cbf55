package dashboard_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ledgerhook/dashboard"
	"ledgerhook/delivery"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/webhook"
)

var gatewayKey, acmeKey = madeKey(), madeKey()

// madeKey makes a key when it is first asked for.
func madeKey() func() *signer.Key {
	return sync.OnceValue(func() *signer.Key {
		key, err := signer.GenerateKey(2048)
		if err != nil {
			panic(err)
		}
		return key
	})
}

type onlyKey struct{}

func (onlyKey) Key(context.Context, string) (*signer.Key, error) { return gatewayKey(), nil }

// signingHouse is a house that signs: acme and globex have secrets, eve is of
// acme and mallory of globex.
type signingHouse struct {
	*house
	composer *delivery.Composer
	secret   partners.Secret // of acme
	value    string          // of it
}

const acmeSecretKey = "acme-secret-key"

func newSigningHouse(t *testing.T, b *ledgertest.Bench) *signingHouse {
	t.Helper()
	h := &signingHouse{}
	h.house = newHouse(t, b, func(o *dashboard.Options) {
		h.composer = delivery.NewComposer(onlyKey{}, o.Box, nil)
		o.Key, o.Composer, o.Timeout = gatewayKey().Public, h.composer, 15*time.Second
		o.Retry = webhook.RetryPolicy{Waits: []time.Duration{0, 5 * time.Second, time.Hour}}
	})
	for _, code := range []string{"acme", "globex"} {
		p := partners.Partner{Code: code, Name: code, PublicKey: acmeKey().PublicPEM(), Settings: partners.DefaultSettings(), CreatedAt: time.Now()}
		p.SealedSecret = h.box.Seal(p.SealPurpose(), []byte(acmeSecretKey))
		s := partners.Secret{ID: webhook.NewID(webhook.SecretPrefix), PartnerCode: code, State: partners.SecretActive, CreatedAt: time.Now(), ActivatedAt: time.Now()}
		value := signer.NewWebhookSecret()
		s.Sealed = h.box.Seal(s.SealPurpose(), []byte(value))
		if err := h.CreatePartner(t.Context(), p, s); err != nil {
			t.Fatal(err)
		}
		if code == "acme" {
			h.secret, h.value = s, value
		}
	}
	h.join(t, "acme", "eve", partners.RoleViewer)
	h.join(t, "globex", "mallory", partners.RoleViewer)
	return h
}

// notification appends an event of acme and composes what its endpoint gets.
func (h *signingHouse) notification(t *testing.T, typ webhook.Type, data string) (header http.Header, body []byte) {
	t.Helper()
	canonical, err := signer.Canonical([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	e := webhook.Event{ID: webhook.NewID(webhook.EventPrefix), PartnerCode: "acme", Type: typ, ObjectID: "o", OrderingKey: "s", Status: "Completed", Data: canonical,
		KeyID: gatewayKey().ID(), Signatures: partners.DefaultSettings().Signatures, CreatedAt: time.Now()}
	if _, err := h.Append(t.Context(), delivery.NewEvent{Event: e, IdempotencyKey: e.ID, Digest: []byte(e.ID)}); err != nil {
		t.Fatal(err)
	}
	header, body, err = h.composer.Compose(t.Context(), delivery.Job{Event: e, Secrets: []delivery.SealedSecret{{Purpose: h.secret.SealPurpose(), Sealed: h.secret.Sealed}}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return header, body
}

// raw is a request as a receiver may have kept it.
func raw(header http.Header, body string) string {
	var b bytes.Buffer
	b.WriteString("POST /hook HTTP/1.1\r\nHost: acme.example\r\n")
	_ = header.Write(&b)
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return b.String()
}

const topUp = `{"amount":100.50,"cardId":"card_01","createdAt":1700000100,"fee":1,"id":"topup_01","note":"a < b","status":"Completed"}`

// Developers paste what they got and read what it is worth.
func TestAKeptNotificationIsJudged(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		h := newSigningHouse(t, b)
		eve, mallory := h.browse(t, h.portal), h.browse(t, h.portal)
		eve.signIn("/portal", "eve")
		mallory.signIn("/portal", "mallory")
		header, sent := h.notification(t, webhook.TopupCard, topUp)
		body := string(sent)
		var lines strings.Builder
		_ = header.Write(&lines)
		another := header.Clone()
		another.Set(signer.HeaderID, webhook.NewID(webhook.EventPrefix))
		late := header.Clone()
		late.Set(signer.HeaderTimestamp, "1700000000")
		before := h.acts(t, partners.AuditFilter{PartnerCode: "acme"})
		for _, test := range []struct {
			name, request, headers string
			says                   []string
		}{
			{"a whole request", raw(header, body), "", []string{"It is genuine: the gateway sent it", "exactly the one sent, byte for byte", h.secret.ID + ", which is active now", gatewayKey().ID()}},
			{"body and headers apart", body, lines.String(), []string{"It is genuine: the gateway sent it"}},
			{"a line end after it", body + "\n", lines.String(), []string{"It is genuine", "Right without the line end that follows the body here."}},
			{"the body alone", body, "", []string{"Paste the headers, too", "The header webhook-id is missing.", "cannot be compared"}},
			{"printed again", raw(header, strings.ReplaceAll(body, ",", ",\n  ")), "", []string{"Its data is genuine, but", "white space was added between", "something parsed and re-encoded it"}},
			{"a changed amount", raw(header, strings.Replace(body, "100.5", "900.5", 1)), "", []string{"It does not verify", "The key is right, but data is not what was signed", "The differences are below", "data.amount", "900.5"}},
			{"another form of a number", raw(header, strings.Replace(body, "100.5", "100.50", 1)), "", []string{"the number 100.5 is written as 100.50"}},
			{"another id", raw(another, body), "", []string{"Its data is genuine, but", "You have no notification with this webhook-id"}},
			{"an old one", raw(late, body), "", []string{"must refuse it", "Another secret signed, or the body"}},
			{"script", raw(header, `{"data":{"<script>alert(1)</script>":1}}`), "", []string{"It does not verify", "&lt;script&gt;"}},
		} {
			t.Run(test.name, func(t *testing.T) {
				eve.t = t
				a := eve.want(200, "POST", "/portal/verify", form("request", test.request, "headers", test.headers))
				page := unescape(a.text)
				for _, text := range test.says {
					if !strings.Contains(page, text) && !strings.Contains(a.text, text) {
						t.Errorf("does not say %q: %.6000s", text, a.text)
					}
				}
				if strings.Contains(page, h.value) || strings.Contains(a.text, "<script>alert") {
					t.Error("shows a secret or holds a script")
				}
			})
		}
		eve.t = t
		for name, test := range map[string]struct{ request, headers, says string }{
			"nothing": {"", "", "Paste a notification first"}, "prose": {"hello", "", "neither a JSON body"}, "a cut request": {raw(header, body)[:600], "", "it was cut"},
			"bytes": {"{\x00\x01", "", "bytes that are not text"}, "no utf-8": {"{\xff\xfe", "", "bytes that are not text"}, "a header without a name": {body, "webhook-id", "headers cannot be read"},
			"too much": {strings.Repeat("x", 256<<10+1), "", "more than a notification can hold"}, "chunks": {strings.Replace(raw(header, body), "Content-Length", "Transfer-Encoding", 1), "", "in chunks"},
		} {
			a := eve.want(400, "POST", "/portal/verify", form("request", test.request, "headers", test.headers), test.says)
			if strings.ContainsRune(a.text, 0) {
				t.Errorf("%s: the page holds a byte that is no text", name)
			}
		}
		eve.want(413, "POST", "/portal/verify", form("request", strings.Repeat("x", 1<<21)))
		mallory.want(200, "POST", "/portal/verify", form("request", raw(header, body)), "Its data is genuine, but", "Another secret signed", "You have no notification with this webhook-id")
		if after := h.acts(t, partners.AuditFilter{PartnerCode: "acme"}); after != before {
			t.Errorf("a check left %q, before it was %q", after, before)
		}
	})
}

var unescape = strings.NewReplacer("&#39;", "'", "&#34;", `"`, "&#43;", "+", "&amp;", "&").Replace

func TestChecksAreLimited(t *testing.T) {
	h := newSigningHouse(t, ledgertest.New(t, "sqlite"))
	eve := h.browse(t, h.portal)
	eve.signIn("/portal", "eve")
	began, allowed := time.Now(), 0
	for eve.do("POST", "/portal/verify", form("request", "{}")).StatusCode != http.StatusTooManyRequests {
		allowed++
	}
	if most := 60 + int(time.Since(began)/time.Second) + 1; allowed < 60 || allowed > most {
		t.Errorf("%d checks were allowed, want 60, and one more each second: %d at most", allowed, most)
	}
}

// What was set for the account, and a secret of yesterday, are told apart from
// what is wrong.
func TestACheckKnowsTheAccount(t *testing.T) {
	h := newSigningHouse(t, ledgertest.New(t, "sqlite"))
	eve := h.browse(t, h.portal)
	eve.signIn("/portal", "eve")
	header, body := h.notification(t, webhook.TopupCard, topUp)
	next := partners.Secret{ID: webhook.NewID(webhook.SecretPrefix), PartnerCode: "acme", State: partners.SecretPending, CreatedAt: time.Now()}
	next.Sealed = h.box.Seal(next.SealPurpose(), []byte(signer.NewWebhookSecret()))
	if err := h.AddSecret(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	if _, err := h.ActivateSecret(t.Context(), "acme", next.ID, time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.RevokeSecret(t.Context(), "acme", h.secret.ID, time.Now()); err != nil {
		t.Fatal(err)
	}
	eve.want(200, "POST", "/portal/verify", form("request", raw(header, string(body))), h.secret.ID+", which is revoked now")
	if _, err := h.UpdatePartner(t.Context(), "acme", func(p *partners.Partner) error {
		p.Settings.Signatures = []string{webhook.SignatureRSA}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	header.Del(signer.HeaderSignature)
	eve.want(200, "POST", "/portal/verify", form("request", raw(header, string(body))), "It is genuine", "not sent", "notifications do not include it.")
	key := eve.want(200, "GET", "/portal/gateway.pub.pem", nil)
	if key.text != string(signer.PublicPEM(gatewayKey().Public())) {
		t.Errorf("the key is %q", key.text)
	}
}

func TestARequestIsExplainedBeforeItIsSent(t *testing.T) {
	h := newSigningHouse(t, ledgertest.New(t, "sqlite"))
	eve := h.browse(t, h.portal)
	eve.signIn("/portal", "eve")
	sign := func(text string) string {
		signature, err := acmeKey().Sign([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return signature
	}
	body := `{"partnerCode":"acme","userEmail":"an@example.com","signature":"%s"}`
	for _, test := range []struct {
		operation, body string
		status          int
		says            []string
	}{
		{"access-token", strings.Replace(body, "%s", "", 1), 200, []string{"acme|an@example.com|{secretKey}", "not signed yet"}},
		{"access-token", fmt.Sprintf(body, sign("acme|an@example.com|"+acmeSecretKey)), 200, []string{"Signed with your key " + acmeKey().ID()}},
		{"access-token", fmt.Sprintf(body, sign("acme|An@example.com|"+acmeSecretKey)), 200, []string{"another secretKey was signed, or more than one value"}},
		{"access-token", fmt.Sprintf(body, sign("acme|an@example.com")), 200, []string{"secretKey was left out at the end"}},
		{"access-token", strings.Replace(body, "acme", "globex", 1), 200, []string{"Yours is acme."}},
		{"access-token", `{"partnerCode":"acme"}`, 400, []string{"userEmail is required"}},
		{"access-token", `[]`, 400, []string{"must be a JSON object"}},
		{"anything", `{}`, 400, []string{"Choose one of the operations."}},
		{"verify", "\x00", 400, []string{"bytes that are not text"}},
	} {
		a := eve.want(test.status, "POST", "/portal/verify/request", form("operation", test.operation, "body", test.body))
		for _, text := range test.says {
			if !strings.Contains(unescape(a.text), text) {
				t.Errorf("%s %s: does not say %q", test.operation, test.body, text)
			}
		}
		if strings.Contains(a.text, acmeSecretKey) {
			t.Errorf("%s: shows the secretKey", test.body)
		}
	}
}

// Every program that is shown takes a real notification and refuses an altered
// one, of both places that a signature can stand in.
func TestEveryProgramThatIsShownVerifies(t *testing.T) {
	h := newSigningHouse(t, ledgertest.New(t, "sqlite"))
	eve := h.browse(t, h.portal)
	eve.signIn("/portal", "eve")
	page := eve.want(200, "GET", "/portal/verify", nil)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "gateway.pub.pem"), []byte(eve.want(200, "GET", "/portal/gateway.pub.pem", nil).text), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, command := range map[string][]string{"receiver.mjs": {"node", "receiver.mjs"}, "receiver.go": {"go", "run", "receiver.go"}, "verify.sh": {"sh", "verify.sh"}} {
		t.Run(file, func(t *testing.T) {
			if !strings.Contains(page.text, `id="`+file+`"`) {
				t.Fatal("it is not shown")
			}
			source := file
			if strings.HasSuffix(file, ".go") {
				source += ".txt" // so that it is no package of ours
			}
			text, err := os.ReadFile(filepath.Join("portal/snippets", source))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
				t.Fatal(err)
			}
			p := program{dir, command, h.value}
			take := p.serve
			if file == "verify.sh" {
				take = p.check
			}
			post := take(t)
			for typ, data := range map[webhook.Type]string{webhook.TopupCard: topUp, webhook.ProfileUpdated: webhook.Catalog[3].Example} {
				header, body := h.notification(t, typ, data)
				if !post(t, header, body) {
					t.Errorf("%s is refused", typ)
				}
				if post(t, header, bytes.Replace(body, []byte("1700000"), []byte("1800000"), 1)) {
					t.Errorf("an altered %s is taken", typ)
				}
			}
		})
	}
}

// program is one of those that are shown, in a folder with the gateway's key.
type program struct {
	dir     string
	command []string
	secret  string
}

func (p program) start(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, p.command[0], p.command[1:]...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), append(env, "WEBHOOK_SECRET="+p.secret, "PORT=0", "GOFLAGS=-mod=mod")...)
	cmd.Stderr = os.Stderr
	return cmd
}

// serve starts a receiver; what it returns posts to it.
func (p program) serve(t *testing.T) func(*testing.T, http.Header, []byte) bool {
	t.Helper()
	cmd := p.start(t)
	if p.command[0] == "go" { // built, so that it is the program itself that is ended
		build := exec.CommandContext(t.Context(), "go", "build", "-o", "receiver", "receiver.go")
		build.Dir = p.dir
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		p.command = []string{filepath.Join(p.dir, "receiver")}
		cmd = p.start(t)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewReader(out)
	var port int
	if _, err := fmt.Fscanf(lines, "port %d\n", &port); err != nil {
		t.Fatal(err)
	}
	return func(t *testing.T, header http.Header, body []byte) bool {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "POST", (&url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", port)}).String()+"/hook", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = header
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	}
}

// check returns what runs a script on a notification.
func (p program) check(*testing.T) func(*testing.T, http.Header, []byte) bool {
	return func(t *testing.T, header http.Header, body []byte) bool {
		t.Helper()
		if err := os.WriteFile(filepath.Join(p.dir, "body.json"), body, 0o600); err != nil {
			t.Fatal(err)
		}
		out, _ := p.start(t, "ID="+header.Get(signer.HeaderID), "TIMESTAMP="+header.Get(signer.HeaderTimestamp), "SIGNATURE="+header.Get(signer.HeaderSignature)).Output()
		return strings.Contains(string(out), "Standard Webhooks: right") && strings.Contains(string(out), "Verified OK")
	}
}
