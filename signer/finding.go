package signer

import (
	"fmt"
	"slices"
)

// Finding says in a sentence what is wrong with a signature, or what had to be
// undone before it was right. It repeats no secret. The zero Finding says
// nothing.
type Finding struct {
	Text   string // one of FindingTexts, with a verb of fmt for each value
	Values []any
}

// String is the finding in English.
func (f Finding) String() string {
	if len(f.Values) == 0 {
		return f.Text
	}
	return fmt.Sprintf(f.Text, f.Values...)
}

// None reports whether there is nothing to say.
func (f Finding) None() bool { return f.Text == "" }

func found(text string, values ...any) Finding { return Finding{text, values} }

var findingTexts []string

// FindingTexts lists every text of a Finding, in English, for who translates.
func FindingTexts() []string { return slices.Clone(findingTexts) }

// findingText declares a text of a Finding.
func findingText(text string) string {
	findingTexts = append(findingTexts, text)
	return text
}

// What is found in requests of partner operations.
var (
	foundLineEnd      = findingText("a line end was signed after the text")
	foundBlank        = findingText("a space was signed after the text")
	foundBar          = findingText("a bar was signed after the text")
	foundNoSecret     = findingText("secretKey was left out at the end")
	foundOtherValue   = findingText("%s was signed as %q, not as %q")
	foundLeftOut      = findingText("%s was left out together with its bar; an absent value is an empty slot")
	foundSwapped      = findingText("%s stands where %s belongs")
	foundOtherText    = findingText("the text of %s was signed")
	foundOtherSecret  = findingText("the key is right; another secretKey was signed, or more than one value differs")
	foundNoBase64     = findingText("the signature is not base64")
	foundSize         = findingText("the signature has %d bytes and the key makes %d: it was cut, or another key signed")
	foundOtherKey     = findingText("another key signed")
	foundOtherDigest  = findingText("the key is right, but the digest is not SHA-256")
	foundOtherPadding = findingText("another key signed, or the padding is PSS and not PKCS#1 v1.5")
)

// What is found in notifications.
var (
	foundNoRSA       = findingText("the body carries no signature")
	foundTwoRSA      = findingText("the body carries two signatures; one stands either in data or beside it")
	foundTooLarge    = findingText("the body has %d bytes, more than the %d that a notification can hold")
	foundNoNote      = findingText("the body is not a notification: it has no object data")
	foundNoJSON      = findingText("the body is not strict JSON: it was cut, changed or is something else")
	foundOtherData   = findingText("the key is right, but data is not what was signed: something in it was changed, added or left out")
	foundNoHeader    = findingText("the header %s is missing")
	foundNoSeconds   = findingText("%s must be seconds since 1970 in plain digits")
	foundNoToken     = findingText("webhook-signature holds no token that begins with v1,")
	foundAddedEnd    = findingText("right without the line end that follows the body here")
	foundAddedBlanks = findingText("the body was re-encoded: white space was added between its parts. Verify the bytes as they arrived, before anything parses them")
	foundOtherNumber = findingText("the body was re-encoded: the number %s is written as %s. Verify the bytes as they arrived, before anything parses them")
	foundOtherOrder  = findingText("the body was re-encoded: its members are in another order. Verify the bytes as they arrived, before anything parses them")
	foundOtherEscape = findingText("the body was re-encoded: characters are escaped differently. Verify the bytes as they arrived, before anything parses them")
	foundNoMatch     = findingText("another secret signed, or the body, webhook-id or webhook-timestamp is not what was sent")
)
