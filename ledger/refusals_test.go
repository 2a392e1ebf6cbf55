package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

func TestWhatWasSentIsListedWithItsResult(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 8)
		refuse := func(r delivery.Refusal) {
			if err := b.AddRefusals(t.Context(), []delivery.Refusal{r}); err != nil {
				t.Fatal(err)
			}
		}
		a := store(t, b, ledgertest.NewEvent("acme", "tp_1", "Pending"))
		refuse(delivery.Refusal{Result: delivery.Duplicate, PartnerCode: "acme", Type: webhook.TopupCard, Reference: "tp_1", EventID: a.EventID})
		refuse(delivery.Refusal{Result: delivery.Refused, PartnerCode: "nobody\xff", Reason: "no such\x00partner"})
		store(t, b, typed("acme", webhook.CreateCard, "card_1", "Init"))
		for name, c := range map[string]struct {
			query reports.EventQuery
			want  string
		}{
			"everything":   {reports.EventQuery{Scope: partners.Everything()}, "accepted card_1, refused , duplicate tp_1, accepted tp_1"},
			"a partner's":  {reports.EventQuery{Scope: partners.Only("acme")}, "accepted card_1, duplicate tp_1, accepted tp_1"},
			"accepted":     {reports.EventQuery{Scope: partners.Everything(), Results: []delivery.IngestResult{delivery.Accepted}}, "accepted card_1, accepted tp_1"},
			"refused":      {reports.EventQuery{Scope: partners.Everything(), Results: []delivery.IngestResult{delivery.Refused}}, "refused "},
			"of a type":    {reports.EventQuery{Scope: partners.Everything(), Type: webhook.TopupCard}, "duplicate tp_1, accepted tp_1"},
			"about":        {reports.EventQuery{Scope: partners.Everything(), Reference: "tp_1"}, "duplicate tp_1, accepted tp_1"},
			"of a time":    {reports.EventQuery{Scope: partners.Everything(), Since: time.Now().Add(time.Hour)}, ""},
			"seen by none": {reports.EventQuery{}, ""},
		} {
			var got string
			c.query.Limit = 1
			for {
				page, next, err := b.SentEvents(t.Context(), c.query)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range page {
					if got != "" {
						got += ", "
					}
					got += string(e.Result) + " " + e.Reference
				}
				if next == "" {
					break
				}
				c.query.Cursor = next
			}
			same(t, name, got, c.want)
		}
		if _, found, err := b.SeenEvent(t.Context(), partners.Only("acme"), a.EventID); err != nil || len(found) != 1 {
			t.Errorf("its partner sees %d deliveries of the event (%v)", len(found), err)
		}
		_, _, err := b.SeenEvent(t.Context(), partners.Only("other"), a.EventID)
		wantKind(t, err, webhook.KindNotFound)
		if d, err := b.SeenDelivery(t.Context(), partners.Only("acme"), a.DeliveryIDs[0]); err != nil || d.Host != "partner.example.com" {
			t.Errorf("its partner sees %+v (%v)", d, err)
		}
		_, err = b.SeenDelivery(t.Context(), partners.Only("other"), a.DeliveryIDs[0])
		wantKind(t, err, webhook.KindNotFound)
		if err := b.RetainAt(t.Context(), time.Now().Add(3*day), day); err != nil {
			t.Fatal(err)
		}
		same(t, "refusals after their time", b.Count(t, "SELECT COUNT(*) FROM refusals"), 0)
	})
}

