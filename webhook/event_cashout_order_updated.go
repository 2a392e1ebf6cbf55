package webhook

// CashoutOrderUpdated tells that a cash-out order changed after its creation.
const CashoutOrderUpdated Type = "CashoutOrder.Updated"

var _ = describe(EventType{
	Type: CashoutOrderUpdated, Place: 5, Title: "A cash-out order changed after its creation.",
	IDField: "externalOrderId", OrderingKeyField: "externalOrderId", ErasedWith: ErasableOrder, Statuses: orderStatuses,
	Rejections: []string{"FAIL", "ERROR"},
	Fields:     orderFields,
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
})

var orderStatuses = []string{"AWAITING_PAYMENT", "PAYMENT_COMPLETED", "PROCESSING_TOKEN_TRANSFER", "SUCCESS", "FAIL", "ERROR"}

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
