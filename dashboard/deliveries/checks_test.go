package deliveries

import (
	"strings"
	"testing"
	"time"

	"ledgerhook/dashboard/locale"
	"ledgerhook/dashboard/shell"
	"ledgerhook/webhook"
)

func TestEveryFailureIsPutDownToItsStep(t *testing.T) {
	q := &shell.Request{Speller: locale.Speller{Locale: locale.English}, Now: time.Now()}
	for _, tt := range []struct {
		a    webhook.Attempt
		want string // the state of each step
	}{
		{webhook.Attempt{ErrorClass: webhook.ErrorDNS}, "bad idle idle idle idle"},
		{webhook.Attempt{ErrorClass: webhook.ErrorBlocked}, "good bad idle idle idle"},
		{webhook.Attempt{ErrorClass: webhook.ErrorConnect}, "good good bad idle idle"},
		{webhook.Attempt{ErrorClass: webhook.ErrorTimeout, ErrorDetail: "no connection within 3s"}, "good good bad idle idle"},
		{webhook.Attempt{ErrorClass: webhook.ErrorTLS}, "good good good bad idle"},
		{webhook.Attempt{ErrorClass: webhook.ErrorTimeout, ErrorDetail: "no TLS session within 5s"}, "good good good bad idle"},
		{webhook.Attempt{ErrorClass: webhook.ErrorTimeout, ErrorDetail: "no complete answer headers within 10s"}, "good good good good bad"},
		{webhook.Attempt{ErrorClass: webhook.ErrorHTTP5xx, StatusCode: 503}, "good good good good bad"},
		{webhook.Attempt{ErrorClass: webhook.ErrorInternal}, "warn"},
		{webhook.Attempt{Outcome: webhook.OutcomeUnknown}, "good good good good warn"},
		{webhook.Attempt{Outcome: webhook.OutcomeDelivered, StatusCode: 200, TLSVersion: "TLS 1.3", TLSNotAfter: q.Now.Add(24 * time.Hour)}, "good good good warn good"},
		{webhook.Attempt{Outcome: webhook.OutcomeDelivered, StatusCode: 200, TLSVersion: "TLS 1.3", TLSNotAfter: q.Now.Add(90 * 24 * time.Hour)}, "good good good good good"},
	} {
		if tt.a.Outcome == "" {
			tt.a.Outcome = webhook.OutcomeFailed
		}
		var got []string
		for _, step := range CheckSteps(q, "https://partner.example.com/", tt.a) {
			got = append(got, step.State.Tone)
			if step.State.Tone == "bad" && step.Do == "" {
				t.Errorf("%s: nothing is said to do", tt.a.ErrorClass)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s %s: %v, want %s", tt.a.ErrorClass, tt.a.ErrorDetail, got, tt.want)
		}
	}
}

func TestAPartnersChecksTellOfNoAddressInside(t *testing.T) {
	q := &shell.Request{Speller: locale.Speller{Locale: locale.English}, Now: time.Now(), Surface: &shell.Surface{Name: shell.Portal}}
	for address, private := range map[string]bool{"10.1.2.3": true, "fd00::7": true, "::ffff:10.1.2.3": true, "93.184.216.34": false} {
		a := webhook.Attempt{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorConnect, PeerIP: address}
		if says := CheckSteps(q, "https://inside.example.com/", a)[1].Says; strings.Contains(says, address) == private {
			t.Errorf("of %s a check tells: %s", address, says)
		}
	}
}
