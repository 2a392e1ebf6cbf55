package ingest

import (
	"context"
	"crypto/rsa"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"ledgerhook/orders"
	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

// Why a partner's credentials are refused, as ledgerhook_auth_failures_total
// counts it.
const (
	reasonSignature    = "signature"
	reasonAccessToken  = "access_token"
	reasonRefreshToken = "refresh_token"
	reasonCode         = "code"
)

// authenticate finds the partner of a request and checks its signature. An
// unknown partner, a disabled one, a source address that is not on the
// partner's list and a wrong signature are one answer after the same work. What
// fails is counted afterwards, so that nobody behind the proxy of all, or of a
// partner, is refused for what others send in their name.
func (p *Partner) authenticate(ctx context.Context, request signer.Request, source string) (call, error) {
	partner, err := p.Partners.Partner(ctx, request.PartnerCode)
	known := err == nil
	if err != nil && webhook.KindOf(err) != webhook.KindNotFound {
		return call{}, err
	}
	if !known {
		partner = p.standIn
	}
	secretKey, keys, err := p.credentials(partner)
	if err != nil {
		return call{}, err
	}
	verified := request.Verify(secretKey, keys...) == nil
	for n := len(keys); !verified && n < partners.MaxKeys; n++ { // as many as a partner may have
		_ = request.Verify(secretKey, p.Key().Public())
	}
	if !verified || !known || partner.Disabled || !partner.Settings.Allows(address(source)) {
		p.Web.AuthFailed(partnerSurface, reasonSignature)
		web.Note(ctx, slog.String("partner_tried", request.PartnerCode)) // 1 to 32 of A-Z a-z 0-9 _ -: ReadRequest takes no other
		if ok, wait := p.Limiter.Allow(ctx, "signature:"+request.PartnerCode+":"+source, p.Terms.BadSignatureRate); !ok {
			return call{}, rateLimited(wait)
		}
		return call{}, &orders.Error{Key: orders.KeyAuthFailed}
	}
	return call{Request: request, partner: partner, secretKey: secretKey}, nil
}

// credentials opens a partner's secretKey and reads its public keys: the
// current one, and those before while they are still valid.
func (p *Partner) credentials(partner partners.Partner) (string, []*rsa.PublicKey, error) {
	secretKey, err := p.Box.Open(partner.SealPurpose(), partner.SealedSecret)
	if err != nil {
		return "", nil, fmt.Errorf("open the secretKey of %s: %w", partner.Code, err)
	}
	pems := [][]byte{partner.PublicKey}
	for _, old := range partner.ValidOldKeys(time.Now()) {
		pems = append(pems, old.PEM)
	}
	keys := make([]*rsa.PublicKey, len(pems))
	for i, pem := range pems {
		if keys[i], err = signer.ParsePublicKey(pem); err != nil {
			return "", nil, fmt.Errorf("read a public key of %s: %w", partner.Code, err)
		}
	}
	return string(secretKey), keys, nil
}

// address reads a source address; one that cannot be read is on no list.
func address(source string) netip.Addr {
	addr, err := netip.ParseAddr(source)
	if err != nil {
		return netip.Addr{}
	}
	return addr
}

// limit counts a request with a right signature against its rates.
func (p *Partner) limit(ctx context.Context, c call) error {
	code, email, limits := c.partner.Code, c.user().Email, c.partner.Settings.Limits.Or(p.Terms.Limits)
	type step struct {
		key  string
		rate web.Rate
	}
	steps := []step{{"partner:" + code, web.PerSecond(limits.PerSecond, limits.Burst)}}
	switch c.Operation {
	case signer.OpCreateCashout:
		steps = append(steps, step{"create:" + code, web.PerSecond(limits.CreatePerSecond, limits.CreateBurst)})
	case signer.OpAccessToken:
		steps = append(steps, step{"token:" + code + ":" + email, p.Terms.EmailRate})
	case signer.OpVerify:
		steps = append(steps, step{"verify:" + code + ":" + email, p.Terms.EmailRate})
	}
	for _, s := range steps {
		if ok, wait := p.Limiter.Allow(ctx, s.key, s.rate); !ok {
			return rateLimited(wait)
		}
	}
	return nil
}

func rateLimited(wait time.Duration) error {
	return &orders.Error{Key: orders.KeyRateLimited, Seconds: int((wait + time.Second - 1) / time.Second)}
}

// user is the end-user that the request is about.
func (c call) user() partners.User { return partners.NewUser(c.partner.Code, c.email) }

// checkBearer checks that the access token that came along is the partner's
// for email; an empty one stands for any. Without a token the request goes
// through unless the partner requires it ("Token presentation").
func (p *Partner) checkBearer(ctx context.Context, c call, email string) error {
	if c.bearer == "" && !c.partner.Settings.RequireAccessToken {
		return nil
	}
	holder, ok, err := p.Tokens.Holder(ctx, c.bearer)
	if err != nil {
		return err
	}
	if !ok || holder.PartnerCode != c.partner.Code || email != "" && holder.Email != email {
		p.Web.AuthFailed(partnerSurface, reasonAccessToken)
		return &orders.Error{Key: orders.KeyAccessTokenInvalid}
	}
	return nil
}

// checkWebhookSecret requires webhookSecretKey to be one of the partner's
// webhook secrets that are not revoked. All are compared, in constant time.
func (p *Partner) checkWebhookSecret(ctx context.Context, c call) error {
	secrets, err := p.Secrets.Secrets(ctx, c.partner.Code)
	if err != nil {
		return err
	}
	fits := 0
	for _, s := range secrets {
		if s.StateAt(time.Now()) == partners.SecretRevoked {
			continue
		}
		value, err := p.Box.Open(s.SealPurpose(), s.Sealed)
		if err != nil {
			return fmt.Errorf("open secret %s: %w", s.ID, err)
		}
		fits |= subtle.ConstantTimeCompare(value, []byte(c.WebhookSecretKey))
	}
	if fits == 0 {
		return &orders.Error{Key: orders.KeyWebhookSecretInvalid}
	}
	return nil
}
