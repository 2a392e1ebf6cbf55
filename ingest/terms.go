package ingest

import (
	"time"

	"ledgerhook/orders"
	"ledgerhook/partners"
	"ledgerhook/web"
)

// Terms are the numbers of the partner interface that an operator may set.
type Terms struct {
	OrderExpiry   time.Duration // after it an order that nobody began to pay fails
	QuoteValidity time.Duration
	RateAge       time.Duration // an older rate gives no price

	Limits           partners.Limits // of a partner that sets none of its own
	EmailRate        web.Rate        // of token and of verify, each for one partner's e-mail
	BadSignatureRate web.Rate        // of a partnerCode as sent, from one address
}

// DefaultTerms are those of the interface ("Order times" and "Rate limits" of
// its decisions).
var DefaultTerms = Terms{
	OrderExpiry: orders.DefaultOrderExpiry, QuoteValidity: orders.DefaultQuoteValidity, RateAge: orders.DefaultRateAge,
	Limits: partners.DefaultLimits, EmailRate: web.PerMinute(10), BadSignatureRate: web.PerMinute(30),
}
