package dashboard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/delivery"
	"ledgerhook/delivery/guard"
	"ledgerhook/delivery/sender"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

// oneKey is a key ring of one.
type oneKey struct{ only *signer.Key }

func (k oneKey) Key(context.Context, string) (*signer.Key, error) { return k.only, nil }

// onboarded is a partner whose secret can be read, on a stage that lets
// receivers of this machine be reached.
func onboarded(t *testing.T, b *ledgertest.Bench, code string) (s *stage, secret string) {
	t.Helper()
	s = stageOn(t, b)
	s.Guard = guard.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	key, err := signer.GenerateKey(2048)
	if err != nil {
		t.Fatal(err)
	}
	s.Key = key.Public
	s.Composer = delivery.NewComposer(oneKey{key}, s.Box, nil)
	account, err := partners.NewAccount(s.Box, code, "", string(key.PublicPEM()), time.Now())
	if err == nil {
		err = s.Accounts.CreatePartner(t.Context(), account.Partner, account.First)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s, account.WebhookSecret
}

// work sends what is due with the real worker until the test ends.
func (s *stage) work(t *testing.T) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	send := sender.New(sender.Options{Guard: s.Guard, UserAgent: "Ledgerhook/test"})
	w := delivery.NewWorker(delivery.WorkerOptions{ID: "wrk_1", Ledger: s.Ledger, Composer: s.Composer, Sender: send,
		Policy: webhook.RetryPolicy{Waits: []time.Duration{0}}, Metrics: delivery.NewMetrics(prometheus.NewRegistry()), Log: log})
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		look := time.NewTicker(5 * time.Millisecond)
		defer look.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-look.C:
				for _, ticket := range s.Bench.Tickets() {
					w.Take(ctx, ticket)
				}
			}
		}
	}()
	t.Cleanup(func() { stop(); <-done; send.Close() })
}

var anyHidden = regexp.MustCompile(`<input type="hidden" name="(\w+)" value="([^"]*)">`)

// newForm is the form of a page, filled in with pairs of names and values.
func newForm(t *testing.T, c *http.Client, page string, pairs ...string) url.Values {
	t.Helper()
	resp, body := ask(t, c, "GET", page, nil)
	if resp.StatusCode != 200 {
		t.Fatalf("%s: %d %s", page, resp.StatusCode, body)
	}
	form := url.Values{}
	for _, field := range anyHidden.FindAllStringSubmatch(body, -1) {
		form.Set(field[1], html.UnescapeString(field[2]))
	}
	for i := 0; i < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return form
}

// endpointFields are what the form of a new endpoint holds besides its URL.
var endpointFields = []string{"maxInFlight", "32", "rateLimit", "0", "timeout", "0", "ackMode", "status"}

func (s *stage) onlyEndpoint(t *testing.T, code string) webhook.Endpoint {
	t.Helper()
	all, err := s.Ledger.Endpoints(t.Context(), code)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d endpoints (%v)", len(all), err)
	}
	return all[0]
}

