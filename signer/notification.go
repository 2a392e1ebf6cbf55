package signer

import (
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Notification is what a webhook tells, before it is signed.
type Notification struct {
	WebhookType string
	Success     bool
	// Data is the RFC 8785 form of an object without a member "signature": it
	// is the text the RSA signature is made over, nothing appended.
	Data []byte
	// TopLevelSignature puts the signature beside data instead of inside it.
	TopLevelSignature bool
}

// Body returns the whole body in RFC 8785 form with rsaSignature in its
// place, or without a member "signature" if rsaSignature is empty. The same
// notification and signature always give the same bytes. Data is refused as
// Canonical refuses it.
func (n Notification) Body(rsaSignature string) ([]byte, error) {
	data, err := Canonical(n.Data)
	inside := 0
	if err == nil {
		inside, err = signatureAt(data)
	}
	if err != nil {
		return nil, fmt.Errorf("compose the body of a %s: %w", n.WebhookType, err)
	}
	loose, err := json.Marshal(map[string]any{"success": n.Success, "webhookType": n.WebhookType})
	if err != nil {
		return nil, fmt.Errorf("write the body of a %s: %w", n.WebhookType, err)
	}
	rest, err := Canonical(loose)
	if err != nil {
		return nil, fmt.Errorf("write the body of a %s: %w", n.WebhookType, err)
	}
	beside := ""
	switch member := `"signature":"` + rsaSignature + `"`; {
	case rsaSignature == "":
	case n.TopLevelSignature:
		beside = member + ","
	case len(data) == len("{}"):
		data = []byte("{" + member + "}")
	case inside == len(data)-1: // behind the last member
		data = slices.Concat(data[:inside], []byte(","+member), data[inside:])
	default:
		data = slices.Concat(data[:inside], []byte(member+","), data[inside:])
	}
	return slices.Concat([]byte(`{"data":`), data, []byte(","+beside), rest[1:]), nil
}

// signatureAt is where a member "signature" belongs in an object in RFC 8785
// form: before the first member of a greater name, or before its end. Names
// are compared as they are written, which for one of small letters gives the
// order of their UTF-16 code units.
func signatureAt(object []byte) (int, error) {
	if len(object) < len("{}") || object[0] != '{' || object[len(object)-1] != '}' {
		return 0, errors.New("the data is no JSON object")
	}
	depth, at, name := 0, 0, false
	for token := range tokens(object) {
		switch token[0] {
		case '{', '[':
			depth++
			name = depth == 1
		case '}', ']':
			depth--
		case ',':
			name = depth == 1
		default:
			if name {
				switch written := string(token[1 : len(token)-1]); {
				case written == "signature":
					return 0, errors.New("the data already holds a signature")
				case written > "signature":
					return at, nil
				}
			}
			name = false
		}
		at += len(token)
	}
	return len(object) - 1, nil
}

// VerifyNotification checks the RSA signature of a notification's body, as
// its receiver does: it takes the signature from inside data or from beside
// it, wherever it is, and verifies it over the RFC 8785 form of data without
// it. A body with two signatures, or none, does not verify.
func VerifyNotification(public *rsa.PublicKey, body []byte) error {
	text, signature, err := signedData(body)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSignature, err)
	}
	return Verify(public, text, signature)
}

func signedData(body []byte) (text []byte, signature string, err error) {
	if _, err := transform(body); err != nil {
		return nil, "", err
	}
	outer, err := members(body)
	if err != nil {
		return nil, "", err
	}
	data, err := members(outer["data"])
	if err != nil {
		return nil, "", &FieldError{Field: "data", Detail: "must be an object"}
	}
	inside, beside := data["signature"], outer["signature"]
	delete(data, "signature")
	switch {
	case inside != nil && beside != nil:
		return nil, "", &FieldError{Field: "signature", Detail: "must stand either in data or beside it"}
	case inside == nil:
		inside = beside
	}
	if json.Unmarshal(inside, &signature) != nil {
		return nil, "", &FieldError{Field: "signature", Detail: "must be a string", Reason: Missing}
	}
	loose, err := json.Marshal(data)
	if err != nil {
		return nil, "", err
	}
	text, err = Canonical(loose)
	return text, signature, err
}

// members cuts a JSON object into its members, each as it was written. The
// object is known to be strict JSON.
func members(object []byte) (map[string]json.RawMessage, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(object, &m); err != nil || m == nil {
		return nil, &FieldError{Detail: "must be a JSON object", Reason: Malformed}
	}
	return m, nil
}
