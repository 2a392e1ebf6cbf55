package orders

import (
	"fmt"
	"regexp"
	"time"
	"unicode"

	"ledgerhook/webhook"
)

// QuotePrefix starts the id of a quote.
const QuotePrefix = "quo_"

// Defaults of the configurable times.
const (
	DefaultQuoteValidity = 60 * time.Second
	DefaultOrderExpiry   = 15 * time.Minute
	DefaultRateAge       = 5 * time.Minute // a rate older than this gives no quote
)

// Rate is the price of a cryptocurrency and where the partner's tokens go.
type Rate struct {
	Crypto        string // [A-Z0-9]{2,10}
	Network       string // at most 40 characters
	Price         Amount // dong per token, above 0, at most MaxPlaces fraction digits
	WalletAddress string // 1 to 128 characters: without it nobody could pay an order
	UpdatedAt     time.Time
}

var currencyFormat = regexp.MustCompile(`^[A-Z0-9]{2,10}$`)

// Validate returns an Invalid error that names the first wrong field.
func (r Rate) Validate() error {
	switch {
	case !currencyFormat.MatchString(r.Crypto):
		return webhook.Invalid("/crypto", "must be 2 to 10 characters of A-Z and 0-9")
	case r.Network == "" || !plain(r.Network, 40):
		return webhook.Invalid("/network", "must be 1 to 40 printable characters")
	case r.Price.Sign() <= 0 || r.Price.Places() > MaxPlaces || !r.Price.exactInJSON():
		return webhook.Invalid("/price", fmt.Sprintf(
			"must be above 0 with at most %d fraction digits and 15 digits in all", MaxPlaces))
	case r.WalletAddress == "" || !plain(r.WalletAddress, 128):
		return webhook.Invalid("/walletAddress", "must be 1 to 128 printable characters: where the partner's tokens go")
	}
	return nil
}

// plain reports whether s is valid text of at most limit printable characters.
func plain(s string, limit int) bool {
	n := 0
	for _, r := range s {
		if n++; n > limit || r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// Check returns an error with the key PRICE_UNAVAILABLE if the rate is older
// than maxAge at now or, as older versions took it, names no wallet. A rate of
// the zero time is always too old.
func (r Rate) Check(now time.Time, maxAge time.Duration) error {
	if r.WalletAddress == "" {
		return &Error{Key: KeyPriceUnavailable, Err: fmt.Errorf("the rate of %s has no wallet address", r.Crypto)}
	}
	if age := now.Sub(r.UpdatedAt); age > maxAge {
		return &Error{Key: KeyPriceUnavailable, Err: fmt.Errorf("the rate of %s is %s old, more than %s",
			r.Crypto, age.Round(time.Second), maxAge)}
	}
	return nil
}

// UnknownCrypto is the error of a cryptocurrency that has no rate, with the
// key CRYPTO_NOT_SUPPORTED.
func UnknownCrypto(crypto string) error {
	return &Error{Key: KeyCryptoNotSupported, Value: crypto}
}

// Quote is what an order of a fiat amount would cost, and for how long.
type Quote struct {
	ID            string // quo_…
	PartnerCode   string
	Email         string
	Crypto        string
	Network       string
	WalletAddress string
	FiatAmount    int64 // dong
	Price         Amount
	Fees          Fees
	TotalPayment  int64 // dong
	TokenAmount   Amount
	RateAt        time.Time // when its rate was set; zero: an earlier version made it
	CreatedAt     time.Time
	ExpiresAt     time.Time
}

// NewQuote quotes fiat dong at a rate, which the caller has checked. The error
// has the key PRICE_UNAVAILABLE where the price is so low that the token
// amount has more digits than a JSON number carries safely.
func NewQuote(partnerCode, email string, fiat int64, rate Rate, rules FeeRules, validity time.Duration) (Quote, error) {
	fees := rules.Of(fiat)
	total := fees.Total(fiat)
	tokens, err := TokenAmount(total, rate.Price)
	if err != nil {
		return Quote{}, fmt.Errorf("quote %s: %w", rate.Crypto, err)
	}
	if !tokens.exactInJSON() {
		return Quote{}, &Error{Key: KeyPriceUnavailable,
			Err: fmt.Errorf("%s %s does not fit a JSON number", tokens, rate.Crypto)}
	}
	now := stamp(time.Now())
	return Quote{
		ID:            webhook.NewID(QuotePrefix),
		PartnerCode:   partnerCode,
		Email:         email,
		Crypto:        rate.Crypto,
		Network:       rate.Network,
		WalletAddress: rate.WalletAddress,
		FiatAmount:    fiat,
		Price:         rate.Price,
		Fees:          fees,
		TotalPayment:  total,
		TokenAmount:   tokens,
		RateAt:        stamp(rate.UpdatedAt),
		CreatedAt:     now,
		ExpiresAt:     now.Add(validity),
	}, nil
}

// TimeFormat is how times of orders are written: RFC 3339 with milliseconds.
// The times of orders and quotes are in UTC already.
const TimeFormat = "2006-01-02T15:04:05.000Z07:00"

// stamp brings t to what TimeFormat shows, so that a stored time reads back
// as the one that was sent.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
