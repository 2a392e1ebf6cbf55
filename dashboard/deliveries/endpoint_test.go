package deliveries

import (
	"testing"
	"time"

	"ledgerhook/dashboard/locale"
	"ledgerhook/dashboard/shell"
	"ledgerhook/delivery"
	"ledgerhook/webhook"
)

func TestAdviceIsInTheLanguageOfThePage(t *testing.T) {
	late := []webhook.Attempt{{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorHTTP4xx, StatusCode: 401}}
	for language, want := range map[string]string{locale.English: "answers 401: does the receiver", locale.Vietnamese: "phản hồi 401", locale.Chinese: "响应 401"} {
		q := &shell.Request{Speller: locale.Speller{Locale: language}}
		got := Advices(q, EndpointPanel{Advice: delivery.AdviceOn(late, 15*time.Second, time.Now())})
		if len(got) != 1 || len(got[0]) < len(want) || got[0][:len(want)] != want {
			t.Errorf("%s: %q, want %q", language, got, want)
		}
	}
}
