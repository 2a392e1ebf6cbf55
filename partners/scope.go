package partners

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

// All reports whether the scope is everything.
func (s Scope) All() bool { return s.everything }
