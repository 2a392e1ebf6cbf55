package web

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"time"
)

// shape is what JSON may look like to be decoded into a type.
type shape struct {
	want    string                  // "a string", for messages
	opening string                  // bytes such a value begins with; "": any
	members map[string]reflect.Type // of a struct
	elem    reflect.Type            // of a slice, array or map; nil: anything
	trial   reflect.Type            // decode on the spot: looks do not tell
	custom  bool                    // the trial's error says what is wrong
}

var anything = &shape{want: "a JSON value"}

// fits reports whether a value of the shape can begin with c. Null fits all.
func (s *shape) fits(c byte) bool {
	return s.opening == "" || c == 'n' || strings.IndexByte(s.opening, c) >= 0
}

// member is the type of an object's member.
func (s *shape) member(name string) (t reflect.Type, known bool) {
	if s.members == nil {
		return s.elem, true
	}
	t, known = s.members[name]
	return t, known
}

// try returns what is wrong with the text of a value, "" if nothing is.
func (s *shape) try(text []byte) string {
	err := json.Unmarshal(text, reflect.New(s.trial).Interface())
	switch {
	case err == nil:
		return ""
	case s.custom:
		return err.Error()
	default:
		return "must be " + s.want
	}
}

var shapes sync.Map // reflect.Type → *shape

// shapeOf returns the shape of t; nil: anything goes.
func shapeOf(t reflect.Type) *shape {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return anything
	}
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	s := newShape(t)
	shapes.Store(t, s)
	return s
}

const digits = "-0123456789"

func newShape(t reflect.Type) *shape {
	pointer := reflect.PointerTo(t)
	switch {
	case t == reflect.TypeFor[json.RawMessage]() || t.Kind() == reflect.Interface:
		return anything
	case t == reflect.TypeFor[json.Number]():
		return &shape{want: "a number", opening: digits}
	case t == reflect.TypeFor[time.Time]() || t == reflect.TypeFor[Time]():
		return &shape{want: "an RFC 3339 time such as 2006-01-02T15:04:05Z", opening: `"`, trial: t}
	case pointer.Implements(reflect.TypeFor[json.Unmarshaler]()):
		return &shape{trial: t, custom: true}
	case pointer.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return &shape{want: "a string", opening: `"`, trial: t, custom: true}
	}
	switch t.Kind() {
	case reflect.String:
		return &shape{want: "a string", opening: `"`}
	case reflect.Bool:
		return &shape{want: "true or false", opening: "tf"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &shape{want: "a whole number", opening: digits, trial: t}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &shape{want: "a whole number, 0 or more", opening: digits, trial: t}
	case reflect.Float32, reflect.Float64:
		return &shape{want: "a number", opening: digits, trial: t}
	case reflect.Struct:
		return &shape{want: "an object", opening: "{", members: members(t)}
	case reflect.Map:
		return &shape{want: "an object", opening: "{", elem: t.Elem()}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return &shape{want: "base64", opening: `"`, trial: t}
		}
		return &shape{want: "an array", opening: "[", elem: t.Elem()}
	}
	panic("web: cannot decode JSON into " + t.String())
}

// members maps the names of a struct's members to their types, those of
// embedded structs included.
func members(t reflect.Type) map[string]reflect.Type {
	list := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported() || f.Tag.Get("json") == "-" || f.Anonymous && name == "":
		case name == "":
			list[f.Name] = f.Type
		default:
			list[name] = f.Type
		}
	}
	return list
}
