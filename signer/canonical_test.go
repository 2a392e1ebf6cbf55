package signer

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

type jcsVectors struct {
	Documents []struct{ Name, Input, Output string }
	Numbers   []struct {
		Bits string `json:"ieee754_hex"`
		Text string
	}
	NonFinite []struct {
		Bits string `json:"ieee754_hex"`
	} `json:"non_finite"`
	Edge   []struct{ Name, Input, Expect string } `json:"negative_and_edge"`
	Events []struct{ Name, Input, Output string } `json:"our_event_data"`
}

func TestCanonicalDocuments(t *testing.T) {
	v := readVectors[jcsVectors](t, "jcs.json")
	documents := append(v.Documents, v.Events...)
	if len(documents) < 11 {
		t.Fatal("jcs.json is not what it was")
	}
	for _, d := range documents {
		for _, input := range []string{d.Input, d.Output} {
			got, err := Canonical([]byte(input))
			if err != nil || string(got) != d.Output {
				t.Errorf("%s: %q became %q, %v", d.Name, input, got, err)
			}
		}
	}
}

func TestCanonicalNumbersAreECMAScripts(t *testing.T) {
	v := readVectors[jcsVectors](t, "jcs.json")
	for _, n := range v.Numbers {
		float := floatOf(t, n.Bits)
		for _, literal := range []string{n.Text, strconv.FormatFloat(float, 'e', -1, 64)} {
			got, err := Canonical([]byte(literal))
			if err != nil || string(got) != n.Text {
				t.Errorf("%s (%s) became %s, %v; want %s", n.Bits, literal, got, err, n.Text)
			}
		}
	}
	for _, n := range v.NonFinite {
		if got, err := Canonical([]byte(fmt.Sprint(floatOf(t, n.Bits)))); err == nil {
			t.Errorf("%s became %s", n.Bits, got)
		}
	}
}

func floatOf(t *testing.T, bits string) float64 {
	t.Helper()
	raw, err := hex.DecodeString(bits)
	if err != nil || len(raw) != 8 {
		t.Fatalf("%q: %v", bits, err)
	}
	return math.Float64frombits(binary.BigEndian.Uint64(raw))
}

func TestCanonicalEdges(t *testing.T) {
	for _, e := range readVectors[jcsVectors](t, "jcs.json").Edge {
		input := []byte(e.Input)
		if text, found := strings.CutPrefix(e.Input, "hex:"); found {
			input, _ = hex.DecodeString(text)
		}
		got, err := Canonical(input)
		if strings.Contains(e.Expect, "reject") {
			var field *FieldError
			if !errors.As(err, &field) || field.Reason != Malformed {
				t.Errorf("%s: became %q, %v; want a Malformed *FieldError", e.Name, got, err)
			}
		} else if err != nil || string(got) != e.Expect {
			t.Errorf("%s: became %q, %v", e.Name, got, err)
		}
	}
}

func TestCanonicalRefusesWhatReadersTakeDifferently(t *testing.T) {
	for name, document := range map[string]string{
		"empty":                         ``,
		"blank":                         ` `,
		"two documents":                 `{}{}`,
		"escaped duplicate":             `{"a":1,"\u0061":2}`,
		"duplicate in depth":            `[{"a":{"b":1,"b":1}}]`,
		"lone high surrogate":           `"\ud800"`,
		"lone low surrogate":            `"\udc00"`,
		"high, then no low":             `"\ud800\u0041"`,
		"surrogate in a name":           `{"\ud800":1}`,
		"overlong UTF-8":                "\"\xc0\xaf\"",
		"UTF-8 of a surrogate":          "\"\xed\xa0\x80\"",
		"byte order mark":               "\ufeff{}",
		"integer by exponent":           `9007199254740993e0`,
		"integer with a point":          `9007199254740993.0`,
		"integer of many digits":        `[123456789012345678901234567890]`,
		"integer rounded to a power":    `1000000000000000000000000000001`,
		"negative integer":              `-9007199254740993`,
		"hexadecimal":                   `0x10`,
		"comment":                       `{} // ok`,
		"single quotes":                 `{'a':1}`,
		"nested one level too deep":     strings.Repeat("[", 65) + strings.Repeat("]", 65),
		"nested far too deep, and open": strings.Repeat(`{"a":`, 100_000),
	} {
		if got, err := Canonical([]byte(document)); err == nil {
			t.Errorf("%s: %q became %q", name, document, got)
		}
	}
	for _, document := range []string{
		strings.Repeat("[", 64) + strings.Repeat("]", 64),
		`"[[[[` + strings.Repeat("[", 100) + `\"{{"`,
		`[9007199254740992,-9007199254740992,1e22,295147905179352830000,100000000000000000000]`,
		`"9007199254740993"`,
	} {
		if _, err := Canonical([]byte(document)); err != nil {
			t.Errorf("%q: %v", document, err)
		}
	}
}

func TestCanonicalErrorsHoldNothingOfTheDocument(t *testing.T) {
	for _, document := range []string{
		`{"secret":s3cr3t}`, `{"s3cr3t":1,"s3cr3t":2}`, `["\s3cr3t"]`, `{"a":1}s3cr3t`, `"\us3cr"`,
	} {
		if _, err := Canonical([]byte(document)); err == nil || strings.Contains(err.Error(), "s3cr") {
			t.Errorf("%s: %v", document, err)
		}
	}
}

// Any JSON value comes out the same whatever the order, spacing and escapes
// it came in with.
func TestCanonicalDependsOnTheValueAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.MapOf(rapid.String(), rapid.OneOf(
			rapid.String().AsAny(), rapid.Float64Range(-1e300, 1e300).AsAny(), rapid.Bool().AsAny(),
			rapid.SliceOf(rapid.Int32()).AsAny(), rapid.MapOf(rapid.String(), rapid.String()).AsAny(),
		)).Draw(t, "value")
		plain, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		spaced, _ := json.MarshalIndent(value, " ", "\t")
		a, errA := Canonical(plain)
		b, errB := Canonical(spaced)
		if errA != nil || errB != nil || string(a) != string(b) {
			t.Fatalf("%s: %v\n%s: %v", a, errA, b, errB)
		}
	})
}

func FuzzCanonical(f *testing.F) {
	v := readVectors[jcsVectors](f, "jcs.json")
	for _, d := range v.Documents {
		f.Add([]byte(d.Input))
	}
	for _, e := range v.Edge {
		f.Add([]byte(e.Input))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		once, err := Canonical(document)
		if fault := (strictness{exact: true}).hold(document); (err == nil) != (fault == nil) {
			t.Fatalf("%q: %v, and the check says %v", document, err, fault)
		}
		if err != nil {
			return
		}
		if !json.Valid(document) || !json.Valid(once) {
			t.Fatalf("%q is not JSON, and became %q", document, once)
		}
		twice, err := Canonical(once)
		if err != nil || string(twice) != string(once) {
			t.Fatalf("%q became %q, then %q, %v", document, once, twice, err)
		}
	})
}
