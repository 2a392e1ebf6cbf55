package rows

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// PartnerColumns are what ScanPartner reads.
const PartnerColumns = `code, name, disabled, public_key, old_keys, secret_key, settings, created_at, updated_at`

// ScanPartner reads a row of PartnerColumns with its scan.
func ScanPartner(scan func(...any) error) (p partners.Partner, err error) {
	var oldKeys, settings []byte
	err = scan(&p.Code, &p.Name, &p.Disabled, &p.PublicKey, &oldKeys, &p.SealedSecret, &settings, database.Time(&p.CreatedAt), database.Time(&p.UpdatedAt))
	if err == nil {
		p.OldKeys, err = ReadOldKeys(oldKeys)
	}
	if err == nil {
		p.Settings, err = ReadSettings(settings)
	}
	return p, err
}

// Partner reads one partner, or NotFound.
func Partner(ctx context.Context, q database.Querier, code string) (partners.Partner, error) {
	p, err := ScanPartner(q.QueryRowContext(ctx, "SELECT "+PartnerColumns+" FROM partners WHERE code = $1", code).Scan)
	return p, database.OrNone(err, webhook.NotFound("partner", code))
}

// storedSettings is the form of partners.Settings in the ledger. What an older
// program stored lacks members and means their defaults.
type storedSettings struct {
	Signatures           []string       `json:"signatures"`
	RequireAccessToken   bool           `json:"requireAccessToken,omitempty"`
	RequireVerifiedEmail bool           `json:"requireVerifiedEmail,omitempty"`
	AllowedIPs           []netip.Prefix `json:"allowedIps,omitempty"`
	Limits               storedLimits   `json:"limits,omitzero"`
	Processing           storedFee      `json:"processingFee,omitzero"`
	System               storedFee      `json:"systemFee,omitzero"`
}

type storedLimits struct {
	PerSecond       int `json:"perSecond,omitempty"`
	Burst           int `json:"burst,omitempty"`
	CreatePerSecond int `json:"createPerSecond,omitempty"`
	CreateBurst     int `json:"createBurst,omitempty"`
}

type storedFee struct {
	Fixed       int64 `json:"fixed"`
	BasisPoints int64 `json:"basisPoints"`
}

// storedKey is the form of partners.OldKey in the ledger.
type storedKey struct {
	PEM   string `json:"pem"`
	Until int64  `json:"until"` // microseconds
}

// ReadOldKeys reads what WriteOldKeys wrote; nothing at all is no keys.
func ReadOldKeys(stored []byte) (keys []partners.OldKey, err error) {
	if len(stored) == 0 {
		return nil, nil
	}
	var list []storedKey
	if err := json.Unmarshal(stored, &list); err != nil {
		return nil, fmt.Errorf("read a partner's old keys: %w", err)
	}
	for _, k := range list {
		keys = append(keys, partners.OldKey{PEM: []byte(k.PEM), Until: time.UnixMicro(k.Until).UTC()})
	}
	return keys, nil
}

// WriteOldKeys is how the ledger keeps the public keys that a partner has replaced.
func WriteOldKeys(keys []partners.OldKey) []byte {
	if len(keys) == 0 {
		return []byte{}
	}
	list := make([]storedKey, len(keys))
	for i, k := range keys {
		list[i] = storedKey{string(k.PEM), database.Micros(k.Until)}
	}
	stored, err := json.Marshal(list)
	if err != nil {
		panic(err) // strings and numbers always have a JSON form
	}
	return stored
}

// ReadSettings reads what WriteSettings wrote.
func ReadSettings(stored []byte) (partners.Settings, error) {
	var s storedSettings
	if err := json.Unmarshal(stored, &s); err != nil {
		return partners.Settings{}, fmt.Errorf("read a partner's settings: %w", err)
	}
	return partners.Settings{
		Signatures: s.Signatures, RequireAccessToken: s.RequireAccessToken, RequireVerifiedEmail: s.RequireVerifiedEmail,
		AllowedIPs: s.AllowedIPs, Limits: partners.Limits(s.Limits),
		Fees: partners.Fees{Processing: partners.Fee(s.Processing), System: partners.Fee(s.System)},
	}, nil
}

// WriteSettings is how the ledger keeps a partner's settings.
func WriteSettings(s partners.Settings) []byte {
	stored, err := json.Marshal(storedSettings{
		Signatures: s.Signatures, RequireAccessToken: s.RequireAccessToken, RequireVerifiedEmail: s.RequireVerifiedEmail,
		AllowedIPs: s.AllowedIPs, Limits: storedLimits(s.Limits),
		Processing: storedFee(s.Fees.Processing), System: storedFee(s.Fees.System),
	})
	if err != nil {
		panic(err) // strings and numbers always have a JSON form
	}
	return stored
}

// SecretColumns are what SecretFields reads.
const SecretColumns = `id, partner_code, state, sealed, created_at, activated_at, retires_at, revoked_at`

// SecretFields are the columns of a webhook secret.
func SecretFields(s *partners.Secret) []any {
	return []any{&s.ID, &s.PartnerCode, &s.State, &s.Sealed, database.Time(&s.CreatedAt), database.Time(&s.ActivatedAt),
		database.Time(&s.RetiresAt), database.Time(&s.RevokedAt)}
}
