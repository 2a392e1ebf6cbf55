package signer

import (
	"bytes"
	"unicode/utf8"
)

// isPlain reports whether document is an object that is its own RFC 8785 form,
// as nearly every one that was brought into it before is: one pass without an
// allocation instead of reading and writing it. It knows plain documents only,
// with no escapes, with ASCII names and with numbers of at most 15 digits, which
// a 64-bit floating-point number holds and prints again.
func isPlain(document []byte) bool {
	if len(document) == 0 || document[0] != '{' {
		return false
	}
	rest, ok := plainValue(document, MaxDepth)
	return ok && len(rest) == 0 && utf8.Valid(document)
}

// plainValue returns what follows the plain value that text begins with, which
// opens depth arrays and objects inside each other at most.
func plainValue(text []byte, depth int) (rest []byte, ok bool) {
	if len(text) == 0 {
		return nil, false
	}
	switch text[0] {
	case '{', '[':
		if depth == 0 {
			return nil, false
		}
		if text[0] == '[' {
			return plainArray(text[1:], depth-1)
		}
		return plainObject(text[1:], depth-1)
	case '"':
		_, rest, ok = plainString(text)
		return rest, ok
	case 't':
		return bytes.CutPrefix(text, []byte("true"))
	case 'f':
		return bytes.CutPrefix(text, []byte("false"))
	case 'n':
		return bytes.CutPrefix(text, []byte("null"))
	}
	return plainNumber(text)
}

func plainArray(text []byte, depth int) (rest []byte, ok bool) {
	if rest, ok = bytes.CutPrefix(text, []byte("]")); ok {
		return rest, true
	}
	for {
		if text, ok = plainValue(text, depth); !ok || len(text) == 0 {
			return nil, false
		}
		switch text[0] {
		case ']':
			return text[1:], true
		case ',':
			text = text[1:]
		default:
			return nil, false
		}
	}
}

// plainObject wants each name greater than the one before, which for ASCII is
// the order of UTF-16 code units.
func plainObject(text []byte, depth int) (rest []byte, ok bool) {
	if rest, ok = bytes.CutPrefix(text, []byte("}")); ok {
		return rest, true
	}
	var before []byte
	for first := true; ; first = false {
		name, value, ok := plainString(text)
		if !ok || len(value) == 0 || value[0] != ':' || !isASCII(name) || !first && bytes.Compare(before, name) >= 0 {
			return nil, false
		}
		before = name
		if text, ok = plainValue(value[1:], depth); !ok || len(text) == 0 {
			return nil, false
		}
		switch text[0] {
		case '}':
			return text[1:], true
		case ',':
			text = text[1:]
		default:
			return nil, false
		}
	}
}

func isASCII(text []byte) bool {
	for _, b := range text {
		if b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func plainString(text []byte) (inside, rest []byte, ok bool) {
	if len(text) == 0 || text[0] != '"' {
		return nil, nil, false
	}
	for i := 1; i < len(text); i++ {
		switch b := text[i]; {
		case b == '"':
			return text[1:i], text[i+1:], true
		case b == '\\' || b < ' ':
			return nil, nil, false
		}
	}
	return nil, nil, false
}

// plainNumber takes 12, -0.5 and 0.00001, and none that is written in another
// way: 012, -0, 1.0, 1e2, 0.0000001.
func plainNumber(text []byte) (rest []byte, ok bool) {
	text, negative := bytes.CutPrefix(text, []byte("-"))
	whole, rest := cutDigits(text)
	fraction, pointed := []byte(nil), false
	if rest, pointed = bytes.CutPrefix(rest, []byte(".")); pointed {
		fraction, rest = cutDigits(rest)
	}
	switch zero := string(whole) == "0"; {
	case len(whole) == 0 || whole[0] == '0' && !zero || len(whole)+len(fraction) > 15:
		return nil, false
	case pointed:
		// Below 0.000001 an exponent is written.
		ok = len(fraction) > 0 && fraction[len(fraction)-1] != '0' && !(zero && bytes.HasPrefix(fraction, []byte("000000")))
	default:
		ok = !zero || !negative
	}
	return rest, ok
}

func cutDigits(text []byte) (digits, rest []byte) {
	end := 0
	for end < len(text) && '0' <= text[end] && text[end] <= '9' {
		end++
	}
	return text[:end], text[end:]
}
