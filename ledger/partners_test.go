package ledger_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ledgerhook/ledger/database"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/signer"
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

func TestAnotherMasterKeyIsRefused(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		right := newBox(t)
		wrong, err := signer.NewBox(bytes.Repeat([]byte{2}, signer.MasterKeySize))
		if err != nil {
			t.Fatal(err)
		}
		for _, box := range []*signer.Box{wrong, right} { // looking alone decides nothing
			if kept, err := b.DB.CheckMasterKey(t.Context(), box); kept || err != nil {
				t.Fatalf("a new ledger: kept %t, %v", kept, err)
			}
		}
		for range 2 { // the first one is remembered, the second compared
			if err := b.DB.KeepMasterKey(t.Context(), right); err != nil {
				t.Fatal(err)
			}
		}
		_, looked := b.DB.CheckMasterKey(t.Context(), wrong)
		for _, err := range []error{looked, b.DB.KeepMasterKey(t.Context(), wrong)} {
			if !errors.Is(err, database.ErrOtherMasterKey) {
				t.Errorf("a wrong master key: %v", err)
			}
		}
		if kept, err := b.DB.CheckMasterKey(t.Context(), right); !kept || err != nil {
			t.Errorf("the right master key: kept %t, %v", kept, err)
		}
	})
}

func TestTheLedgerSaysWhichMasterKeySeals(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		keys := [][]byte{bytes.Repeat([]byte{1}, signer.MasterKeySize), bytes.Repeat([]byte{2}, signer.MasterKeySize), bytes.Repeat([]byte{3}, signer.MasterKeySize)}
		knowing := func(which ...int) *signer.Box {
			t.Helper()
			var others [][]byte
			for _, i := range which[1:] {
				others = append(others, keys[i])
			}
			box, err := signer.NewBox(keys[which[0]], others...)
			if err != nil {
				t.Fatal(err)
			}
			return box
		}
		if err := b.DB.KeepMasterKey(t.Context(), knowing(0)); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			box  *signer.Box
			want error
		}{{knowing(0), nil}, {knowing(1, 0), nil}, {knowing(0, 1), nil}, {knowing(1), database.ErrOtherMasterKey}, {knowing(1, 2), database.ErrOtherMasterKey}} {
			_, err := b.DB.CheckMasterKey(t.Context(), test.box)
			if !errors.Is(err, test.want) || err == nil && test.box.Names()[0] != knowing(0).Names()[0] {
				t.Errorf("%v: %v, want %v", test.box.Names(), err, test.want)
			}
		}
	})
}

func TestThereIsOneFirstSigningKey(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		now := time.Now().UTC().Truncate(time.Microsecond)
		key := partners.SigningKey{ID: "key_1", Sealed: []byte("sealed"), PublicPEM: []byte("pem"), CreatedAt: now, ActivatesAt: now}
		second := key
		second.ID = "key_2"
		for _, k := range []partners.SigningKey{key, second, key} { // whoever comes second finds one
			if err := b.DB.AddSigningKey(t.Context(), k); err != nil {
				t.Fatal(err)
			}
		}
		keys, err := b.DB.SigningKeys(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]partners.SigningKey{key}, keys); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
	})
}
