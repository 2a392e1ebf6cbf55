package signer

import (
	"crypto/rsa"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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
	body, err := n.body(rsaSignature)
	if err != nil {
		return nil, fmt.Errorf("compose the body of a %s: %w", n.WebhookType, err)
	}
	return body, nil
}

func (n Notification) body(rsaSignature string) ([]byte, error) {
	data, err := Canonical(n.Data)
	if err != nil {
		return nil, err
	}
	var place signaturePlace
	if err := json.Unmarshal(data, &place); err != nil {
		return nil, err
	}
	inside, beside := "", ""
	switch member := `"signature":"` + rsaSignature + `"`; {
	case rsaSignature == "":
	case n.TopLevelSignature:
		beside = "," + member
	case place > 1:
		inside = "," + member
	case len(data) > len("{}"):
		inside = member + ","
	default:
		inside = member
	}
	body := slices.Concat([]byte(`{"data":`), data[:place], []byte(inside), data[place:], []byte(beside),
		[]byte(`,"success":`+strconv.FormatBool(n.Success)+`,"webhookType":`))
	body, err = jsontext.AppendQuote(body, n.WebhookType)
	return append(body, '}'), err
}

// signaturePlace is where a member "signature" belongs in an object in RFC
// 8785 form: behind the last member of a lesser name, which are in order.
type signaturePlace int

// UnmarshalJSONFrom reads the names of the object.
func (p *signaturePlace) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if token, err := dec.ReadToken(); err != nil || token.Kind() != '{' {
		return errors.New("the data is no JSON object")
	}
	*p = 1
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		lesser := name.String() < "signature"
		switch {
		case err != nil:
			return err
		case name.String() == "signature":
			return errors.New("the data already holds a signature")
		}
		if err := dec.SkipValue(); err != nil {
			return err
		}
		if lesser {
			*p = signaturePlace(dec.InputOffset())
		}
	}
	_, err := dec.ReadToken()
	return err
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
	if err := (strictness{}).hold(body); err != nil {
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
func members(object []byte) (map[string]jsontext.Value, error) {
	var m map[string]jsontext.Value
	if err := json.Unmarshal(object, &m); err != nil || m == nil {
		return nil, &FieldError{Detail: "must be a JSON object", Reason: Malformed}
	}
	return m, nil
}
