package ingest

import (
	"context"
	"strconv"

	"ledgerhook/orders"
	"ledgerhook/partners"
	"ledgerhook/signer"
)

// tokenEnvelope is the answer of the token operations ("Access token result"
// of the interface).
type tokenEnvelope struct {
	Success   bool       `json:"success"`
	Message   string     `json:"message"`
	Data      *tokenData `json:"data"`
	ErrorCode int        `json:"errorCode"`
}

// tokenData holds both spellings of the expiry fields, as strings of seconds.
type tokenData struct {
	AccessToken           string `json:"accessToken"`
	RefreshToken          string `json:"refreshToken"`
	AccessTokenExpiresAt  string `json:"accessTokenExpiresAt"`
	AccessTokenExpiredAt  string `json:"accessTokenExpiredAt"`
	RefreshTokenExpiresAt string `json:"refreshTokenExpiresAt"`
	RefreshTokenExpiredAt string `json:"refreshTokenExpiredAt"`
}

func showTokens(pair partners.Pair, lang string) tokenEnvelope {
	access := strconv.FormatInt(pair.AccessExpires.Unix(), 10)
	refresh := strconv.FormatInt(pair.RefreshExpires.Unix(), 10)
	return tokenEnvelope{Success: true, Message: orders.SuccessMessage(lang), Data: &tokenData{
		pair.Access, pair.Refresh, access, access, refresh, refresh,
	}}
}

// accessToken signs an end-user in. One whose e-mail was never verified is
// sent a code.
func (p *Partner) accessToken(ctx context.Context, c call) (any, error) {
	if err := p.Codes.SendUnverified(ctx, c.addressee()); err != nil {
		return nil, err
	}
	pair, err := p.Tokens.Issue(ctx, c.user())
	if err != nil {
		return nil, err
	}
	return showTokens(pair, c.lang), nil
}

func (p *Partner) refreshToken(ctx context.Context, c call) (any, error) {
	pair, ok, err := p.Tokens.Refresh(ctx, c.partner.Code, c.RefreshToken)
	if err != nil {
		return nil, err
	}
	if !ok {
		p.Web.AuthFailed(partnerSurface, reasonRefreshToken)
		return nil, &orders.Error{Key: orders.KeyRefreshTokenInvalid}
	}
	return showTokens(pair, c.lang), nil
}

func (c call) addressee() partners.Addressee {
	return partners.Addressee{PartnerCode: c.partner.Code, Email: c.email, Lang: c.lang}
}

// sendCode sends a code if the limits allow it. The answer does not tell.
func (p *Partner) sendCode(ctx context.Context, c call) (any, error) {
	if err := p.Codes.Send(ctx, c.addressee()); err != nil {
		return nil, err
	}
	return struct {
		Success bool   `json:"success"`
		Message string `json:"message"`
	}{true, orders.SuccessMessage(c.lang)}, nil
}

// verifyCode checks a one-time code and signs the end-user in.
func (p *Partner) verifyCode(ctx context.Context, c call) (any, error) {
	right, err := p.Codes.Verify(ctx, c.user(), c.Code)
	if err != nil {
		return nil, err
	}
	if !right {
		p.Web.AuthFailed(partnerSurface, reasonCode)
		return nil, &orders.Error{Key: orders.KeyCodeInvalid}
	}
	pair, err := p.Tokens.Issue(ctx, c.user())
	if err != nil {
		return nil, err
	}
	signature, err := p.sign(c, map[string]string{"email": c.Email})
	if err != nil {
		return nil, err
	}
	return struct {
		Email        string `json:"email"`
		AccessToken  string `json:"accessToken"`
		RefreshToken string `json:"refreshToken"`
		Signature    string `json:"signature"`
	}{c.Email, pair.Access, pair.Refresh, signature}, nil
}

// sign signs an answer: values are the very characters of its body.
func (p *Partner) sign(c call, values map[string]string) (string, error) {
	text, err := signer.ResponseString(c.Operation, values, c.secretKey)
	if err != nil {
		return "", err
	}
	return p.Key().Sign([]byte(text))
}
