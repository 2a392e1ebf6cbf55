package ingest

import (
	"bytes"
	"encoding/json"
)

// partsOf returns the values of an array, or the names and the values of an object
// by turns, each as it is written and without blanks around it. The text is
// known to be JSON.
func partsOf(text json.RawMessage) (parts []json.RawMessage) {
	rest := trimSpace(text[1:])
	for rest[0] != ']' && rest[0] != '}' {
		size := valueSize(rest)
		parts = append(parts, rest[:size])
		if rest = trimSpace(rest[size:]); rest[0] == ',' || rest[0] == ':' {
			rest = trimSpace(rest[1:])
		}
	}
	return parts
}

// valueSize is the length of the value that text begins with.
func valueSize(text json.RawMessage) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case depth == 0 && bytes.IndexByte([]byte(",:]} \t\r\n"), c) >= 0:
			return i
		case c == '}' || c == ']':
			depth--
		}
	}
	return len(text)
}

func trimSpace(text json.RawMessage) json.RawMessage { return bytes.TrimLeft(text, " \t\r\n") }
