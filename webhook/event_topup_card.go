package webhook

// TopupCard tells of money that was put on a card, or is about to be.
const TopupCard Type = "TopupCard"

var _ = describe(EventType{
	Type: TopupCard, Place: 2, Title: "Money was put on a card, or is about to be.", FromInside: true,
	IDField: "id", OrderingKeyField: "cardId", ErasedWith: ErasableCard, Statuses: paymentStatuses,
	Rejections: []string{"Rejected"},
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
})
