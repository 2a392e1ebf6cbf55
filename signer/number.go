package signer

import (
	"strconv"
	"strings"
)

// The bounds of a number in a partner's request ("Numbers").
const (
	MaxNumberLength = 40 // characters of the literal
	MaxExponent     = 30 // of the literal, in both directions
)

// CanonicalNumber returns the text of a JSON number that is signed ("Numbers"
// of the interface decisions): plain decimal without exponent, plus or
// needless zeros; any zero is "0". Digits are never rounded. The error is a
// *FieldError without a field's name.
func CanonicalNumber(literal string) (string, error) {
	if len(literal) > MaxNumberLength {
		return "", &FieldError{Detail: "must be a number of at most 40 characters"}
	}
	d, ok := parseDecimal(literal)
	if !ok {
		return "", &FieldError{Detail: "must be a JSON number"}
	}
	if d.written < -MaxExponent || d.written > MaxExponent {
		return "", &FieldError{Detail: "must have an exponent from -30 to 30"}
	}
	return d.String(), nil
}

// decimal is ±0.digits × 10^point, exactly: digits neither begin nor end with
// 0, and zero has none. So equal numbers are equal structs, but for written.
type decimal struct {
	negative bool
	digits   string
	point    int
	written  int // the exponent as it was written
}

// parseDecimal reads the grammar of RFC 8259. An exponent beyond an int is
// not read: no number of the interface comes near it.
func parseDecimal(literal string) (decimal, bool) {
	var d decimal
	rest, negative := strings.CutPrefix(literal, "-")
	whole, rest := leadingDigits(rest)
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return d, false
	}
	fraction := ""
	if after, found := strings.CutPrefix(rest, "."); found {
		if fraction, rest = leadingDigits(after); fraction == "" {
			return d, false
		}
	}
	if rest != "" {
		if rest[0] != 'e' && rest[0] != 'E' {
			return d, false
		}
		// Atoi takes exactly an optional sign and digits, as the grammar does.
		written, err := strconv.Atoi(rest[1:])
		if err != nil {
			return d, false
		}
		d.written = written
	}
	return d.normal(negative, whole, fraction), true
}

func (d decimal) normal(negative bool, whole, fraction string) decimal {
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return decimal{written: d.written}
	}
	d.negative = negative
	d.point = len(whole) - (len(whole) + len(fraction) - len(digits)) + d.written
	d.digits = strings.TrimRight(digits, "0")
	return d
}

func leadingDigits(text string) (digits, rest string) {
	end := 0
	for end < len(text) && '0' <= text[end] && text[end] <= '9' {
		end++
	}
	return text[:end], text[end:]
}

func (d decimal) integer() bool { return len(d.digits) <= d.point || d.digits == "" }

func (d decimal) equal(other decimal) bool {
	return d.negative == other.negative && d.digits == other.digits && d.point == other.point
}

// String is the canonical text; the caller bounds the exponent.
func (d decimal) String() string {
	sign := ""
	if d.negative {
		sign = "-"
	}
	switch {
	case d.digits == "":
		return "0"
	case d.point <= 0:
		return sign + "0." + strings.Repeat("0", -d.point) + d.digits
	case d.point >= len(d.digits):
		return sign + d.digits + strings.Repeat("0", d.point-len(d.digits))
	}
	return sign + d.digits[:d.point] + "." + d.digits[d.point:]
}
