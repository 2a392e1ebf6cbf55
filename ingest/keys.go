package ingest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"ledgerhook/partners"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

// SigningKeys are the gateway's own keys.
type SigningKeys interface {
	SigningKeys(ctx context.Context) ([]partners.SigningKey, error)
	// RotateSigningKey makes a key that is published at once and signs after a
	// while. It is a Conflict while another waits to sign.
	RotateSigningKey(ctx context.Context, after time.Duration, by ...partners.AuditEntry) (partners.SigningKey, error)
}

// How long a new key is published before it signs.
const (
	defaultKeyLead = 24 * time.Hour
	maxKeyLead     = 720 * time.Hour
)

type signingKeyItem struct {
	KeyID       string   `json:"keyId"`
	State       string   `json:"state"` // pending, active, retiring, retired
	PublicKey   string   `json:"publicKey"`
	CreatedAt   web.Time `json:"createdAt"`
	ActivatesAt web.Time `json:"activatesAt"`
	RetiresAt   web.Time `json:"retiresAt"`
}

func showSigningKey(k partners.SigningKey, state string) signingKeyItem {
	return signingKeyItem{k.ID, state, string(k.PublicPEM), web.Time(k.CreatedAt), web.Time(k.ActivatesAt), web.Time(k.RetiresAt)}
}

func (a *Internal) listKeys(w http.ResponseWriter, r *http.Request) error {
	isTime := func(position string) error { _, err := strconv.ParseInt(position, 10, 64); return err }
	var all []partners.SigningKey
	oldestFirst := func(ctx context.Context) (_ []partners.SigningKey, err error) {
		all, err = a.Keys.SigningKeys(ctx)
		slices.Reverse(all)
		return all, err
	}
	page := cut(oldestFirst, func(k partners.SigningKey) string { return fmt.Sprintf("%020d", k.ActivatesAt.UnixMicro()) })
	now := time.Now()
	return list(w, r, isTime, page, func(k partners.SigningKey) signingKeyItem { return showSigningKey(k, k.State(all, now)) })
}

// rotateSigningKey makes a key that follows the active one.
func (a *Internal) rotateSigningKey(w http.ResponseWriter, r *http.Request) error {
	var request struct {
		ActivateAfter *int64 `json:"activateAfterSeconds"`
	}
	if err := web.DecodeJSON(r, maxBody, &request); err != nil {
		return err
	}
	lead := defaultKeyLead
	if s := request.ActivateAfter; s != nil {
		if *s < 0 || *s > int64(maxKeyLead/time.Second) {
			return webhook.Invalid("/activateAfterSeconds", "must be a whole number from 0 to 2592000")
		}
		lead = time.Duration(*s) * time.Second
	}
	made, err := a.Keys.RotateSigningKey(r.Context(), lead, by(r, "key.rotate", ""))
	if err != nil {
		return err
	}
	state := partners.KeyPending
	if lead == 0 {
		state = partners.KeyActive
	}
	return web.WriteJSON(w, http.StatusCreated, showSigningKey(made, state))
}
