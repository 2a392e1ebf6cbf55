package ingest

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ledgerhook/signer"
	"ledgerhook/webhook"
)

func TestAmountsAreSentExactly(t *testing.T) {
	tests := map[string]string{
		"12.750": "12.75", "0.1": "0.1", "1e2": "100", "1E+2": "100", "100.5": "100.5", "-3.10": "-3.1",
		"0": "0", "-0": "0", "-0.00": "0", "0e9": "0", "1.0": "1",
		"0.000001": "0.000001", "1e-6": "0.000001", "-0.000001": "-0.000001",
		"999999999999999": "999999999999999", "-999999999999999": "-999999999999999", "1e14": "100000000000000",
		"123456789.123456": "123456789.123456", "999999999.999999": "999999999.999999",
		"12.75000000000": "12.75", "123456789012345e-6": "123456789.012345",
	}
	for literal, want := range tests {
		for _, raw := range []string{literal, `"` + literal + `"`} {
			data := exampleWith(t, webhook.TopupCard, map[string]string{"amount": raw})
			if got := string(mustReadEvent(t, webhook.TopupCard, data).Data); !strings.HasPrefix(got, `{"amount":`+want+`,`) {
				t.Errorf("amount %s: %s", raw, got)
			}
		}
	}
}

func TestAmountsThatWouldBeRoundedAreRefused(t *testing.T) {
	literals := []string{
		"9007199254740993", "1000000000000000", "1e15", "-1e15", "1e30", "1e400", "1e99999999999999999999",
		"0.0000001", "1e-7", "1.1234567", "1e-400",
		"1234567890.123456", "999999999999999.5", "0.1234567890123456789",
		"1." + strings.Repeat("0", 40),
	}
	for _, literal := range literals {
		for _, raw := range []string{literal, `"` + literal + `"`} {
			checkTopupRefused(t, "amount", raw, numberLimits)
		}
	}
	for _, raw := range []string{`""`, `" 1"`, `"1 "`, `"+1"`, `"01"`, `".5"`, `"1."`, `"1,5"`, `"0x10"`, `"NaN"`, `"Infinity"`,
		`"١"`, `"1_000"`, `true`, `[1]`, `{"a":1}`, `"\ud800"`} {
		checkTopupRefused(t, "amount", raw, numberLimits)
	}
}

func TestCreatedAtIsWholeSeconds(t *testing.T) {
	for raw, want := range map[string]string{
		"1": "1", `"1700000000"`: "1700000000", "1.7e9": "1700000000", "1700000000.0": "1700000000", "99999999999": "99999999999",
	} {
		p := mustReadEvent(t, webhook.TopupCard, exampleWith(t, webhook.TopupCard, map[string]string{"createdAt": raw}))
		if p.CreatedAt != want || !strings.Contains(string(p.Data), `"createdAt":`+want+`,`) {
			t.Errorf("createdAt %s: %s in %s", raw, p.CreatedAt, p.Data)
		}
	}
	for _, raw := range []string{"0", "-1", "1.5", "100000000000", "1700000000000", `"2023-11-14T22:13:20Z"`, `""`, "true", "1e-3"} {
		checkTopupRefused(t, "createdAt", raw, secondsLimits)
	}
}

func checkTopupRefused(t *testing.T, field, raw, detail string) {
	t.Helper()
	got := eventProblems(t, "TopupCard", exampleWith(t, webhook.TopupCard, map[string]string{field: raw}))
	if len(got) != 1 || got[0] != "/data/"+field+" "+detail {
		t.Errorf("%s %s: %q", field, raw, got)
	}
}

func TestTextsAreSentAsTheyAre(t *testing.T) {
	for raw, want := range map[string]string{
		`"<&>"`: `"<&>"`, `"\u003c\/"`: `"</"`, `"\u2028 \u2029"`: "\"\u2028 \u2029\"", `"🙂"`: `"🙂"`, `"\ud83d\ude42"`: `"🙂"`,
		`"A\u030a"`: "\"A\u030a\"", `"\ufffd"`: "\"\ufffd\"", `"\u0000\n"`: `"\u0000\n"`, `""`: `""`, `"\\ud800"`: `"\\ud800"`,
	} {
		data := json.RawMessage(strings.Replace(string(exampleWith(t, webhook.CardTransaction, map[string]string{"description": `"@"`})), `"@"`, raw, 1))
		if got := string(mustReadEvent(t, webhook.CardTransaction, data).Data); !strings.Contains(got, `"description":`+want+`,`) {
			t.Errorf("description %s: %s", raw, got)
		}
	}
}

