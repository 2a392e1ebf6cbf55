package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"

	"ledgerhook/webhook"
)

// MaxDepth is how deep the arrays and objects of a body may be nested.
const MaxDepth = 32

// DecodeJSON reads a body of at most limit bytes into v, a pointer, as Decode
// does. The errors are those of CheckJSONType, ReadBody and Decode.
func DecodeJSON(r *http.Request, limit int64, v any) error {
	if err := CheckJSONType(r); err != nil {
		return err
	}
	body, err := ReadBody(r, limit)
	if err != nil {
		return err
	}
	return Decode(body, v)
}

// Decode reads JSON into v, a pointer. It is stricter than encoding/json:
// beside what CheckJSON refuses, an unknown member is an error (names match
// exactly, by case too), and so is a value of the wrong type. Null counts as
// absent everywhere. Errors are KindInvalid and name the JSON pointer, or the
// line and column where there is none.
func Decode(body []byte, v any) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return &webhook.Error{Kind: webhook.KindInvalid, Message: "the body is empty; it must be " + shapeOf(reflect.TypeOf(v)).want}
	}
	if f := scan(body, MaxDepth, reflect.TypeOf(v)); f != nil {
		return f.error()
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	if err := dec.Decode(v); err != nil {
		return &webhook.Error{Kind: webhook.KindInvalid, Message: "the body cannot be decoded", Err: err}
	}
	return nil
}

// CheckJSON returns a KindInvalid error unless body is one JSON text of valid
// UTF-8 that every parser reads alike: no member twice in an object, no half
// surrogate pairs, nothing after the value, at most maxDepth levels of arrays
// and objects. It needs memory for maxDepth levels and for the names of the
// objects it is inside of, nothing else.
func CheckJSON(body []byte, maxDepth int) error {
	if f := scan(body, maxDepth, nil); f != nil {
		return f.error()
	}
	return nil
}

// fault is what a scan found wrong.
type fault struct {
	pointer string // "": the whole text
	detail  string
	grammar bool // not JSON at all, rather than JSON we refuse
}

func (f *fault) error() error {
	if f.pointer == "" {
		return &webhook.Error{Kind: webhook.KindInvalid, Message: "the body " + f.detail}
	}
	return webhook.Invalid(f.pointer, f.detail)
}
