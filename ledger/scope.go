package ledger

import (
	"ledgerhook/delivery"
	"ledgerhook/webhook"
)

// Scope is whose rows a reader may see. It is part of every query made for a
// page and stands in its WHERE, apart from whatever the reader filters by. The
// zero Scope sees nothing.
type Scope struct {
	everything bool
	partner    string
}

// Everything is the scope of operators.
func Everything() Scope { return Scope{everything: true} }

// Only is the scope of one partner's people. An empty code sees nothing.
func Only(partnerCode string) Scope { return Scope{partner: partnerCode} }

// Partner is the partner whose rows alone are seen; empty for Everything.
func (s Scope) Partner() string { return s.partner }

// within adds the condition that column, a partner's code, is in scope.
func (t *statement) within(s Scope, column string) *statement {
	if s.everything {
		return t
	}
	return t.add(" AND "+column+" = ? AND "+column+" <> ''", s.partner)
}

// confine puts the scope's partner into f, whose own one must be that or none.
func (s Scope) confine(f delivery.Filter) (delivery.Filter, error) {
	if s.everything {
		return f, nil
	}
	if s.partner == "" || f.PartnerCode != "" && f.PartnerCode != s.partner {
		return f, webhook.NotFound("partner", f.PartnerCode)
	}
	f.PartnerCode = s.partner
	return f, nil
}
