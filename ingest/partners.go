package ingest

import (
	"context"
	"encoding/hex"
	"net/http"
	"time"

	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

type partnerItem struct {
	PartnerCode string       `json:"partnerCode"`
	Name        string       `json:"name"`
	State       string       `json:"state"` // active, disabled
	KeyID       string       `json:"keyId"` // of the partner's public key
	OldKeyUntil web.Time     `json:"oldKeyUntil"`
	Settings    settingsItem `json:"settings"`
	CreatedAt   web.Time     `json:"createdAt"`
	UpdatedAt   web.Time     `json:"updatedAt"`
}

func (a *Internal) showPartnerItem(p partners.Partner) partnerItem {
	item := partnerItem{PartnerCode: p.Code, Name: p.Name, State: "active", Settings: showSettings(p.Settings, a.Limits),
		CreatedAt: web.Time(p.CreatedAt), UpdatedAt: web.Time(p.UpdatedAt)}
	if p.Disabled {
		item.State = "disabled"
	}
	if key, err := signer.ParsePublicKey(p.PublicKey); err == nil {
		item.KeyID = signer.KeyID(key)
	}
	if old := p.ValidOldKeys(time.Now()); len(old) > 0 {
		item.OldKeyUntil = web.Time(old[0].Until)
	}
	return item
}

// createPartner opens an account. Its secretKey and first webhook secret are
// shown in this answer and never again.
func (a *Internal) createPartner(w http.ResponseWriter, r *http.Request) error {
	var request struct {
		PartnerCode string           `json:"partnerCode"`
		Name        string           `json:"name"`
		PublicKey   string           `json:"publicKey"`
		Settings    *settingsRequest `json:"settings"`
	}
	if err := web.DecodeJSON(r, maxBody, &request); err != nil {
		return err
	}
	made, err := partners.NewAccount(a.Box, request.PartnerCode, request.Name, request.PublicKey, time.Now())
	if err != nil {
		return err
	}
	p := made.Partner
	if err := request.Settings.apply(&p.Settings); err != nil {
		return err
	}
	if err := a.Partners.CreatePartner(r.Context(), p, made.First, by(r, "partner.create", "")); err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusCreated, struct {
		PartnerCode      string `json:"partnerCode"`
		SecretKey        string `json:"secretKey"`
		WebhookSecretKey string `json:"webhookSecretKey"`
		PublicKey        string `json:"publicKey"`
	}{p.Code, made.SecretKey, made.WebhookSecret, string(a.Key().PublicPEM())})
}

func (a *Internal) listPartners(w http.ResponseWriter, r *http.Request) error {
	return list(w, r, partners.CheckCode, a.Partners.Partners, a.showPartnerItem)
}

func (a *Internal) showPartner(w http.ResponseWriter, r *http.Request) error {
	p, err := a.Partners.Partner(r.Context(), r.PathValue("code"))
	return writeItem(w, p, err, a.showPartnerItem)
}

// changePartner applies a change, notes it and shows the partner.
func (a *Internal) changePartner(w http.ResponseWriter, r *http.Request, action string, change func(*partners.Partner) error) error {
	p, err := a.PartnerUpdates.UpdatePartner(r.Context(), r.PathValue("code"), change, by(r, action, ""))
	return writeItem(w, p, err, a.showPartnerItem)
}

func (a *Internal) patchPartner(w http.ResponseWriter, r *http.Request) error {
	var request struct {
		Name     *string          `json:"name"`
		Settings *settingsRequest `json:"settings"`
	}
	if err := web.DecodeJSON(r, maxBody, &request); err != nil {
		return err
	}
	return a.changePartner(w, r, "partner.change", func(p *partners.Partner) error {
		if request.Name != nil {
			if err := partners.CheckText("/name", *request.Name); err != nil {
				return err
			}
			p.Name = *request.Name
		}
		return request.Settings.apply(&p.Settings)
	})
}

func (a *Internal) disablePartner(w http.ResponseWriter, r *http.Request) error {
	return a.changePartner(w, r, "partner.disable", func(p *partners.Partner) error { p.Disabled = true; return nil })
}

func (a *Internal) enablePartner(w http.ResponseWriter, r *http.Request) error {
	return a.changePartner(w, r, "partner.enable", func(p *partners.Partner) error { p.Disabled = false; return nil })
}

