package orders

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

type numbersFile struct {
	Reject []string `json:"reject"`
	Rows   []struct {
		Literal   string `json:"literal"`
		Canonical string `json:"canonical"`
		AsVND     string `json:"as_vnd_amount"`
	} `json:"rows"`
}

func TestNumbersHaveOneCanonicalText(t *testing.T) {
	keys := map[string]Key{
		"ok":               "",
		"reject_fraction":  KeyAmountNotWhole,
		"reject_below_min": KeyAmountBelowMinimum,
		"reject_too_large": KeyAmountAboveMaximum,
	}
	for _, row := range vectors[numbersFile](t, "number_canonical.json").Rows {
		a, err := ParseAmount(row.Literal)
		if err != nil {
			t.Errorf("ParseAmount(%q): %v", row.Literal, err)
			continue
		}
		if got := a.String(); got != row.Canonical {
			t.Errorf("ParseAmount(%q) = %s, want %s", row.Literal, got, row.Canonical)
		}
		// The vectors bound amounts by their size only; ours are lower still.
		if _, err := (Limits{Min: 10_000, Max: 1e15 - 1}).Check(a); keyOf(err) != keys[row.AsVND] {
			t.Errorf("%q as VND: %v, want %q", row.Literal, err, keys[row.AsVND])
		}
	}
}

func TestOnlyJSONNumbersAreNumbers(t *testing.T) {
	rejects := vectors[numbersFile](t, "number_canonical.json").Reject
	rejects = append(rejects, "1e31", "1e-31", "1e99999999999999999999", strings.Repeat("1", 41), " 5", "5 ", "-", "1e", "٣")
	for _, literal := range rejects {
		if a, err := ParseAmount(literal); err == nil {
			t.Errorf("ParseAmount(%q) = %s, want an error", literal, a)
		}
	}
	for _, literal := range []string{"1e30", "1e-30", "1E+0000030", strings.Repeat("1", 40)} {
		amount(t, literal)
	}
}

func TestFiatAmountLimits(t *testing.T) {
	file := vectors[limitsFile](t, "limits.json")
	want := Limits{Min: file.Amounts.Min, Max: file.Amounts.Max}
	if ProductionLimits != want {
		t.Errorf("ProductionLimits = %v, want %v", ProductionLimits, want)
	}
	want.Min = file.Amounts.SandboxMin
	if SandboxLimits != want {
		t.Errorf("SandboxLimits = %v, want %v", SandboxLimits, want)
	}
	if DefaultOrderExpiry != time.Duration(file.Amounts.Expiry)*time.Second {
		t.Errorf("DefaultOrderExpiry = %s", DefaultOrderExpiry)
	}
	if DefaultQuoteValidity != time.Duration(file.Amounts.Quote)*time.Second {
		t.Errorf("DefaultQuoteValidity = %s", DefaultQuoteValidity)
	}

	for _, test := range []struct {
		limits  Limits
		literal string
		want    int64
		key     Key
	}{
		{ProductionLimits, "10000", 10_000, ""},
		{ProductionLimits, "9999", 0, KeyAmountBelowMinimum},
		{ProductionLimits, "499999999", 499_999_999, ""},
		{ProductionLimits, "500000000", 0, KeyAmountAboveMaximum},
		{ProductionLimits, "1e30", 0, KeyAmountAboveMaximum},
		{ProductionLimits, "-1e30", 0, KeyAmountBelowMinimum},
		{SandboxLimits, "50000.0", 50_000, ""},
		{SandboxLimits, "5e4", 50_000, ""},
		{SandboxLimits, "500000e-1", 50_000, ""},
		{SandboxLimits, "49999", 0, KeyAmountBelowMinimum},
		{SandboxLimits, "50000.5", 0, KeyAmountNotWhole},
	} {
		got, err := test.limits.Check(amount(t, test.literal))
		if got != test.want || keyOf(err) != test.key {
			t.Errorf("%v.Check(%s) = %d, %v; want %d, %q", test.limits, test.literal, got, err, test.want, test.key)
		}
	}
}

func TestOnlyVNDIsPaidOut(t *testing.T) {
	for currency, want := range map[string]Key{"": "", "VND": "", "USD": KeyFiatNotSupported, "vnd": KeyFiatNotSupported} {
		if err := CheckFiat(currency); keyOf(err) != want {
			t.Errorf("CheckFiat(%q) = %v, want %q", currency, err, want)
		}
	}
}

func TestAmountsCompareByValue(t *testing.T) {
	a, b := amount(t, "5e4"), amount(t, "50000.00")
	if !a.Equal(b) || !a.Equal(Dong(50_000)) || a.String() != b.String() {
		t.Errorf("%s and %s differ", a, b)
	}
	var zero Amount
	if zero.String() != "0" || zero.Sign() != 0 || zero.Places() != 0 || !zero.Equal(amount(t, "-0.0")) {
		t.Errorf("the zero value is %s", zero)
	}
}

func TestCopiesOfAmountsAreIndependent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := amount(t, rapid.StringMatching(`[1-9][0-9]{0,30}\.[0-9]{1,8}`).Draw(t, "a"))
		text, b := a.String(), a
		if _, err := TokenAmount(100_000, b); err != nil {
			t.Fatal(err)
		}
		b.Cmp(a)
		if a.String() != text || b.String() != text {
			t.Fatalf("%s became %s and %s", text, a, b)
		}
	})
}

func FuzzParseAmount(f *testing.F) {
	for _, seed := range []string{"0", "-0.0", "5e4", "50000.00", "0.0000001", "1e30", "1e31", "+1", "1.e3"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, literal string) {
		a, err := ParseAmount(literal)
		if err != nil {
			return
		}
		text := a.String()
		if strings.ContainsAny(text, "eE+") || text == "-0" {
			t.Fatalf("ParseAmount(%q) prints as %q", literal, text)
		}
		if strings.Contains(text, ".") && strings.HasSuffix(text, "0") {
			t.Fatalf("ParseAmount(%q) prints needless zeros: %q", literal, text)
		}
		if len(text) > maxLiteral {
			return // a canonical text may be longer than a literal
		}
		if again, err := ParseAmount(text); err != nil || !again.Equal(a) || again.String() != text {
			t.Fatalf("%q reads back as %s, %v", text, again, err)
		}
	})
}
