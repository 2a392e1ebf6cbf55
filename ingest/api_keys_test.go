package ingest_test

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
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
