package orders

import (
	"encoding/json"
	"errors"
	"os"
	"testing"
)

// vectors reads a file of testdata.
func vectors[T any](t *testing.T, name string) T {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

// fataler is what *testing.T and *rapid.T have in common here.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// amount is an Amount that is known to parse.
func amount(t fataler, literal string) Amount {
	t.Helper()
	a, err := ParseAmount(literal)
	if err != nil {
		t.Fatalf("ParseAmount(%q): %v", literal, err)
	}
	return a
}

// keyOf is the key of an *Error, and empty for nil and other errors.
func keyOf(err error) Key {
	var e *Error
	if errors.As(err, &e) {
		return e.Key
	}
	return ""
}

type limitsFile struct {
	Amounts struct {
		Min        int64 `json:"min_vnd"`
		SandboxMin int64 `json:"sandbox_min_vnd"`
		Max        int64 `json:"max_vnd"`
		Expiry     int   `json:"order_expiry_seconds"`
		Quote      int   `json:"quote_validity_seconds"`
	} `json:"amounts"`
	VietQR struct {
		AccountLen [2]int `json:"account_len"`
		PurposeMax int    `json:"purpose_max"`
	} `json:"vietqr"`
}
