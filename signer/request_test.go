package signer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestRequestsAreTheVectors(t *testing.T) {
	v := readSigning(t)
	partner := vectorKey(t, "partner").Public()
	read := 0
	for _, s := range v.Strings {
		if s.Body == "" {
			continue
		}
		read++
		op, _ := splitOperation(t, s.Operation)
		body := strings.Replace(s.Body, `"signature":"…"`, `"signature":"`+s.Signature+`"`, 1)
		r, err := ReadRequest(op, []byte(body))
		if err != nil {
			t.Errorf("%s: %v", s.Operation, err)
			continue
		}
		if got := r.Candidates(v.SecretKey)[0]; got != s.String {
			t.Errorf("%s: %q, want %q", s.Operation, got, s.String)
		}
		if err := r.Verify(v.SecretKey, anotherKey().Public(), partner); err != nil {
			t.Errorf("%s: %v", s.Operation, err)
		}
		if err := r.Verify("another", partner); !errors.Is(err, ErrSignature) {
			t.Errorf("%s: another secret key: %v", s.Operation, err)
		}
		if err := r.Verify(v.SecretKey, anotherKey().Public()); !errors.Is(err, ErrSignature) {
			t.Errorf("%s: another key: %v", s.Operation, err)
		}
		if err := r.Verify(v.SecretKey); !errors.Is(err, ErrSignature) {
			t.Errorf("%s: no key: %v", s.Operation, err)
		}
	}
	if read < 3 {
		t.Errorf("only %d bodies", read)
	}
}

