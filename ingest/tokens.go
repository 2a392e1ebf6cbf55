package ingest

import (
	"net/http"
	"time"

	"ledgerhook/partners"
	"ledgerhook/web"
)

type tokenItem struct {
	TokenID    string                `json:"tokenId"`
	Name       string                `json:"name"`
	Prefix     string                `json:"prefix"`
	Token      string                `json:"token,omitempty"` // only in the answer that makes it
	Scopes     []partners.TokenScope `json:"scopes"`
	State      string                `json:"state"`
	CreatedBy  string                `json:"createdBy"`
	CreatedAt  web.Time              `json:"createdAt"`
	ExpiresAt  web.Time              `json:"expiresAt"`
	LastUsedAt web.Time              `json:"lastUsedAt"`
	RevokedAt  web.Time              `json:"revokedAt"`
}

func showToken(t partners.InternalToken) tokenItem {
	return tokenItem{TokenID: t.ID, Name: t.Name, Prefix: t.Shown, Scopes: t.Scopes, State: t.State(time.Now()), CreatedBy: t.CreatedBy,
		CreatedAt: web.Time(t.CreatedAt), ExpiresAt: web.Time(t.ExpiresAt), LastUsedAt: web.Time(t.LastUsedAt), RevokedAt: web.Time(t.RevokedAt)}
}

// createToken makes a token. Its value is shown in this answer and never again.
func (a *Internal) createToken(w http.ResponseWriter, r *http.Request) error {
	var request struct {
		Name      string                `json:"name"`
		Scopes    []partners.TokenScope `json:"scopes"`
		ExpiresAt web.Time              `json:"expiresAt"`
	}
	if err := web.DecodeJSON(r, maxBody, &request); err != nil {
		return err
	}
	t, value, err := partners.NewInternalToken(request.Name, request.Scopes, time.Time(request.ExpiresAt), time.Now())
	if err != nil {
		return err
	}
	t.CreatedBy = callerOf(r).actor
	if err := a.Tokens.store.AddInternalToken(r.Context(), t, by(r, "token.create", "")); err != nil {
		return err
	}
	a.Tokens.forget()
	item := showToken(t)
	item.Token = value
	return web.WriteJSON(w, http.StatusCreated, item)
}

func (a *Internal) listTokens(w http.ResponseWriter, r *http.Request) error {
	all := cut(a.Tokens.store.InternalTokens, func(t partners.InternalToken) string { return t.ID })
	return list(w, r, isID(partners.InternalTokenPrefix), all, showToken)
}

func (a *Internal) revokeToken(w http.ResponseWriter, r *http.Request) error {
	t, err := a.Tokens.store.RevokeInternalToken(r.Context(), r.PathValue("id"), time.Now(), by(r, "token.revoke", ""))
	if err != nil {
		return err
	}
	a.Tokens.forget()
	return web.WriteJSON(w, http.StatusOK, showToken(t))
}
