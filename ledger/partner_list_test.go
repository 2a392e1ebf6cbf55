package ledger_test

import (
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/ledger/reports"
	"ledgerhook/webhook"
)

func TestTheListOfPartnersKnowsHowEachIsServed(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		for _, code := range []string{"acme", "other", "quiet"} {
			b.Partner(t, code)
			b.Endpoint(t, code, 8)
		}
		answer := func(code string, took time.Duration, status int) {
			storeMany(t, b, code, 1)
			a := webhook.Attempt{Outcome: webhook.OutcomeDelivered, StatusCode: status, Phases: webhook.Phases{Total: took}}
			if status == 0 {
				a.Outcome, a.ErrorClass = webhook.OutcomeFailed, webhook.ErrorConnect
			}
			send(t, b, b.Tickets(), a, map[bool]delivery.Verdict{true: retryAt(time.Now().Add(time.Hour)), false: delivered}[status == 0])
		}
		for i := range 10 {
			answer("acme", time.Duration(i+1)*time.Second, 200)
		}
		answer("acme", time.Hour, 0) // no answer at all
		answer("other", time.Second, 200)
		before := time.Now().Add(-time.Minute)
		oldest := storeMany(t, b, "other", 1)
		change(t, b, "UPDATE deliveries SET state = 'pending', queued_at = NULL, due_at = 1 WHERE id = $1", oldest[0])

		names, err := b.PartnerNames(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		var codes []string
		for _, p := range names {
			codes = append(codes, p.Code)
		}
		same(t, "partners", codes, []string{"acme", "other", "quiet"})
		change(t, b, "UPDATE partners SET name = 'Đông Á' WHERE code = 'quiet'")
		for typed, want := range map[string][]reports.PartnerName{"OTH": {names[1]}, "đông á": {{Code: "quiet", Name: "Đông Á"}}, "nobody": nil} {
			found, err := b.PartnerNames(t.Context(), typed)
			same(t, typed, found, want)
			same(t, typed, err, nil)
		}

		answers, err := b.AnswerTimes(t.Context(), codes)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "answers", answers, map[string]reports.Percentiles{
			"acme":  {N: 10, P50: 6 * time.Second, P95: 10 * time.Second, P99: 10 * time.Second, Max: 10 * time.Second},
			"other": {N: 1, P50: time.Second, P95: time.Second, P99: time.Second, Max: time.Second},
		})
		storeMany(t, b, "other", reports.AnswerSample)
		answers, err = b.AnswerTimes(t.Context(), codes)
		if other, there := answers["other"]; err != nil || there || answers["acme"].N != 10 {
			t.Errorf("an answer is looked for beyond the newest deliveries: %+v (%v)", other, err)
		}
		waiting, err := b.OldestWaitingOf(t.Context(), codes)
		if err != nil || len(waiting) != 2 || waiting["other"].Before(before) || waiting["acme"].Before(before) {
			t.Errorf("the oldest that wait: %v (%v)", waiting, err)
		}
		now := time.Now()
		hours, err := b.HoursOf(t.Context(), codes[:2], now.Add(-2*time.Hour), now.Add(time.Second))
		if err != nil || len(hours) != 2 {
			t.Fatalf("%v (%v)", hours, err)
		}
		for code, want := range map[string][2]int64{"acme": {10, 1}, "other": {1, 0}} {
			var sum [2]int64
			for i, h := range hours[code] {
				same(t, "hour", h.Since, now.UTC().Truncate(time.Hour).Add(time.Duration(i-2)*time.Hour))
				sum[0] += h.AttemptDelivered
				sum[1] += h.AttemptFailed
			}
			same(t, "attempts of "+code, sum, want)
		}
		for what, read := range map[string]func() (int, error){
			"answers": func() (int, error) { found, err := b.AnswerTimes(t.Context(), nil); return len(found), err },
			"waiting": func() (int, error) { found, err := b.OldestWaitingOf(t.Context(), nil); return len(found), err },
			"hours":   func() (int, error) { found, err := b.HoursOf(t.Context(), nil, now, now); return len(found), err },
		} {
			if n, err := read(); n != 0 || err != nil {
				t.Errorf("%s of nobody: %d (%v)", what, n, err)
			}
		}
	})
}

// A breaker of an endpoint that somebody has shut stops nothing.
func TestWhatIsShutNeitherFailsNorIsSlow(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		for _, typ := range []webhook.Type{webhook.TopupCard, webhook.CreateCard} {
			e := b.Endpoint(t, "acme", 8, typ)
			change(t, b, "UPDATE windows SET breaker = 'open', failing_since = 1, took_us = 7000000, usual_us = 7000000, waiting_first = 2 WHERE endpoint_id = $1", e.ID)
		}
		slow := b.Endpoint(t, "acme", 8, webhook.CardTransaction)
		change(t, b, "UPDATE windows SET slow_since = 1, took_us = 6000000, usual_us = 1000000, last_success = $1 WHERE endpoint_id = $2", time.Now().UnixMicro(), slow.ID)
		shown := func() []int {
			found, err := b.PartnerWindows(t.Context())
			if err != nil || len(found) != 1 {
				t.Fatalf("%v (%v)", found, err)
			}
			p := found[0]
			return []int{p.Stopped, p.Failing, p.Slow, p.Shut, int(p.Waiting), int(p.Held), int(p.Pace.Took / time.Second), int(p.SlowPace.Times()), p.Breakers[webhook.BreakerOpen]}
		}
		same(t, "open", shown(), []int{2, 2, 1, 0, 4, 0, 7, 6, 2})
		change(t, b, "UPDATE windows SET paused = TRUE WHERE endpoint_id <> $1", slow.ID)
		same(t, "two paused", shown(), []int{0, 0, 1, 2, 4, 4, 6, 6, 2})
		change(t, b, "UPDATE windows SET partner_disabled = TRUE")
		same(t, "disabled", shown(), []int{0, 0, 0, 3, 4, 4, 0, 0, 2})
	})
}