func TestAPartnerAddsAnEndpointAndComparesByteForByteWhatWasSigned(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s, secret := onboarded(t, b, "acme")
		s.work(t)
		type got struct {
			header http.Header
			body   []byte
		}
		came := make(chan got, 4)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			came <- got{r.Header, body}
		}))
		t.Cleanup(server.Close)
		c, base := s.SignIn(t, "acme", partners.RoleDeveloper), s.portal.URL
		form := newForm(t, c, base+"/portal/endpoints/new", append([]string{"url", " " + server.URL + "/hooks?shop=My Shop", "description", "production", "type", "TopupCard", "test", "yes",
			"header", "X-Api-Key", "value", "s3cret"}, endpointFields...)...)
		resp, body := ask(t, c, "POST", base+"/portal/endpoints", form)
		place := resp.Header.Get("Location")
		if resp.StatusCode != 303 || !strings.HasSuffix(place, "/signed?done=created") {
			t.Fatalf("%d %s %s", resp.StatusCode, place, body)
		}
		sent := <-came
		if err := signer.VerifyNotification(s.Key(), sent.body); err != nil {
			t.Error(err)
		}
		if err := signer.VerifyStandard([]string{secret}, sent.header, sent.body, time.Now()); err != nil {
			t.Error(err)
		}
		if sent.header.Get("X-Api-Key") != "s3cret" {
			t.Error("the custom header is missing")
		}
		described, _ := webhook.Describe(webhook.TopupCard)
		_, body = ask(t, c, "GET", base+place, nil)
		text := html.UnescapeString(body)
		standard := sent.header.Get("webhook-id") + "." + sent.header.Get("webhook-timestamp") + "." + string(sent.body)
		sum := sha256.Sum256(sent.body)
		for _, want := range []string{"a test event was sent to it", "answered 200", ">" + described.Example + "</pre>", ">" + string(sent.body) + "</pre>", ">" + standard + "</pre>",
			sent.header.Get("webhook-signature"), hex.EncodeToString(sum[:]), "***", signer.KeyID(s.Key())} {
			if !strings.Contains(text, want) {
				t.Errorf("the page lacks %q", want)
			}
		}
		e := s.onlyEndpoint(t, "acme")
		if e.URL != server.URL+"/hooks?shop=My%20Shop" || e.Description != "production" || len(e.Types) != 1 {
			t.Errorf("%+v", e)
		}
		resp, _ = ask(t, c, "POST", base+"/portal/endpoints", form)
		if again := resp.Header.Get("Location"); again != strings.Replace(place, "created", "again", 1) || s.onlyEndpoint(t, "acme").ID != e.ID {
			t.Errorf("the same form again: %d %s", resp.StatusCode, again)
		}
		if _, body := ask(t, c, "GET", base+strings.Replace(place, "created", "again", 1), nil); !strings.Contains(body, "This has already been done") {
			t.Error("it is not told that it was done already")
		}
		for _, page := range []string{"/portal/endpoints", "/portal/endpoints/" + e.ID, "/portal/endpoints/" + e.ID + "/edit", place} {
			if resp, body := ask(t, c, "GET", base+page, nil); resp.StatusCode != 200 || strings.Contains(body, "s3cret") {
				t.Errorf("%s: %d, or it shows a header's value", page, resp.StatusCode)
			}
		}
		test := newForm(t, c, base+"/portal/endpoints/"+e.ID, "type", string(webhook.ProfileUpdated))
		if resp, _ := ask(t, c, "POST", base+"/portal/endpoints/"+e.ID+"/test", test); resp.StatusCode != 303 || !strings.HasSuffix(resp.Header.Get("Location"), "?done=test") {
			t.Errorf("%d", resp.StatusCode)
		}
		if err := signer.VerifyNotification(s.Key(), (<-came).body); err != nil {
			t.Error(err)
		}
		ask(t, c, "POST", base+"/portal/endpoints/"+e.ID+"/test", test)
		if n := b.Count(t, "SELECT COUNT(*) FROM events"); n != 2 {
			t.Errorf("%d test events", n)
		}
		if acts := s.actsOf(t, "acme"); acts != "endpoint.test endpoint.test endpoint.create" {
			t.Errorf("acts %q", acts)
		}
	})
}

