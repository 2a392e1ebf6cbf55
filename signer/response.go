package signer

import (
	"crypto/rsa"
	"fmt"

	"github.com/go-json-experiment/json"
)

// ReadResponse returns the text that the gateway signs in a response to op and
// the signature beside it: numbers count as the very characters of body. An
// error says what body lacks, or that the response to op is not signed.
func ReadResponse(op Operation, body []byte, secretKey string) (text, signature string, err error) {
	if err := (strictness{}).hold(body); err != nil {
		return "", "", err
	}
	m, err := members(body)
	if err != nil {
		return "", "", err
	}
	if json.Unmarshal(m["signature"], &signature) != nil {
		return "", "", &FieldError{Field: "signature", Detail: "must be a string", Reason: Missing}
	}
	values := make(map[string]string)
	for _, slot := range responseSlots[op] {
		raw, found := m[slot]
		if !found {
			return "", "", &FieldError{Field: slot, Detail: "is not there", Reason: Missing}
		}
		var value string
		if json.Unmarshal(raw, &value) != nil {
			value = string(raw)
		}
		values[slot] = value
	}
	text, err = ResponseString(op, values, secretKey)
	return text, signature, err
}

// VerifyResponse checks the gateway's signature in a response to op, as a
// partner does. The error wraps ErrSignature where it is about the response.
func VerifyResponse(op Operation, body []byte, secretKey string, gateway *rsa.PublicKey) error {
	text, signature, err := ReadResponse(op, body, secretKey)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSignature, err)
	}
	return Verify(gateway, []byte(text), signature)
}
