package audit_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ledgerhook/ledger"
	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

func act(t *testing.T, l *audit.Trail, e partners.AuditEntry) {
	t.Helper()
	if err := l.Audit(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

func chain(t *testing.T, b *ledgertest.Bench) partners.AuditState {
	t.Helper()
	s, err := b.VerifyAudit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func entries(t *testing.T, b *ledgertest.Bench, f partners.AuditFilter) []partners.AuditEntry {
	t.Helper()
	f.Limit = 500
	found, _, err := b.AuditEntries(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestTheAuditChainNamesTheFirstEntryThatIsNotAsItWasWritten(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		same(t, "an empty log", chain(t, b), partners.AuditState{})
		for i := range 5 {
			act(t, b.Trail, partners.AuditEntry{Actor: "api", Action: "endpoint.pause", Target: "ep_1", Detail: fmt.Sprint(i, "\x00\xff")})
		}
		whole := chain(t, b)
		if whole.Entries != 5 || whole.BrokenAt != "" || len(whole.Head) != 32 {
			t.Fatalf("state %+v", whole)
		}
		log := entries(t, b, partners.AuditFilter{})
		slices.Reverse(log)
		third := log[2]
		for _, spoiled := range []struct{ spoil, mend, at, why string }{
			{"UPDATE audit SET detail = 'x' WHERE seq = 3", "UPDATE audit SET detail = $1 WHERE seq = 3", third.ID, "changed"},
			{"UPDATE audit SET actor = 'bob' WHERE seq = 3", "UPDATE audit SET actor = 'api', detail = $1 WHERE seq = 3", third.ID, "changed"},
			{"UPDATE audit SET seq = 30 WHERE seq = 3", "UPDATE audit SET seq = 3, detail = $1 WHERE seq = 30", log[3].ID, "entry 3 before it is missing"},
			{"UPDATE audit SET seq = 0 WHERE seq = 5", "UPDATE audit SET seq = 5 WHERE seq = 0 AND detail <> $1", "the end", "entries 5 to 5 are missing"},
			{"INSERT INTO audit (id, at, actor, action, target, detail) VALUES ('aud_x', 1, 'a', 'b', 'c', '')",
				"DELETE FROM audit WHERE id = 'aud_x' AND detail <> $1", "aud_x", "not written through the chain"},
			{"INSERT INTO audit (id, at, actor, action, target, detail, seq) VALUES ('aud_x', 1, 'a', 'b', 'c', '', 6)",
				"DELETE FROM audit WHERE id = 'aud_x' AND detail <> $1", "aud_x", "not written through the chain"},
		} {
			change(t, b, spoiled.spoil)
			if s := chain(t, b); s.BrokenAt != spoiled.at || !strings.Contains(s.Why, spoiled.why) {
				t.Errorf("%s: %+v, want broken at %s: %s", spoiled.spoil, s, spoiled.at, spoiled.why)
			}
			change(t, b, spoiled.mend, third.Detail)
			same(t, "mended after "+spoiled.spoil, chain(t, b), whole)
		}
	})
}

func TestManyWritersOfTheAuditMakeOneChain(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 5)
		writers := []*audit.Trail{b.Trail}
		if !b.DB.Embedded() {
			writers = append(writers, b.Another(t).Trail, b.Another(t).Trail)
		}
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				l := writers[i%len(writers)]
				for range 5 {
					if err := l.Audit(t.Context(), partners.AuditEntry{Actor: fmt.Sprint("w", i), Action: "x", Target: e.ID}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		s := chain(t, b)
		same(t, "entries", s.Entries, 100)
		same(t, "broken", s.BrokenAt, "")
		same(t, "of the partner", len(entries(t, b, partners.AuditFilter{PartnerCode: "acme"})), 100)
	})
}

func TestAnActAndItsEntryAreWrittenTogether(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		p := b.NewPerson(t, "", partners.RoleAdmin)
		before := chain(t, b).Entries
		_, err := b.AlterPerson(t.Context(), "", p.ID, partners.AuditEntry{Actor: "admin", Action: "person.disable"}, func(p *partners.Person) error { p.Disabled = true; return nil })
		same(t, "the last admin is disabled", webhook.KindOf(err), webhook.KindConflict)
		same(t, "entries", chain(t, b).Entries, before)
	})
}

