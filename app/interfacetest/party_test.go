package interfacetest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/http/httptest"
	netmail "net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/emersion/go-smtp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// party is a partner: its key pair in files, what it was told at onboarding,
// and its receiver.
type party struct {
	gateway                        *gateway
	dir                            string // holds partner.pem, partner.pub and gateway.pub
	code, secretKey, webhookSecret string
	notified                       chan notification
}

type notification struct {
	header http.Header
	body   []byte
}

// openssl runs openssl in the party's directory.
func (p *party) openssl(t *testing.T, stdin string, args ...string) []byte {
	t.Helper()
	out, err := p.tryOpenSSL(stdin, args...)
	if err != nil {
		t.Fatalf("openssl %v: %v", args, err)
	}
	return out
}

func (p *party) tryOpenSSL(stdin string, args ...string) ([]byte, error) {
	cmd := exec.Command("openssl", args...)
	cmd.Dir, cmd.Stdin = p.dir, strings.NewReader(stdin)
	return cmd.Output()
}

// onboard makes a partner of the gateway with an endpoint.
func onboard(t *testing.T, g *gateway, code string) *party {
	t.Helper()
	p := &party{gateway: g, dir: t.TempDir(), code: code, notified: make(chan notification, 100)}
	p.openssl(t, "", "genrsa", "-out", "partner.pem", "2048")
	public := p.openssl(t, "", "rsa", "-in", "partner.pem", "-pubout", "-out", "/dev/stdout")
	p.write(t, "partner.pub", public)
	made := g.ask(t, 201, "POST", "/partners", map[string]any{"partnerCode": code, "publicKey": string(public)})
	p.secretKey, p.webhookSecret = made["secretKey"].(string), made["webhookSecretKey"].(string)
	p.write(t, "gateway.pub", []byte(made["publicKey"].(string)))
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.notified <- notification{r.Header, body}
	}))
	t.Cleanup(receiver.Close)
	g.ask(t, 201, "POST", "/partners/"+code+"/endpoints", map[string]any{"url": receiver.URL})
	return p
}

func (p *party) write(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// sign signs the values of a request and the secret key, joined with bars.
func (p *party) sign(t *testing.T, values ...string) string {
	t.Helper()
	text := strings.Join(append(values, p.secretKey), "|")
	return base64.StdEncoding.EncodeToString(p.openssl(t, text, "dgst", "-sha256", "-sign", "partner.pem"))
}

// verifies holds a signature of the gateway over a text.
func (p *party) verifies(t *testing.T, text, signature string) {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(signature)
	if err != nil {
		t.Fatalf("%v: %s", err, signature)
	}
	p.write(t, "signature", raw)
	verify := []string{"dgst", "-sha256", "-verify", "gateway.pub", "-signature", "signature"}
	if out, err := p.tryOpenSSL(text, verify...); err != nil {
		t.Errorf("openssl says %s of the signature over %q", out, text)
	}
	if _, err := p.tryOpenSSL(text+" ", verify...); err == nil {
		t.Error("openssl verifies another text, too")
	}
}

// call sends a request that must be answered with 200, and checks the answer's
// signature over the members that the document names.
func (p *party) call(t *testing.T, path string, body map[string]any, signed ...string) map[string]any {
	t.Helper()
	answer := decode(t, p.post(t, path, body, http.StatusOK))
	if len(signed) > 0 {
		var values []string
		for _, name := range signed {
			values = append(values, fmt.Sprint(answer[name]))
		}
		p.verifies(t, strings.Join(append(values, p.secretKey), "|"), answer["signature"].(string))
	}
	return answer
}

func (p *party) post(t *testing.T, path string, body map[string]any, status int) []byte {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), "POST", p.gateway.public+path, bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("lang", "vi")
	return send(t, r, status)
}

// next is the data of the next notification, once both of its signatures are
// checked.
func (p *party) next(t *testing.T) map[string]any {
	t.Helper()
	n := within(t, "a notification", p.notified)
	w, err := standardwebhooks.NewWebhook(p.webhookSecret)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Verify(n.body, n.header); err != nil {
		t.Errorf("Standard Webhooks: %v", err)
	}
	var outer struct {
		Success     bool
		WebhookType string
		Data        json.RawMessage
	}
	if err := json.Unmarshal(n.body, &outer); err != nil {
		t.Fatal(err)
	}
	data := decode(t, outer.Data)
	signature := data["signature"].(string)
	// The body is in canonical form already: the text is data without this member.
	text := strings.Replace(string(outer.Data), `"signature":"`+signature+`",`, "", 1)
	p.verifies(t, text, signature)
	data["webhookType"], data["success"] = outer.WebhookType, outer.Success
	if n.header.Get("webhook-id") != data["id"] {
		t.Errorf("webhook-id %s of event %v", n.header.Get("webhook-id"), data["id"])
	}
	return data
}

// post office: an SMTP server whose letters hold codes.
type office struct{ codes chan string }

func openOffice(t *testing.T) (o office, address string) {
	t.Helper()
	o = office{make(chan string, 10)}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return o, nil }))
	server.Domain = "mail.test"
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close(); <-done })
	return o, listener.Addr().String()
}

var sixDigits = regexp.MustCompile(`\b[0-9]{6}\b`)

func (o office) Mail(string, *smtp.MailOptions) error { return nil }
func (o office) Rcpt(string, *smtp.RcptOptions) error { return nil }
func (o office) Reset()                               {}
func (o office) Logout() error                        { return nil }

func (o office) Data(r io.Reader) error {
	message, err := netmail.ReadMessage(r)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(quotedprintable.NewReader(message.Body))
	o.codes <- message.Header.Get("To") + " " + sixDigits.FindString(string(body))
	return err
}
