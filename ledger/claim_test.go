package ledger_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ledgerhook/delivery"
	"ledgerhook/ledger"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/webhook"
)

func TestAClaimCarriesAllThatAnAttemptNeeds(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		endpoint := b.Endpoint(t, "acme", 4)
		e := ledgertest.NewEvent("acme", "tp_1", "Pending")
		a := store(t, b, e)
		job := take(t, b, one(t, b))
		same(t, "delivery", job.Delivery.ID, a.DeliveryIDs[0])
		carries(t, job, e, endpoint, 1)
	})
}

// carries fails the test unless job is the first attempt at what e became for
// an endpoint.
func carries(t *testing.T, job delivery.Job, e delivery.NewEvent, endpoint webhook.Endpoint, sequence int64) {
	t.Helper()
	d := job.Delivery
	if d.State != webhook.Sending || d.Attempts != 1 || d.Sequence != sequence || d.Generation != 1 ||
		d.EndpointID != endpoint.ID || d.Type != webhook.TopupCard || d.ObjectID != e.Event.ObjectID {
		t.Errorf("delivery %+v", d)
	}
	same(t, "trigger and URL", []any{job.Trigger, job.URL}, []any{webhook.TriggerFirst, endpoint.URL})
	same(t, "secrets", len(job.Secrets), 1)
	want := e.Event
	want.Signatures = []string{webhook.SignatureRSA, webhook.SignatureStandard}
	want.CreatedAt = want.CreatedAt.UTC().Truncate(time.Microsecond)
	if diff := cmp.Diff(want, job.Event); diff != "" {
		t.Errorf("event (-appended +claimed):\n%s", diff)
	}
}

func TestATicketIsClaimedOnce(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 2)
		storeMany(t, b, "acme", 2)
		tickets := b.Tickets()
		ledgers := []*ledger.Ledger{b.Ledger, b.Ledger}
		if !b.DB.Embedded() {
			ledgers[1] = b.Another(t).Ledger
		}
		claims := func(l *ledger.Ledger, t *testing.T, ticket delivery.Ticket, won *atomic.Int32) func() {
			return func() {
				_, claimed, err := l.Claim(t.Context(), ticket, webhook.NewID(webhook.WorkerPrefix))
				if err != nil {
					t.Error(err)
				}
				if claimed {
					won.Add(1)
				}
			}
		}
		var apart, inOneBatch atomic.Int32
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(claims(ledgers[i%2], t, tickets[0], &apart))
		}
		wg.Wait()
		stale := tickets[1]
		stale.Generation--
		together(b.Ledger, claims(b.Ledger, t, stale, &inOneBatch), claims(b.Ledger, t, tickets[1], &inOneBatch),
			claims(b.Ledger, t, stale, &inOneBatch), claims(b.Ledger, t, tickets[1], &inOneBatch))
		same(t, "claims that won", []int32{apart.Load(), inOneBatch.Load()}, []int32{1, 1})
		same(t, "attempts begun", b.Count(t, "SELECT SUM(attempts) FROM deliveries"), 2)
		for _, strange := range []delivery.Ticket{
			{DeliveryID: "dlv_none", Generation: 1}, {DeliveryID: tickets[0].DeliveryID, Generation: 2}, {DeliveryID: tickets[0].DeliveryID},
		} {
			refused(t, b, strange)
		}
		b.CheckWindows(t)
	})
}

func TestAnAttemptIsRecordedOnce(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 4)
		id := storeMany(t, b, "acme", 1)[0]
		job := take(t, b, one(t, b))
		r := result(job, failed, retryAt(time.Now().Add(time.Hour)))
		for range 3 {
			if err := tryRecord(t, b.Ledger, r); err != nil {
				t.Fatal(err)
			}
		}
		b.CheckWindows(t)
		allDue(t, b)
		promote(t, b)
		second := take(t, b, one(t, b))
		late := result(job, ok, delivered)
		fresh := result(second, failed, retryAt(time.Now().Add(time.Hour)))
		// The late record of an attempt given up long ago changes nothing, not even in the same batch.
		together(b.Ledger,
			func() { same(t, "record", tryRecord(t, b.Ledger, late), error(nil)) },
			func() { same(t, "record", tryRecord(t, b.Ledger, fresh), error(nil)) },
			func() { same(t, "record", tryRecord(t, b.Ledger, late), error(nil)) },
			func() { same(t, "record", tryRecord(t, b.Ledger, fresh), error(nil)) })
		d := look(t, b, id)
		if d.State != webhook.Pending || d.Attempts != 2 || d.Generation != 3 {
			t.Errorf("delivery %+v", d)
		}
		same(t, "attempts", b.Count(t, "SELECT COUNT(*) FROM attempts"), 2)
		same(t, "used", windowOf(t, b, e.ID).Used, 0)
		b.CheckWindows(t)
	})
}

