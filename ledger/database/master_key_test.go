package database_test

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
)

// sealing is a box of master keys of equal bytes: it seals with the first.
func sealing(t *testing.T, with byte, others ...byte) *signer.Box {
	t.Helper()
	var keys [][]byte
	for _, b := range append([]byte{with}, others...) {
		keys = append(keys, bytes.Repeat([]byte{b}, signer.MasterKeySize))
	}
	box, err := signer.NewBox(keys[0], keys[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	return box
}

func TestAnotherMasterKeyIsRefused(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		right, wrong := sealing(t, 1), sealing(t, 2)
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
		if err := b.DB.KeepMasterKey(t.Context(), sealing(t, 1)); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			box  *signer.Box
			want error
		}{{sealing(t, 1), nil}, {sealing(t, 2, 1), nil}, {sealing(t, 1, 2), nil}, {sealing(t, 2), database.ErrOtherMasterKey}, {sealing(t, 2, 3), database.ErrOtherMasterKey}} {
			_, err := b.DB.CheckMasterKey(t.Context(), test.box)
			if !errors.Is(err, test.want) || err == nil && test.box.Names()[0] != sealing(t, 1).Names()[0] {
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
