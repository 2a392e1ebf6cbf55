package shell

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
			q := &Request{Speller: locale.Speller{Locale: language}}
			told := q.Stored(sentence)
			if told.English || language != locale.English && told.Text == sentence {
				t.Errorf("%s in %s: %+v", sentence, language, told)
			}
		}
	}
	for language, want := range map[string]string{"en": "attempt 2 of 3, the answer asked to wait 10 m", "vi": "lần thử 2 trên 3, phản hồi yêu cầu chờ 10 phút", "zh": "第 2 次尝试，共 3 次，响应要求等待 10 分钟"} {
		if told := (&Request{Speller: locale.Speller{Locale: language}}).Stored(reason(failed, false)); told.Text != want {
			t.Errorf("%q, want %q", told.Text, want)
		}
	}
	if told := (&Request{Speller: locale.Speller{Locale: locale.Chinese}}).Stored("something new"); !told.English || told.Text != "something new" {
		t.Errorf("%+v", told)
	}
}

func TestEveryStoredSentenceIsFoundByItsShape(t *testing.T) {
	for i, stored := range storedTexts {
		text := stored.text
		var values []any
		for range strings.Count(text, "%s") {
			values = append(values, "7")
		}
		told := (&Request{Speller: locale.Speller{Locale: locale.Vietnamese}}).Stored(fmt.Sprintf(text, values...))
		if want := locale.Translate(locale.Vietnamese, text, values...); told.Text != want {
			t.Errorf("text %d: %q, want %q", i, told.Text, want)
		}
	}
}

// What is refused in English has words in the other languages, with what differs
// each time in them.
func TestRefusalsAreTranslatedWithWhatTheyName(t *testing.T) {
	for refusal, says := range map[string]string{
		"the delivery never had an endpoint":                               "该投递从未有过端点",
		"the delivery's event is past its retention and gone":              "该投递的事件已超过保留期限，不复存在",
		"a test is sent once: send another":                                "测试只发送一次：请另发一次",
		"the delivery is being sent just now: wait for the attempt to end": "该投递正在发送：请等待本次尝试结束",
		"the delivery has changed in the meantime: try again":              "该投递其间已变化：请重试",
		"the replay is paused and cannot become running":                   "该重发的状态为 已暂停，不能变为 进行中",
		"there is no endpoint ep_1":                                        "没有端点 ep_1",
	} {
		if got := (&Request{Speller: locale.Speller{Locale: locale.Chinese}}).Say(refusal); got != says {
			t.Errorf("%s: %s, want %s", refusal, got, says)
		}
	}
}
