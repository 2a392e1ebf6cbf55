package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// scan walks a JSON text once and returns the first fault, nil if there is
// none. With a type, it holds the text against what encoding/json would
// decode into that type. Its recursion is bounded by maxDepth.
func scan(text []byte, maxDepth int, t reflect.Type) *fault {
	if bytes.HasPrefix(text, []byte("\uFEFF")) {
		return &fault{detail: "begins with a byte order mark (U+FEFF): send it without", grammar: true}
	}
	s := scanner{text: text, max: maxDepth}
	if f := s.value(t); f != nil {
		return f
	}
	if s.space(); s.pos < len(text) {
		return s.grammar("something follows the value")
	}
	return nil
}

type scanner struct {
	text []byte
	pos  int
	max  int
	path []step // where the scan is; its length is the depth
}

// step is one level of the path: an index or, if that is named, a name.
type step struct {
	name  string
	index int
}

// What step.index is where it is no index.
const (
	named   = -1
	nowhere = -2 // between members
)

// pointer is the JSON pointer (RFC 6901) of where the scan is. Long names are
// shortened.
func (s *scanner) pointer() string {
	var b strings.Builder
	for _, p := range s.path {
		switch p.index {
		case nowhere:
		case named:
			b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(shorten(p.name)))
		default:
			b.WriteString("/" + strconv.Itoa(p.index))
		}
	}
	return b.String()
}

func (s *scanner) grammar(detail string) *fault {
	return &fault{detail: "is not valid JSON at " + s.place() + ": " + detail, grammar: true}
}

func (s *scanner) refuse(detail string) *fault {
	return &fault{pointer: s.pointer(), detail: detail}
}

// place is the line and the column, in characters, of where the scan is.
func (s *scanner) place() string {
	before := s.text[:s.pos]
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("line %d, column %d", bytes.Count(before, []byte("\n"))+1, column)
}

// peek is the next byte, 0 at the end: no JSON text holds a 0 outside strings.
func (s *scanner) peek() byte {
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

func (s *scanner) space() {
	for s.pos < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.pos]) >= 0 {
		s.pos++
	}
}

func (s *scanner) value(t reflect.Type) *fault {
	s.space()
	shape := shapeOf(t)
	start := s.pos
	c := s.peek()
	wrong := !shape.fits(c)
	var f *fault
	switch {
	case wrong && strings.IndexByte(`{["tf-0123456789`, c) >= 0:
		return s.refuse("must be " + shape.want)
	case c == '{':
		f = s.object(shape)
	case c == '[':
		f = s.array(shape)
	case c == '"':
		_, f = s.string()
	case c == '-' || c >= '0' && c <= '9':
		f = s.number()
	case c == 't':
		f = s.literal("true")
	case c == 'f':
		f = s.literal("false")
	case c == 'n':
		return s.literal("null")
	default:
		return s.grammar("a value is missing")
	}
	if f == nil && shape.trial != nil {
		if detail := shape.try(s.text[start:s.pos]); detail != "" {
			f = s.refuse(detail)
		}
	}
	return f
}

// enter begins an array or object.
func (s *scanner) enter() *fault {
	if len(s.path) >= s.max {
		return &fault{detail: fmt.Sprintf("is nested deeper than %d levels at %s", s.max, s.place())}
	}
	s.pos++
	s.path = append(s.path, step{index: nowhere})
	s.space()
	return nil
}

// leave ends an array or object.
func (s *scanner) leave() {
	s.pos++
	s.path = s.path[:len(s.path)-1]
}

func (s *scanner) object(shape *shape) *fault {
	if f := s.enter(); f != nil {
		return f
	}
	if s.peek() == '}' {
		s.leave()
		return nil
	}
	seen := map[string]struct{}{}
	for {
		if f := s.member(shape, seen); f != nil {
			return f
		}
		switch s.space(); s.peek() {
		case ',':
			s.pos++
			s.space()
		case '}':
			s.leave()
			return nil
		default:
			return s.grammar("an object goes on with a comma or ends with }")
		}
	}
}

