package signer

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// splitOperation cuts "verify response" into its operation and its builder.
func splitOperation(t testing.TB, name string) (Operation, func(Operation, map[string]string, string) (string, error)) {
	t.Helper()
	if op, found := strings.CutSuffix(name, " request"); found {
		return Operation(op), RequestString
	}
	if op, found := strings.CutSuffix(name, " response"); found {
		return Operation(op), ResponseString
	}
	t.Fatalf("%q is neither a request nor a response", name)
	return "", nil
}

func TestSigningStringsAreTheVectors(t *testing.T) {
	v := readSigning(t)
	for _, s := range v.Strings {
		op, build := splitOperation(t, s.Operation)
		values := make(map[string]string)
		for _, field := range s.Fields {
			values[field.Name] = field.Value
		}
		if got, err := build(op, values, v.SecretKey); err != nil || got != s.String {
			t.Errorf("%s: %q, %v; want %q", s.Operation, got, err, s.String)
		}
		// An absent value is an empty slot.
		for name, value := range values {
			if value == "" {
				delete(values, name)
			}
		}
		if got, err := build(op, values, v.SecretKey); err != nil || got != s.String {
			t.Errorf("%s: %q, %v; want %q", s.Operation, got, err, s.String)
		}
	}
	if got, err := RequestString(OpSendCode, map[string]string{"partnerCode": "P", "email": "a@b.c"}, "k"); err != nil || got != "P|a@b.c|k" {
		t.Errorf("send-code request: %q, %v", got, err)
	}
}

func TestEveryOperationHasARequestString(t *testing.T) {
	for _, op := range Operations {
		slots := RequestSlots(op)
		if len(slots) == 0 || slots[0] != "partnerCode" {
			t.Errorf("%s signs %v", op, slots)
		}
		slots[0] = "changed"
		if RequestSlots(op)[0] != "partnerCode" {
			t.Error("a caller can change the slots")
		}
	}
}

func TestResponsesThatAreSigned(t *testing.T) {
	for op, want := range map[Operation]string{
		OpAccessToken:   "",
		OpRefreshToken:  "",
		OpSendCode:      "",
		OpVerify:        "email",
		OpReviewCashout: "fiatAmount currency price tokenAmount totalPayment",
		OpCreateCashout: "externalOrderId type fiatAmount status",
		OpOrderDetails:  "externalOrderId type fiatAmount status",
	} {
		if got := strings.Join(ResponseSlots(op), " "); got != want {
			t.Errorf("the response to %s signs %q, not %q", op, got, want)
		}
	}
}

func TestUnknownSlotsAndOperationsAreRefused(t *testing.T) {
	for _, c := range []struct {
		op    Operation
		slot  string
		build func(Operation, map[string]string, string) (string, error)
	}{
		{"unknown", "partnerCode", RequestString},
		{OpAccessToken, "email", RequestString},
		{OpAccessToken, "email", ResponseString},
		{OpVerify, "code", RequestString},
	} {
		if got, err := c.build(c.op, map[string]string{c.slot: "x"}, "k"); err == nil {
			t.Errorf("%s with %s gave %q", c.op, c.slot, got)
		}
	}
}

func TestASeparatorInAValueIsRefused(t *testing.T) {
	for _, c := range readSigning(t).Injection {
		for _, values := range []map[string]string{c.A, c.B} {
			_, err := RequestString(OpCreateCashout, values, "k")
			var field *FieldError
			if !errors.As(err, &field) || field.Reason != Forbidden || !strings.Contains(values[field.Field], "|") {
				t.Errorf("%s: %v", c.Case, err)
			}
		}
	}
	for _, bad := range []string{"|", "a|b", "\x00", "a\n", "\t", "\x1f", "\x7f", "\xff", "a\xc3", "\xed\xa0\x80"} {
		var field *FieldError
		if _, err := RequestString(OpAccessToken, map[string]string{"userEmail": bad}, "k"); !errors.As(err, &field) ||
			field.Reason != Forbidden || field.Field != "userEmail" {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, good := range []string{"", " ", "Rút tiền", "\u0080", "\u2028", "\ufffd", "¦", "😀"} {
		if _, err := RequestString(OpAccessToken, map[string]string{"userEmail": good}, "k"); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

// No two different requests of one operation have the same string.
func TestSigningStringsAreUnambiguous(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		op := rapid.SampledFrom(Operations).Draw(t, "operation")
		values := make(map[string]string)
		for _, slot := range RequestSlots(op) {
			values[slot] = rapid.OneOf(rapid.String(), rapid.StringMatching(`[a|]{0,3}`)).Draw(t, slot)
		}
		text, err := RequestString(op, values, "k")
		if err != nil {
			return
		}
		parts := strings.Split(text, "|")
		want := []string{}
		for _, slot := range RequestSlots(op) {
			want = append(want, values[slot])
		}
		if !slices.Equal(parts, append(want, "k")) {
			t.Fatalf("%q does not come apart into %q", text, want)
		}
	})
}

func FuzzRequestString(f *testing.F) {
	for _, c := range readSigning(f).Injection {
		f.Add(c.A["partnerCode"], c.A["externalOrderId"], c.B["content"], c.B["userEmail"])
	}
	f.Fuzz(func(t *testing.T, partnerCode, externalOrderID, content, userEmail string) {
		values := map[string]string{"partnerCode": partnerCode, "externalOrderId": externalOrderID,
			"content": content, "userEmail": userEmail}
		text, err := RequestString(OpCreateCashout, values, "k")
		if err != nil {
			return
		}
		want := []string{partnerCode, externalOrderID, "", "", "", "", content, userEmail, "k"}
		if parts := strings.Split(text, "|"); !slices.Equal(parts, want) {
			t.Fatalf("%q comes apart into %q", text, parts)
		}
	})
}
