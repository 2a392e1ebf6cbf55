package ledger_test

import (
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// latencies are how long things took in this hour and the one before.
func latencies(t *testing.T, b *ledgertest.Bench, s partners.Scope, partner string) reports.PeriodLatency {
	t.Helper()
	end := time.Now().UTC().Truncate(time.Hour).Add(time.Hour)
	periods, err := b.Latencies(t.Context(), s, partner, []time.Time{end.Add(-2 * time.Hour), end})
	if err != nil || len(periods) != 1 {
		t.Fatalf("%d periods, %v", len(periods), err)
	}
	return periods[0]
}

// steps is a latency with what took at most so long.
func steps(t *testing.T, some map[time.Duration]int64) (l reports.Latency) {
	t.Helper()
	left := len(some)
	for i, step := range reports.LatencySteps() {
		if n, is := some[step]; is {
			l[i] = n
			left--
		}
	}
	if left > 0 {
		t.Fatalf("%v are not all steps", some)
	}
	return l
}

func TestHowLongThingsTookIsCountedBySteps(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 8)
		b.Partner(t, "other")
		b.Endpoint(t, "other", 8)
		attempt := func(partner string, a webhook.Attempt, v delivery.Verdict, waited, took time.Duration, dropped bool) (id string) {
			t.Helper()
			id = storeMany(t, b, partner, 1)[0]
			r := result(take(t, b, one(t, b)), a, v)
			r.Attempt.StartedAt, r.Attempt.Phases.Total = webhook.IDTime(webhook.DeliveryPrefix, id).Add(waited), took
			if dropped {
				first := r.Attempt
				first.ID, first.Outcome, first.StatusCode, first.ErrorClass = webhook.NewID(webhook.AttemptPrefix), webhook.OutcomeFailed, 0, webhook.ErrorReset
				r.Dropped = &first
				r.Attempt.Number++
			}
			if err := tryRecord(t, b.Ledger, r); err != nil {
				t.Fatal(err)
			}
			return id
		}
		late := webhook.Attempt{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorTimeout, Connected: true}
		shut := webhook.Attempt{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorTimeout}
		broken := webhook.Attempt{Outcome: webhook.OutcomeUnknown, StatusCode: 200, Connected: true}
		drips := webhook.Attempt{Outcome: webhook.OutcomeDelivered, StatusCode: 200, BodyCut: true, Connected: true}
		deaf := webhook.Attempt{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorConnect}
		attempt("acme", ok, delivered, 5*time.Millisecond, 250*time.Millisecond, false)
		attempt("acme", ok, delivered, 5*time.Millisecond+time.Microsecond, 251*time.Millisecond, true)
		attempt("acme", failed, exhausted, -time.Second, 0, false)                            // by a clock that is behind
		attempt("acme", late, exhausted, time.Minute, 15*time.Second+time.Millisecond, false) // as timers are
		attempt("acme", drips, delivered, 5*time.Millisecond, 10*time.Second+time.Millisecond, false)
		attempt("acme", shut, exhausted, 5*time.Millisecond, 5*time.Second+time.Millisecond, false)
		attempt("acme", broken, exhausted, 5*time.Millisecond, time.Second, false)
		attempt("other", ok, delivered, time.Hour, 3*time.Hour, false)

		// What nothing answered is no answer, and neither a second attempt nor a
		// replay or a test is a first one.
		again := attempt("acme", deaf, retryAt(time.Now()), 3*time.Hour, time.Second, false)
		promote(t, b)
		record(t, b, take(t, b, one(t, b)), failed, exhausted)
		if _, err := b.RetryDelivery(t.Context(), again); err != nil {
			t.Fatal(err)
		}
		record(t, b, take(t, b, one(t, b)), ok, delivered)
		test := ledgertest.NewEvent("acme", "tp_test", "Pending")
		test.Event.Test, test.EndpointID = true, e.ID
		store(t, b, test)
		record(t, b, take(t, b, one(t, b)), ok, delivered)

		acme := latencies(t, b, partners.Everything(), "acme")
		same(t, "answers", acme.Answers, steps(t, map[time.Duration]int64{5 * time.Millisecond: 3, 250 * time.Millisecond: 1, 500 * time.Millisecond: 1, 10 * time.Second: 1, 15 * time.Second: 1}))
		first := steps(t, map[time.Duration]int64{5 * time.Millisecond: 5, 10 * time.Millisecond: 1, time.Minute: 1})
		first[len(first)-1] = 1 // more than the longest step
		same(t, "first attempts", acme.FirstAttempts, first)
		all := latencies(t, b, partners.Everything(), "")
		same(t, "of all", []int64{all.Answers.Count(), all.FirstAttempts.Count()}, []int64{8, 9})
		same(t, "its own", latencies(t, b, partners.Only("acme"), ""), acme)
		for _, s := range []partners.Scope{partners.Only("other"), {}} {
			same(t, "acme, by another", latencies(t, b, s, "acme").Answers.Count(), int64(0))
		}
		for _, minutes := range []int64{5, 60} {
			for _, hour := range []int64{-1, 0} {
				if err := b.FoldHour(t.Context(), time.Now().Unix()/3600+hour, minutes); err != nil {
					t.Fatal(err)
				}
			}
			same(t, "folded", latencies(t, b, partners.Everything(), "acme"), acme)
		}
	})
}

func TestAShareTookAtMostTheStepThatHoldsIt(t *testing.T) {
	t.Parallel()
	var none, one, many reports.Latency
	one[3] = 1
	many[0], many[2], many[5], many[len(many)-1] = 90, 6, 3, 1
	for _, test := range []struct {
		name  string
		of    reports.Latency
		share float64
		want  int
	}{
		{"nothing", none, 0.5, -1}, {"the only one", one, 0.5, 3}, {"all of one", one, 1, 3}, {"the fastest", many, 0, 0}, {"the median", many, 0.5, 0},
		{"p95", many, 0.95, 2}, {"p98", many, 0.98, 5}, {"p99, the slowest of a hundred", many, 0.99, len(many) - 1}, {"all", many, 1, len(many) - 1},
	} {
		if got := test.of.Within(test.share); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}