func TestValuesThatCannotBeSentAreRefused(t *testing.T) {
	const id = "must be an id of 1 to 128 characters without control characters"
	tests := []struct{ field, raw, detail string }{
		{"description", `12`, "must be a text"},
		{"description", `["a"]`, "must be a text"},
		{"description", `"` + strings.Repeat("é", 4097) + `"`, "must be at most 4096 characters long"},
		{"description", `"a\ud800"`, "must be a text without half surrogates"},
		{"description", `"\udc00\ud800"`, "must be a text without half surrogates"},
		{"feeDetails", `{}`, "must be an array of objects"},
		{"id", `7`, "must be a text"},
		{"id", `""`, id},
		{"id", `"a\u0000b"`, id},
		{"id", `"a\u0085b"`, id},
		{"cardId", `"` + strings.Repeat("é", 129) + `"`, id},
	}
	for _, test := range tests {
		got := eventProblems(t, "CardTransaction", exampleWith(t, webhook.CardTransaction, map[string]string{test.field: test.raw}))
		if len(got) != 1 || got[0] != "/data/"+test.field+" "+test.detail {
			t.Errorf("%s %.40s: %q", test.field, test.raw, got)
		}
	}
	mustReadEvent(t, webhook.CardTransaction, exampleWith(t, webhook.CardTransaction, map[string]string{
		"description": `"` + strings.Repeat("é", 4096) + `"`, "id": `"` + strings.Repeat("é", 128) + `"`}))
}

func TestOnlyMaskedCardNumbersAreTaken(t *testing.T) {
	for _, masked := range []string{"", "411111******1111", "4111 11** **** 1111", "41111111****1111", "4111-11XX-XXXX-1111", "**** 1111", "12345678901"} {
		mustReadEvent(t, webhook.CreateCard, exampleWith(t, webhook.CreateCard, map[string]string{"cardNumber": `"` + masked + `"`}))
	}
	for _, number := range []string{
		"4111111111111111", "4111 1111 1111 1111", "4111-1111-1111-1111", "4111 - 1111 - 1111", "4111–1111—1111", "4111.1111.1111",
		"4111\u00a01111\u200b1111", "4111\\u00201111\\t1111", "411111111111", "*411111111111*", "\\u0034111 1111 1111 1111",
		"４１１１１１１１１１１１１１１１", "no 4111 1111 1111 1111",
	} {
		data := exampleWith(t, webhook.CreateCard, map[string]string{"cardNumber": `"` + number + `"`})
		got := eventProblems(t, "CreateCard", data)
		if len(got) != 1 || !strings.HasPrefix(got[0], "/data/cardNumber must be masked") {
			t.Errorf("card number %s: %q", number, got)
		}
	}
}

func TestErrorsNeverRepeatACardNumber(t *testing.T) {
	const number = "4111111111111111"
	for _, data := range []string{
		`{"cardNumber":"` + number + `"}`,
		`{"cardNumber":` + number + `}`,
		`{"cardNumber":["` + number + `"]}`,
		`{"` + number + `":1,"` + number + `":2}`,
		`{"status":"` + number + `","createdAt":` + number + `,"id":["` + number + `"]}`,
		`{"cardNumber":"` + number,
	} {
		for _, line := range eventProblems(t, "CreateCard", json.RawMessage(data)) {
			if strings.Contains(line, "4111") {
				t.Errorf("%s: %q", data, line)
			}
		}
	}
}

// Whatever amount keeps the limits arrives with its exact value, however it
// was written.
func TestAnyAmountWithinTheLimitsSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		digits := rapid.Int64Range(-999_999_999_999_999, 999_999_999_999_999).Draw(t, "digits")
		shift := rapid.IntRange(0, 6).Draw(t, "fraction digits")
		literal := fmt.Sprintf("%de-%d", digits, shift)
		if rapid.Bool().Draw(t, "plain") {
			literal = new(big.Rat).SetFrac(big.NewInt(digits), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(shift)), nil)).FloatString(shift)
		}
		raw := json.RawMessage(literal)
		if rapid.Bool().Draw(t, "as text") {
			raw = json.RawMessage(`"` + literal + `"`)
		}
		number, detail := readNumber(raw)
		if detail != "" {
			t.Fatalf("%s: %s", raw, detail)
		}
		want, _ := new(big.Rat).SetString(literal)
		got, ok := new(big.Rat).SetString(string(number))
		if !ok || got.Cmp(want) != 0 {
			t.Fatalf("%s became %s", raw, number)
		}
		if canonical, err := signer.Canonical([]byte(number)); err != nil || string(canonical) != string(number) {
			t.Fatalf("RFC 8785 writes %s as %s (%v)", number, canonical, err)
		}
	})
}

// A number is either kept exactly or refused: there is nothing in between.
func TestNoNumberIsEverRounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		literal := rapid.StringMatching(`-?(0|[1-9][0-9]{0,18})(\.[0-9]{1,10})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "literal")
		number, detail := readNumber(json.RawMessage(literal))
		if detail != "" {
			return
		}
		want, _ := new(big.Rat).SetString(literal)
		if got, ok := new(big.Rat).SetString(string(number)); !ok || got.Cmp(want) != 0 {
			t.Fatalf("%s became %s", literal, number)
		}
	})
}