// actsOf are the newest acts about a partner's endpoints and secrets.
func (s *stage) actsOf(t *testing.T, code string) string {
	t.Helper()
	found, _, err := s.Trail.AuditEntries(t.Context(), partners.AuditFilter{PartnerCode: code, Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	var acts []string
	for _, e := range found {
		if strings.Contains(e.Detail+e.Target, "s3cret") || strings.Contains(e.Detail+e.Target, "whsec_") {
			t.Errorf("the audit log holds a secret: %+v", e)
		}
		if strings.HasPrefix(e.Action, "endpoint.") || strings.HasPrefix(e.Action, "secret.") {
			acts = append(acts, e.Action)
		}
	}
	return strings.Join(acts, " ")
}

func TestAReceiverThatDoesNotAnswerYetIsSavedAllTheSame(t *testing.T) {
	s, _ := onboarded(t, ledgertest.New(t, "sqlite"), "acme")
	s.work(t)
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close() // nobody listens there any more
	c, base := s.SignIn(t, "acme", partners.RoleAdmin), s.portal.URL
	form := newForm(t, c, base+"/portal/endpoints/new", append([]string{"url", server.URL, "test", "yes"}, endpointFields...)...)
	resp, _ := ask(t, c, "POST", base+"/portal/endpoints", form)
	_, body := ask(t, c, "GET", base+resp.Header.Get("Location"), nil)
	for _, want := range []string{"The endpoint is saved", "fails", "no connection", "not reached", "Check that the receiver listens"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q: %s", want, body)
		}
	}
	s.onlyEndpoint(t, "acme")
}

// Each thing that is wrong is said beside its field, in the page's language,
// and nothing is kept of the form but what was typed.
func TestWhatCannotBeSavedIsSaidBesideItsField(t *testing.T) {
	s := newStage(t)
	s.Bench.Partner(t, "acme")
	e := s.Bench.Endpoint(t, "acme", 8)
	c, base := s.SignIn(t, "acme", partners.RoleDeveloper), s.portal.URL
	long := strings.Repeat("x", 201)
	for _, tt := range []struct{ field, value, en, vi string }{
		{"url", "", "must be a URL like", "phải là URL như"},
		{"url", "http://partner.example.com/", "must begin with https://", "phải bắt đầu bằng https://"},
		{"url", "https://partner.example.com:444/", "must use port 443 or 8443", "phải dùng cổng 443 hoặc 8443"},
		{"url", "https://10.0.0.1/", "not by an address", "không phải địa chỉ"},
		{"url", "https://0x7f.1/", "octal or hexadecimal", "thập lục phân"},
		{"url", "https://[::1]/", "not by an address", "không phải địa chỉ"},
		{"url", "https://db.internal/", "no public DNS serves names that end in .internal", "không DNS công cộng nào phục vụ tên kết thúc bằng .internal"},
		{"url", "https://intranet/", "with a dot", "có dấu chấm"},
		{"url", "https://u:p@partner.example.com/", "user name or password", "tên người dùng hoặc mật khẩu"},
		{"url", "https://partner.example.com/#x", "fragment", "phần sau dấu #"},
		{"url", "https://partner.example.com:0/", "from 1 to 65535", "từ 1 đến 65535"},
		{"url", "https://a_b.example.com/", "valid DNS name", "tên DNS hợp lệ"},
		{"url", "https://e.com/" + strings.Repeat("x", guard.MaxURL), "at most 2048 bytes", "tối đa 2048 byte"},
		{"description", long, "at most 200 characters", "tối đa 200 ký tự"},
		{"description", "a\x01b", "control characters", "ký tự điều khiển"},
		{"maxInFlight", "0", "must be 1 to 1000", "phải từ 1 đến 1000"},
		{"maxInFlight", "65", "must be 1 to 64", "phải từ 1 đến 64"},
		{"maxInFlight", "many", "whole number", "số nguyên"},
		{"rateLimit", "1001", "1 to 1000 deliveries a second", "1 đến 1000 lượt gửi mỗi giây"},
		{"timeout", "31", "3 to 30", "từ 3 đến 30"},
		{"header", "Host", "must not be set", "không được đặt"},
		{"header", "Webhook-Id", "must not be set", "không được đặt"},
		{"header", "X A", "letters, digits and hyphens", "chữ cái, chữ số và gạch nối"},
		{"value", "\u00e9", "printable ASCII", "ASCII in được"},
	} {
		for _, lang := range []string{"en", "vi"} {
			form := newForm(t, c, base+"/portal/endpoints/new", "url", "https://partner.example.com/", "description", "kept as typed", "header", "X-A", "value", "b", "type", "TopupCard", "ordered", "yes")
			for i := 0; i < len(endpointFields); i += 2 {
				form.Set(endpointFields[i], endpointFields[i+1])
			}
			form.Set(tt.field, tt.value)
			says := map[string]string{"en": tt.en, "vi": tt.vi}[lang]
			for _, action := range []string{"/portal/endpoints", "/portal/endpoints/" + e.ID} {
				resp, body := ask(t, c, "POST", base+action, form, "Accept-Language", lang)
				text := html.UnescapeString(body)
				if resp.StatusCode != 400 || !strings.Contains(text, says) || !strings.Contains(text, `aria-invalid="true"`) && tt.value != "X A" {
					t.Errorf("%s, %s %.40q: %d, lacks %q", lang, tt.field, tt.value, resp.StatusCode, says)
				}
				if tt.field != "description" && !strings.Contains(text, "kept as typed") || !strings.Contains(text, `name="ordered" value="yes" checked`) || !strings.Contains(text, `value="TopupCard" aria-describedby="types-hint" checked`) {
					t.Errorf("%s, %s: what was typed is gone", lang, tt.field)
				}
			}
		}
	}
	if now := s.onlyEndpoint(t, "acme"); now.UpdatedAt != e.UpdatedAt {
		t.Error("something was saved")
	}
}

func TestScriptInAFieldIsText(t *testing.T) {
	s := newStage(t)
	s.Bench.Partner(t, "acme")
	e := s.Bench.Endpoint(t, "acme", 8)
	c, base := s.SignIn(t, "acme", partners.RoleDeveloper), s.portal.URL
	const boom = `"><script>alert(1)</script>`
	form := newForm(t, c, base+"/portal/endpoints/"+e.ID+"/edit", append([]string{"url", "https://partner.example.com/" + url.PathEscape(boom), "description", boom, "header", "X-A", "value", boom}, endpointFields...)...)
	if resp, body := ask(t, c, "POST", base+"/portal/endpoints/"+e.ID, form); resp.StatusCode != 303 {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	form.Set("url", boom)
	_, refused := ask(t, c, "POST", base+"/portal/endpoints/"+e.ID, form)
	pages := []string{refused}
	for _, path := range []string{"/portal/endpoints", "/portal/endpoints/" + e.ID, "/portal/endpoints/" + e.ID + "/edit", "/portal/endpoints/" + e.ID + "/remove"} {
		_, body := ask(t, c, "GET", base+path, nil)
		pages = append(pages, body)
	}
	for _, body := range pages {
		if strings.Contains(body, "<script>alert") || !strings.Contains(body, "alert") {
			t.Errorf("%s", body)
		}
	}
}

func TestHeadersAreKeptReplacedAndTakenOutWithoutBeingShown(t *testing.T) {
	s := newStage(t)
	s.Bench.Partner(t, "acme")
	e := s.Bench.Endpoint(t, "acme", 8)
	c, path := s.SignIn(t, "acme", partners.RoleDeveloper), s.portal.URL+"/portal/endpoints/"+e.ID
	save := func(pairs ...string) (int, string) {
		t.Helper()
		form := newForm(t, c, path+"/edit", append(append([]string{"url", e.URL}, endpointFields...), pairs...)...)
		resp, body := ask(t, c, "POST", path, form)
		return resp.StatusCode, body
	}
	have := func() delivery.Headers {
		t.Helper()
		h, err := delivery.OpenHeaders(s.Box, e.ID, s.onlyEndpoint(t, "acme").Headers)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	save("header", "X-A", "value", "s3cret-1", "header", "X-B", "value", "s3cret-2")
	save("description", "another")
	if h := have(); len(h) != 2 || h["X-A"] != "s3cret-1" {
		t.Errorf("%v", h)
	}
	save("header", "x-a", "value", "s3cret-3", "drop", "X-B")
	if h := have(); len(h) != 1 || h["x-a"] != "s3cret-3" {
		t.Errorf("%v", h)
	}
	if status, body := save("header", "X-C", "value", "1", "header", "X-C", "value", "2"); status != 400 || !strings.Contains(body, "X-C once") {
		t.Errorf("twice: %d", status)
	}
	if _, body := ask(t, c, "GET", path, nil); strings.Contains(body, "s3cret") || !strings.Contains(body, "x-a") {
		t.Errorf("%s", body)
	}
	if acts := s.actsOf(t, "acme"); acts != "endpoint.change endpoint.change endpoint.change" {
		t.Errorf("acts %q", acts)
	}
	if by := s.lastAct(t, e.ID); by.Detail != "description, headers" {
		t.Errorf("changed %q", by.Detail)
	}
}

func TestTwoWhoChangeAnEndpointAtOnceAreTold(t *testing.T) {
	s := newStage(t)
	s.Bench.Partner(t, "acme")
	e := s.Bench.Endpoint(t, "acme", 8)
	c, path := s.SignIn(t, "acme", partners.RoleDeveloper), s.portal.URL+"/portal/endpoints/"+e.ID
	first := newForm(t, c, path+"/edit", append([]string{"url", e.URL, "description", "first"}, endpointFields...)...)
	second := newForm(t, c, path+"/edit", append([]string{"url", e.URL, "description", "second"}, endpointFields...)...)
	if resp, _ := ask(t, c, "POST", path, first); resp.StatusCode != 303 {
		t.Errorf("%d", resp.StatusCode)
	}
	if resp, body := ask(t, c, "POST", path, second); resp.StatusCode != 409 || !strings.Contains(body, "somebody else has changed it") || !strings.Contains(body, `value="second"`) {
		t.Errorf("%d", resp.StatusCode)
	}
	if resp, _ := ask(t, c, "POST", path, first); resp.Header.Get("Location") != "/portal/endpoints/"+e.ID+"?done=again" {
		t.Errorf("again: %d %s", resp.StatusCode, resp.Header.Get("Location"))
	}
	if got := s.onlyEndpoint(t, "acme").Description; got != "first" {
		t.Errorf("%q", got)
	}
}

func TestAPartnerPausesResumesAndRemovesAnEndpoint(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := stageOn(t, b)
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 8)
		c, path := s.SignIn(t, "acme", partners.RoleDeveloper), s.portal.URL+"/portal/endpoints/"+e.ID
		ask(t, c, "POST", path+"/pause", nil)
		if _, err := s.Ledger.Append(t.Context(), ledgertest.NewEvent("acme", "tp_1", "Pending")); err != nil {
			t.Fatal(err)
		}
		if _, body := ask(t, c, "GET", path+"?done=pause", nil); !strings.Contains(body, "Its deliveries are held.") || !strings.Contains(body, "This endpoint is paused") {
			t.Errorf("%s", body)
		}
		if _, body := ask(t, c, "GET", path+"/remove", nil); !strings.Contains(body, "cancelled: 1 just now") || !strings.Contains(body, "your only endpoint") {
			t.Errorf("%s", body)
		}
		form := newForm(t, c, path+"/remove")
		if resp, _ := ask(t, c, "POST", path+"/resume", nil); resp.Header.Get("Location") != "/portal/endpoints/"+e.ID+"?done=resume" {
			t.Errorf("%s", resp.Header.Get("Location"))
		}
		ask(t, c, "POST", path+"/pause", nil)
		for _, done := range []string{"removed", "again"} {
			if resp, body := ask(t, c, "POST", path+"/remove", form); resp.Header.Get("Location") != "/portal/endpoints?done="+done {
				t.Errorf("%s: %d %s", done, resp.StatusCode, body)
			}
		}
		if resp, _ := ask(t, c, "GET", path, nil); resp.StatusCode != 404 {
			t.Errorf("afterwards: %d", resp.StatusCode)
		}
		if acts := s.actsOf(t, "acme"); acts != "endpoint.remove endpoint.pause endpoint.resume endpoint.pause" {
			t.Errorf("acts %q", acts)
		}
	})
}

