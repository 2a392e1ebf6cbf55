package incidents

import (
	"strings"
	"testing"
	"time"
)

// Every letter says what it is about in the reader's language, leaves no
// placeholder, and tells a partner nothing of other partners.
func TestEveryLetterIsWhole(t *testing.T) {
	finds := map[Kind][]Rule{Failing: {BreakerOpen, Exhausted, Waiting}}
	for _, kind := range Kinds {
		if finds[kind] == nil {
			finds[kind] = []Rule{Rule(kind)}
		}
		for _, rule := range finds[kind] {
			for _, act := range []Act{ActOpen, ActRemind, ActClose} {
				readers := []Reader{{Lang: "en", Operator: true, Link: "https://gateway.test/ops/incidents/inc_1"}}
				if kind.Theirs() {
					for _, lang := range Languages {
						readers = append(readers, Reader{Lang: lang, Link: "https://pay.test/portal/endpoints/ep_1"})
					}
				}
				i := Incident{ID: "inc_1", Kind: kind, Finding: Finding{Rule: rule, N: 7, Detail: "HTTP 503", Time: began.Add(-time.Hour)},
					State: Open, SeenAt: began, OpenedAt: began.Add(5 * time.Minute), Reminded: 1}
				if kind.Theirs() {
					i.Subject, i.PartnerCode, i.URL = "ep_1", "acme", "https://acme.example?key=secret"
				}
				if act == ActClose {
					i.ClearedAt, i.ClosedAt, i.Outcome = began.Add(2*time.Hour), began.Add(3*time.Hour), Outcome{Late: 48, NotDelivered: 2, Waiting: 1}
				}
				for _, reader := range readers {
					letter := Write(i, act, reader)
					text := letter.Subject + "\n" + letter.Body
					if letter.Subject == "" || strings.ContainsAny(text, "{}%") || !strings.Contains(text, reader.Link) {
						t.Errorf("%s %s in %s: %s", rule, act, reader.Lang, text)
					}
					if act == ActClose && kind.counts() && !(strings.Contains(text, "48") && strings.Contains(text, "2")) {
						t.Errorf("%s in %s does not say what was late: %s", rule, reader.Lang, text)
					}
					if strings.Contains(letter.Subject, "secret") {
						t.Errorf("a subject shows what may be secret: %s", letter.Subject)
					}
					if !reader.Operator && strings.Contains(text, "inc_1") {
						t.Errorf("a partner is told of our numbers: %s", text)
					}
				}
			}
		}
	}
}

func TestAClosingLetterSaysWhatWasLateAndWhatWasNot(t *testing.T) {
	i := Incident{Kind: Failing, URL: "https://acme.example/hooks", Finding: Finding{Rule: BreakerOpen, Time: began}, SeenAt: began.Add(time.Minute),
		ClearedAt: began.Add(26*time.Hour + 5*time.Minute), Outcome: Outcome{Late: 48, NotDelivered: 2}}
	got := Write(i, ActClose, Reader{Lang: "en"})
	if want := "It lasted 1 d 2 h, from 2026-03-01 12:00 UTC to 2026-03-02 14:05 UTC."; !strings.Contains(got.Body, want) {
		t.Errorf("%s\nlacks %q", got.Body, want)
	}
	if want := "48 were delivered late, 2 were not delivered, and 0 are still waiting."; !strings.Contains(got.Body, want) {
		t.Errorf("%s\nlacks %q", got.Body, want)
	}
	i.Outcome = Outcome{}
	for lang, want := range map[string]string{"en": "No delivery was late because of it.", "vi": "Không có thông báo nào bị gửi trễ", "zh": "没有通知因此延迟送达。"} {
		if got := Write(i, ActClose, Reader{Lang: lang}); !strings.Contains(got.Body, want) || strings.Contains(got.Body, " 0 ") {
			t.Errorf("%s\nlacks %q in %s, or counts what there is none of", got.Body, want, lang)
		}
	}
}