func TestReadRequestTakesEveryValueAsSent(t *testing.T) {
	r, err := ReadRequest(OpCreateCashout, []byte(`{
		"partnerCode": "PARTNER01", "userEmail": " User.Name+tag@Example.COM ", "externalOrderId": "ORD-0001",
		"cryptoCurrency": "USDT", "cryptocurrency": "USDT", "currency": "USDT", "fiatCurrency": null, "fiatAmount" : 5.0E4 ,
		"webhookSecretKey": "whsec_x", "sample": {"extra": [1e5, {"a": null}]}, "extendInfo.recipientNumber": "ignored",
		"extendInfo": {"transferContent": "R\u00fat  ti\u1ec1n", "recipientName": "NGUYEN | VAN A", "recipientNumber": "0011001932418",
			"recipientBankCode": "970436", "recipientType": "", "more": 1},
		"content": "Rút  tiền", "bankCode": "970436", "signature": "c2ln"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := Request{
		Operation: OpCreateCashout, PartnerCode: "PARTNER01", Email: " User.Name+tag@Example.COM ", ExternalOrderID: "ORD-0001",
		CryptoCurrency: "USDT", FiatAmount: Number{"5.0E4", "50000"}, BankCode: "970436", BankAccountNumber: "0011001932418",
		Content: "Rút  tiền", RecipientName: "NGUYEN | VAN A", WebhookSecretKey: "whsec_x", Signature: "c2ln",
	}
	if r != want {
		t.Errorf("got  %+v\nwant %+v", r, want)
	}
}

// with is a complete request of op with members replaced; a value is JSON,
// empty to leave the member out.
func with(op Operation, replaced map[string]string) []byte {
	members := map[string]string{"partnerCode": `"PARTNER01"`, "signature": `"c2ln"`}
	switch op {
	case OpAccessToken:
		members["userEmail"] = `"user@example.com"`
	case OpRefreshToken:
		members["refreshToken"] = `"rt_0123456789abcdef"`
	case OpSendCode:
		members["email"] = `"user@example.com"`
	case OpVerify:
		members["email"], members["code"] = `"user@example.com"`, `"012345"`
	case OpCreateCashout:
		members["externalOrderId"] = `"ORD-0001"`
		fallthrough
	case OpReviewCashout:
		members["userEmail"], members["cryptoCurrency"] = `"user@example.com"`, `"USDT"`
		members["fiatAmount"], members["webhookSecretKey"] = `50000`, `"whsec_x"`
	case OpOrderDetails:
		members["externalOrderId"] = `"ORD-0001"`
	}
	for name, value := range replaced {
		members[name] = value
	}
	list := []string{}
	for name, value := range members {
		if value != "" {
			list = append(list, fmt.Sprintf("%q:%s", name, value))
		}
	}
	return []byte("{" + strings.Join(list, ",") + "}")
}

func TestCandidates(t *testing.T) {
	const review, create = "PARTNER01|user@example.com|", "PARTNER01|ORD-0001|USDT|"
	for _, c := range []struct {
		name     string
		op       Operation
		replaced map[string]string
		want     []string
	}{
		{"access-token", OpAccessToken, nil, []string{"PARTNER01|user@example.com|k"}},
		{"refresh-token", OpRefreshToken, nil, []string{"PARTNER01|rt_0123456789abcdef|k"}},
		{"send-code", OpSendCode, nil, []string{"PARTNER01|user@example.com|k"}},
		{"verify", OpVerify, nil, []string{"PARTNER01|user@example.com|k"}},
		{"order-details", OpOrderDetails, nil, []string{"PARTNER01|ORD-0001|k"}},
		{"fiatCurrency sent", OpReviewCashout, map[string]string{"fiatCurrency": `"VND"`}, []string{review + "VND|50000|USDT|k"}},
		{"fiatCurrency absent", OpReviewCashout, nil, []string{review + "|50000|USDT|k", review + "VND|50000|USDT|k"}},
		{"fiatCurrency empty", OpReviewCashout, map[string]string{"fiatCurrency": `""`},
			[]string{review + "|50000|USDT|k", review + "VND|50000|USDT|k"}},
		{"another literal", OpReviewCashout, map[string]string{"fiatCurrency": `"VND"`, "fiatAmount": "50000.0"},
			[]string{review + "VND|50000|USDT|k", review + "VND|50000.0|USDT|k"}},
		{"both", OpReviewCashout, map[string]string{"fiatAmount": "5e4"},
			[]string{review + "|50000|USDT|k", review + "|5e4|USDT|k", review + "VND|50000|USDT|k", review + "VND|5e4|USDT|k"}},
		{"no recipient", OpCreateCashout, nil, []string{create + "50000||||user@example.com|k"}},
		{"fiatCurrency is not in a create", OpCreateCashout, map[string]string{"fiatCurrency": `"VND"`, "fiatAmount": "1E6"},
			[]string{create + "1000000||||user@example.com|k", create + "1E6||||user@example.com|k"}},
		{"top-level names", OpCreateCashout, map[string]string{"bankCode": `"VCB"`, "bankAccountNumber": `"001"`, "content": `"X"`},
			[]string{create + "50000|VCB|001|X|user@example.com|k"}},
		{"both names", OpCreateCashout, map[string]string{"bankCode": `"VCB"`, "extendInfo": `{"recipientBankCode":"VCB","recipientNumber":"001"}`},
			[]string{create + "50000|VCB|001||user@example.com|k"}},
		{"null extendInfo", OpCreateCashout, map[string]string{"extendInfo": `null`}, []string{create + "50000||||user@example.com|k"}},
		{"spelling cryptocurrency", OpReviewCashout, map[string]string{"cryptoCurrency": "", "cryptocurrency": `"BTC"`, "fiatCurrency": `"VND"`},
			[]string{review + "VND|50000|BTC|k"}},
		{"spelling currency", OpReviewCashout, map[string]string{"cryptoCurrency": "null", "currency": `"BTC"`, "fiatCurrency": `"VND"`},
			[]string{review + "VND|50000|BTC|k"}},
	} {
		r, err := ReadRequest(c.op, with(c.op, c.replaced))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := r.Candidates("k"); !slices.Equal(got, c.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", c.name, got, c.want)
		}
	}
}

// A signature over the literal as sent verifies for a body with that literal
// and for no other spelling of the amount.
func TestASignatureOverTheLiteral(t *testing.T) {
	v := readSigning(t)
	i := slices.IndexFunc(v.SignatureCases, func(c struct{ Case, Signature, Expect string }) bool {
		return strings.HasPrefix(c.Case, "raw number form 50000.0")
	})
	signature := v.SignatureCases[i].Signature
	partner := vectorKey(t, "partner").Public()
	for literal, accept := range map[string]bool{"50000.0": true, "50000": false, "5e4": false, "50000.00": false} {
		r, err := ReadRequest(OpReviewCashout, with(OpReviewCashout, map[string]string{
			"fiatAmount": literal, "fiatCurrency": `"VND"`, "signature": `"` + signature + `"`}))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Verify(v.SecretKey, partner); (err == nil) != accept {
			t.Errorf("%s: %v", literal, err)
		}
	}
}

func TestReadRequestNamesTheFieldThatIsWrong(t *testing.T) {
	for _, c := range []struct {
		op       Operation
		replaced map[string]string
		field    string
		reason   Reason
	}{
		{OpAccessToken, map[string]string{"partnerCode": ""}, "partnerCode", Missing},
		{OpAccessToken, map[string]string{"partnerCode": "null"}, "partnerCode", Missing},
		{OpAccessToken, map[string]string{"partnerCode": `""`}, "partnerCode", Missing},
		{OpAccessToken, map[string]string{"partnerCode": `1`}, "partnerCode", Invalid},
		{OpAccessToken, map[string]string{"partnerCode": `"a b"`}, "partnerCode", Invalid},
		{OpAccessToken, map[string]string{"partnerCode": `"` + strings.Repeat("P", 33) + `"`}, "partnerCode", Invalid},
		{OpAccessToken, map[string]string{"partnerCode": `"P\n"`}, "partnerCode", Forbidden},
		{OpAccessToken, map[string]string{"userEmail": ""}, "userEmail", Missing},
		{OpAccessToken, map[string]string{"userEmail": "", "email": `"user@example.com"`}, "userEmail", Missing},
		{OpAccessToken, map[string]string{"userEmail": `"` + strings.Repeat("e", 255) + `"`}, "userEmail", Invalid},
		{OpAccessToken, map[string]string{"signature": ""}, "signature", Missing},
		{OpAccessToken, map[string]string{"signature": `[]`}, "signature", Invalid},
		{OpVerify, map[string]string{"email": `"a|b"`}, "email", Forbidden},
		{OpVerify, map[string]string{"code": `12345`}, "code", Invalid},
		{OpVerify, map[string]string{"code": ``}, "code", Missing},
		{OpRefreshToken, map[string]string{"refreshToken": `"a|b"`}, "refreshToken", Forbidden},
		{OpOrderDetails, map[string]string{"externalOrderId": `"a/b"`}, "externalOrderId", Invalid},
		{OpReviewCashout, map[string]string{"cryptoCurrency": ""}, "cryptoCurrency", Missing},
		{OpReviewCashout, map[string]string{"cryptoCurrency": `"usdt"`}, "cryptoCurrency", Invalid},
		{OpReviewCashout, map[string]string{"cryptoCurrency": "", "currency": `"usdt"`}, "currency", Invalid},
		{OpReviewCashout, map[string]string{"currency": `"BTC"`}, "currency", Invalid},
		{OpReviewCashout, map[string]string{"cryptocurrency": `""`}, "cryptocurrency", Invalid},
		{OpReviewCashout, map[string]string{"fiatCurrency": `"V|D"`}, "fiatCurrency", Forbidden},
		{OpReviewCashout, map[string]string{"fiatCurrency": `"vnd"`}, "fiatCurrency", Invalid},
		{OpReviewCashout, map[string]string{"fiatAmount": ``}, "fiatAmount", Missing},
		{OpReviewCashout, map[string]string{"fiatAmount": `null`}, "fiatAmount", Missing},
		{OpReviewCashout, map[string]string{"fiatAmount": `"50000"`}, "fiatAmount", Invalid},
		{OpReviewCashout, map[string]string{"fiatAmount": `true`}, "fiatAmount", Invalid},
		{OpReviewCashout, map[string]string{"fiatAmount": `1e31`}, "fiatAmount", Invalid},
		{OpReviewCashout, map[string]string{"fiatAmount": strings.Repeat("1", 41)}, "fiatAmount", Invalid},
		{OpReviewCashout, map[string]string{"webhookSecretKey": ``}, "webhookSecretKey", Missing},
		{OpCreateCashout, map[string]string{"externalOrderId": `""`}, "externalOrderId", Missing},
		{OpCreateCashout, map[string]string{"extendInfo": `"x"`}, "extendInfo", Invalid},
		{OpCreateCashout, map[string]string{"extendInfo": `{"recipientNumber":1}`}, "extendInfo.recipientNumber", Invalid},
		{OpCreateCashout, map[string]string{"extendInfo": `{"recipientNumber":"00 11"}`}, "extendInfo.recipientNumber", Invalid},
		{OpCreateCashout, map[string]string{"extendInfo": `{"recipientNumber":"01234567890123456789"}`}, "extendInfo.recipientNumber", Invalid},
		{OpCreateCashout, map[string]string{"bankAccountNumber": `"00 11"`}, "bankAccountNumber", Invalid},
		{OpCreateCashout, map[string]string{"extendInfo": `{"recipientBankCode":"VCB"}`, "bankCode": `"vcb"`}, "bankCode", Invalid},
		{OpCreateCashout, map[string]string{"extendInfo": `{"transferContent":"a"}`, "content": `"b"`}, "content", Invalid},
		{OpCreateCashout, map[string]string{"content": `"` + strings.Repeat("ế", 101) + `"`}, "content", Invalid},
		{OpCreateCashout, map[string]string{"content": `"a\u007f"`}, "content", Forbidden},
		// Separators come before everything else that is wrong.
		{OpCreateCashout, map[string]string{"partnerCode": `""`, "content": `"a|b"`}, "content", Forbidden},
	} {
		body := with(c.op, c.replaced)
		_, err := ReadRequest(c.op, body)
		var field *FieldError
		if !errors.As(err, &field) || field.Field != c.field || field.Reason != c.reason {
			t.Errorf("%s: %v; want reason %d of %s", body, err, c.reason, c.field)
		}
	}
	for _, text := range []string{strings.Repeat("ế", 100), "😀", ""} {
		if _, err := ReadRequest(OpCreateCashout, with(OpCreateCashout, map[string]string{"content": `"` + text + `"`})); err != nil {
			t.Errorf("content %q: %v", text, err)
		}
	}
}

func TestInjectedRequestsAreRefused(t *testing.T) {
	for _, c := range readSigning(t).Injection {
		for _, values := range []map[string]string{c.A, c.B} {
			replaced := make(map[string]string)
			for name, value := range values {
				if name != "fiatAmount" {
					text, _ := json.Marshal(value)
					replaced[name] = string(text)
				}
			}
			replaced["cryptoCurrency"] = ""
			_, err := ReadRequest(OpCreateCashout, with(OpCreateCashout, replaced))
			var field *FieldError
			if !errors.As(err, &field) || field.Reason != Forbidden {
				t.Errorf("%s: %v", c.Case, err)
			}
		}
	}
}

func TestReadRequestIsStrict(t *testing.T) {
	for name, body := range map[string]string{
		"nothing":             ``,
		"not JSON":            `partnerCode=P`,
		"an array":            `[]`,
		"null":                `null`,
		"duplicate member":    `{"partnerCode":"A","partnerCode":"B","userEmail":"a@b.c","signature":"x"}`,
		"escaped duplicate":   `{"partnerCode":"A","partner\u0043ode":"B","userEmail":"a@b.c","signature":"x"}`,
		"unknown duplicate":   `{"partnerCode":"A","userEmail":"a@b.c","signature":"x","u":{"v":1,"v":1}}`,
		"lone surrogate":      `{"partnerCode":"A","userEmail":"\ud800","signature":"x"}`,
		"invalid UTF-8":       "{\"partnerCode\":\"A\",\"userEmail\":\"\xff\",\"signature\":\"x\"}",
		"raw control":         "{\"partnerCode\":\"A\",\"userEmail\":\"\n\",\"signature\":\"x\"}",
		"text after the end":  `{"partnerCode":"A","userEmail":"a@b.c","signature":"x"} x`,
		"nested too deep":     `{"partnerCode":"A","userEmail":"a@b.c","signature":"x","u":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`,
		"beyond every number": `{"partnerCode":"A","userEmail":"a@b.c","signature":"x","u":1e400}`,
	} {
		_, err := ReadRequest(OpAccessToken, []byte(body))
		var field *FieldError
		if !errors.As(err, &field) || field.Reason != Malformed {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, body := range map[string]string{
		"an integer float64 would round, unread": `{"partnerCode":"A","userEmail":"a@b.c","signature":"x","u":9007199254740993}`,
		"names that differ in case":              `{"partnerCode":"A","PartnerCode":"B","userEmail":"a@b.c","signature":"x"}`,
	} {
		if r, err := ReadRequest(OpAccessToken, []byte(body)); err != nil || r.PartnerCode != "A" {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	if _, err := ReadRequest("unknown", []byte(`{}`)); err == nil {
		t.Error("reads an operation that does not exist")
	}
}

func FuzzReadRequest(f *testing.F) {
	for i, op := range Operations {
		f.Add(i, with(op, nil))
	}
	f.Add(5, []byte(`{"partnerCode":"P","externalOrderId":"O","currency":"USDT","fiatAmount":5e4,"userEmail":"a@b.c",
		"webhookSecretKey":"w","signature":"s","extendInfo":{"recipientNumber":"1"},"bankAccountNumber":"1"}`))
	f.Fuzz(func(t *testing.T, i int, body []byte) {
		op := Operations[uint(i)%uint(len(Operations))]
		r, err := ReadRequest(op, body)
		if err != nil {
			var field *FieldError
			if !errors.As(err, &field) {
				t.Fatalf("%q: %v is not a *FieldError", body, err)
			}
			return
		}
		for _, text := range r.Candidates("k") {
			if got, want := strings.Count(text, "|"), len(RequestSlots(op)); got != want {
				t.Fatalf("%q: %q has %d bars, not %d", body, text, got, want)
			}
		}
	})
}
