package webhook

import "strings"

// The digits of a card number (ISO/IEC 7812).
const (
	minCardDigits = 13
	maxCardDigits = 19
)

// MaskCards replaces all but the last four digits of every card number in a
// free text by asterisks: 13 to 19 digits, also with one blank or hyphen
// between groups, that pass the check of Luhn and are no part of a longer word.
// Nothing else of the text changes, nor does its length.
func MaskCards(text string) string {
	var masked []byte
	for from := 0; from < len(text); {
		end, digits := cardRun(text, from)
		if end == from {
			from++
			continue
		}
		if len(digits) >= minCardDigits && len(digits) <= maxCardDigits && luhn(text, digits) {
			if masked == nil {
				masked = []byte(text)
			}
			for _, at := range digits[:len(digits)-4] {
				masked[at] = '*'
			}
		}
		from = end
	}
	if masked == nil {
		return text
	}
	return string(masked)
}

// cardRun is the run of digits, with single blanks and hyphens between them,
// that begins at from: where it ends and where its digits are. What touches a
// letter is passed over whole.
func cardRun(text string, from int) (end int, digits []int) {
	if !isWord(text[from]) {
		return from, nil
	}
	end = from
	for end < len(text) {
		c := text[end]
		between := (c == ' ' || c == '-') && end+1 < len(text) && isDigit(text[end+1])
		if !isDigit(c) && !between {
			break
		}
		if isDigit(c) {
			digits = append(digits, end)
		}
		end++
	}
	if end < len(text) && isWord(text[end]) {
		for digits = nil; end < len(text) && isWord(text[end]); {
			end++
		}
	}
	return end, digits
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isWord reports whether c is part of a word; every byte beyond ASCII is.
func isWord(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c > 0x7f
}

// luhn checks the digits of text at the places given (ISO/IEC 7812-1, annex B).
func luhn(text string, digits []int) bool {
	sum := 0
	for i, at := range digits {
		d := int(text[at] - '0')
		if (len(digits)-i)%2 == 0 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0 && strings.Trim(text[digits[0]:digits[len(digits)-1]+1], "0 -") != ""
}
