package webhook

// CardTransaction tells of a card that was used, charged or refunded.
const CardTransaction Type = "CardTransaction"

var _ = describe(EventType{
	Type: CardTransaction, Place: 3, Title: "A card was used, charged or refunded.", FromInside: true,
	IDField: "id", OrderingKeyField: "cardId", ErasedWith: ErasableCard, Statuses: paymentStatuses,
	Rejections: []string{"Rejected"},
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
})