func (s *scanner) member(shape *shape, seen map[string]struct{}) *fault {
	if s.peek() != '"' {
		return s.grammar("a member name in quotes is missing")
	}
	here := &s.path[len(s.path)-1]
	here.index = nowhere
	name, f := s.string()
	if f != nil {
		return f
	}
	*here = step{name, named}
	if _, twice := seen[name]; twice {
		return s.refuse("must be there once")
	}
	seen[name] = struct{}{}
	t, known := shape.member(name)
	if !known {
		return s.refuse("is not a known member")
	}
	if s.space(); s.peek() != ':' {
		return s.grammar("a colon is missing")
	}
	s.pos++
	return s.value(t)
}

func (s *scanner) array(shape *shape) *fault {
	if f := s.enter(); f != nil {
		return f
	}
	if s.peek() == ']' {
		s.leave()
		return nil
	}
	for i := 0; ; i++ {
		s.path[len(s.path)-1].index = i
		if f := s.value(shape.elem); f != nil {
			return f
		}
		switch s.space(); s.peek() {
		case ',':
			s.pos++
		case ']':
			s.leave()
			return nil
		default:
			return s.grammar("an array goes on with a comma or ends with ]")
		}
	}
}

func (s *scanner) literal(word string) *fault {
	if !bytes.HasPrefix(s.text[s.pos:], []byte(word)) {
		return s.grammar("a value is missing")
	}
	s.pos += len(word)
	return nil
}

func (s *scanner) number() *fault {
	if s.peek() == '-' {
		s.pos++
	}
	if s.peek() == '0' {
		s.pos++
	} else if !s.digits() {
		return s.grammar("a number lacks digits")
	}
	if s.peek() == '.' {
		s.pos++
		if !s.digits() {
			return s.grammar("a number lacks digits")
		}
	}
	if s.peek()|0x20 == 'e' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		if !s.digits() {
			return s.grammar("a number lacks digits")
		}
	}
	return nil
}

func (s *scanner) digits() (any bool) {
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.pos++
		any = true
	}
	return any
}

// string scans a string and returns it decoded.
func (s *scanner) string() (string, *fault) {
	start := s.pos
	escaped := false
	s.pos++
	for {
		c := s.peek()
		switch {
		case s.pos == len(s.text):
			return "", s.grammar("a string does not end")
		case c == '"':
			s.pos++
			return decodeString(s.text[start:s.pos], escaped), nil
		case c == '\\':
			escaped = true
			if f := s.escape(); f != nil {
				return "", f
			}
		case c < ' ':
			return "", s.grammar("a control character in a string must be escaped")
		case c < utf8.RuneSelf:
			s.pos++
		default:
			r, size := utf8.DecodeRune(s.text[s.pos:])
			if r == utf8.RuneError && size == 1 {
				return "", s.refuse("must be valid UTF-8, which it is not at " + s.place())
			}
			s.pos += size
		}
	}
}

func decodeString(quoted []byte, escaped bool) string {
	if !escaped {
		return string(quoted[1 : len(quoted)-1])
	}
	var decoded string
	_ = json.Unmarshal(quoted, &decoded) // just scanned
	return decoded
}

// escape scans what begins with a backslash. Both halves of a surrogate pair
// must be there, in order.
func (s *scanner) escape() *fault {
	s.pos++
	if c := s.peek(); c != 'u' {
		if c == 0 || strings.IndexByte(`"\/bfnrt`, c) < 0 {
			return s.grammar("an escape is not one that JSON knows")
		}
		s.pos++
		return nil
	}
	unit, ok := s.hex()
	if !ok {
		return s.grammar(`\u lacks four hexadecimal digits`)
	}
	if unit < 0xD800 || unit > 0xDFFF {
		return nil
	}
	if unit <= 0xDBFF && bytes.HasPrefix(s.text[s.pos:], []byte(`\u`)) {
		s.pos++
		low, ok := s.hex()
		if !ok {
			return s.grammar(`\u lacks four hexadecimal digits`)
		}
		if low >= 0xDC00 && low <= 0xDFFF {
			return nil
		}
	}
	return s.refuse("must not hold half a surrogate pair, as it does at " + s.place())
}

// hex reads the u and the four digits of an escape.
func (s *scanner) hex() (unit uint64, ok bool) {
	if s.pos+5 > len(s.text) {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(s.text[s.pos+1:s.pos+5]), 16, 16)
	if err != nil {
		return 0, false
	}
	s.pos += 5
	return unit, true
}
