package ingest_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/ledger/seals"
	"ledgerhook/partners"
	"ledgerhook/signer"
)

// storedKeys are the keys of a ledger. It makes new ones in no time: they have
// names and sign nothing.
type storedKeys struct{ *ledgertest.Bench }

func (s storedKeys) SigningKeys(ctx context.Context) ([]partners.SigningKey, error) {
	return s.DB.SigningKeys(ctx)
}

func (s storedKeys) RotateSigningKey(ctx context.Context, after time.Duration, by ...partners.AuditEntry) (partners.SigningKey, error) {
	next := storedKey("key_"+rand.Text()[:16], time.Now().Add(after))
	return next, s.Accounts.RotateSigningKey(ctx, next, time.Now(), next.ActivatesAt.Add(time.Hour), by...)
}

// storedMasterKey changes the master key of a ledger, and has no other process to
// wait for.
type storedMasterKey struct {
	*ledgertest.Bench
	box *signer.Box
}

func (s storedMasterKey) RotateMasterKey(ctx context.Context, by partners.AuditEntry) (r partners.MasterKeyRotation, err error) {
	next := bytes.Repeat([]byte{9}, signer.MasterKeySize)
	to, err := signer.NewBox(next)
	if err == nil && len(s.box.Names()) == 1 {
		err = s.box.Learn(next)
	}
	if err == nil {
		r, err = seals.New(s.DB).Rotate(ctx, s.box, to, by)
	}
	r.KeyFrom, r.PreviousFrom = "LEDGERHOOK_MASTER_KEY", "LEDGERHOOK_PREVIOUS_MASTER_KEY"
	return r, err
}

func storedKey(id string, from time.Time) partners.SigningKey {
	return partners.SigningKey{ID: id, Sealed: []byte("sealed"), PublicPEM: keys()[0].PublicPEM(), CreatedAt: from, ActivatesAt: from}
}

func TestANewSigningKeyIsPublishedBeforeItSigns(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		states := func(want ...string) {
			t.Helper()
			if got, _ := a.page(t, "/keys", "state"); !cmp.Equal(got, want) {
				t.Errorf("the keys are %v, want %v", got, want)
			}
		}
		states("active")
		for _, body := range []string{`{"activateAfterSeconds":-1}`, `{"activateAfterSeconds":2592001}`, `{"activateAfterSeconds":1.5}`, `{"activateAfterSeconds":"1h"}`} {
			a.want(t, 400, "POST", "/keys/rotate", body, "/activateAfterSeconds")
		}
		a.want(t, 201, "POST", "/keys/rotate", `{"activateAfterSeconds":0}`, `"state":"active"`)
		states("retiring", "active")
		next := a.want(t, 201, "POST", "/keys/rotate", `{}`, `"state":"pending"`, `"retiresAt":null`).text(t, "keyId")
		states("retiring", "active", "pending")
		a.want(t, 409, "POST", "/keys/rotate", `{}`, next, "rotate again after that")
		a.want(t, 200, "GET", "/audit?action=key.rotate", nil, `"target":"`+next+`"`, "signs from")
	})
}

func TestTheMasterKeyIsChangedStepByStep(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		// The partner's secret key and its webhook secret; what the bench stores as signing key opens with no key.
		a.want(t, 200, "POST", "/master-key/rotate", nil, `"resealed":2`, `"unreadable":["signing_keys `, `"waitingFor":[]`, `"done":false`, `"keyFrom":"LEDGERHOOK_MASTER_KEY"`)
		a.want(t, 200, "POST", "/master-key/rotate", nil, `"resealed":0`, `"done":false`) // something may still be written
		if err := seals.New(a.DB).Hold(t.Context(), "prc_1", "api-2/17", []string{"mk_000000000000"}); err != nil {
			t.Fatal(err)
		}
		a.want(t, 409, "POST", "/master-key/rotate", nil, "api-2/17", "start them with both keys")
		a.want(t, 200, "GET", "/audit?action=master-key.rotate", nil, `"actor":"api"`, "takes the place of mk_")
		a.want(t, 201, "POST", "/partners/acme/secrets", nil, `"state":"pending"`)
	})
}
