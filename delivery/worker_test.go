package delivery_test

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/webhook"
)

// verifies reports whether the official Standard Webhooks library takes the
// notification with the secret.
func verifies(t *testing.T, r request, secret string) bool {
	t.Helper()
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	return verifier.Verify(r.body, r.header) == nil
}

func TestAnEventIsDeliveredWithBothSignatures(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		g := start(t, b, setup{})
		partner := receive(t, accept)
		g.endpoint(t, partner.URL+"/hook")
		g.run(t, parts{})
		for i, typ := range webhook.Types {
			a := g.append(t, typ)
			d, attempts := g.waitState(t, a.DeliveryIDs[0], webhook.Delivered)
			got := partner.wait(t, i+1)[i]
			if err := signer.VerifyNotification(g.key.Public(), got.body); err != nil {
				t.Errorf("%s: %v", typ, err)
			}
			if !verifies(t, got, g.secret) {
				t.Errorf("%s: the official library does not take the notification", typ)
			}
			if !bytes.Contains(got.body, []byte(`"webhookType":"`+string(typ)+`"`)) || got.path != "/hook" {
				t.Errorf("%s came to %s as %s", typ, got.path, got.body)
			}
			for name, want := range map[string]string{"Webhook-Id": a.EventID, "Content-Type": "application/json", "User-Agent": "Ledgerhook/test",
				"Ledgerhook-Webhook-Type": string(typ), "Ledgerhook-Attempt": "1", "Ledgerhook-Key-Id": g.key.ID(), "Ledgerhook-Sequence": strconv.Itoa(i + 1)} {
				if got := got.header.Get(name); got != want {
					t.Errorf("%s: the header %s is %q, want %q", typ, name, got, want)
				}
			}
			if len(attempts) != 1 || d.Last.StatusCode != http.StatusNoContent {
				t.Fatalf("%s: %d attempts, the last answered %d", typ, len(attempts), d.Last.StatusCode)
			}
			if at := attempts[0]; at.Outcome != webhook.OutcomeDelivered || at.Trigger != webhook.TriggerFirst || at.StatusCode != http.StatusNoContent ||
				at.PeerIP != "127.0.0.1" || at.KeyID != g.key.ID() || at.Worker == "" || at.Phases.Total == 0 || !at.NextAt.IsZero() {
				t.Errorf("%s: the attempt is recorded as %+v", typ, at)
			}
		}
		g.CheckWindows(t)
	})
}

// TestEveryAttemptSendsTheSameBytes retries by itself and by hand: what is
// signed with the attempt's time is new, the body and the id are not.
func TestEveryAttemptSendsTheSameBytes(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		g := start(t, b, setup{waits: []time.Duration{0, 1300 * time.Millisecond}})
		partner := receive(t, func(_ context.Context, n int) int {
			if n == 1 {
				return http.StatusServiceUnavailable
			}
			return http.StatusOK
		})
		g.endpoint(t, partner.URL)
		g.run(t, parts{})
		first := g.append(t, webhook.ProfileUpdated)
		_, attempts := g.waitState(t, first.DeliveryIDs[0], webhook.Delivered)
		if len(attempts) != 2 || attempts[0].Outcome != webhook.OutcomeFailed || attempts[0].ErrorClass != webhook.ErrorHTTP5xx || attempts[1].Trigger != webhook.TriggerRetry {
			t.Errorf("the attempts are %+v", attempts)
		}
		if early := attempts[0].NextAt.Sub(attempts[1].StartedAt); early > 0 {
			t.Errorf("the retry began %s before it was due", early)
		}
		byHand, err := g.RetryDelivery(t.Context(), first.DeliveryIDs[0])
		if err != nil {
			t.Fatal(err)
		}
		repeated, attempts := g.waitState(t, byHand, webhook.Delivered)
		if len(attempts) != 1 || attempts[0].Trigger != webhook.TriggerManual || repeated.ReplayOf != first.DeliveryIDs[0] {
			t.Errorf("the manual retry is %+v with the attempts %+v", repeated, attempts)
		}

		got := partner.wait(t, 3)
		for i, r := range got {
			if !bytes.Equal(r.body, got[0].body) || r.id() != first.EventID || r.header.Get("Ledgerhook-Sequence") != "1" {
				t.Errorf("request %d differs: %s %s", i+1, r.id(), r.body)
			}
			if !verifies(t, r, g.secret) {
				t.Errorf("request %d does not verify", i+1)
			}
		}
		if got[0].header.Get("webhook-timestamp") == got[1].header.Get("webhook-timestamp") {
			t.Error("the retry has the first attempt's timestamp")
		}
	})
}