// rotateKey replaces the partner's public key; see partners.Partner.ReplaceKey.
func (a *Internal) rotateKey(w http.ResponseWriter, r *http.Request) error {
	var request struct {
		PublicKey string `json:"publicKey"`
	}
	if err := web.DecodeJSON(r, maxBody, &request); err != nil {
		return err
	}
	pem, err := partners.ReadPublicKey(request.PublicKey)
	if err != nil {
		return err
	}
	return a.changePartner(w, r, "partner.rotate-key", func(p *partners.Partner) error {
		return p.ReplaceKey(pem, time.Now())
	})
}

type secretItem struct {
	SecretID         string   `json:"secretId"`
	State            string   `json:"state"`
	WebhookSecretKey string   `json:"webhookSecretKey,omitempty"` // only in the answer that makes it
	CreatedAt        web.Time `json:"createdAt"`
	ActivatedAt      web.Time `json:"activatedAt"`
	RetiresAt        web.Time `json:"retiresAt"`
	RevokedAt        web.Time `json:"revokedAt"`
}

func showSecretItem(s partners.Secret) secretItem {
	return secretItem{SecretID: s.ID, State: string(s.StateAt(time.Now())), CreatedAt: web.Time(s.CreatedAt),
		ActivatedAt: web.Time(s.ActivatedAt), RetiresAt: web.Time(s.RetiresAt), RevokedAt: web.Time(s.RevokedAt)}
}

func (a *Internal) createSecret(w http.ResponseWriter, r *http.Request) error {
	s, value := partners.NewSecret(a.Box, r.PathValue("code"), time.Now())
	if err := a.Secrets.AddSecret(r.Context(), s, by(r, "secret.create", "")); err != nil {
		return err
	}
	item := showSecretItem(s)
	item.WebhookSecretKey = value
	return web.WriteJSON(w, http.StatusCreated, item)
}

func (a *Internal) listSecrets(w http.ResponseWriter, r *http.Request) error {
	all := func(ctx context.Context) ([]partners.Secret, error) {
		return a.Secrets.Secrets(ctx, r.PathValue("code"))
	}
	return list(w, r, isID(webhook.SecretPrefix), cut(all, func(s partners.Secret) string { return s.ID }), showSecretItem)
}

func (a *Internal) activateSecret(w http.ResponseWriter, r *http.Request) error {
	s, err := a.Secrets.ActivateSecret(r.Context(), r.PathValue("code"), r.PathValue("id"), time.Now(), by(r, "secret.activate", ""))
	return writeItem(w, s, err, showSecretItem)
}

func (a *Internal) revokeSecret(w http.ResponseWriter, r *http.Request) error {
	s, err := a.Secrets.RevokeSecret(r.Context(), r.PathValue("code"), r.PathValue("id"), time.Now(), by(r, "secret.revoke", ""))
	return writeItem(w, s, err, showSecretItem)
}

type auditItem struct {
	AuditID     string   `json:"auditId"`
	At          web.Time `json:"at"`
	Actor       string   `json:"actor"`
	Action      string   `json:"action"`
	Target      string   `json:"target"`
	Detail      string   `json:"detail"`
	PartnerCode string   `json:"partnerCode"`
	Seq         int64    `json:"seq"`
	Hash        string   `json:"hash"`
}

func (a *Internal) listAudit(w http.ResponseWriter, r *http.Request) error {
	var f partners.AuditFilter
	return search(w, r, &f, &f.Limit, map[string]func(string) error{
		"actor": text(&f.Actor), "action": text(&f.Action), "target": text(&f.Target), "partnerCode": text(&f.PartnerCode),
		"since": timeOf(r, "since", &f.Since), "until": timeOf(r, "until", &f.Until),
		"cursor": cursor(r, isID(webhook.AuditPrefix), &f.Cursor), "limit": nil,
	}, a.Audit.AuditEntries, func(e partners.AuditEntry) auditItem {
		return auditItem{e.ID, web.Time(e.At), e.Actor, e.Action, e.Target, webhook.MaskCards(e.Detail), e.PartnerCode, e.Seq, hex.EncodeToString(e.Hash)}
	})
}