func TestTheAuditIsNarrowed(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Partner(t, "other")
		e := b.Endpoint(t, "acme", 5)
		start := time.Now()
		act(t, b.Trail, partners.AuditEntry{Actor: "api", Action: "endpoint.pause", Target: e.ID})
		act(t, b.Trail, partners.AuditEntry{Actor: "ann", Action: "endpoint.resume", Target: e.ID})
		act(t, b.Trail, partners.AuditEntry{Actor: "ann", Action: "partner.disable", Target: "other"})
		act(t, b.Trail, partners.AuditEntry{Actor: "ann", Action: "endpoints", Target: "ep_missing"})
		act(t, b.Trail, partners.AuditEntry{Actor: "acme/eve", Action: "login.ok", Target: "usr_1", PartnerCode: "acme"})
		for _, q := range []struct {
			filter partners.AuditFilter
			want   string
		}{
			{partners.AuditFilter{}, "login.ok endpoints partner.disable endpoint.resume endpoint.pause"},
			{partners.AuditFilter{Actor: "ann"}, "endpoints partner.disable endpoint.resume"},
			{partners.AuditFilter{Action: "endpoint."}, "endpoint.resume endpoint.pause"},
			{partners.AuditFilter{Action: "endpoint.pause"}, "endpoint.pause"},
			{partners.AuditFilter{Action: "endpoint"}, ""},
			{partners.AuditFilter{Actor: "ann", Without: "partner.disable"}, "endpoints endpoint.resume"},
			{partners.AuditFilter{Target: e.ID, Actor: "api"}, "endpoint.pause"},
			{partners.AuditFilter{PartnerCode: "acme"}, "login.ok endpoint.resume endpoint.pause"},
			{partners.AuditFilter{PartnerCode: "other"}, "partner.disable"},
			{partners.AuditFilter{Until: start.Add(-time.Minute)}, ""},
			{partners.AuditFilter{Since: start.Add(time.Minute)}, ""},
		} {
			var actions []string
			for _, e := range entries(t, b, q.filter) {
				actions = append(actions, e.Action)
			}
			same(t, fmt.Sprintf("%+v", q.filter), strings.Join(actions, " "), q.want)
		}
	})
}

func TestEntriesOfATimeWithoutAChainBecomeItsBeginning(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		for i := range 3 {
			change(t, b, "INSERT INTO audit (id, at, actor, action, target, detail) VALUES ($1, $2, 'api', 'x', 'acme', '')",
				webhook.NewID(webhook.AuditPrefix), time.Now().UnixMicro()+int64(i))
		}
		if s := chain(t, b); s.BrokenAt == "" {
			t.Errorf("entries outside the chain pass: %+v", s)
		}
		if err := b.Close(); err != nil { // SQLite is alone on its folder
			t.Fatal(err)
		}
		if _, err := ledger.Migrate(t.Context(), b.At); err != nil {
			t.Fatal(err)
		}
		b.Reopen(t)
		act(t, b.Trail, partners.AuditEntry{Actor: "api", Action: "x", Target: "acme"})
		s := chain(t, b)
		same(t, "entries", s.Entries, 4)
		same(t, "broken", s.BrokenAt, "")
		same(t, "of the partner", len(entries(t, b, partners.AuditFilter{PartnerCode: "acme"})), 4)
	})
}

func TestTheAuditIsListedNewestFirst(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		began := time.Now().Add(-2 * time.Millisecond)
		for _, action := range []string{"one", "two", "three"} {
			if err := b.Audit(t.Context(), partners.AuditEntry{Actor: "api", Action: action, Target: "ep_1", Detail: "why"}); err != nil {
				t.Fatal(err)
			}
		}
		var actions []string
		cursor := ""
		for {
			page, next, err := b.AuditEntries(t.Context(), partners.AuditFilter{Cursor: cursor, Limit: 2})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page {
				actions = append(actions, e.Action)
				if e.At.Before(began) || e.Actor != "api" || e.Target != "ep_1" || e.Detail != "why" {
					t.Errorf("entry %+v", e)
				}
			}
			if cursor = next; cursor == "" {
				break
			}
		}
		if !slices.Equal(actions, []string{"three", "two", "one"}) {
			t.Errorf("actions %v", actions)
		}
	})
}
