package deliveries

import (
	"testing"

	"ledgerhook/webhook"
)

func TestEveryFailureHasASideAndAnAdvice(t *testing.T) {
	for _, class := range webhook.ErrorClasses {
		b := blameOf(webhook.Attempt{Outcome: webhook.OutcomeFailed, ErrorClass: class})
		want := faultReceiver
		switch class {
		case webhook.ErrorInternal:
			want = faultGateway
		case webhook.ErrorConnect, webhook.ErrorReset:
			want = faultBetween
		}
		if b.Side != want || b.Do == "" || classWords[class] == "" {
			t.Errorf("%s: %+v", class, b)
		}
	}
	for _, code := range []int{401, 404, 410, 413, 429, 503} {
		if b := blameOf(webhook.Attempt{Outcome: webhook.OutcomeFailed, StatusCode: code}); b.Side != faultReceiver {
			t.Errorf("%d: %+v", code, b)
		}
	}
	if b := blameOf(webhook.Attempt{Outcome: webhook.OutcomeDelivered, StatusCode: 200}); b != (blame{}) {
		t.Errorf("delivered: %+v", b)
	}
}
