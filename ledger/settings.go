package ledger

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/partners"
)

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

func readOldKeys(stored []byte) (keys []partners.OldKey, err error) {
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

func writeOldKeys(keys []partners.OldKey) []byte {
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

func readSettings(stored []byte) (partners.Settings, error) {
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

func writeSettings(s partners.Settings) []byte {
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