func TestTheScheduleEndsWithItsLastAttempt(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		g := start(t, b, setup{waits: make([]time.Duration, 14)})
		partner := receive(t, func(context.Context, int) int { return http.StatusBadRequest })
		g.endpoint(t, partner.URL)
		g.run(t, parts{})
		a := g.append(t, webhook.CreateCard)
		d, attempts := g.waitState(t, a.DeliveryIDs[0], webhook.Exhausted)
		if len(attempts) != 14 || d.FinishedAt.IsZero() {
			t.Errorf("exhausted after %d attempts, finished at %s", len(attempts), d.FinishedAt)
		}
		for i, at := range attempts {
			want := webhook.TriggerRetry
			if i == 0 {
				want = webhook.TriggerFirst
			}
			if at.Trigger != want || at.ErrorClass != webhook.ErrorHTTP4xx || at.NextAt.IsZero() != (i == 13) {
				t.Errorf("attempt %d is recorded as %+v", i+1, at)
			}
		}
		if last := attempts[13]; !strings.Contains(last.NextReason, "all 14 attempts") {
			t.Errorf("the last attempt says %q", last.NextReason)
		}
		for i, r := range partner.requests() {
			if got := r.header.Get("Ledgerhook-Attempt"); got != strconv.Itoa(i+1) {
				t.Errorf("request %d says it is attempt %s", i+1, got)
			}
		}
		if n := len(partner.requests()); n != 14 {
			t.Errorf("%d requests were made", n)
		}
		eventually(t, "one delivery is counted as exhausted", func() bool { // which follows its record
			return g.metric(t, "ledgerhook_deliveries_finished_total", "exhausted") == 1
		})
		g.CheckWindows(t)
	})
}

func TestDuringARotationOldAndNewSecretsVerify(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		g := start(t, b, setup{})
		partner := receive(t, accept)
		g.endpoint(t, partner.URL)
		g.run(t, parts{})
		send := func() request {
			a := g.append(t, webhook.TopupCard)
			g.waitState(t, a.DeliveryIDs[0], webhook.Delivered)
			got := partner.requests()
			return got[len(got)-1]
		}
		check := func(when string, r request, old, new string, wantOld, wantNew bool) {
			t.Helper()
			if verifies(t, r, old) != wantOld || verifies(t, r, new) != wantNew {
				t.Errorf("%s: the old secret verifies: %v, want %v; the new one: %v, want %v",
					when, verifies(t, r, old), wantOld, verifies(t, r, new), wantNew)
			}
		}
		old, next := g.secret, signer.NewWebhookSecret()
		pending := g.newSecret(next)
		if err := g.AddSecret(t.Context(), pending); err != nil {
			t.Fatal(err)
		}
		check("before", send(), old, next, true, false)
		if _, err := g.ActivateSecret(t.Context(), partnerCode, pending.ID, time.Now()); err != nil {
			t.Fatal(err)
		}
		overlap := send()
		check("during the overlap", overlap, old, next, true, true)
		if tokens := strings.Fields(overlap.header.Get("webhook-signature")); len(tokens) != 2 {
			t.Errorf("the signature has %d tokens", len(tokens))
		}
		// A receiver that holds both secrets takes it too.
		if err := signer.VerifyStandard([]string{old, next}, overlap.header, overlap.body, time.Now()); err != nil {
			t.Error(err)
		}
		secrets, err := g.Secrets(t.Context(), partnerCode)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.RevokeSecret(t.Context(), partnerCode, secrets[0].ID, time.Now()); err != nil {
			t.Fatal(err)
		}
		check("after", send(), old, next, false, true)
	})
}

func TestAStoppedAttemptIsUnknownAndMadeAgainAtOnce(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		// A schedule of one attempt: an unknown one is still not the last.
		g := start(t, b, setup{waits: make([]time.Duration, 1)})
		partner := receive(t, func(ctx context.Context, n int) int {
			if n == 1 {
				<-ctx.Done()
			}
			return http.StatusOK
		})
		g.endpoint(t, partner.URL)
		stopping := g.run(t, parts{})
		a := g.append(t, webhook.CardTransaction)
		partner.wait(t, 1)
		if n := stopping.worker.InFlight(); n != 1 {
			t.Errorf("the worker is at %d deliveries", n)
		}
		stopping.stop()
		if n := stopping.worker.InFlight(); n != 0 {
			t.Errorf("the stopped worker is at %d deliveries", n)
		}
		attempts, err := g.Attempts(t.Context(), a.DeliveryIDs[0])
		if err != nil {
			t.Fatal(err)
		}
		if len(attempts) != 1 || attempts[0].Outcome != webhook.OutcomeUnknown || attempts[0].NextAt.IsZero() || attempts[0].NextAt.After(time.Now()) {
			t.Fatalf("the attempts are %+v", attempts)
		}
		g.run(t, parts{})
		_, attempts = g.waitState(t, a.DeliveryIDs[0], webhook.Delivered)
		if len(attempts) != 2 || attempts[1].Outcome != webhook.OutcomeDelivered {
			t.Errorf("the attempts are %+v", attempts)
		}
		if got := partner.requests(); len(got) != 2 || got[0].id() != got[1].id() || !bytes.Equal(got[0].body, got[1].body) {
			t.Errorf("%d requests were made", len(got))
		}
		g.CheckWindows(t)
	})
}

