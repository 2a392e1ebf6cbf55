package orders

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/cockroachdb/apd/v3"
	"github.com/go-json-experiment/json/jsontext"
)

// VND is the only fiat currency. Amounts of it are whole dong in an int64.
const VND = "VND"

// MaxPlaces is how many fraction digits an amount may show ("Numbers" of the
// interface decisions).
const MaxPlaces = 6

// Bounds of a number literal ("Numbers" of the interface decisions).
const (
	maxLiteral  = 40
	maxExponent = 30
)

// Amount is an exact decimal number. The zero value is 0. An Amount never
// changes; compare two with Cmp, == does not compile.
type Amount struct {
	_ [0]func()
	d apd.Decimal // reduced: the coefficient does not end in 0
}

var (
	errNotANumber = errors.New("must be a JSON number of at most " + strconv.Itoa(maxLiteral) + " characters")
	errExponent   = errors.New("must be a number whose exponent is within ±" + strconv.Itoa(maxExponent))
	numberGrammar = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
)

// ParseAmount reads a number literal as it stands in a JSON body, without
// going through a float. Its errors say what would be right and name no field.
func ParseAmount(literal string) (Amount, error) {
	if len(literal) > maxLiteral || !numberGrammar.MatchString(literal) {
		return Amount{}, errNotANumber
	}
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		exponent, err := strconv.Atoi(literal[i+1:])
		if err != nil || exponent < -maxExponent || exponent > maxExponent {
			return Amount{}, errExponent
		}
	}
	var a Amount
	if _, _, err := a.d.SetString(literal); err != nil {
		return Amount{}, errNotANumber
	}
	a.d.Reduce(&a.d)
	return a, nil
}

// Dong returns n whole dong as an Amount.
func Dong(n int64) Amount {
	var a Amount
	a.d.SetInt64(n)
	a.d.Reduce(&a.d)
	return a
}

// String is the canonical text: plain decimal without an exponent, a plus or
// needless zeros. Amounts that the gateway makes itself have at most MaxPlaces
// fraction digits, so this is also what it emits and signs.
func (a Amount) String() string {
	if a.d.IsZero() {
		return "0"
	}
	return a.d.Text('f')
}

// Places is the number of fraction digits of the canonical text.
func (a Amount) Places() int { return max(0, -int(a.d.Exponent)) }

// Sign is -1, 0 or 1.
func (a Amount) Sign() int { return a.d.Sign() }

// Cmp is -1, 0 or 1 as a is less than, equal to or greater than b.
func (a Amount) Cmp(b Amount) int { return a.d.Cmp(&b.d) }

// Equal reports whether a and b are the same number.
func (a Amount) Equal(b Amount) bool { return a.Cmp(b) == 0 }

// exactInJSON reports whether a reader that keeps JSON numbers as float64
// sees a, which RFC 8785 supposes.
func (a Amount) exactInJSON() bool {
	f, err := a.d.Float64()
	if err != nil {
		return false
	}
	return jsontext.Float(f).String() == a.String()
}

// MaxVND is the largest fiat amount of an order, in dong.
const MaxVND = 499_999_999

// Limits are the smallest and the largest fiat amount, in dong.
type Limits struct {
	Min, Max int64
}

// The limits of the environments ("Amounts" of the interface decisions).
var (
	ProductionLimits = Limits{Min: 10_000, Max: MaxVND}
	SandboxLimits    = Limits{Min: 50_000, Max: MaxVND}
)

// Check returns fiat in dong. It must be whole by value, so 50000.0 and 5e4
// are, and within the limits; else the error's key is AMOUNT_NOT_WHOLE,
// AMOUNT_BELOW_MINIMUM or AMOUNT_ABOVE_MAXIMUM.
func (l Limits) Check(fiat Amount) (int64, error) {
	switch {
	case fiat.Places() > 0:
		return 0, &Error{Key: KeyAmountNotWhole}
	case fiat.Cmp(Dong(l.Min)) < 0:
		return 0, &Error{Key: KeyAmountBelowMinimum, Min: l.Min}
	case fiat.Cmp(Dong(l.Max)) > 0:
		return 0, &Error{Key: KeyAmountAboveMaximum, Max: l.Max}
	}
	return fiat.d.Int64()
}

// CheckFiat returns an error with the key FIAT_NOT_SUPPORTED unless currency
// is VND or absent, which is processed as VND.
func CheckFiat(currency string) error {
	if currency == "" || currency == VND {
		return nil
	}
	return &Error{Key: KeyFiatNotSupported}
}
