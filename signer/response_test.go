package signer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// responseBody is the body that the fields of a vector stand in.
func responseBody(op Operation, fields []struct{ Name, Value string }, signature string) []byte {
	numbers := []string{"fiatAmount", "price", "tokenAmount", "totalPayment"}
	parts := []string{`"more":{"any":[1e5]}`}
	for _, f := range fields {
		value, _ := json.Marshal(f.Value)
		if slices.Contains(numbers, f.Name) {
			value = []byte(f.Value)
		}
		if slices.Contains(responseSlots[op], f.Name) {
			parts = append(parts, fmt.Sprintf("%q:%s", f.Name, value))
		}
	}
	quoted, _ := json.Marshal(signature)
	return []byte("{" + strings.Join(append(parts, `"signature":`+string(quoted)), ",") + "}")
}

func TestResponsesAreTheVectors(t *testing.T) {
	v := readSigning(t)
	gateway := vectorKey(t, "service").Public()
	read := 0
	for _, s := range v.Strings {
		name, found := strings.CutSuffix(s.Operation, " response")
		if !found {
			continue
		}
		op := Operation(name)
		read++
		body := responseBody(op, s.Fields, s.Signature)
		if text, _, err := ReadResponse(op, body, v.SecretKey); err != nil || text != s.String {
			t.Errorf("%s: %q, %v, want %q", s.Operation, text, err, s.String)
		}
		if err := VerifyResponse(op, body, v.SecretKey, gateway); err != nil {
			t.Errorf("%s: %v", s.Operation, err)
		}
		for name, err := range map[string]error{
			"another key":     VerifyResponse(op, body, v.SecretKey, anotherKey().Public()),
			"another secret":  VerifyResponse(op, body, "another", gateway),
			"another text":    VerifyResponse(op, []byte(strings.Replace(string(body), s.Fields[0].Value, "9", 1)), v.SecretKey, gateway),
			"a missing value": VerifyResponse(op, []byte(strings.Replace(string(body), s.Fields[0].Name, "x", 1)), v.SecretKey, gateway),
			"no signature":    VerifyResponse(op, []byte(strings.Replace(string(body), "signature", "x", 1)), v.SecretKey, gateway),
			"no JSON":         VerifyResponse(op, body[1:], v.SecretKey, gateway),
		} {
			if !errors.Is(err, ErrSignature) {
				t.Errorf("%s: %s: %v", s.Operation, name, err)
			}
		}
	}
	if read != 3 {
		t.Errorf("%d responses", read)
	}
	if _, _, err := ReadResponse(OpAccessToken, []byte(`{"signature":"x"}`), "k"); err == nil {
		t.Error("read a response that is not signed")
	}
}

// The interface gives two operations one text. That is harmless only as long
// as each checks more than the signature.
func TestTwoOperationsShareATextAsTheVectorsSay(t *testing.T) {
	v := readVectors[struct {
		SecretKey string
		Cross     struct {
			Access string `json:"access_token_string"`
			Verify string `json:"verify_string"`
			Same   bool
		} `json:"cross_operation"`
	}](t, "signing_strings.json")
	texts := map[Operation]string{}
	for _, op := range []Operation{OpAccessToken, OpVerify} {
		r, err := ReadRequest(op, with(op, nil))
		if err != nil {
			t.Fatal(err)
		}
		texts[op] = r.Candidates(v.SecretKey)[0]
	}
	if texts[OpAccessToken] != v.Cross.Access || texts[OpVerify] != v.Cross.Verify || (texts[OpAccessToken] == texts[OpVerify]) != v.Cross.Same {
		t.Errorf("%q, want %+v", texts, v.Cross)
	}
}
