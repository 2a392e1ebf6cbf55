// Package signer makes and checks the signatures of the interface.
//
// It knows every text that is signed and the keys it is signed with: the
// bar-joined strings of partner operations, the RFC 8785 form of notification
// data, the Standard Webhooks headers. A Box seals those keys for storage. The
// package knows no partner, no HTTP handler and no store.
package signer

import (
	"encoding/base64"
	"errors"
	"strings"
)

// ErrSignature is wrapped by the error of every check that did not hold,
// whatever the reason: a wrong key, another text, no base64, a
// header that is missing. Errors that do not wrap it are about the arguments.
var ErrSignature = errors.New("the signature does not verify")

// Reason says in what way a field is wrong, so that callers can choose the
// entry of the error catalogue.
type Reason int

const (
	Invalid   Reason = iota // wrong type, format or value
	Missing                 // required and absent, null or empty
	Forbidden               // holds a bar, a control character or invalid UTF-8
	Malformed               // the document as a whole is not strict JSON
)

// FieldError says what is wrong with one field of a document. Its text is
// meant for whoever sent the document; it never repeats a value.
type FieldError struct {
	Field  string // as the interface writes it ("extendInfo.recipientNumber"); empty: the whole document
	Detail string // what would be right
	Reason Reason
}

// Error names the field and what would be right.
func (e *FieldError) Error() string {
	if e.Field == "" {
		return "the document " + e.Detail
	}
	return e.Field + " " + e.Detail
}

// decodeBase64 reads base64 as the interface tolerates it ("base64"): white
// space anywhere, missing padding and the URL-safe alphabet are accepted.
func decodeBase64(text string) ([]byte, error) {
	text = strings.Map(func(r rune) rune {
		switch r {
		case ' ', '\t', '\n', '\v', '\f', '\r':
			return -1
		case '-':
			return '+'
		case '_':
			return '/'
		}
		return r
	}, text)
	for range 2 {
		text = strings.TrimSuffix(text, "=")
	}
	return base64.RawStdEncoding.Strict().DecodeString(text)
}
