package web

import (
	"bytes"
	"errors"
	"net/http"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

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

// Decode reads JSON into v, a pointer. It is stricter than encoding/json: the
// body is one JSON text of valid UTF-8 that every parser reads alike, with no
// member twice in an object, no half surrogate pairs, nothing after the value
// and at most MaxDepth levels of arrays and objects; an unknown member is an
// error (names match exactly, by case too), and so is a value of the wrong
// type. Null counts as absent everywhere. A number that must keep its digits is
// read into a Number. Errors are KindInvalid and name the JSON pointer, or the
// line and column where there is none, of the first fault; v is zero then. A
// type that reads itself says what is wrong with its value.
func Decode(body []byte, v any) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return &webhook.Error{Kind: webhook.KindInvalid, Message: "the body is empty; it must be " + wanted(reflect.TypeOf(v).Elem())}
	}
	f := scan(body)
	if f != nil {
		body = body[:f.at] // may hold a value that does not fit, which comes first
	}
	var e *json.SemanticError
	if errors.As(json.Unmarshal(body, v, json.RejectUnknownMembers(true)), &e) {
		f = misfit(e)
	}
	if f != nil {
		reflect.ValueOf(v).Elem().SetZero()
		return f.error()
	}
	return nil
}

// misfit is the fault of a value that does not fit its type.
func misfit(e *json.SemanticError) *fault {
	f := &fault{pointer: shortPointer(e.JSONPointer)}
	switch {
	case errors.Is(e.Err, json.ErrUnknownName):
		f.detail = "is not a known member"
	case reflect.PointerTo(e.GoType).Implements(reflect.TypeFor[json.Unmarshaler]()):
		f.detail = e.Err.Error()
	default:
		f.detail = "must be " + wanted(e.GoType)
	}
	return f
}

// wanted says what JSON of a type looks like.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Slice:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "of another type"
}

// Number is a JSON number as it is written.
type Number string

// UnmarshalJSON reads a number; null leaves n as it is.
func (n *Number) UnmarshalJSON(b []byte) error {
	switch jsontext.Value(b).Kind() {
	case '0':
		*n = Number(b)
	case 'n':
	default:
		return errors.New("must be a number")
	}
	return nil
}

// fault is what is wrong with a JSON text.
type fault struct {
	at      int    // where the text before it ends
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
