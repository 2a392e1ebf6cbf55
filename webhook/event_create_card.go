package webhook

// CreateCard tells of a card that was created, or could not be.
const CreateCard Type = "CreateCard"

var _ = describe(EventType{
	Type: CreateCard, Place: 1, Title: "A card was created, or could not be.", FromInside: true,
	IDField: "id", OrderingKeyField: "id", ErasedWith: ErasableCard, Statuses: cardStatuses,
	Rejections: []string{"InitFailed"},
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
})

var cardStatuses = []string{"Init", "InitFailed"}