func TestAViewerOfThePortalReadsAlone(t *testing.T) {
	s := newStage(t)
	s.Bench.Partner(t, "acme")
	e := s.Bench.Endpoint(t, "acme", 8)
	c := s.SignIn(t, "acme", partners.RoleViewer)
	acts := regexp.MustCompile(`^POST |/(new|edit|remove)$`)
	for _, pattern := range append(patternsOf("/portal/endpoints"), patternsOf("/portal/secrets")...) {
		method, path, _ := strings.Cut(pattern, " ")
		resp, body := ask(t, c, method, s.portal.URL+strings.ReplaceAll(path, "{id}", e.ID), nil)
		want := map[bool]int{false: 200, true: 403}[acts.MatchString(pattern)]
		if resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", pattern, resp.StatusCode, want)
		}
		if want == 200 && (strings.Contains(body, `action="/portal/endpoints`) || strings.Contains(body, `action="/portal/secrets`)) {
			t.Errorf("%s offers a form", pattern)
		}
	}
}

func TestAnEndpointThatIsTestedTooOftenIsToldOf(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Bench.Partner(t, "acme")
	e := s.Bench.Endpoint(t, "acme", 8)
	for range webhook.TestsPerMinute { // by whatever way
		if err := s.Limiter.AllowTest(t.Context(), "acme", e.ID); err != nil {
			t.Fatal(err)
		}
	}
	for full := true; full; { // and for an hour, however long the rest takes
		full, _ = s.Limiter.Allow(t.Context(), "test:acme", web.Rate{Burst: webhook.TestsPerMinute, Interval: time.Hour})
	}
	c, base := s.SignIn(t, "acme", partners.RoleDeveloper), s.portal.URL
	form := newForm(t, c, base+"/portal/endpoints/"+e.ID, "type", string(webhook.TopupCard))
	resp, body := ask(t, c, "POST", base+"/portal/endpoints/"+e.ID+"/test", form)
	if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" || !strings.Contains(body, "at most 10 times a minute") {
		t.Errorf("%d, Retry-After %q: %s", resp.StatusCode, resp.Header.Get("Retry-After"), body)
	}
	if n := s.Bench.Count(t, "SELECT COUNT(*) FROM events"); n != 0 {
		t.Errorf("%d tests are sent", n)
	}
}
