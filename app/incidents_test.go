package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/http/httptest"
	netmail "net/mail"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"ledgerhook/app"
	receivers "ledgerhook/app/receiver"
	"ledgerhook/incidents"
	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/webhook"
)

// postOffice is a mail server in this process.
type postOffice struct {
	address string
	mu      sync.Mutex
	letters []letter
}

// letter is one that arrived.
type letter struct{ to, id, subject, body string }

func openPostOffice(t *testing.T) *postOffice {
	t.Helper()
	p := &postOffice{}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &visit{office: p}, nil }))
	server.Domain, server.ErrorLog = "mail.test", log.New(io.Discard, "", 0)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.address = listener.Addr().String()
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close(); <-done })
	return p
}

// arrived are the letters to an address, in the order in which they came.
func (p *postOffice) arrived(to string) (found []letter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.letters {
		if l.to == to {
			found = append(found, l)
		}
	}
	return found
}

type visit struct {
	office *postOffice
	to     string
}

func (v *visit) Mail(string, *smtp.MailOptions) error { return nil }

func (v *visit) Rcpt(to string, _ *smtp.RcptOptions) error { v.to = to; return nil }

func (v *visit) Data(r io.Reader) error {
	m, err := netmail.ReadMessage(r)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil {
		return err
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	v.office.mu.Lock()
	defer v.office.mu.Unlock()
	v.office.letters = append(v.office.letters, letter{v.to, m.Header.Get("Message-Id"), subject, string(body)})
	return err
}

func (v *visit) Reset()        {}
func (v *visit) Logout() error { return nil }

// A thousand failing deliveries are one incident: its partner's contact and the
// operators get one letter when it opens and one when it is over, the operators'
// account one signed notification each.
func TestAThousandFailingDeliveriesAreOneIncidentFromOpenToClosed(t *testing.T) {
	t.Parallel()
	office := openPostOffice(t)
	cfg := settings(t, t.TempDir(),
		"LEDGERHOOK_SMTP_URL=smtp://"+office.address, "LEDGERHOOK_DELIVERY_ALLOW_CIDRS=127.0.0.0/8", "LEDGERHOOK_DELIVERY_RETRY=0s,1s,1s",
		"LEDGERHOOK_INCIDENTS_MAIL=oncall@example.com", "LEDGERHOOK_INCIDENTS_PARTNER=ops", "LEDGERHOOK_INCIDENTS_BREAKER=1s", "LEDGERHOOK_INCIDENTS_SETTLE=1s")
	a, err := app.Start(t.Context(), cfg, app.Options{Log: slog.New(slog.DiscardHandler), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	key, err := signer.GenerateKey(2048)
	if err != nil {
		t.Fatal(err)
	}
	type account struct{ EndpointID, WebhookSecretKey, PublicKey string }
	join := func(code, url string) (joined account) {
		call(t, a, "POST", "/partners", map[string]any{"partnerCode": code, "publicKey": string(key.PublicPEM())}, &joined)
		call(t, a, "POST", "/partners/"+code+"/endpoints", map[string]any{"url": url}, &joined)
		return joined
	}
	var well atomic.Bool
	var answers atomic.Int64
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !well.Load() {
			w.WriteHeader([]int{500, 503}[answers.Add(1)%2])
		}
	}))
	defer failing.Close()
	var theirs http.Handler // verifies what the operators' account gets
	var mu sync.Mutex
	var notified []receivers.Received
	ours := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		h := theirs
		mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	defer ours.Close()
	endpoint, operators := join("acme", failing.URL).EndpointID, join("ops", ours.URL)
	gateway, err := signer.ParsePublicKey([]byte(operators.PublicKey))
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	theirs = receivers.New(receivers.Options{PublicKey: gateway, Secrets: []string{operators.WebhookSecretKey}, Observe: func(got receivers.Received) {
		mu.Lock()
		defer mu.Unlock()
		notified = append(notified, got)
	}})
	mu.Unlock()
	by := partners.AuditEntry{At: time.Now(), Actor: "test", Action: "endpoint.contact.add"}
	if err := a.Incidents().AddContact(t.Context(), partners.Only("acme"), endpoint, "truc@acme.example", "vi", by); err != nil {
		t.Fatal(err)
	}

	const (
		deliveries = 1000
		patience   = 3 * time.Minute // an incident is looked for every 15 s, and seen twice before it is told
	)
	var events []map[string]any
	for n := range deliveries {
		events = append(events, map[string]any{"partnerCode": "acme", "webhookType": "TopupCard",
			"data": json.RawMessage(fmt.Sprintf(`{"id":"tp_%d","cardId":"c1","amount":1,"fee":0,"status":"Completed","createdAt":%d}`, n, 1700000000+n))})
	}
	var answer struct{ Results []struct{ Status int } }
	call(t, a, "POST", "/events/batch", map[string]any{"events": events}, &answer)
	for _, result := range answer.Results {
		if result.Status != http.StatusAccepted {
			t.Fatalf("an event was answered with %d", result.Status)
		}
	}
	got := func() []receivers.Received {
		mu.Lock()
		defer mu.Unlock()
		return append([]receivers.Received(nil), notified...)
	}
	untilWithin(t, patience, "it is told that the incident is open", func() bool {
		return len(office.arrived("oncall@example.com")) > 0 && len(office.arrived("truc@acme.example")) > 0 && len(got()) > 0
	})
	well.Store(true)
	call(t, a, "POST", "/endpoints/"+endpoint+"/close-breaker", map[string]any{"reason": "repaired"}, new(account))
	untilWithin(t, patience, "it is told that the incident is over", func() bool {
		return len(office.arrived("oncall@example.com")) > 1 && len(office.arrived("truc@acme.example")) > 1 && len(got()) > 1
	})

	const head = "Webhooks to 127.0.0.1:"
	for to, subjects := range map[string][2]string{
		"oncall@example.com": {head, "Over: " + head}, "truc@acme.example": {"Webhook gửi đến 127.0.0.1:", "Đã khắc phục: Webhook gửi đến 127.0.0.1:"},
	} {
		letters := office.arrived(to)
		if len(letters) != 2 || !strings.HasPrefix(letters[0].subject, subjects[0]) || !strings.HasPrefix(letters[1].subject, subjects[1]) || !strings.HasPrefix(letters[0].id, "<msg_") {
			t.Errorf("%s got %+v", to, letters)
		}
	}
	if text := office.arrived("oncall@example.com")[1].body; !strings.Contains(strings.ReplaceAll(text, "\r\n", " "), "were delivered late") {
		t.Errorf("the closing letter does not say what was late: %s", text)
	}
	for n, want := range []string{"OPEN", "CLOSED"} {
		if all := got(); len(all) != 2 || all[n].Err != nil || !all[n].VerifiedRSA || !all[n].VerifiedStandard || all[n].Type != string(webhook.GatewayIncident) || !bytes.Contains(all[n].Body, []byte(`"status":"`+want+`"`)) {
			t.Errorf("the operators' account got %+v", all)
		}
	}
	closed, err := a.Incidents().Closed(t.Context())
	if err != nil || len(closed) != 1 || closed[0].Kind != incidents.Failing {
		t.Errorf("%+v %v", closed, err)
	}
	if len(closed) == 1 {
		if o := closed[0].Outcome; o.Late+o.NotDelivered+o.Waiting == 0 || o.Late+o.NotDelivered+o.Waiting > deliveries {
			t.Errorf("what became of the deliveries: %+v", o)
		}
		t.Logf("delivered late, not, still waiting: %+v", closed[0].Outcome)
	}
}
