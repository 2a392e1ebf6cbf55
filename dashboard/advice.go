package dashboard

import (
	"context"

	"ledgerhook/dashboard/locale"
)

// told is a sentence in the language of who asks, or one that the ledger keeps
// in English as it is.
type told struct {
	Text    string
	English bool // though the page is not
}

// receiverAdvice is what the newest attempts at an endpoint tell; nothing if
// they cannot be read or it is removed.
func (s *surface) receiverAdvice(ctx context.Context, q *request, endpointID string) []string {
	if endpointID == "" {
		return nil
	}
	panel, err := patiently(ctx, func(ctx context.Context) (endpointPanel, error) {
		e, err := s.Ledger.EndpointIn(ctx, q.scope(), endpointID)
		if err != nil {
			return endpointPanel{}, err
		}
		return s.endpointPanel(ctx, e)
	})
	if err != nil {
		return nil
	}
	return portalEndpoint{panel, q}.Advices()
}

// storedTexts are the sentences that the ledger keeps in English, with %s for
// what stands in them.
var storedTexts = sayingsOf(
	locale.Text("attempt %s of %s, the answer asked to wait %s"), locale.Text("attempt %s of %s, %s after the last"),
	locale.Text("all %s attempts of the schedule are used"), locale.Text("a test is sent once"), locale.Text("the attempt's outcome is unknown: sent again at once"), locale.Text("sent again at once on a new connection"),
	locale.Text("cancelled by an operator"), locale.Text("cancelled by the partner"), locale.Text("its endpoint was removed"), locale.Text("expired"),
	locale.Text("the endpoint answered 410 Gone twice in a row"), locale.Text("no delivery has succeeded for 5 days and %s have failed"),
	locale.Text("%s of the newest %s deliveries fail"),
)

// Stored is a sentence of the ledger in the language of who asks, as far as it
// is a known one.
func (q *request) Stored(sentence string) told {
	text, known := q.translated(storedTexts, sentence)
	return told{Text: text, English: !known && q.Locale != locale.English}
}
