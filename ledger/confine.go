package ledger

import (
	"ledgerhook/delivery"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// confine puts the scope's partner into f, whose own one must be that or none.
func confine(s partners.Scope, f delivery.Filter) (delivery.Filter, error) {
	if s.All() {
		return f, nil
	}
	if s.Partner() == "" || f.PartnerCode != "" && f.PartnerCode != s.Partner() {
		return f, webhook.NotFound("partner", f.PartnerCode)
	}
	f.PartnerCode = s.Partner()
	return f, nil
}
