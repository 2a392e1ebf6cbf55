package web

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// scan returns the first fault of a JSON text, nil if there is none. It needs
// memory for MaxDepth levels and for the names of the objects it is inside of,
// nothing else.
func scan(text []byte) *fault {
	if bytes.HasPrefix(text, []byte("\uFEFF")) {
		return &fault{detail: "begins with a byte order mark (U+FEFF): send it without", grammar: true}
	}
	s := scanner{text: text}
	if err := json.Unmarshal(text, &s); err != nil && s.fault == nil {
		end := len(text) - len(bytes.TrimLeft(text[s.end:], jsonSpace))
		s.fault = s.grammar(end, "something follows the value")
	}
	return s.fault
}

const jsonSpace = " \t\r\n"

type scanner struct {
	text  []byte
	end   int // of the value
	fault *fault
}

var errTooDeep = errors.New("nested too deep")

// UnmarshalJSONFrom walks through one value.
func (s *scanner) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	for {
		if _, err := dec.ReadToken(); err != nil {
			s.fault = s.explain(dec, err)
			return err
		}
		s.end = int(dec.InputOffset())
		switch depth := dec.StackDepth(); {
		case depth > MaxDepth:
			s.fault = &fault{at: s.end - 1, detail: fmt.Sprintf("is nested deeper than %d levels at %s", MaxDepth, s.place(s.end-1))}
			return errTooDeep
		case depth == 0:
			return nil
		}
	}
}

// explain says why no token follows.
func (s *scanner) explain(dec *jsontext.Decoder, err error) *fault {
	var e *jsontext.SyntacticError
	if !errors.As(err, &e) {
		return s.grammar(len(s.text), "a value is missing")
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return &fault{at: int(e.ByteOffset), pointer: shortPointer(e.JSONPointer), detail: "must be there once"}
	}
	at := s.skipSpace(s.end)
	inside, length := dec.StackIndex(dec.StackDepth())
	if between, lacks := separator(inside, length); between != 0 {
		if s.next(at) != between {
			return s.grammar(at, lacks)
		}
		at = s.skipSpace(at + 1)
	}
	switch c := s.next(at); {
	case c == '"':
		return s.explainString(e)
	case inside == '{' && length%2 == 0:
		return s.grammar(at, "a member name in quotes is missing")
	case c != '-' && (c < '0' || c > '9'):
		return s.grammar(at, "a value is missing")
	case errors.Is(err, io.ErrUnexpectedEOF):
		at = len(s.text)
	default:
		at = int(e.ByteOffset)
	}
	return s.grammar(at, "a number lacks digits")
}

// separator is what stands before the next token of an array or object that
// holds length tokens, 0 if nothing does.
func separator(inside jsontext.Kind, length int64) (c byte, lacks string) {
	switch {
	case inside == '{' && length%2 == 1:
		return ':', "a colon is missing"
	case inside == '{' && length > 0:
		return ',', "an object goes on with a comma or ends with }"
	case inside == '[' && length > 0:
		return ',', "an array goes on with a comma or ends with ]"
	}
	return 0, ""
}

// explainString says what is wrong inside a string. Both halves of a surrogate
// pair must be there, in order.
func (s *scanner) explainString(e *jsontext.SyntacticError) *fault {
	at := int(e.ByteOffset)
	rest := s.text[at:]
	refuse := func(detail string) *fault {
		return &fault{at: at, pointer: shortPointer(e.JSONPointer), detail: detail + s.place(at)}
	}
	unit, isUnit := bytes.CutPrefix(rest, []byte(`\u`))
	switch {
	case len(rest) == 0:
		return s.grammar(at, "a string does not end")
	case isUnit && isHex(unit):
		if low, isUnit := bytes.CutPrefix(unit[4:], []byte(`\u`)); !isUnit || isHex(low) {
			return refuse("must not hold half a surrogate pair, as it does at ")
		}
		return s.grammar(at+7, `\u lacks four hexadecimal digits`)
	case isUnit:
		return s.grammar(at+1, `\u lacks four hexadecimal digits`)
	case rest[0] == '\\':
		return s.grammar(at+1, "an escape is not one that JSON knows")
	case rest[0] < ' ':
		return s.grammar(at, "a control character in a string must be escaped")
	}
	return refuse("must be valid UTF-8, which it is not at ")
}

// isHex reports whether text begins with four hexadecimal digits.
func isHex(text []byte) bool {
	_, err := strconv.ParseUint(string(text[:min(4, len(text))]), 16, 16)
	return err == nil && len(text) >= 4
}

// skipSpace returns where the blanks that begin at a place end.
func (s *scanner) skipSpace(at int) int {
	return len(s.text) - len(bytes.TrimLeft(s.text[at:], jsonSpace))
}

// next is the byte at a place, 0 at the end: no JSON text holds a 0 outside
// strings.
func (s *scanner) next(at int) byte {
	if at < len(s.text) {
		return s.text[at]
	}
	return 0
}

func (s *scanner) grammar(at int, detail string) *fault {
	return &fault{at: at, detail: "is not valid JSON at " + s.place(at) + ": " + detail, grammar: true}
}

// place is the line and the column, in characters, of an offset.
func (s *scanner) place(at int) string {
	before := s.text[:at]
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("line %d, column %d", bytes.Count(before, []byte("\n"))+1, column)
}

// shortPointer is a JSON pointer (RFC 6901) with long names shortened.
func shortPointer(whole jsontext.Pointer) string {
	var short jsontext.Pointer
	for name := range whole.Tokens() {
		short = short.AppendToken(shorten(name))
	}
	return string(short)
}
