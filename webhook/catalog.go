package webhook

import "slices"

// EventType describes one Type: what its data holds, which statuses it reports
// and how its object moves through them. It is the one place that says so: the
// reader of incoming events, the documentation and the samples follow it.
type EventType struct {
	Type         Type
	Title        string // what a notification of the type tells, one line
	FromInside   bool   // taken from internal systems; false: the gateway makes it itself
	Fields       []Field
	Statuses     []string // the values of the field "status"
	Moves        []Move   // the expected ones; others are accepted and flagged
	IDField      string   // the field that names the object an event is about
	SubjectField string   // the field an ordered endpoint keeps in order
	Example      string   // a data object as partners get it, without its signature
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
// partners. An incoming event may leave out one that is not required: it is
// then sent as an empty text or an empty list.
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

// Describe returns the catalogue's entry for t.
func Describe(t Type) (EventType, bool) {
	i := slices.IndexFunc(Catalog, func(e EventType) bool { return e.Type == t })
	if i < 0 {
		return EventType{}, false
	}
	return Catalog[i], true
}

// Expected reports whether the life cycle of t's objects knows the move from
// one status to another; from is empty for an object not seen before. Staying
// in a status is not a move.
func Expected(t Type, from, to string) bool {
	e, ok := Describe(t)
	return ok && slices.Contains(e.Moves, Move{from, to})
}

var (
	cardStatuses    = []string{"Init", "InitFailed"}
	paymentStatuses = []string{"Pending", "Completed", "Rejected"} // of top-ups and transactions
	kycStatuses     = []string{"NONE", "UNDER_REVIEW", "CONFIRMED", "SUBMITTED", "VERIFIED", "REJECTED"}
	orderStatuses   = []string{"AWAITING_PAYMENT", "PAYMENT_COMPLETED", "PROCESSING_TOKEN_TRANSFER", "SUCCESS", "FAIL", "ERROR"}
)

// paymentMoves is the life of top-ups and transactions alike.
var paymentMoves = []Move{
	{"", "Pending"}, {"", "Completed"}, {"", "Rejected"},
	{"Pending", "Completed"}, {"Pending", "Rejected"},
}

// createdAtField is the same in every type.
var createdAtField = Field{Name: "createdAt", Kind: FieldSeconds, Required: true,
	Doc: "when it happened, in seconds since 1970 UTC"}

// Catalog describes every type, in the order of Types ("Events" of the interface).
var Catalog = []EventType{
	{
		Type: CreateCard, Title: "A card was created, or could not be.", FromInside: true,
		IDField: "id", SubjectField: "id", Statuses: cardStatuses,
		Fields: []Field{
			{Name: "id", Kind: FieldID, Required: true, Doc: "the card"},
			{Name: "firstName", Kind: FieldText, Required: true, Doc: "the holder's first name"},
			{Name: "lastName", Kind: FieldText, Required: true, Doc: "the holder's last name"},
			{Name: "cardNumber", Kind: FieldCardNumber, Required: true, Doc: "the card's number, masked"},
			{Name: "status", Kind: FieldChoice, Required: true, Values: cardStatuses, Doc: "what became of the card"},
			createdAtField,
		},
		Moves: []Move{{"", "Init"}, {"", "InitFailed"}, {"Init", "InitFailed"}},
		Example: `{"cardNumber":"411111******1111","createdAt":1700000000,"firstName":"AN","id":"card_01",` +
			`"lastName":"NGUYEN VAN","status":"Init"}`,
	},
	{
		Type: TopupCard, Title: "Money was put on a card, or is about to be.", FromInside: true,
		IDField: "id", SubjectField: "cardId", Statuses: paymentStatuses,
		Fields: []Field{
			{Name: "id", Kind: FieldID, Required: true, Doc: "the top-up"},
			{Name: "amount", Kind: FieldNumber, Required: true, Doc: "the amount put on the card"},
			{Name: "cardId", Kind: FieldID, Required: true, Doc: "the card"},
			{Name: "fee", Kind: FieldNumber, Required: true, Doc: "the fee of the top-up"},
			{Name: "status", Kind: FieldChoice, Required: true, Values: paymentStatuses, Doc: "where the top-up stands"},
			createdAtField,
		},
		Moves: paymentMoves,
		Example: `{"amount":100.5,"cardId":"card_01","createdAt":1700000100,"fee":1,"id":"topup_01",` +
			`"status":"Completed"}`,
	},
	{
		Type: CardTransaction, Title: "A card was used, charged or refunded.", FromInside: true,
		IDField: "id", SubjectField: "cardId", Statuses: paymentStatuses,
		Fields: []Field{
			{Name: "id", Kind: FieldID, Required: true, Doc: "the transaction"},
			{Name: "amount", Kind: FieldNumber, Required: true, Doc: "the amount of the transaction"},
			{Name: "description", Kind: FieldText, Doc: "what the transaction was for"},
			{Name: "cardId", Kind: FieldID, Required: true, Doc: "the card"},
			{Name: "fee", Kind: FieldNumber, Required: true, Doc: "the sum of the fees"},
			{Name: "feeDetails", Kind: FieldList, Doc: "the fees one by one", Members: []Field{
				{Name: "amount", Kind: FieldNumber, Required: true, Doc: "the amount of the fee"},
				{Name: "currency", Kind: FieldText, Required: true, Doc: "the currency of the fee"},
				{Name: "feeType", Kind: FieldText, Required: true, Doc: "the kind of the fee"},
			}},
			{Name: "status", Kind: FieldChoice, Required: true, Values: paymentStatuses, Doc: "where the transaction stands"},
			{Name: "type", Kind: FieldChoice, Required: true, Values: []string{"Consumption", "ConsumptionFee", "Refund"},
				Doc: "the kind of the transaction"},
			createdAtField,
		},
		Moves: paymentMoves,
		Example: `{"amount":12.34,"cardId":"card_01","createdAt":1700000200,"description":"COFFEE HANOI","fee":0.5,` +
			`"feeDetails":[{"amount":0.3,"currency":"USD","feeType":"FX"},{"amount":0.2,"currency":"USD","feeType":"ATM"}],` +
			`"id":"tx_01","status":"Pending","type":"Consumption"}`,
	},
	{
		Type: ProfileUpdated, Title: "The identity check of an account moved on.", FromInside: true,
		IDField: "accountId", SubjectField: "accountId", Statuses: kycStatuses,
		Fields: []Field{
			{Name: "accountId", Kind: FieldID, Required: true, Doc: "the account"},
			{Name: "status", Alias: "kycStatus", Kind: FieldChoice, Required: true, Values: kycStatuses,
				Doc: "where the identity check stands"},
			{Name: "rejectReason", Alias: "kycRejectReason", Kind: FieldText,
				Doc: "a code, a Vietnamese and an English text, separated by \" | \"; empty if there is none"},
			createdAtField,
		},
		Moves: []Move{
			{"", "NONE"}, {"NONE", "SUBMITTED"},
			{"SUBMITTED", "UNDER_REVIEW"}, {"SUBMITTED", "CONFIRMED"}, {"SUBMITTED", "REJECTED"},
			{"UNDER_REVIEW", "CONFIRMED"}, {"UNDER_REVIEW", "VERIFIED"}, {"UNDER_REVIEW", "REJECTED"},
			{"CONFIRMED", "UNDER_REVIEW"}, {"CONFIRMED", "VERIFIED"}, {"CONFIRMED", "REJECTED"},
			{"REJECTED", "SUBMITTED"},
			{"VERIFIED", "UNDER_REVIEW"}, {"VERIFIED", "REJECTED"},
		},
		Example: `{"accountId":"acc_01","createdAt":1700000300,` +
			`"kycRejectReason":"DOC_EXPIRED | Giấy tờ hết hạn | Document expired","kycStatus":"REJECTED",` +
			`"rejectReason":"DOC_EXPIRED | Giấy tờ hết hạn | Document expired","status":"REJECTED"}`,
	},
	{
		Type: CashoutOrderUpdated, Title: "A cash-out order changed after its creation.",
		IDField: "externalOrderId", SubjectField: "externalOrderId", Statuses: orderStatuses,
		Fields: orderFields,
		Moves: []Move{
			{"", "AWAITING_PAYMENT"},
			{"AWAITING_PAYMENT", "PAYMENT_COMPLETED"}, {"AWAITING_PAYMENT", "FAIL"}, {"AWAITING_PAYMENT", "ERROR"},
			{"PAYMENT_COMPLETED", "PROCESSING_TOKEN_TRANSFER"}, {"PAYMENT_COMPLETED", "ERROR"},
			{"PROCESSING_TOKEN_TRANSFER", "SUCCESS"}, {"PROCESSING_TOKEN_TRANSFER", "ERROR"},
			{"ERROR", "PAYMENT_COMPLETED"}, {"ERROR", "PROCESSING_TOKEN_TRANSFER"}, {"ERROR", "SUCCESS"}, {"ERROR", "FAIL"},
		},
		Example: `{"bankTransfer":{"bankAccountName":"NGUYEN VAN AN","bankAccountNumber":"0011001234567",` +
			`"bankName":"Vietcombank","contentPayment":"ORDER 1001","totalPayment":1007000},"createdAt":1700000460,` +
			`"description":"","expiresAt":"2023-11-14T22:35:00.000Z","externalOrderId":"order-1001",` +
			`"fees":{"processingFee":5000,"systemFee":2000},"fiatAmount":1000000,"id":"evt_01HF7YRV700000000000000000",` +
			`"orderCreatedAt":"2023-11-14T22:20:00.000Z","paidAmount":1000000,"previousStatus":"AWAITING_PAYMENT",` +
			`"sequence":1,"status":"PAYMENT_COMPLETED","tokenTransfer":{"amount":40.28,"currency":"USDT",` +
			`"network":"TRC20","price":25000,"txHash":"","walletAddress":""},"type":"CASHOUT"}`,
	},
}

// orderFields is the data of CashoutOrderUpdated ("Order notification" of the
// interface decisions).
var orderFields = []Field{
	{Name: "id", Kind: FieldID, Required: true, Doc: "the event"},
	{Name: "externalOrderId", Kind: FieldID, Required: true, Doc: "the partner's id of the order"},
	{Name: "type", Kind: FieldChoice, Required: true, Values: []string{"CASHOUT"}, Doc: "the kind of the order"},
	{Name: "status", Kind: FieldChoice, Required: true, Values: orderStatuses, Doc: "where the order stands"},
	{Name: "previousStatus", Kind: FieldChoice, Required: true, Values: orderStatuses, Doc: "where it stood before"},
	{Name: "sequence", Kind: FieldNumber, Required: true, Doc: "counts the order's notifications: 1, 2, 3"},
	{Name: "fiatAmount", Kind: FieldNumber, Required: true, Doc: "the amount of the order in VND"},
	{Name: "paidAmount", Kind: FieldNumber, Required: true, Doc: "the amount paid to the customer so far in VND"},
	{Name: "tokenTransfer", Kind: FieldObject, Required: true, Doc: "the tokens the partner gives", Members: []Field{
		{Name: "currency", Kind: FieldText, Required: true, Doc: "the cryptocurrency"},
		{Name: "network", Kind: FieldText, Required: true, Doc: "the network of the token"},
		{Name: "price", Kind: FieldNumber, Required: true, Doc: "VND for one token"},
		{Name: "amount", Kind: FieldNumber, Required: true, Doc: "how many tokens"},
		{Name: "walletAddress", Kind: FieldText, Required: true, Doc: "the wallet of the token movement"},
		{Name: "txHash", Kind: FieldText, Required: true, Doc: "the token movement; empty until it is known"},
	}},
	{Name: "bankTransfer", Kind: FieldObject, Required: true, Doc: "the money the customer gets", Members: []Field{
		{Name: "bankAccountName", Kind: FieldText, Required: true, Doc: "the customer's name at the bank"},
		{Name: "bankAccountNumber", Kind: FieldText, Required: true, Doc: "the customer's account"},
		{Name: "bankName", Kind: FieldText, Required: true, Doc: "the customer's bank"},
		{Name: "contentPayment", Kind: FieldText, Required: true, Doc: "the text of the transfer"},
		{Name: "totalPayment", Kind: FieldNumber, Required: true, Doc: "amount and fees in VND"},
	}},
	{Name: "fees", Kind: FieldObject, Required: true, Doc: "the fees in VND", Members: []Field{
		{Name: "systemFee", Kind: FieldNumber, Required: true, Doc: "the system's fee"},
		{Name: "processingFee", Kind: FieldNumber, Required: true, Doc: "the fee of processing"},
	}},
	{Name: "description", Kind: FieldText, Required: true, Doc: "a note on the order; may be empty"},
	{Name: "orderCreatedAt", Kind: FieldTime, Required: true, Doc: "when the order was created"},
	{Name: "expiresAt", Kind: FieldTime, Required: true, Doc: "when the order expires unless a payout has started"},
	createdAtField,
}
