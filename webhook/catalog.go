package webhook

import (
	"cmp"
	"slices"
)

// EventType describes one Type: what its data holds, which statuses it reports
// and how its object moves through them. It is the one place that says so, in a
// file of its own for each type: the reader of incoming events, the
// documentation and the samples follow it.
type EventType struct {
	Type       Type
	Place      int    // in lists
	Title      string // what a notification of the type tells, one line
	FromInside bool   // taken from internal systems; false: the gateway makes it itself
	Fields     []Field
	Statuses   []string // the values of the field "status"
	// Rejections are the statuses that are reported with success false ("success
	// flag" of the interface decisions).
	Rejections []string
	Moves      []Move // the expected ones; others are accepted and flagged
	// SignatureBeside has the RSA signature stand beside data instead of inside
	// it ("Events" of the interface).
	SignatureBeside  bool
	IDField          string   // the field that names the object an event is about
	OrderingKeyField string   // the field that holds the ordering key
	ErasedWith       Erasable // what OrderingKeyField names: whoever erases it erases the events about it
	Example          string   // a data object as partners get it, without its signature
}

// Catalog describes every type, in the order in which lists show them ("Events"
// of the interface). Types are theirs.
var (
	Catalog []EventType
	Types   []Type
)

// describe adds a type to the catalogue while the package is initialised: each
// type's file calls it, so that nothing else names the type.
func describe(e EventType) EventType {
	Catalog = append(Catalog, e)
	slices.SortFunc(Catalog, func(a, b EventType) int { return cmp.Compare(a.Place, b.Place) })
	Types = Types[:0]
	for _, e := range Catalog {
		Types = append(Types, e.Type)
	}
	return e
}

// own are the types of the gateway's own operators, which nobody is offered:
// Describe knows them, lists do not.
var own []EventType

// describeOwn adds a type to own.
func describeOwn(e EventType) EventType {
	own = append(own, e)
	return e
}

// Erasable is what events are about whose content can be erased on demand.
type Erasable string

// What can be erased, beside a person by the orders that are theirs.
const (
	ErasableCard    Erasable = "card"
	ErasableAccount Erasable = "account"
	ErasableOrder   Erasable = "order"
)

// TypesErasedWith lists the types of events about what is erased.
func TypesErasedWith(erased Erasable) (types []Type) {
	for _, e := range Catalog {
		if e.ErasedWith == erased {
			types = append(types, e.Type)
		}
	}
	return types
}

// The longest texts a field takes, in characters.
const (
	MaxFieldID   = 128
	MaxFieldText = 4096
)

// FieldKind is what a field of an event's data may hold.
type FieldKind string

const (
	FieldID         FieldKind = "id"          // text of 1 to MaxFieldID characters without control characters
	FieldText       FieldKind = "text"        // text of at most MaxFieldText characters
	FieldChoice     FieldKind = "choice"      // one of the field's Values
	FieldCardNumber FieldKind = "card number" // masked text: never 12 digits in a row
	FieldTime       FieldKind = "time"        // text: RFC 3339, UTC, milliseconds
	FieldNumber     FieldKind = "number"      // an exact decimal, also read from a text that holds one
	FieldSeconds    FieldKind = "seconds"     // whole seconds since 1970 UTC, also read from such a text
	FieldObject     FieldKind = "object"      // an object of the field's Members
	FieldList       FieldKind = "list"        // an array of objects of the field's Members
)

// Field is one member of an event's data. Every field is always sent to
// partners. An incoming event may leave out one that is not required, as
// an object always is: it is then sent as an empty text or an empty list.
type Field struct {
	Name     string
	Alias    string // a second name: both are read and must agree, both are sent
	Kind     FieldKind
	Required bool     // incoming events must hold it, under either name
	Values   []string // FieldChoice: what it may be
	Members  []Field  // FieldObject and FieldList
	Doc      string   // one line for the documentation
}

// Names returns the names the field goes by, Name first.
func (f Field) Names() []string {
	if f.Alias == "" {
		return []string{f.Name}
	}
	return []string{f.Name, f.Alias}
}

// Move is one step in the life of an object. An empty From is its first report.
type Move struct{ From, To string }

// Describe returns the catalogue's entry for t, or that of a type of the
// gateway's own operators.
func Describe(t Type) (EventType, bool) {
	for _, of := range [][]EventType{Catalog, own} {
		if i := slices.IndexFunc(of, func(e EventType) bool { return e.Type == t }); i >= 0 {
			return of[i], true
		}
	}
	return EventType{}, false
}

// Expected reports whether the life cycle of t's objects knows the move from
// one status to another; from is empty for an object not seen before. Staying
// in a status is not a move.
func Expected(t Type, from, to string) bool {
	e, ok := Describe(t)
	return ok && slices.Contains(e.Moves, Move{from, to})
}

// paymentStatuses are those of top-ups and transactions.
var paymentStatuses = []string{"Pending", "Completed", "Rejected"}

// paymentMoves is the life of top-ups and transactions alike.
var paymentMoves = []Move{
	{"", "Pending"}, {"", "Completed"}, {"", "Rejected"},
	{"Pending", "Completed"}, {"Pending", "Rejected"},
}

// createdAtField is the same in every type.
var createdAtField = Field{Name: "createdAt", Kind: FieldSeconds, Required: true,
	Doc: "when it happened, in seconds since 1970 UTC"}
