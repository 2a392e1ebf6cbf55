package receiver_test

import (
	"crypto/rsa"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"ledgerhook/app/receiver"
	"ledgerhook/signer"
)

// gateway signs like the real one.
type gateway struct {
	key    *signer.Key
	secret string
}

func newGateway(t *testing.T) gateway {
	t.Helper()
	key, err := signer.GenerateKey(2048)
	if err != nil {
		t.Fatal(err)
	}
	return gateway{key, signer.NewWebhookSecret()}
}

func (g gateway) body(t *testing.T, data string) string {
	t.Helper()
	signature, err := g.key.Sign([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	body, err := signer.Notification{WebhookType: "TopupCard", Success: true, Data: []byte(data)}.Body(signature)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func (g gateway) request(t *testing.T, id, body string, at time.Time) *http.Request {
	t.Helper()
	signature, err := signer.StandardSignature([]string{g.secret}, id, at, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/hook", strings.NewReader(body))
	r.Header.Set(signer.HeaderID, id)
	r.Header.Set(signer.HeaderTimestamp, unix(at))
	r.Header.Set(signer.HeaderSignature, signature)
	r.Header.Set("Ledgerhook-Attempt", "2")
	r.Header.Set("Ledgerhook-Sequence", "41")
	return r
}

// observed collects what a receiver tells.
type observed struct {
	mu  sync.Mutex
	all []receiver.Received
}

func (o *observed) observe(got receiver.Received) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, got)
}

func (o *observed) last() receiver.Received {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all[len(o.all)-1]
}

func serve(r *receiver.Receiver, req *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	return w
}

const topup = `{"amount":100.5,"id":"tp_1"}`

func TestANotificationIsTakenWhenBothSignaturesHold(t *testing.T) {
	g, seen := newGateway(t), &observed{}
	r := receiver.New(receiver.Options{PublicKey: g.key.Public(), Secrets: []string{g.secret}, Observe: seen.observe})
	w := serve(r, g.request(t, "evt_1", g.body(t, topup), time.Now()))
	if w.Code != http.StatusOK || w.Body.String() != `{"success":true}` {
		t.Errorf("answered %d %s", w.Code, w.Body)
	}
	got := seen.last()
	if got.Err != nil || !got.VerifiedRSA || !got.VerifiedStandard || !got.FirstTime || !got.SameBytes {
		t.Errorf("observed %+v", got)
	}
	if got.ID != "evt_1" || got.Type != "TopupCard" || got.Attempt != 2 || got.Sequence != 41 || got.Status != 200 {
		t.Errorf("observed %+v", got)
	}
	if r.Seen() != 1 {
		t.Errorf("seen %d ids, want 1", r.Seen())
	}
}

func TestWhatDoesNotVerifyIsRefusedAndNotCounted(t *testing.T) {
	g, other := newGateway(t), newGateway(t)
	good := g.body(t, topup)
	tests := []struct {
		name    string
		request *http.Request
		says    string
	}{
		{"a changed amount", g.request(t, "evt_1", strings.Replace(good, "100.5", "900.5", 1), time.Now()), "RSA signature"},
		{"another gateway's key", g.request(t, "evt_1", other.body(t, topup), time.Now()), "RSA signature"},
		{"another secret", other.request(t, "evt_1", good, time.Now()), "Standard Webhooks"},
		{"a request of yesterday", g.request(t, "evt_1", good, time.Now().Add(-24*time.Hour)), "webhook-timestamp"},
		{"no id", httptest.NewRequest(http.MethodPost, "/", strings.NewReader(good)), "webhook-id is missing"},
		{"no headers but the id", onlyID(good), "webhook-timestamp is missing"},
		{"a redirect followed as GET", httptest.NewRequest(http.MethodGet, "/", nil), "not a GET"},
		{"a body that is no JSON", g.request(t, "evt_1", "hello", time.Now()), "RSA signature"},
		{"an endless body", g.request(t, "evt_1", strings.Repeat(" ", 3<<20), time.Now()), "longer than"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			seen := &observed{}
			r := receiver.New(receiver.Options{PublicKey: g.key.Public(), Secrets: []string{g.secret}, Observe: seen.observe,
				Answer: func(receiver.Received) receiver.Answer { t.Error("asked for an answer"); return receiver.OK }})
			w := serve(r, test.request)
			got := seen.last()
			if w.Code != http.StatusUnauthorized || got.Status != http.StatusUnauthorized {
				t.Errorf("answered %d, observed %d, want 401", w.Code, got.Status)
			}
			if got.Err == nil || !strings.Contains(got.Err.Error(), test.says) {
				t.Errorf("error %q does not say %q", got.Err, test.says)
			}
			if r.Seen() != 0 {
				t.Errorf("seen %d ids, want none", r.Seen())
			}
		})
	}
}

func onlyID(body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set(signer.HeaderID, "evt_1")
	return r
}

func TestEitherSignatureCanBeLeftOut(t *testing.T) {
	g, other := newGateway(t), newGateway(t)
	for _, test := range []struct {
		name          string
		key           *rsa.PublicKey
		secrets       []string
		rsa, standard bool
	}{
		{"neither", nil, nil, false, false},
		{"only RSA", g.key.Public(), nil, true, false},
		{"only Standard Webhooks, an old secret beside the new", nil, []string{other.secret, g.secret}, false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			seen := &observed{}
			r := receiver.New(receiver.Options{PublicKey: test.key, Secrets: test.secrets, Observe: seen.observe})
			serve(r, g.request(t, "evt_1", g.body(t, topup), time.Now()))
			if got := seen.last(); got.Err != nil || got.VerifiedRSA != test.rsa || got.VerifiedStandard != test.standard {
				t.Errorf("observed rsa %v, standard %v, %v", got.VerifiedRSA, got.VerifiedStandard, got.Err)
			}
		})
	}
}

