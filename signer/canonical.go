package signer

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/gowebpki/jcs"
)

// MaxDepth is how deep arrays and objects of a document may be nested.
const MaxDepth = 64

// Canonical returns the RFC 8785 form of one JSON document: compact, members
// sorted by UTF-16 code units, UTF-8 without normalisation.
//
// It refuses, with a *FieldError of reason Malformed, everything that two
// readers could take differently: duplicate members, lone surrogates, invalid
// UTF-8, text after the document, nesting deeper than MaxDepth, numbers
// outside float64 and integers that float64 would round. Fractions are
// rounded to float64 as RFC 8785 says; who must not lose digits limits them
// before.
func Canonical(document []byte) ([]byte, error) {
	if isPlain(document) {
		return bytes.Clone(document), nil
	}
	canonical, err := transform(document)
	if err != nil {
		return nil, err
	}
	for literal := range numbers(document) {
		if roundedInteger(literal) {
			return nil, malformed("must not hold an integer that a 64-bit floating-point number cannot hold exactly")
		}
	}
	return canonical, nil
}

// transform is RFC 8785 with a limit on depth; it is also the check that a
// document is strict JSON.
func transform(document []byte) ([]byte, error) {
	if depth(document) > MaxDepth {
		return nil, malformed("must not be nested deeper than 64 levels")
	}
	canonical, err := jcs.Transform(document)
	if err != nil {
		// What follows the colon is a piece of the document, perhaps a secret.
		what, _, _ := strings.Cut(err.Error(), ":")
		return nil, malformed("must be strict JSON: " + strings.ToLower(what))
	}
	return canonical, nil
}

func malformed(detail string) *FieldError {
	return &FieldError{Detail: detail, Reason: Malformed}
}

// depth is how deep a document opens arrays and objects. It does not judge
// the grammar, and counts too much at most where the document has none.
func depth(document []byte) int {
	deepest, now := 0, 0
	for token := range tokens(document) {
		switch token[0] {
		case '[', '{':
			now++
			deepest = max(deepest, now)
		case ']', '}':
			now--
		}
	}
	return deepest
}

// numbers yields the number literals of a document that is known to be JSON.
func numbers(document []byte) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for token := range tokens(document) {
			if literal := string(token); isNumber(literal) && !yield(literal) {
				return
			}
		}
	}
}

// isNumber reports whether a token of a document that is known to be JSON is a
// number.
func isNumber(token string) bool {
	return token[0] == '-' || '0' <= token[0] && token[0] <= '9'
}

// tokens cuts a document into strings, single structural characters and the
// literals between them.
func tokens(document []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(document) > 0 {
			size := 1
			switch document[0] {
			case ' ', '\t', '\r', '\n':
				document = document[1:]
				continue
			case '[', ']', '{', '}', ',', ':':
			case '"':
				size = stringSize(document)
			default:
				if size = bytes.IndexAny(document, " \t\r\n[]{},:\""); size < 0 {
					size = len(document)
				}
			}
			if !yield(document[:size]) {
				return
			}
			document = document[size:]
		}
	}
}

// stringSize is the length of the JSON string that document begins with.
func stringSize(document []byte) int {
	for i := 1; i < len(document); i++ {
		switch document[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(document)
}

// roundedInteger reports whether literal, a number of RFC 8259 within float64,
// is an integer whose RFC 8785 text is another number. Such an amount or id
// would silently change under its own signature.
func roundedInteger(literal string) bool {
	if !strings.ContainsAny(literal, ".eE") && len(literal) <= 15 {
		return false // at most 10^15 - 1, exact
	}
	exact, ok := parseDecimal(literal)
	if !ok || !exact.integer() {
		return false
	}
	// The text of a float64 is the shortest that reads back as it, which may
	// be another integer than the float64 itself: 295147905179352830000.
	rounded, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return true
	}
	text, err := jcs.NumberToJSON(rounded)
	if err != nil {
		return true
	}
	shown, ok := parseDecimal(text)
	return !ok || !shown.equal(exact)
}
