package ingest

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// partsOf returns the values of an array, or the names and the values of an object
// by turns, each as it is written and without blanks around it. The text is
// known to be JSON; names may be there twice.
func partsOf(text json.RawMessage) (parts []json.RawMessage) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	_, _ = dec.ReadToken() // the bracket it begins with
	for kind := dec.PeekKind(); kind != ']' && kind != '}'; kind = dec.PeekKind() {
		part, err := dec.ReadValue()
		if err != nil {
			panic(err) // or fields would be lost without a word
		}
		end := dec.InputOffset()
		parts = append(parts, text[end-int64(len(part)):end])
	}
	return parts
}

func trimSpace(text json.RawMessage) json.RawMessage { return bytes.TrimLeft(text, " \t\r\n") }