// faultyKeys panics when it is first asked for a key.
type faultyKeys struct {
	*gateway
	asked atomic.Int32
}

func (k *faultyKeys) Key(ctx context.Context, id string) (*signer.Key, error) {
	if k.asked.Add(1) == 1 {
		panic("a fault of ours")
	}
	return k.gateway.Key(ctx, id)
}

func TestAPanicIsAFailedAttemptLikeAnyOther(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		g := start(t, b, setup{})
		partner := receive(t, accept)
		g.endpoint(t, partner.URL)
		g.run(t, parts{keys: &faultyKeys{gateway: g}})
		a := g.append(t, webhook.CreateCard)
		_, attempts := g.waitState(t, a.DeliveryIDs[0], webhook.Delivered)
		if len(attempts) != 2 || attempts[0].Outcome != webhook.OutcomeFailed || attempts[0].ErrorClass != webhook.ErrorInternal {
			t.Errorf("the attempts are %+v", attempts)
		}
		if n := len(partner.requests()); n != 1 {
			t.Errorf("%d requests were made", n)
		}
	})
}

// TestWhatAReusedConnectionDroppedIsSentAgainAtOnce lets the receiver close the
// connection of the second event's first request, which it has read, and then
// fail: with two attempts in the schedule there is a third one none the less.
func TestWhatAReusedConnectionDroppedIsSentAgainAtOnce(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		g := start(t, b, setup{waits: make([]time.Duration, 2)})
		partner := receive(t, func(_ context.Context, n int) int {
			switch n {
			case 2:
				panic(http.ErrAbortHandler)
			case 3:
				return http.StatusInternalServerError
			}
			return http.StatusOK
		})
		g.endpoint(t, partner.URL)
		g.run(t, parts{})
		g.waitState(t, g.append(t, webhook.CreateCard).DeliveryIDs[0], webhook.Delivered)
		d, attempts := g.waitState(t, g.append(t, webhook.TopupCard).DeliveryIDs[0], webhook.Delivered)
		if len(attempts) != 3 || d.Repeats != 1 {
			t.Fatalf("%d attempts, %d of them repeats: %+v", len(attempts), d.Repeats, attempts)
		}
		if lost := attempts[0]; lost.Outcome != webhook.OutcomeFailed || lost.ErrorClass != webhook.ErrorReset ||
			!strings.Contains(lost.NextReason, "at once on a new connection") || lost.NextAt.After(attempts[1].StartedAt) {
			t.Errorf("lost: %+v", lost)
		}
		if again := attempts[1]; again.StatusCode != 500 || again.Trigger != webhook.TriggerFirst || !strings.HasPrefix(again.NextReason, "attempt 2 of 2") {
			t.Errorf("again: %+v", again)
		}
		for i, want := range []string{"1", "1", "2", "3"} {
			if got := partner.requests()[i].header.Get("Ledgerhook-Attempt"); got != want {
				t.Errorf("request %d says it is attempt %s, want %s", i+1, got, want)
			}
		}
		eventually(t, "every attempt is counted", func() bool { return g.metric(t, "ledgerhook_delivery_attempts_total") == 4 })
		g.CheckWindows(t)
	})
}

func TestAnEndpointsOwnTimeLimitEndsItsAttempts(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		g := start(t, b, setup{})
		partner := receive(t, func(ctx context.Context, n int) int {
			if n == 1 {
				<-ctx.Done()
			}
			return http.StatusNoContent
		})
		e := g.endpoint(t, partner.URL)
		const limit = 300 * time.Millisecond
		if _, err := g.UpdateEndpoint(t.Context(), partners.Everything(), e.ID, func(e *webhook.Endpoint) error { e.Timeout = limit; return nil }); err != nil {
			t.Fatal(err)
		}
		g.run(t, parts{})
		_, attempts := g.waitState(t, g.append(t, webhook.TopupCard).DeliveryIDs[0], webhook.Delivered)
		if len(attempts) != 2 || attempts[0].ErrorClass != webhook.ErrorTimeout || attempts[0].Phases.Total < limit || !strings.Contains(attempts[0].ErrorDetail, "300ms") {
			t.Errorf("attempts %+v", attempts)
		}
		hour := time.Now().UTC().Truncate(time.Hour)
		waits, err := g.Latencies(t.Context(), partners.Everything(), "", []time.Time{hour.Add(-time.Hour), hour.Add(time.Hour)})
		if err != nil || waits[0].Answers.Count() != 2 {
			t.Errorf("%+v (%v) do not hold the answer and what was waited in vain", waits, err)
		}
	})
}
