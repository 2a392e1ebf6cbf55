package ledger_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

func TestPartnersAreCreatedChangedAndListed(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		for _, code := range []string{"c", "a", "b"} {
			b.Partner(t, code)
		}
		err := b.CreatePartner(t.Context(), partners.Partner{Code: "a", PublicKey: []byte{}, SealedSecret: []byte{}},
			partners.Secret{ID: webhook.NewID(webhook.SecretPrefix), PartnerCode: "a", Sealed: []byte{}})
		wantKind(t, err, webhook.KindConflict)
		var codes []string
		cursor := ""
		for {
			page, next, err := b.Partners(t.Context(), cursor, 2)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range page {
				codes = append(codes, p.Code)
			}
			if cursor = next; cursor == "" {
				break
			}
		}
		same(t, "codes", codes, []string{"a", "b", "c"})
		until := time.Now().Add(partners.KeyOverlap).UTC().Truncate(time.Microsecond)
		want, err := b.UpdatePartner(t.Context(), "a", func(p *partners.Partner) error {
			p.Name, p.PublicKey = "new", []byte("new")
			p.OldKeys = []partners.OldKey{{PEM: []byte("second\n"), Until: until}, {PEM: []byte("first\n"), Until: until.Add(-time.Hour)}}
			p.Settings.Signatures = []string{webhook.SignatureRSA}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want.UpdatedAt = want.UpdatedAt.UTC().Truncate(time.Microsecond)
		got, err := b.Accounts.Partner(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("partner (-changed +read):\n%s", diff)
		}
		refusal := webhook.Invalid("/name", "must be better")
		_, err = b.UpdatePartner(t.Context(), "a", func(p *partners.Partner) error { p.Name = "worse"; return refusal })
		wantKind(t, err, webhook.KindInvalid)
		_, err = b.Accounts.Partner(t.Context(), "d")
		wantKind(t, err, webhook.KindNotFound)
		// Events pin the setting of their time.
		e, err := b.Event(t.Context(), partners.Everything(), store(t, b, ledgertest.NewEvent("a", "tp_1", "Pending")).EventID)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "signatures", e.Signatures, []string{webhook.SignatureRSA})
	})
}

func TestSecretsLiveFromPendingToRevoked(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 8)
		now := time.Now().UTC().Truncate(time.Microsecond)
		secrets := func() []partners.Secret {
			t.Helper()
			found, err := b.Secrets(t.Context(), "acme")
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		signing := func() (sealed []string) {
			t.Helper()
			storeMany(t, b, "acme", 1)
			job := take(t, b, one(t, b))
			for _, s := range job.Secrets {
				sealed = append(sealed, string(s.Sealed))
			}
			record(t, b, job, ok, delivered)
			return sealed
		}
		first := secrets()[0]
		second := partners.Secret{ID: webhook.NewID(webhook.SecretPrefix), PartnerCode: "acme", State: partners.SecretPending, Sealed: []byte("second"), CreatedAt: now}
		if err := b.AddSecret(t.Context(), second); err != nil {
			t.Fatal(err)
		}
		same(t, "a pending secret signs nothing", signing(), []string{"sealed"})
		active, err := b.ActivateSecret(t.Context(), "acme", second.ID, now)
		if err != nil || active.State != partners.SecretActive || !active.ActivatedAt.Equal(now) {
			t.Errorf("activated %+v (%v)", active, err)
		}
		old := secrets()[0]
		if old.State != partners.SecretRetiring || !old.RetiresAt.Equal(now.Add(partners.SecretOverlap)) {
			t.Errorf("the one before %+v", old)
		}
		same(t, "both sign, the retiring one first", signing(), []string{"sealed", "second"})
		_, err = b.ActivateSecret(t.Context(), "acme", second.ID, now)
		wantKind(t, err, webhook.KindConflict)
		_, err = b.RevokeSecret(t.Context(), "acme", second.ID, now)
		wantKind(t, err, webhook.KindConflict)
		if _, err = b.RevokeSecret(t.Context(), "acme", first.ID, now); err != nil {
			t.Fatal(err)
		}
		same(t, "a revoked secret signs nothing", signing(), []string{"second"})
		same(t, "states", []any{secrets()[0].State, secrets()[1].State}, []any{partners.SecretRevoked, partners.SecretActive})

		_, err = b.ActivateSecret(t.Context(), "acme", "sec_none", now)
		wantKind(t, err, webhook.KindNotFound)
		_, err = b.Secrets(t.Context(), "nobody")
		wantKind(t, err, webhook.KindNotFound)
		second.PartnerCode = "nobody"
		wantKind(t, b.AddSecret(t.Context(), second), webhook.KindNotFound)
	})
}

func TestTheOverlapOfSecretsEnds(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 8)
		id := webhook.NewID(webhook.SecretPrefix)
		if err := b.AddSecret(t.Context(), partners.Secret{ID: id, PartnerCode: "acme", State: partners.SecretPending, Sealed: []byte("second")}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.ActivateSecret(t.Context(), "acme", id, time.Now().Add(-partners.SecretOverlap)); err != nil {
			t.Fatal(err)
		}
		storeMany(t, b, "acme", 1)
		if job := take(t, b, one(t, b)); len(job.Secrets) != 1 || string(job.Secrets[0].Sealed) != "second" {
			t.Errorf("secrets %+v", job.Secrets)
		}
	})
}

func TestPendingSecretsArePutUpWithUpToTen(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		add := func() error {
			return b.AddSecret(t.Context(), partners.Secret{ID: webhook.NewID(webhook.SecretPrefix), PartnerCode: "acme", State: partners.SecretPending, Sealed: []byte("x")})
		}
		for range 10 {
			if err := add(); err != nil {
				t.Fatal(err)
			}
		}
		wantKind(t, add(), webhook.KindConflict)
	})
}
