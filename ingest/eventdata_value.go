package ingest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ledgerhook/signer"
	"ledgerhook/webhook"
)

// numberLimits are what lets every number pass RFC 8785, which writes what a
// 64-bit floating-point number holds, with its own digits and no exponent.
const numberLimits = "must be a number below 10^15 in size with at most 6 fraction digits and 15 significant digits, " +
	"written in at most 40 characters with an exponent from -30 to 30: numbers are never rounded"

const secondsLimits = "must be whole seconds (not milliseconds) since 1970 UTC, above 0 and below 10^11"

// readNumber reads an exact decimal from a JSON number or from a text that
// holds one. detail says what is wrong, if anything.
func readNumber(raw json.RawMessage) (number json.Number, detail string) {
	literal := string(raw)
	if raw[0] == '"' {
		text, ok := unquote(raw)
		if !ok {
			return "", numberLimits
		}
		literal = text
	}
	plain, err := signer.CanonicalNumber(literal)
	if err != nil {
		return "", numberLimits
	}
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(plain, "-"), ".")
	significant := len(strings.TrimLeft(whole+fraction, "0"))
	if len(whole) > 15 || len(fraction) > 6 || significant > 15 {
		return "", numberLimits
	}
	return json.Number(plain), ""
}

// readSeconds reads a time in whole seconds.
func readSeconds(raw json.RawMessage) (seconds json.Number, detail string) {
	number, detail := readNumber(raw)
	if detail != "" || number == "0" || len(number) > 11 || strings.ContainsAny(string(number), "-.") {
		return "", secondsLimits
	}
	return number, ""
}

// readText reads a text of any kind that a field may hold.
func readText(raw json.RawMessage, f webhook.Field) (text, detail string) {
	if raw[0] != '"' {
		return "", "must be a text"
	}
	text, ok := unquote(raw)
	if !ok {
		return "", "must be a text without half surrogates"
	}
	length := utf8.RuneCountInString(text)
	switch {
	case f.Kind == webhook.FieldChoice && !slices.Contains(f.Values, text):
		detail = "must be one of " + strings.Join(f.Values, ", ")
	case f.Kind == webhook.FieldID && (length < 1 || length > webhook.MaxFieldID || strings.ContainsFunc(text, unicode.IsControl)):
		detail = fmt.Sprintf("must be an id of 1 to %d characters without control characters", webhook.MaxFieldID)
	case f.Kind == webhook.FieldCardNumber && holdsCardNumber(text):
		detail = "must be masked: never 12 digits in a row, with or without blanks or dashes between them"
	case f.Kind == webhook.FieldTime && !isTime(text):
		detail = "must be a time in UTC with milliseconds, like " + timeForm
	case length > webhook.MaxFieldText:
		detail = fmt.Sprintf("must be at most %d characters long", webhook.MaxFieldText)
	}
	return text, detail
}

// timeForm is how a FieldTime is written, and an example of one.
const timeForm = "2006-01-02T15:04:05.000Z"

func isTime(text string) bool {
	t, err := time.Parse(timeForm, text)
	return err == nil && t.Format(timeForm) == text
}

// unquote reads a JSON string. ok is false for a half surrogate, which has no
// UTF-8 form: encoding/json would replace it and so change the text.
func unquote(raw json.RawMessage) (text string, ok bool) {
	if bytes.Contains(raw, []byte(`\u`)) {
		if _, err := signer.Canonical(raw); err != nil {
			return "", false
		}
	}
	return decoded(raw), true
}

// decoded is what a JSON string says.
func decoded(raw json.RawMessage) (text string) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	_ = json.Unmarshal(raw, &text) // known to be JSON
	return text
}

// holdsCardNumber reports whether text holds 12 digits of any script in a row,
// however blanks, dashes, dots and what is invisible space them out.
func holdsCardNumber(text string) bool {
	run := 0
	for _, c := range text {
		switch {
		case unicode.IsDigit(c):
			if run++; run == 12 {
				return true
			}
		case c < utf8.RuneSelf && unicode.IsLetter(c): // most of any text
			run = 0
		case unicode.IsSpace(c), unicode.IsControl(c), unicode.In(c, unicode.Pd, unicode.Cf), strings.ContainsRune("−._/", c):
		default:
			run = 0
		}
	}
	return false
}
