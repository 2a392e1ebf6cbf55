package ingest

import (
	"fmt"

	"ledgerhook/partners"
	"ledgerhook/webhook"
)

type settingsItem struct {
	Signatures           []string   `json:"signatures"`
	RequireAccessToken   bool       `json:"requireAccessToken"`
	RequireVerifiedEmail bool       `json:"requireVerifiedEmail"`
	AllowedIPs           []string   `json:"allowedIps"` // empty: from anywhere
	Limits               limitsItem `json:"limits"`     // in force, defaults included
	Fees                 feesItem   `json:"fees"`
}

type limitsItem struct {
	PerSecond       int `json:"perSecond"`
	Burst           int `json:"burst"`
	CreatePerSecond int `json:"createPerSecond"`
	CreateBurst     int `json:"createBurst"`
}

type feesItem struct {
	Processing feeItem `json:"processing"`
	System     feeItem `json:"system"`
}

type feeItem struct {
	Fixed       int64 `json:"fixed"`
	BasisPoints int64 `json:"basisPoints"`
}

func showSettings(s partners.Settings, defaults partners.Limits) settingsItem {
	item := settingsItem{
		Signatures: s.Signatures, RequireAccessToken: s.RequireAccessToken, RequireVerifiedEmail: s.RequireVerifiedEmail,
		AllowedIPs: []string{}, Limits: limitsItem(s.Limits.Or(defaults)),
		Fees: feesItem{Processing: feeItem(s.Fees.Processing), System: feeItem(s.Fees.System)},
	}
	for _, p := range s.AllowedIPs {
		text := p.String()
		if p.IsSingleIP() {
			text = p.Addr().String()
		}
		item.AllowedIPs = append(item.AllowedIPs, text)
	}
	return item
}

// settingsRequest changes the settings it names.
type settingsRequest struct {
	Signatures           *[]string      `json:"signatures"`
	RequireAccessToken   *bool          `json:"requireAccessToken"`
	RequireVerifiedEmail *bool          `json:"requireVerifiedEmail"`
	AllowedIPs           *[]string      `json:"allowedIps"`
	Limits               *limitsRequest `json:"limits"`
	Fees                 *feesRequest   `json:"fees"`
}

// limitsRequest changes the limits it names; 0 brings the default back.
type limitsRequest struct {
	PerSecond       *int `json:"perSecond"`
	Burst           *int `json:"burst"`
	CreatePerSecond *int `json:"createPerSecond"`
	CreateBurst     *int `json:"createBurst"`
}

// feesRequest changes the fees it names.
type feesRequest struct {
	Processing *feeRequest `json:"processing"`
	System     *feeRequest `json:"system"`
}

// feeRequest is a whole rule: what it does not name is 0.
type feeRequest struct {
	Fixed       int64 `json:"fixed"`
	BasisPoints int64 `json:"basisPoints"`
}

// apply puts what the request names into s and checks the outcome. The error
// is Invalid and names the setting.
func (q *settingsRequest) apply(s *partners.Settings) error {
	if q == nil {
		return nil
	}
	set(&s.Signatures, q.Signatures)
	set(&s.RequireAccessToken, q.RequireAccessToken)
	set(&s.RequireVerifiedEmail, q.RequireVerifiedEmail)
	if l := q.Limits; l != nil {
		set(&s.Limits.PerSecond, l.PerSecond)
		set(&s.Limits.Burst, l.Burst)
		set(&s.Limits.CreatePerSecond, l.CreatePerSecond)
		set(&s.Limits.CreateBurst, l.CreateBurst)
	}
	if f := q.Fees; f != nil {
		set(&s.Fees.Processing, (*partners.Fee)(f.Processing))
		set(&s.Fees.System, (*partners.Fee)(f.System))
	}
	if q.AllowedIPs != nil {
		s.AllowedIPs = nil
		for i, text := range *q.AllowedIPs {
			p, err := partners.ParsePrefix(text)
			if err != nil {
				return webhook.Invalid(fmt.Sprintf("/settings/allowedIps/%d", i), err.Error())
			}
			s.AllowedIPs = append(s.AllowedIPs, p)
		}
	}
	return s.Check()
}

// set puts a value that is there into its place.
func set[T any](into *T, value *T) {
	if value != nil {
		*into = *value
	}
}