func TestAnUnknownOutcomeIsSentAgainAtOnce(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 4)
		storeMany(t, b, "acme", 1)
		job := take(t, b, one(t, b))
		record(t, b, job, webhook.Attempt{Outcome: webhook.OutcomeUnknown}, retryAt(time.Now()))
		again := take(t, b, one(t, b))
		same(t, "number and generation", []any{again.Delivery.Attempts, again.Delivery.Generation}, []any{2, 2})
		record(t, b, job, ok, delivered) // the dead come back: too late
		same(t, "state", look(t, b, job.Delivery.ID).State, webhook.Sending)
		record(t, b, again, ok, delivered)
		attempts, err := b.Attempts(t.Context(), job.Delivery.ID)
		if err != nil || len(attempts) != 2 || attempts[0].Outcome != webhook.OutcomeUnknown || attempts[1].Number != 2 {
			t.Errorf("attempts %+v (%v)", attempts, err)
		}
		b.CheckWindows(t)
	})
}

func TestAnAttemptReadsBackAsItWasRecorded(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 4)
		storeMany(t, b, "acme", 1)
		job := take(t, b, one(t, b))
		at := time.Now().UTC().Truncate(time.Microsecond)
		r := result(job, webhook.Attempt{
			Phases: webhook.Phases{DNS: time.Millisecond, Connect: 2 * time.Millisecond, TLS: 3 * time.Microsecond,
				FirstByte: 4 * time.Second, Total: time.Minute},
			PeerIP: "192.0.2.1", TLSVersion: "TLS 1.3", TLSNotAfter: at.Add(day), Certificate: []byte("\x00\xff of it"), RequestHeaders: map[string][]string{"A": {"1", "2"}},
			Outcome: webhook.OutcomeFailed, StatusCode: 503, ErrorClass: webhook.ErrorHTTP5xx, ErrorDetail: "a\x00b\xff",
			ResponseHeaders: map[string][]string{"B": {"\x00\xff"}}, ResponseBody: []byte("\x00\xff\xfe"), Truncated: true, HeadersCut: true, KeyID: "key_1", Worker: worker,
		}, retryAt(at.Add(time.Hour)))
		r.Attempt.StartedAt = at
		if err := tryRecord(t, b.Ledger, r); err != nil {
			t.Fatal(err)
		}
		want := r.Attempt
		want.DeliveryID, want.NextAt, want.NextReason = job.Delivery.ID, r.Verdict.NextAt, "again"
		want.ErrorDetail = "a\uFFFDb\uFFFD"
		want.ResponseHeaders = map[string][]string{"B": {"\x00\uFFFD"}}
		got, err := b.Attempts(t.Context(), job.Delivery.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]webhook.Attempt{want}, got); diff != "" {
			t.Errorf("attempt (-recorded +read):\n%s", diff)
		}
	})
}

func TestADeliveryWhoseEventIsGoneEndsAndHoldsUpNoOther(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 2)
		ids := storeMany(t, b, "acme", 3) // the third waits for a slot
		tickets := b.Tickets()
		change(t, b, "DELETE FROM events WHERE id = $1", look(t, b, ids[0]).EventID)
		together(b.Ledger,
			func() { refused(t, b, tickets[0]) },
			func() { record(t, b, take(t, b, tickets[1]), ok, delivered) })
		b.Settle()
		d := look(t, b, ids[0])
		if d.State != webhook.Cancelled || d.Reason != "expired" || d.Attempts != 0 {
			t.Errorf("delivery %+v", d)
		}
		same(t, "sent after it", drain(t, b), ids[2:])
		same(t, "used", windowOf(t, b, e.ID).Used, 0)
		same(t, "drift", drift(t, b), int64(0))
		b.CheckWindows(t)
		b.CheckAttempts(t)
	})
}
