package signer

import (
	"crypto/rsa"
	"encoding/json"
	"fmt"
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
// notification and signature always give the same bytes.
func (n Notification) Body(rsaSignature string) ([]byte, error) {
	data, err := members(n.Data)
	if err != nil {
		return nil, fmt.Errorf("read the data of a %s: %w", n.WebhookType, err)
	}
	if data["signature"] != nil {
		return nil, fmt.Errorf("the data of a %s already holds a signature", n.WebhookType)
	}
	body := map[string]any{"webhookType": n.WebhookType, "success": n.Success, "data": data}
	switch {
	case rsaSignature == "":
	case n.TopLevelSignature:
		body["signature"] = rsaSignature
	default:
		data["signature"], _ = json.Marshal(rsaSignature)
	}
	loose, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("write the body of a %s: %w", n.WebhookType, err)
	}
	return Canonical(loose)
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
