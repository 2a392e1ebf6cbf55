package orders

import (
	"fmt"

	"github.com/cockroachdb/apd/v3"
)

// wholeInBasisPoints is 100 %.
const wholeInBasisPoints = 10_000

// FeeRule is how one fee is computed: a fixed part and a share of the amount.
// Its bounds are those of a partner's settings.
type FeeRule struct {
	Fixed       int64 // dong, 0 … MaxVND
	BasisPoints int64 // hundredths of a percent of the fiat amount, 0 … 10000
}

// Of returns the fee of a fiat amount, rounded half up to whole dong.
func (r FeeRule) Of(fiat int64) int64 {
	return r.Fixed + (fiat*r.BasisPoints+wholeInBasisPoints/2)/wholeInBasisPoints
}

// FeeRules are the rules of one partner. The zero value charges nothing.
type FeeRules struct {
	Processing, System FeeRule
}

// Of returns the fees of a fiat amount.
func (r FeeRules) Of(fiat int64) Fees {
	return Fees{Processing: r.Processing.Of(fiat), System: r.System.Of(fiat)}
}

// Fees are the fees of one quote or order, in dong.
type Fees struct {
	Processing, System int64
}

// Total returns totalPayment: the fiat amount and both fees ("Fees" of the
// interface decisions).
func (f Fees) Total(fiat int64) int64 { return fiat + f.Processing + f.System }

// TokenAmount returns how much cryptocurrency pays total dong at price dong
// per token, rounded up to MaxPlaces fraction digits. The error is a price
// that is not above 0.
func TokenAmount(total int64, price Amount) (Amount, error) {
	if price.Sign() <= 0 {
		return Amount{}, fmt.Errorf("compute a token amount: the price %s is not above 0", price)
	}
	// In integers: apd's rounding up makes 0 of a positive number far below the last place.
	exponent := int64(price.d.Exponent)
	dividend := new(apd.BigInt).Mul(apd.NewBigInt(total), tenTo(MaxPlaces+max(0, -exponent)))
	divisor := new(apd.BigInt).Mul(&price.d.Coeff, tenTo(max(0, exponent)))
	quotient, rest := new(apd.BigInt).QuoRem(dividend, divisor, new(apd.BigInt))
	if rest.Sign() > 0 {
		quotient.Add(quotient, apd.NewBigInt(1))
	}
	var a Amount
	a.d.Reduce(apd.NewWithBigInt(quotient, -MaxPlaces))
	return a, nil
}

func tenTo(n int64) *apd.BigInt {
	return new(apd.BigInt).Exp(apd.NewBigInt(10), apd.NewBigInt(n), nil)
}
