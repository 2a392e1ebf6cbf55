package signer

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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
// rounded to float64 as RFC 8785 says; whoever must not lose digits limits them
// before.
func Canonical(document []byte) ([]byte, error) {
	return transform(document, strictness{exact: true})
}

// transform is RFC 8785 for a document that passes the check. One that comes
// out as it went in, as nearly every one that was brought into its form before,
// holds no number that changes, and without many brackets it is not deep.
func transform(document []byte, check strictness) ([]byte, error) {
	canonical := jsontext.Value(bytes.Clone(document))
	err := canonical.Canonicalize()
	brackets := bytes.Count(document, []byte("[")) + bytes.Count(document, []byte("{"))
	if err != nil || brackets > MaxDepth || !bytes.Equal(canonical, document) {
		if err := check.hold(document); err != nil {
			return nil, err
		}
	}
	return canonical, err
}

// strictness is the check that a document is strict JSON with a limit on
// depth, and with numbers within float64.
type strictness struct {
	exact bool // and with no integer that float64 rounds
}

// hold returns a *FieldError of reason Malformed for what is wrong with a
// document. It repeats nothing of it, which may be a secret.
func (s strictness) hold(document []byte) error {
	err := json.Unmarshal(document, &s)
	var ours *FieldError
	var syntax *jsontext.SyntacticError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &ours):
		return ours
	case errors.As(err, &syntax):
		return malformed(fmt.Sprintf("must be strict JSON, which it is not after byte %d", syntax.ByteOffset))
	}
	return malformed("must be strict JSON, not empty")
}

// UnmarshalJSONFrom walks through one value.
func (s *strictness) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	for {
		switch token, err := dec.ReadToken(); {
		case err != nil:
			return err
		case dec.StackDepth() > MaxDepth:
			return malformed("must not be nested deeper than 64 levels")
		case token.Kind() == '0':
			if err := s.number(token.String()); err != nil {
				return err
			}
		}
		if dec.StackDepth() == 0 {
			return nil
		}
	}
}

func (s strictness) number(literal string) error {
	if !strings.ContainsAny(literal, ".eE") && len(literal) <= 15 {
		return nil // at most 10^15 - 1, exact
	}
	rounded, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return malformed("must not hold a number beyond 64-bit floating-point ones")
	}
	if s.exact && isRounded(literal, rounded) {
		return malformed("must not hold an integer that a 64-bit floating-point number cannot hold exactly")
	}
	return nil
}

// isRounded reports whether literal is an integer whose RFC 8785 text is
// another number. Such an amount or id would silently change under its own
// signature.
func isRounded(literal string, rounded float64) bool {
	exact, ok := parseDecimal(literal)
	if !ok || !exact.integer() {
		return false
	}
	// The text of a float64 is the shortest that reads back as it, which may
	// be another integer than the float64 itself: 295147905179352830000.
	shown, ok := parseDecimal(jsontext.Float(rounded).String())
	return !ok || !shown.equal(exact)
}

func malformed(detail string) *FieldError {
	return &FieldError{Detail: detail, Reason: Malformed}
}

// tokens yields the tokens of a document that is known to be strict JSON, each
// as it is written, without commas and colons.
func tokens(document []byte) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		dec := jsontext.NewDecoder(bytes.NewBuffer(document))
		for kind := dec.PeekKind(); kind != 0; kind = dec.PeekKind() {
			token := jsontext.Value{byte(kind)}
			if bytes.ContainsAny(token, "[]{}") {
				_, _ = dec.ReadToken()
			} else {
				token, _ = dec.ReadValue()
			}
			if !yield(string(token)) {
				return
			}
		}
	}
}

// isNumber reports whether a token is a number.
func isNumber(token string) bool { return jsontext.Value(token).Kind() == '0' }