func TestAnIdCountsOnceAndOnlyWithTheSameBytes(t *testing.T) {
	g, seen := newGateway(t), &observed{}
	r := receiver.New(receiver.Options{PublicKey: g.key.Public(), Observe: seen.observe})
	first, second := g.body(t, topup), g.body(t, `{"amount":7,"id":"tp_1"}`)

	serve(r, g.request(t, "evt_1", first, time.Now()))
	serve(r, g.request(t, "evt_1", first, time.Now()))
	if got := seen.last(); got.FirstTime || !got.SameBytes || got.Times != 2 || got.Nth != 1 || r.Seen() != 1 {
		t.Errorf("again, the same: %+v, seen %d", got, r.Seen())
	}
	serve(r, g.request(t, "evt_2", first, time.Now()))
	if got := seen.last(); !got.FirstTime || got.Nth != 2 || r.Seen() != 2 {
		t.Errorf("another id: %+v, seen %d", got, r.Seen())
	}
	for range 2 {
		serve(r, g.request(t, "evt_1", second, time.Now()))
		if got := seen.last(); got.SameBytes || r.Seen() != 1 {
			t.Errorf("other bytes: %+v, seen %d", got, r.Seen())
		}
	}
}

func TestAForgedRequestDoesNotSpoilTheRealOne(t *testing.T) {
	g, seen := newGateway(t), &observed{}
	r := receiver.New(receiver.Options{PublicKey: g.key.Public(), Observe: seen.observe})
	serve(r, g.request(t, "evt_1", `{"forged":true}`, time.Now()))
	serve(r, g.request(t, "evt_1", g.body(t, topup), time.Now()))
	if got := seen.last(); got.Err != nil || !got.FirstTime || !got.SameBytes || r.Seen() != 1 {
		t.Errorf("observed %+v, seen %d", got, r.Seen())
	}
}

func TestAnswersAreAsTold(t *testing.T) {
	busy := receiver.Answer{Status: 503, Header: http.Header{"retry-after": {"7"}}}
	g := newGateway(t)
	for _, test := range []struct {
		name   string
		answer func(receiver.Received) receiver.Answer
		ids    string // one request per letter, which is its id
		want   []int
	}{
		{"always", receiver.Always(busy), "ab", []int{503, 503}},
		{"the first two of every id fail", receiver.FailFirst(2, busy, receiver.OK), "aabaabb", []int{503, 503, 503, 200, 200, 503, 200}},
		{"the first of every second id fails", receiver.FailEvery(2, busy, receiver.OK), "abbacd", []int{200, 503, 200, 200, 200, 503}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := receiver.New(receiver.Options{Answer: test.answer})
			for i, id := range test.ids {
				w := serve(r, g.request(t, string(id), topup, time.Now()))
				if w.Code != test.want[i] {
					t.Errorf("request %d, id %c: answered %d, want %d", i+1, id, w.Code, test.want[i])
				}
				if w.Code == 503 && w.Header().Get("Retry-After") != "7" {
					t.Errorf("request %d: headers %v", i+1, w.Header())
				}
			}
		})
	}
}
