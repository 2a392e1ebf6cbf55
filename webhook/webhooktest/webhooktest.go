// Package webhooktest adds a type of event for the time of a test.
package webhooktest

import (
	"slices"
	"testing"

	"ledgerhook/webhook"
)

// CardBlocked is a type that there is in tests alone: every kind of field, a
// second name, a rejection, and its signature beside data.
var CardBlocked = webhook.EventType{
	Type: "Card.Blocked", Title: "A card was blocked, or could not be.", FromInside: true,
	IDField: "blockId", OrderingKeyField: "cardId", ErasedWith: webhook.ErasableCard,
	Statuses: []string{"Asked", "Blocked", "NotBlocked"}, Rejections: []string{"NotBlocked"}, SignatureBeside: true,
	Fields: []webhook.Field{
		{Name: "blockId", Kind: webhook.FieldID, Required: true, Doc: "the block"},
		{Name: "cardId", Kind: webhook.FieldID, Required: true, Doc: "the card"},
		{Name: "cardNumber", Kind: webhook.FieldCardNumber, Required: true, Doc: "the card's number, masked"},
		{Name: "status", Kind: webhook.FieldChoice, Required: true, Values: []string{"Asked", "Blocked", "NotBlocked"}, Doc: "what became of it"},
		{Name: "note", Alias: "blockNote", Kind: webhook.FieldText, Doc: "why"},
		{Name: "costs", Kind: webhook.FieldList, Doc: "what it costs", Members: []webhook.Field{
			{Name: "amount", Kind: webhook.FieldNumber, Required: true, Doc: "how much"},
		}},
		{Name: "place", Kind: webhook.FieldObject, Required: true, Doc: "where it was asked for", Members: []webhook.Field{
			{Name: "country", Kind: webhook.FieldText, Required: true, Doc: "the country"},
			{Name: "city", Kind: webhook.FieldText, Doc: "the city"},
		}},
		{Name: "until", Kind: webhook.FieldTime, Required: true, Doc: "when it ends"},
		{Name: "createdAt", Kind: webhook.FieldSeconds, Required: true, Doc: "when it happened"},
	},
	Moves: []webhook.Move{{To: "Asked"}, {From: "Asked", To: "Blocked"}, {From: "Asked", To: "NotBlocked"}},
	Example: `{"blockId":"block_01","blockNote":"lost","cardId":"card_01","cardNumber":"411111******1111","costs":[{"amount":1.5}],` +
		`"createdAt":1700000400,"note":"lost","place":{"city":"HANOI","country":"VN"},"status":"Blocked","until":"2023-11-14T22:20:00.000Z"}`,
}

// Add puts CardBlocked at the end of the catalogue until t ends. No other test
// of the process may go on meanwhile: t is not parallel.
func Add(t *testing.T) {
	t.Helper()
	t.Setenv("LEDGERHOOK_TEST_TYPE", string(CardBlocked.Type)) // refuses a parallel test
	catalog, types := webhook.Catalog, webhook.Types
	webhook.Catalog, webhook.Types = append(slices.Clone(catalog), CardBlocked), append(slices.Clone(types), CardBlocked.Type)
	t.Cleanup(func() { webhook.Catalog, webhook.Types = catalog, types })
}
