package ingest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/delivery"
	"ledgerhook/delivery/guard"
	"ledgerhook/ingest"
	"ledgerhook/ledger"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

const token = "the-right-token"

// keys are the gateway's signing key and two partners' keys, made once: RSA
// keys are dear.
var keys = sync.OnceValue(func() [3]*signer.Key {
	var made [3]*signer.Key
	for i := range made {
		key, err := signer.GenerateKey(2048)
		if err != nil {
			panic(err)
		}
		made[i] = key
	}
	return made
})

// Key implements delivery.Keys.
type keyring struct{}

func (keyring) Key(_ context.Context, id string) (*signer.Key, error) {
	if key := keys()[0]; key.ID() == id {
		return key, nil
	}
	return nil, errors.New("there is no such key")
}

// names resolve in the tests as they say, others not at all.
type names map[string]string

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if addr, ok := n[host]; ok {
		return []netip.Addr{netip.MustParseAddr(addr)}, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// api is the internal API on a real ledger, served as the gateway serves it.
type api struct {
	*ledgertest.Bench
	url      string
	listener *meter
	limiter  *web.Limiter
	box      *signer.Box
	registry *prometheus.Registry
	refusals *ingest.Refusals // nobody empties it unless the test does
	log      *journal
}

// each holds a promise of the API on both databases.
func each(t *testing.T, test func(t *testing.T, a *api)) {
	t.Helper()
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) { test(t, serve(t, b.Ledger, b)) })
}

// one serves the API on SQLite, for promises that no database has a part in.
func one(t *testing.T) *api {
	t.Helper()
	b := ledgertest.New(t, "sqlite")
	return serve(t, b.Ledger, b)
}

func serve(t *testing.T, l *ledger.Ledger, b *ledgertest.Bench) *api {
	t.Helper()
	box, err := signer.NewBox(bytes.Repeat([]byte{7}, signer.MasterKeySize))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.DB.KeepMasterKey(t.Context(), box); err != nil {
		t.Fatal(err)
	}
	if err := b.DB.AddSigningKey(t.Context(), storedKey(keys()[0].ID(), time.Now())); err != nil {
		t.Fatal(err)
	}
	a := &api{Bench: b, box: box, registry: prometheus.NewRegistry(), limiter: web.NewLimiter(nil), log: &journal{}}
	log := slog.New(slog.NewJSONHandler(a.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	webMetrics, metrics := web.NewMetrics(a.registry), ingest.NewMetrics(a.registry)
	a.refusals = ingest.NewRefusals(l, metrics, log)
	handler := (&ingest.Internal{
		Events: l, Deliveries: l, Partners: b.Accounts, PartnerUpdates: l, Secrets: b.Accounts, Endpoints: l, Replays: l, Erasures: l, Orders: l, Accepted: b.Reports, Sent: b.Reports, OrderLists: b.Reports, Rates: b.Prices, Keys: storedKeys{b}, MasterKey: storedMasterKey{b, box}, Mailbox: partners.NewMailbox(b.Accounts, box), Audit: b.Trail,
		Token: token, Tokens: ingest.NewTokens(b.Accounts, log), Key: func() *signer.Key { return keys()[0] }, Box: box,
		Composer: delivery.NewComposer(keyring{}, box, delivery.NewMetrics(prometheus.NewRegistry())),
		Guard:    guard.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}),
		Timeout:  15 * time.Second, Limits: partners.DefaultLimits,
		Resolver: names{"partner.example.com": "93.184.216.34", "inside.example.com": "10.1.2.3", "lab.example.com": "127.0.0.1"},
		Limiter:  a.limiter, Refusals: a.refusals, Metrics: metrics, Web: webMetrics, Log: log,
	}).Handler()
	server := httptest.NewUnstartedServer(nil)
	server.Config = web.NewServer(web.Observe(log, webMetrics, handler), log)
	a.listener = &meter{Listener: server.Listener}
	server.Listener = a.listener
	server.Start()
	t.Cleanup(server.Close)
	a.url = server.URL + "/internal/v1"
	return a
}

// journal keeps what is logged.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(b)
}

func (j *journal) text() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.String()
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// json decodes the answer.
func (a answer) json(t *testing.T, into any) {
	t.Helper()
	if err := json.Unmarshal(a.body, into); err != nil {
		t.Fatalf("%v: %.500s", err, a.body)
	}
}

// text is a string member at the top of the answer.
func (a answer) text(t *testing.T, name string) string {
	t.Helper()
	var members map[string]any
	a.json(t, &members)
	text, _ := members[name].(string)
	return text
}

// do sends a request with the token and holds the exchange against the
// document. body may be bytes, a string or what has a JSON form; headers are
// names and values.
func (a *api) do(t *testing.T, method, path string, body any, headers ...string) answer {
	t.Helper()
	request, raw, got := a.exchange(t, method, path, body, headers...)
	if got.status >= 500 && got.status != http.StatusServiceUnavailable {
		t.Errorf("%s %s: %d\n%.1000s", method, path, got.status, a.log.text())
	}
	openDocument(t).check(t, request, raw, got)
	return got
}