func TestAPartnersEventsAreFollowedToTheirEnds(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 8, webhook.TopupCard)
		began := time.Now().Add(-time.Minute)
		store(t, b, typed("acme", webhook.CreateCard, "card_1", "Init"))
		storeMany(t, b, "acme", 1)
		attempted(t, b, take(t, b, one(t, b)), webhook.Attempt{Outcome: webhook.OutcomeDelivered, StatusCode: 200, TLSNotAfter: began}, delivered, time.Second)
		storeMany(t, b, "acme", 1)
		attempted(t, b, take(t, b, one(t, b)), failed, retryAt(time.Now()), time.Second)
		promote(t, b)
		attempted(t, b, take(t, b, one(t, b)), ok, delivered, 3*time.Second)
		storeMany(t, b, "acme", 1)
		send(t, b, b.Tickets(), failed, exhausted)
		storeMany(t, b, "acme", 1)
		send(t, b, b.Tickets(), failed, retryAt(time.Now().Add(time.Hour)))
		storeMany(t, b, "acme", 1)
		f, err := b.PartnerFunnel(t.Context(), partners.Only("acme"), "acme", began, time.Now().Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		same(t, "funnel", []int{f.Accepted, f.Filtered, f.Matched, f.FirstTry, f.AfterRetry, f.Retrying, f.Waiting, f.Exhausted, f.Cancelled}, []int{6, 1, 5, 1, 1, 1, 1, 1, 0})
		same(t, "sampled", []any{f.Sampled, f.Since}, []any{false, began})
		same(t, "durations", []any{f.Duration.N, f.Duration.P50, f.Duration.Max, f.FirstDelay.N}, []any{4, time.Second, 3 * time.Second, 4})
		ends, err := b.CertificateEnds(t.Context(), partners.Only("acme"), e.ID)
		if err != nil || !ends.Equal(began.Truncate(time.Microsecond)) {
			t.Errorf("the certificate ends at %s (%v), want %s", ends, err, began)
		}
		for _, s := range []partners.Scope{partners.Only("other"), partners.Only(""), {}} {
			f, err := b.PartnerFunnel(t.Context(), s, "acme", began, time.Now().Add(time.Minute))
			if err != nil || f.Accepted+f.Matched > 0 {
				t.Errorf("another sees %+v (%v)", f, err)
			}
			if ends, err := b.CertificateEnds(t.Context(), s, e.ID); err != nil || !ends.IsZero() {
				t.Errorf("another sees when the certificate ends: %s (%v)", ends, err)
			}
		}
	})
}

func TestChangesOfAPartnerAreListedNewestFirst(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 8)
		for _, action := range []string{"endpoint.pause", "endpoint.test", "login.ok", "secret.create", "partners"} {
			if err := b.Audit(t.Context(), partners.AuditEntry{Actor: "ann", Action: action, Target: e.ID}); err != nil {
				t.Fatal(err)
			}
		}
		for _, action := range []string{"rate.set", "key.rotate", "master-key.rotate"} {
			if err := b.Audit(t.Context(), partners.AuditEntry{Actor: "ann", Action: action}); err != nil {
				t.Fatal(err)
			}
		}
		list := func(found []partners.AuditEntry, err error) (actions []string) {
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range found {
				actions = append(actions, e.Action)
			}
			return actions
		}
		same(t, "the partner's", list(b.PartnerChanges(t.Context(), partners.Everything(), "acme", 10)), []string{"secret.create", "endpoint.pause"})
		same(t, "the partner's newest", list(b.PartnerChanges(t.Context(), partners.Everything(), "acme", 1)), []string{"secret.create"})
		same(t, "another's", fmt.Sprint(list(b.PartnerChanges(t.Context(), partners.Everything(), "other", 10))), "[]")
		same(t, "its own", list(b.PartnerChanges(t.Context(), partners.Only("acme"), "acme", 1)), []string{"secret.create"})
		for _, s := range []partners.Scope{partners.Only("other"), partners.Only(""), {}} {
			same(t, "by another", fmt.Sprint(list(b.PartnerChanges(t.Context(), s, "acme", 10)), list(b.PartnerChanges(t.Context(), s, "", 10))), "[] []")
		}
		same(t, "all", list(b.RecentChanges(t.Context(), 10)), []string{"master-key.rotate", "key.rotate", "rate.set", "secret.create", "endpoint.pause"})
	})
}
