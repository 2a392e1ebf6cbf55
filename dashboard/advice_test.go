package dashboard

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ledgerhook/dashboard/locale"
	"ledgerhook/delivery"
	"ledgerhook/webhook"
)

// What the ledger keeps in English is read in the language of the page, and
// what nobody foresaw is shown as it is.
func TestStoredSentencesAreTranslated(t *testing.T) {
	policy := webhook.RetryPolicy{Waits: []time.Duration{0, time.Minute, time.Hour}}
	failed := webhook.Attempt{Number: 1, Outcome: webhook.OutcomeFailed, StatusCode: 503, ResponseHeaders: map[string][]string{"Retry-After": {"600"}}}
	last := failed
	last.Number = 3
	reason := func(a webhook.Attempt, test bool) string {
		return delivery.Decide(policy, delivery.Job{Event: webhook.Event{Test: test}}, a, time.Now()).Reason
	}
	retried := failed
	retried.ResponseHeaders = nil
	for _, sentence := range []string{
		reason(failed, false), reason(retried, false), reason(last, false), reason(failed, true), reason(webhook.Attempt{Outcome: webhook.OutcomeUnknown}, false),
		"30 of the newest 50 deliveries fail", "sent again at once on a new connection",
	} {
		for _, language := range locale.All() {
			q := &request{Locale: language}
			told := q.Stored(sentence)
			if told.English || (told.Text == sentence) != (language == locale.English) {
				t.Errorf("%s in %s: %+v", sentence, language, told)
			}
		}
	}
	if told := (&request{Locale: locale.Chinese}).Stored("something new"); !told.English || told.Text != "something new" {
		t.Errorf("%+v", told)
	}
}

func TestAdviceIsInTheLanguageOfThePage(t *testing.T) {
	late := []webhook.Attempt{{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorHTTP4xx, StatusCode: 401}}
	for language, want := range map[string]string{locale.English: "answers 401: does the receiver", locale.Vietnamese: "phản hồi 401", locale.Chinese: "响应 401"} {
		e := portalEndpoint{endpointPanel{Advice: delivery.AdviceOn(late, 15*time.Second, time.Now())}, &request{Locale: language}}
		got := e.Advices()
		if len(got) != 1 || len(got[0]) < len(want) || got[0][:len(want)] != want {
			t.Errorf("%s: %q, want %q", language, got, want)
		}
	}
	for i, stored := range storedTexts {
		text := stored.text
		var values []any
		for range strings.Count(text, "%s") {
			values = append(values, "7")
		}
		told := (&request{Locale: locale.Vietnamese}).Stored(fmt.Sprintf(text, values...))
		if want := locale.Translate(locale.Vietnamese, text, values...); told.Text != want {
			t.Errorf("text %d: %q, want %q", i, told.Text, want)
		}
	}
}
