package ledger

import (
	"encoding/json"
	"fmt"
	"net/netip"

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