// exchange is do for what may fail.
func (a *api) exchange(t *testing.T, method, path string, body any, headers ...string) (request *http.Request, raw []byte, got answer) {
	t.Helper()
	var err error
	switch body := body.(type) {
	case nil:
	case []byte:
		raw = body
	case string:
		raw = []byte(body)
	default:
		if raw, err = json.Marshal(body); err != nil {
			t.Fatal(err)
		}
	}
	if request, err = http.NewRequestWithContext(t.Context(), method, a.url+path, bytes.NewReader(raw)); err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if request.Header.Del(headers[i]); headers[i+1] != "" {
			request.Header.Set(headers[i], headers[i+1])
		}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got = answer{status: response.StatusCode, header: response.Header}
	if got.body, err = io.ReadAll(response.Body); err != nil {
		t.Fatal(err)
	}
	return request, raw, got
}

// want sends a request and fails the test unless it is answered with status
// and, if says is given, with a text that holds all of it.
func (a *api) want(t *testing.T, status int, method, path string, body any, says ...string) answer {
	t.Helper()
	got := a.do(t, method, path, body)
	if got.status != status {
		t.Fatalf("%s %s: %d, want %d: %.1000s", method, path, got.status, status, got.body)
	}
	for _, part := range says {
		if !strings.Contains(string(got.body), part) {
			t.Errorf("%s %s says %.1000s, want it to say %q", method, path, got.body, part)
		}
	}
	return got
}

// partner opens an account and returns its answer.
func (a *api) partner(t *testing.T, code string) answer {
	t.Helper()
	return a.want(t, 201, "POST", "/partners", map[string]any{"partnerCode": code, "publicKey": string(keys()[1].PublicPEM())})
}

// endpoint registers an endpoint of a partner and returns its id.
func (a *api) endpoint(t *testing.T, code string, members map[string]any) string {
	t.Helper()
	body := map[string]any{"url": "https://partner.example.com/hook"}
	for name, value := range members {
		body[name] = value
	}
	return a.want(t, 201, "POST", "/partners/"+code+"/endpoints", body).text(t, "endpointId")
}

// topup is a top-up event of a partner.
func topup(code, id, status string) map[string]any {
	return map[string]any{"partnerCode": code, "webhookType": "TopupCard", "data": map[string]any{
		"id": id, "amount": 100.5, "cardId": "card_1", "fee": 1, "status": status, "createdAt": 1700000000}}
}

// event posts a top-up and returns the ids of its event and deliveries.
func (a *api) event(t *testing.T, code, id, status string) (eventID string, deliveryIDs []string) {
	t.Helper()
	var got struct {
		EventID     string
		DeliveryIDs []string
	}
	a.want(t, 202, "POST", "/events", topup(code, id, status)).json(t, &got)
	return got.EventID, got.DeliveryIDs
}

// delivery shows a delivery.
type deliveryView struct {
	DeliveryID, EventID, State, Reason, Trigger string
	EndpointID, ReplayOf, NextAttemptAt         *string
	AttemptCount                                int
	Sequence                                    int64
	WaitingFor                                  *struct {
		Reason string
		Until  *string
	}
	Attempts []map[string]any
}

func (d deliveryView) String() string {
	reason := "nothing"
	if d.WaitingFor != nil {
		reason = d.WaitingFor.Reason
	}
	return fmt.Sprintf("%s, waits for %s", d.State, reason)
}

func (a *api) delivery(t *testing.T, id string) (d deliveryView) {
	t.Helper()
	a.want(t, 200, "GET", "/deliveries/"+id, nil).json(t, &d)
	return d
}

// page reads one page of a list: the values of one member and the next cursor.
func (a *api) page(t *testing.T, path, member string) (values []string, next string) {
	t.Helper()
	var got struct {
		Items      []map[string]any
		NextCursor *string
	}
	a.want(t, 200, "GET", path, nil).json(t, &got)
	for _, item := range got.Items {
		values = append(values, fmt.Sprint(item[member]))
	}
	if got.NextCursor != nil {
		next = *got.NextCursor
	}
	return values, next
}

// claim plays a worker that takes each of the tickets handed out since.
func (a *api) claim(t *testing.T) (jobs []delivery.Job) {
	t.Helper()
	for _, ticket := range a.Tickets() {
		job, ok, err := a.Claim(t.Context(), ticket, "wrk_test")
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// record plays a worker that is done with a job.
func (a *api) record(t *testing.T, job delivery.Job, attempt webhook.Attempt, v delivery.Verdict) {
	t.Helper()
	attempt.ID, attempt.Number, attempt.Trigger = webhook.NewID(webhook.AttemptPrefix), job.Delivery.Attempts, job.Trigger
	_, err := a.Record(t.Context(), delivery.Result{DeliveryID: job.Delivery.ID, EndpointID: job.Delivery.EndpointID,
		Generation: job.Delivery.Generation, Attempt: attempt, Verdict: v})
	if err != nil {
		t.Fatal(err)
	}
}
