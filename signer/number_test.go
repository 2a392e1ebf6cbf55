package signer

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

type numberVectors struct {
	Reject []string
	Rows   []struct{ Literal, Canonical string }
}

func readNumbers(t testing.TB) numberVectors {
	t.Helper()
	v := readVectors[numberVectors](t, "number_canonical.json")
	if len(v.Reject) < 15 || len(v.Rows) < 35 {
		t.Fatal("number_canonical.json is not what it was")
	}
	return v
}

func TestCanonicalNumberIsTheVectors(t *testing.T) {
	v := readNumbers(t)
	for _, row := range v.Rows {
		for _, literal := range []string{row.Literal, row.Canonical} {
			if got, err := CanonicalNumber(literal); err != nil || got != row.Canonical {
				t.Errorf("%s became %q, %v; want %s", literal, got, err, row.Canonical)
			}
		}
	}
	for _, reject := range v.Reject {
		literal, _, _ := strings.Cut(reject, " (") // a remark follows
		var field *FieldError
		if got, err := CanonicalNumber(literal); !errors.As(err, &field) {
			t.Errorf("%q became %q, %v", literal, got, err)
		}
	}
}

func TestCanonicalNumberBounds(t *testing.T) {
	for _, c := range []struct{ literal, want string }{
		{"1e30", "1" + strings.Repeat("0", 30)},
		{"1E+30", "1" + strings.Repeat("0", 30)},
		{"1e-30", "0." + strings.Repeat("0", 29) + "1"},
		{"1e31", ""}, {"1e-31", ""}, {"0e31", ""}, {"1e030", "1" + strings.Repeat("0", 30)},
		{strings.Repeat("1", 40), strings.Repeat("1", 40)},
		{strings.Repeat("1", 41), ""},
		{"0." + strings.Repeat("0", 39), ""},
		{"-0", "0"}, {"-0e5", "0"}, {"0.0e-5", "0"}, {"100e-2", "1"}, {"-1.50e1", "-15"}, {"120.0340e-1", "12.0034"},
		{"-", ""}, {"--1", ""}, {"1-", ""}, {"1e", ""}, {"1e+", ""}, {"1e+-5", ""}, {"1e1.0", ""}, {"1.e1", ""}, {"00", ""},
		{"-01", ""}, {" 1", ""}, {"1 ", ""}, {"1\n", ""}, {"1e1_0", ""}, {"1e99999999999999999999999", ""}, {"e5", ""},
	} {
		got, err := CanonicalNumber(c.literal)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q became %q, %v; want %q", c.literal, got, err, c.want)
		}
	}
}

// The canonical text is the same number, and there is one for each number.
func TestCanonicalNumberIsExact(t *testing.T) {
	literals := rapid.StringMatching(`-?(0|[1-9][0-9]{0,12})(\.[0-9]{1,12})?([eE][+-]?([0-9]|[12][0-9]))?`)
	rapid.Check(t, func(t *rapid.T) {
		literal := literals.Draw(t, "literal")
		got, err := CanonicalNumber(literal)
		if err != nil {
			t.Fatalf("%s: %v", literal, err)
		}
		want, _ := new(big.Rat).SetString(literal)
		value, ok := new(big.Rat).SetString(got)
		if !ok || value.Cmp(want) != 0 {
			t.Fatalf("%s became %s", literal, got)
		}
		if strings.ContainsAny(got, "eE+") || strings.Contains(got, ".") && strings.HasSuffix(got, "0") || got == "-0" {
			t.Fatalf("%s became %s", literal, got)
		}
	})
}

func FuzzCanonicalNumber(f *testing.F) {
	v := readNumbers(f)
	for _, row := range v.Rows {
		f.Add(row.Literal)
	}
	for _, literal := range v.Reject {
		f.Add(literal)
	}
	f.Fuzz(func(t *testing.T, literal string) {
		once, err := CanonicalNumber(literal)
		if err != nil {
			return
		}
		exact, ok := new(big.Rat).SetString(literal)
		value, okOnce := new(big.Rat).SetString(once)
		if !ok || !okOnce || exact.Cmp(value) != 0 {
			t.Fatalf("%q became %q", literal, once)
		}
		if d, ok := parseDecimal(once); !ok || d.String() != once {
			t.Fatalf("%q became %q, which is not canonical", literal, once)
		}
	})
}
