package dashboard

import (
	"fmt"
	"testing"
	"time"

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
		for _, locale := range locales {
			q := &request{Locale: locale}
			told := q.Stored(sentence)
			if told.English || (told.Text == sentence) != (locale == english) {
				t.Errorf("%s in %s: %+v", sentence, locale, told)
			}
		}
	}
	if told := (&request{Locale: chinese}).Stored("something new"); !told.English || told.Text != "something new" {
		t.Errorf("%+v", told)
	}
}

func TestAdviceIsInTheLanguageOfThePage(t *testing.T) {
	late := []webhook.Attempt{{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorHTTP4xx, StatusCode: 401}}
	for locale, want := range map[string]string{english: "answers 401: does the receiver", vietnamese: "phản hồi 401", chinese: "响应 401"} {
		e := portalEndpoint{endpointPanel{Advice: delivery.AdviceOn(late, 15*time.Second, time.Now())}, &request{Locale: locale}}
		got := e.Advices()
		if len(got) != 1 || len(got[0]) < len(want) || got[0][:len(want)] != want {
			t.Errorf("%s: %q, want %q", locale, got, want)
		}
	}
	for i, stored := range storedTexts {
		text := stored.text
		var values []any
		for range len(verbs(text)) {
			values = append(values, "7")
		}
		told := (&request{Locale: vietnamese}).Stored(fmt.Sprintf(text, values...))
		if want := translate(vietnamese, text, values...); told.Text != want {
			t.Errorf("text %d: %q, want %q", i, told.Text, want)
		}
	}
}
