package app

import (
	"crypto/rsa"
	"testing"
	"time"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/signer"
)

// Two processes share a ledger and one of them rotates: whatever the other has
// read so far, it can sign with the new key at once, and publishes both once it
// reads again.
func TestARotatedKeySignsInEveryProcess(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		ctx := t.Context()
		box, err := signer.NewBox(make([]byte, signer.MasterKeySize))
		if err != nil {
			t.Fatal(err)
		}
		retention := 30 * 24 * time.Hour
		one, other := newKeyring(b.DB, box, retention), newKeyring(b.DB, box, retention)
		first, err := one.generate(time.Now(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.DB.AddSigningKey(ctx, first); err != nil {
			t.Fatal(err)
		}
		for _, ring := range []*keyring{one, other} {
			if err := ring.load(ctx); err != nil || ring.current().ID() != first.ID {
				t.Fatalf("the first key does not sign: %v", err)
			}
		}
		admin := signingKeys{one, b.Accounts}
		second, err := admin.RotateSigningKey(ctx, 0, partners.AuditEntry{Actor: "api", Action: "key.rotate"})
		if err != nil {
			t.Fatal(err)
		}
		if one.current().ID() != second.ID || other.current().ID() != first.ID {
			t.Error("the key does not sign where it was made, or already elsewhere")
		}
		for _, id := range []string{first.ID, second.ID} {
			if key, err := other.Key(ctx, id); err != nil || key.ID() != id {
				t.Errorf("the other process cannot sign with %s: %v", id, err)
			}
		}
		if err := other.load(ctx); err != nil {
			t.Fatal(err)
		}
		for _, ring := range []*keyring{one, other} {
			if got := ids(ring.published()); len(got) != 2 || got[0] != second.ID || got[1] != first.ID {
				t.Errorf("published are %v, want %s before %s", got, second.ID, first.ID)
			}
		}
		third, err := admin.RotateSigningKey(ctx, time.Hour, partners.AuditEntry{Actor: "api", Action: "key.rotate"})
		if err != nil {
			t.Fatal(err)
		}
		if got := ids(one.published()); len(got) != 3 || one.current().ID() != second.ID {
			t.Errorf("before %s signs, published are %v, and %s signs", third.ID, got, one.current().ID())
		}
		stored, err := b.DB.SigningKeys(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range stored {
			if k.ID == second.ID && k.RetiresAt.Sub(third.ActivatesAt) < retention {
				t.Errorf("%s is not published while its events are kept: %s to %s", k.ID, third.ActivatesAt, k.RetiresAt)
			}
		}
	})
}

func ids(keys []*rsa.PublicKey) (ids []string) {
	for _, key := range keys {
		ids = append(ids, signer.KeyID(key))
	}
	return ids
}
