package delivery_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ledgerhook/delivery"
	"ledgerhook/webhook"
)

func TestAdviceNamesWhatTheOwnerCanChange(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ok := webhook.Attempt{Outcome: webhook.OutcomeDelivered, StatusCode: 200, Phases: webhook.Phases{Total: 20 * time.Millisecond}}
	bad := func(status int, class webhook.ErrorClass, detail, location string) webhook.Attempt {
		a := webhook.Attempt{Outcome: webhook.OutcomeFailed, StatusCode: status, ErrorClass: class, ErrorDetail: detail}
		if location != "" {
			a.ResponseHeaders = map[string][]string{"Location": {location}}
		}
		return a
	}
	with := func(change func(*webhook.Attempt)) webhook.Attempt { a := ok; change(&a); return a }
	certificate := func(left time.Duration) webhook.Attempt {
		return with(func(a *webhook.Attempt) { a.TLSNotAfter = now.Add(left) })
	}
	slow := make([]webhook.Attempt, 20)
	for i := range slow {
		slow[i] = with(func(a *webhook.Attempt) { a.Phases.Total = time.Duration(i+1) * 500 * time.Millisecond })
	}
	unknown := webhook.Attempt{Outcome: webhook.OutcomeUnknown}
	for _, tt := range []struct {
		name     string
		attempts []webhook.Attempt // newest first
		want     []string
	}{
		{"nothing was sent", nil, nil},
		{"all is well", []webhook.Attempt{ok, ok}, nil},
		{"only a dead worker", []webhook.Attempt{unknown}, nil},
		{"what is over", []webhook.Attempt{ok, bad(302, webhook.ErrorRedirect, "", "https://www.example.com/")}, nil},
		{"a redirect", []webhook.Attempt{unknown, bad(302, webhook.ErrorRedirect, "", "https://www.example.com/h")},
			[]string{"redirects to https://www.example.com/h; redirects are not followed: register that URL"}},
		{"a redirect to nowhere", []webhook.Attempt{bad(301, webhook.ErrorRedirect, "", "")}, []string{"answers 301, a redirect, and redirects are not followed: register the final URL"}},
		{"a redirect within its host", []webhook.Attempt{bad(302, webhook.ErrorRedirect, "", "/login")}, []string{"answers 302, a redirect, and redirects are not followed: register the final URL"}},
		{"a redirect with a password", []webhook.Attempt{bad(302, webhook.ErrorRedirect, "", "https://user:secret@example.com/")}, []string{"answers 302, a redirect, and redirects are not followed: register the final URL"}},
		{"a redirect to a book", []webhook.Attempt{bad(308, webhook.ErrorRedirect, "", "https://example.com/"+strings.Repeat("x", 5000))},
			[]string{"answers 308, a redirect, and redirects are not followed: register the final URL"}},
		{"no answer", []webhook.Attempt{bad(0, webhook.ErrorTimeout, "", "")}, []string{"does not answer in time: answer first, work afterwards"}},
		{"bad TLS", []webhook.Attempt{bad(0, webhook.ErrorTLS, "the certificate is for another name", "")}, []string{"the TLS connection fails: the certificate is for another name"}},
		{"no acknowledgement", []webhook.Attempt{bad(200, webhook.ErrorBadAck, "the body is not JSON", "")},
			[]string{"the answer's body does not acknowledge, which this endpoint's ackMode asks for: the body is not JSON"}},
		{"a locked door", []webhook.Attempt{bad(403, webhook.ErrorHTTP4xx, "", "")},
			[]string{"answers 403: does the receiver check the signature with the right secret, or ask for a credential?"}},
		{"gone", []webhook.Attempt{bad(410, webhook.ErrorHTTP4xx, "", "")}, []string{"answers 410 Gone: twice in a row disables the endpoint"}},
		{"a page, by its type", []webhook.Attempt{with(func(a *webhook.Attempt) {
			a.ResponseHeaders = map[string][]string{"Content-Type": {"Text/HTML; charset=utf-8"}}
		})},
			[]string{"answers 200 with an HTML page, perhaps a login page: is this the right URL?"}},
		{"a page, by its looks", []webhook.Attempt{with(func(a *webhook.Attempt) { a.ResponseBody = []byte("<!doctype html><HTML lang=en>") })},
			[]string{"answers 200 with an HTML page, perhaps a login page: is this the right URL?"}},
		{"a certificate of nine days", []webhook.Attempt{certificate(9*24*time.Hour + time.Hour)}, []string{"the certificate expires in 9 days"}},
		{"of one day", []webhook.Attempt{certificate(30 * time.Hour)}, []string{"the certificate expires in 1 day"}},
		{"of an hour", []webhook.Attempt{certificate(time.Hour)}, []string{"the certificate expires within a day"}},
		{"of the past", []webhook.Attempt{certificate(-time.Hour)}, []string{"the certificate has expired"}},
		{"of long", []webhook.Attempt{certificate(15 * 24 * time.Hour)}, nil},
		{"slow answers", slow, []string{"the slowest 5 % of its answers take 10 s or more of 15 s: answer first, work afterwards"}},
		{"too few to judge their speed", slow[11:], nil},
		{"slow enough", slow[:10], nil},
	} {
		got := delivery.Advise(tt.attempts, 15*time.Second, now)
		if got == nil {
			t.Errorf("%s: an empty list is not null", tt.name)
		}
		if diff := cmp.Diff(append([]string{}, tt.want...), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
